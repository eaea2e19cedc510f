// Timers that interrupt a program which makes no system call.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "show.h"

static volatile sig_atomic_t ticks[3];
static sigjmp_buf out;
static const int signals[3] = {SIGALRM, SIGVTALRM, SIGPROF};

static void count(int number) {
    for (int timer = 0; timer < 3; timer++) ticks[timer] += number == signals[timer];
}

static void escape(int number) {
    siglongjmp(out, number);
}

static void set(int timer, long microseconds, long interval) {
    struct itimerval value = {{0, interval}, {0, microseconds}};
    setitimer(timer, &value, NULL);
}

// Keeps many registers busy, and gives the same result whatever interrupts it.
__attribute__((noinline)) static unsigned long work(unsigned long rounds, double *sum) {
    unsigned long a = 1, b = 2, c = 3, d = 5, e = 7, f = 11;
    double x = 0.5, y = 1.25, z = -3;
    for (unsigned long i = 0; i < rounds; i++) {
        a = a * 6364136223846793005u + b, b ^= c >> 3, c += d * e, d = d << 1 ^ f, e += a >> 7, f = f * 31 + e;
        x = x * 0.999 + y, y = y * 0.5 + z, z = z * 0.25 + (double)(i & 7);
    }
    *sum = x + y + z;
    return a ^ b ^ c ^ d ^ e ^ f;
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    for (int timer = 0; timer < 3; timer++) {
        signal(signals[timer], count);
        set(timer, 200, 0);
        while (!ticks[timer]) {}
        set(timer, 100, 100);
        while (ticks[timer] < 5) {}
        set(timer, 0, 0);
        SHOW(ticks[timer] >= 5);

        double quiet, disturbed;
        unsigned long expected = work(1000, &quiet);
        int before = ticks[timer];
        set(timer, 70, 70);
        int is_same = 1;
        while (ticks[timer] < before + 5) is_same = is_same && work(1000, &disturbed) == expected && disturbed == quiet;
        set(timer, 0, 0);
        SHOW(is_same);

        signal(signals[timer], escape);
        int number = sigsetjmp(out, 1);
        if (!number) {
            set(timer, 100, 0);
            for (;;) {}
        }
        SHOW(number == signals[timer]);
    }

    // Blocked, it waits for the call that lets it through.
    sigset_t set_of_it;
    sigemptyset(&set_of_it);
    sigaddset(&set_of_it, SIGALRM);
    signal(SIGALRM, count);
    sigprocmask(SIG_BLOCK, &set_of_it, NULL);
    int before = ticks[0];
    set(ITIMER_REAL, 100, 0);
    double sum;
    for (int i = 0; i < 10; i++) work(1000, &sum);
    sigset_t pending;
    do sigpending(&pending);
    while (!sigismember(&pending, SIGALRM));
    SHOW(ticks[0] - before);
    sigprocmask(SIG_UNBLOCK, &set_of_it, NULL);
    SHOW(ticks[0] - before);
    SHOW(setitimer(3, NULL, NULL));

    // Without a handler it ends the program.
    signal(SIGALRM, SIG_DFL);
    set(ITIMER_REAL, 100, 0);
    for (;;) {}
}
