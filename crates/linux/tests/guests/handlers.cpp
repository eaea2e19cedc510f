// Signal handlers that make no system call, so that no register tells their return from anything else; and what
// unwinders see of them.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <unwind.h>

static volatile int count;
static volatile double sum;

static void counts(int) { count = count + 1; }

static void computes(int number) { sum = sum * 1.5 + number; }

static void raises(int) { raise(SIGUSR1); }

// `raise` is declared not to throw.
static int (*volatile may_throw)(int) = raise;
static void throws(int) { throw std::runtime_error("out of a handler"); }

static sigjmp_buf place;
static void jumps(int number) { siglongjmp(place, number); }

static volatile int frames;
static _Unwind_Reason_Code frame(_Unwind_Context *, void *)
{
    frames = frames + 1;
    return _URC_NO_REASON;
}
static void traces(int) { _Unwind_Backtrace(frame, nullptr); }

int main()
{
    signal(SIGUSR1, counts);
    for (int n = 0; n < 1000; n++)
        raise(SIGUSR1);
    printf("counted %d\n", count);

    signal(SIGUSR2, computes);
    for (int n = 0; n < 10; n++)
        raise(SIGUSR2);
    printf("sum %.6f\n", sum);

    signal(SIGHUP, raises);
    raise(SIGHUP);
    printf("nested %d\n", count);

    if (int number = sigsetjmp(place, 1)) {
        printf("jumped %d\n", number);
    } else {
        signal(SIGTERM, jumps);
        raise(SIGTERM);
    }

    signal(SIGINT, traces);
    raise(SIGINT);
    // The handler, its caller behind the signal's frame, raise and main at the least.
    printf("unwound %d\n", frames >= 4);

    signal(SIGQUIT, throws);
    try {
        may_throw(SIGQUIT);
        puts("not thrown");
    } catch (const std::runtime_error &error) {
        printf("caught %s\n", error.what());
    }
    raise(SIGUSR1);
    printf("counted %d\n", count);
}
