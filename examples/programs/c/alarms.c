// Interval timers and alarms, which interrupt computing and waiting.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ticks, alarms;

static void tick(int number) { number == SIGALRM ? ticks++ : alarms++; }

int main(void) {
    struct sigaction action = {.sa_handler = tick};
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGVTALRM, &action, NULL);
    struct itimerval interval = {{0, 1000}, {0, 1000}}, left;
    setitimer(ITIMER_REAL, &interval, NULL);
    while (ticks < 5) {
    }
    puts("ticked while computing");
    for (int before = ticks; ticks < before + 3;) pause();
    puts("ticked while waiting");
    memset(&interval, 0, sizeof interval);
    setitimer(ITIMER_REAL, &interval, &left);
    printf("left %d\n", left.it_interval.tv_usec == 1000);

    interval.it_value.tv_usec = 1000;
    setitimer(ITIMER_VIRTUAL, &interval, NULL);
    while (alarms == 0) {
    }
    unsigned none = alarm(100), some = alarm(0);
    printf("alarms %u %u\n", none, some);
    // Repeatedly, as the first may come before the call.
    interval.it_value.tv_usec = interval.it_interval.tv_usec = 2000;
    setitimer(ITIMER_REAL, &interval, NULL);
    struct timespec time = {60, 0}, rest;
    int result = nanosleep(&time, &rest);
    printf("slept %d %s, rest %d\n", result, strerror(errno), rest.tv_sec >= 50);
    memset(&interval, 0, sizeof interval);
    setitimer(ITIMER_REAL, &interval, NULL);
    signal(SIGALRM, SIG_DFL);
    alarm(1);
    fflush(stdout);
    for (;;) pause();
}
