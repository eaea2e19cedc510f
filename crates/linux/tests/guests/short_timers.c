// Waits for timers that end while the call that waits for them begins: none is missed.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { TIMES = 4000 };

static volatile int taken;

static void handler(int number) {
    (void)number;
    taken++;
}

// Some 20 us, in which the next call begins.
static struct itimerspec soon(int n) { return (struct itimerspec){.it_value = {0, 1 + n * 5}}; }

int main(void) {
    int file = timerfd_create(CLOCK_MONOTONIC, 0), reads = 0;
    for (int n = 0; n < TIMES; n++) {
        struct itimerspec spec = soon(n);
        uint64_t ends;
        timerfd_settime(file, 0, &spec, NULL);
        if (read(file, &ends, 8) == 8) reads += ends;
    }
    printf("%d reads\n", reads);

    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    sigset_t set, before;
    signal(SIGUSR1, handler);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, &before);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    for (int n = 0; n < TIMES; n++) {
        struct itimerspec spec = soon(n);
        timer_settime(timer, 0, &spec, NULL);
        sigsuspend(&before);
    }
    printf("%d signals\n", taken);
    taken = 0;
    for (int n = 0; n < TIMES; n++) {
        struct itimerspec spec = soon(n);
        timer_settime(timer, 0, &spec, NULL);
        taken += sigwaitinfo(&set, NULL) == SIGUSR1;
    }
    printf("%d awaited\n", taken);
    return 0;
}
