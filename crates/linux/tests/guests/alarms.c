// The timer that sends SIGALRM, at calls that wait and at others.
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "show.h"

static volatile int alarms;

static void count(int number) {
    alarms += number == SIGALRM;
}

static void install(int flags) {
    struct sigaction action = {.sa_handler = count, .sa_flags = flags};
    sigaction(SIGALRM, &action, NULL);
}

static void set(long milliseconds, long interval) {
    struct itimerval timer = {{0, interval * 1000}, {0, milliseconds * 1000}};
    SHOW(setitimer(ITIMER_REAL, &timer, NULL));
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    struct itimerval now, odd = {{0, 0}, {0, 1000000}};
    struct timespec second = {30, 0}, left = {0, 0};
    sigset_t set_of_it, none;
    int ends[2];
    char byte;
    sigemptyset(&none);
    sigemptyset(&set_of_it);
    sigaddset(&set_of_it, SIGALRM);
    install(0);

    SHOW(alarm(100));
    unsigned rest = alarm(0);
    SHOW(rest == 99 || rest == 100);
    SHOW(setitimer(ITIMER_REAL, &odd, NULL));
    SHOW(setitimer(9, &odd, NULL));
    SHOW(getitimer(ITIMER_REAL, &now));
    SHOW(now.it_value.tv_sec == 0 && now.it_value.tv_usec == 0);

    // Each waits until an alarm comes. They come repeatedly, as the first may come before the call.
    set(20, 20);
    SHOW(pause());
    SHOW(alarms >= 1);
    SHOW(nanosleep(&second, &left));
    SHOW(left.tv_sec == 29);
    SHOW(sigsuspend(&none));
    SHOW(poll(NULL, 0, -1));
    SHOW(select(0, NULL, NULL, NULL, NULL));
    SHOW(pipe(ends));
    SHOW(read(ends[0], &byte, 1));
    SHOW(alarms >= 6);

    // Again and again, until enough have come.
    set(5, 5);
    for (int before = alarms; alarms < before + 4;) pause();
    getitimer(ITIMER_REAL, &now);
    SHOW(now.it_interval.tv_usec);
    SHOW(alarm(0) <= 1);

    // Blocked, it waits, and may be asked for.
    sigprocmask(SIG_BLOCK, &set_of_it, NULL);
    int before = alarms;
    set(20, 0);
    second.tv_sec = 0, second.tv_nsec = 40000000;
    SHOW(nanosleep(&second, NULL));
    SHOW(alarms - before);
    SHOW(sigwaitinfo(&set_of_it, NULL));
    set(20, 0);
    SHOW(sigwaitinfo(&set_of_it, NULL));
    set(20, 0);
    SHOW(sigsuspend(&none));
    SHOW(alarms - before);
    sigprocmask(SIG_UNBLOCK, &set_of_it, NULL);

    // At calls that do not wait.
    set(1, 0);
    while (alarms - before < 2) getppid();
    SHOW(alarms - before);

    // Without a handler it ends the program.
    signal(SIGALRM, SIG_DFL);
    set(20, 0);
    pause();
    return 0;
}
