// timer_create, timerfd and signalfd, call by call, and with threads, poll and epoll that wait for them.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "show.h"

#define MS 1000000L

static struct itimerspec in_ms(long first, long then) {
    return (struct itimerspec){
        .it_interval = {then / 1000, then % 1000 * MS},
        .it_value = {first / 1000, first % 1000 * MS},
    };
}

static const char *yes(int is) { return is ? "yes" : "no"; }

static long long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static volatile int taken, code, value;

static void handler(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    taken++;
    code = info->si_code;
    value = info->si_value.sival_int;
}

static void files(void) {
    struct itimerspec spec, old;
    uint64_t ends = 0;
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    SHOW(timerfd_create(77, 0) == -1);
    SHOW(timerfd_create(CLOCK_MONOTONIC, 1));
    SHOW(timerfd_gettime(0, &old));
    SHOW(timerfd_settime(99, 0, &spec, NULL));
    SHOW(timerfd_gettime(timer, &old));
    printf("unset: %s\n", yes(old.it_value.tv_sec == 0 && old.it_value.tv_nsec == 0));
    SHOW(read(timer, &ends, 8));
    SHOW(write(timer, &ends, 8));
    spec = in_ms(5, 0);
    spec.it_value.tv_nsec = 1000000000;
    SHOW(timerfd_settime(timer, 0, &spec, NULL));
    // Long enough for a busy computer to make the calls in.
    spec = in_ms(300, 0);
    SHOW(timerfd_settime(timer, 8, &spec, NULL));
    SHOW(timerfd_settime(timer, 0, &spec, NULL));
    SHOW(timerfd_gettime(timer, &old));
    printf("left: %s\n", yes(old.it_value.tv_nsec > 0 && old.it_value.tv_nsec <= 300 * MS));
    struct pollfd wanted = {timer, POLLIN | POLLOUT, 0};
    SHOW(poll(&wanted, 1, 0));
    SHOW(poll(&wanted, 1, -1));
    printf("revents %x\n", wanted.revents);
    SHOW(read(timer, &ends, 4));
    SHOW(read(timer, &ends, 8));
    printf("ends %llu\n", (unsigned long long)ends);
    SHOW(read(timer, &ends, 8));

    // Again and again, by an absolute time that has passed, and stopped.
    spec = in_ms(1, 1);
    SHOW(timerfd_settime(timer, 0, &spec, NULL));
    usleep(20000);
    SHOW(read(timer, &ends, 8));
    printf("many: %s\n", yes(ends >= 15));
    spec = in_ms(0, 0);
    SHOW(timerfd_settime(timer, 0, &spec, &old));
    printf("was: %s\n", yes(old.it_interval.tv_nsec == MS && old.it_value.tv_nsec <= MS));
    SHOW(read(timer, &ends, 8));
    long long past = now(CLOCK_MONOTONIC) - 5 * MS;
    spec = in_ms(0, 0);
    spec.it_value.tv_sec = past / 1000000000, spec.it_value.tv_nsec = past % 1000000000;
    SHOW(timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, NULL));
    SHOW(read(timer, &ends, 8));
    close(timer);

    // Which blocks, of the real clock.
    timer = timerfd_create(CLOCK_REALTIME, 0);
    long long then = now(CLOCK_REALTIME) + 8 * MS;
    spec.it_value.tv_sec = then / 1000000000, spec.it_value.tv_nsec = then % 1000000000;
    SHOW(timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, NULL));
    SHOW(read(timer, &ends, 8));
    printf("in time: %s, ends %llu\n", yes(now(CLOCK_REALTIME) >= then), (unsigned long long)ends);

    // By epoll, at edges, and by select.
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = 7}, told;
    SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event));
    SHOW(epoll_wait(epoll, &told, 1, 0));
    spec = in_ms(3, 3);
    SHOW(timerfd_settime(timer, 0, &spec, NULL));
    SHOW(epoll_wait(epoll, &told, 1, -1));
    // No edge before it is read.
    SHOW(epoll_wait(epoll, &told, 1, 10));
    SHOW(read(timer, &ends, 8));
    SHOW(epoll_wait(epoll, &told, 1, -1));
    printf("data %llu, events %x\n", (unsigned long long)told.data.u64, told.events);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(timer, &set);
    SHOW(select(timer + 1, &set, NULL, NULL, NULL));
    SHOW(FD_ISSET(timer, &set));
    int same = dup(timer);
    SHOW(read(same, &ends, 8));
    SHOW(ends >= 1);
    close(same);
    close(timer);
    close(epoll);
}

static void timers(void) {
    struct itimerspec spec, old;
    timer_t timer, other;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigset_t usr1, before;
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    event.sigev_value.sival_int = 42;
    SHOW(timer_create(77, &event, &timer));
    event.sigev_signo = 65;
    SHOW(timer_create(CLOCK_MONOTONIC, &event, &timer));
    event.sigev_signo = SIGUSR1;
    SHOW(timer_create(CLOCK_MONOTONIC, &event, &timer));
    SHOW(timer_gettime(timer, &old));
    SHOW(old.it_value.tv_nsec);
    SHOW(timer_getoverrun(timer));
    spec = in_ms(4, 0);
    spec.it_value.tv_nsec = -1;
    SHOW(timer_settime(timer, 0, &spec, NULL));
    spec = in_ms(4, 0);
    sigprocmask(SIG_BLOCK, &usr1, &before);
    SHOW(timer_settime(timer, 0, &spec, NULL));
    SHOW(sigsuspend(&before));
    sigprocmask(SIG_SETMASK, &before, NULL);
    printf("taken %d, code %d, value %d\n", taken, code, value);
    SHOW(timer_gettime(timer, &old));
    SHOW(old.it_value.tv_nsec);

    // While the program computes.
    spec = in_ms(1, 1);
    SHOW(timer_settime(timer, 0, &spec, NULL));
    while (taken < 3) {
    }
    spec = in_ms(0, 0);
    SHOW(timer_settime(timer, 0, &spec, &old));
    SHOW(old.it_interval.tv_nsec);

    // Blocked: it is sent once, and the other ends are counted.
    sigprocmask(SIG_BLOCK, &usr1, &before);
    spec = in_ms(1, 1);
    SHOW(timer_settime(timer, 0, &spec, NULL));
    usleep(20000);
    siginfo_t info;
    SHOW(sigwaitinfo(&usr1, &info));
    printf("code %d, value %d, overrun: %s\n", info.si_code, info.si_value.sival_int, yes(info.si_overrun >= 10));
    SHOW(timer_getoverrun(timer) >= 10);
    // Two timers with one signal: both are told of.
    event.sigev_value.sival_int = 43;
    SHOW(timer_create(CLOCK_REALTIME, &event, &other));
    spec = in_ms(2, 0);
    SHOW(timer_settime(timer, 0, &spec, NULL));
    SHOW(timer_settime(other, 0, &spec, NULL));
    usleep(10000);
    int sum = 0;
    for (int n = 0; n < 2; n++)
        if (sigwaitinfo(&usr1, &info) == SIGUSR1) sum += info.si_value.sival_int;
    SHOW(sum);
    SHOW(timer_delete(other));

    // Of the processor's time, and one that sends no signal.
    SHOW(timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &other));
    spec = in_ms(1, 0);
    SHOW(timer_settime(other, 0, &spec, NULL));
    sigset_t pending;
    do
        sigpending(&pending);
    while (!sigismember(&pending, SIGUSR1));
    SHOW(sigwaitinfo(&usr1, &info));
    SHOW(info.si_value.sival_int);
    SHOW(timer_delete(other));
    event.sigev_notify = SIGEV_NONE;
    SHOW(timer_create(CLOCK_MONOTONIC, &event, &other));
    spec = in_ms(900, 0);
    SHOW(timer_settime(other, 0, &spec, NULL));
    usleep(1000);
    SHOW(timer_gettime(other, &old));
    printf("left: %s\n", yes(old.it_value.tv_nsec > 0 && old.it_value.tv_nsec < 900 * MS));
    SHOW(timer_delete(other));
    SHOW(timer_delete(timer));
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static volatile int told_by_thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;

static void tell(union sigval value) {
    pthread_mutex_lock(&lock);
    told_by_thread = value.sival_int;
    pthread_cond_signal(&told);
    pthread_mutex_unlock(&lock);
}

// By threads of the library's own, which a timer signals.
static void threads(void) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = tell};
    event.sigev_value.sival_int = 9;
    struct itimerspec spec = in_ms(3, 0);
    SHOW(timer_create(CLOCK_MONOTONIC, &event, &timer));
    SHOW(timer_settime(timer, 0, &spec, NULL));
    pthread_mutex_lock(&lock);
    while (!told_by_thread)
        pthread_cond_wait(&told, &lock);
    pthread_mutex_unlock(&lock);
    SHOW(told_by_thread);
    SHOW(timer_delete(timer));
}

static void *send_later(void *argument) {
    usleep(3000);
    kill(getpid(), SIGUSR2);
    return argument;
}

static void signals(void) {
    struct signalfd_siginfo infos[3];
    sigset_t set, usr1;
    pthread_t thread;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    set = usr1;
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int file = signalfd(-1, &usr1, SFD_NONBLOCK | SFD_CLOEXEC);
    SHOW(signalfd(-1, &set, 1));
    SHOW(signalfd(0, &set, 0));
    SHOW(signalfd(99, &set, 0));
    SHOW(read(file, infos, sizeof infos));
    SHOW(read(file, infos, 100));
    SHOW(write(file, infos, sizeof infos));
    raise(SIGUSR2);
    SHOW(read(file, infos, sizeof infos));
    SHOW(signalfd(file, &set, 0) == file);
    raise(SIGUSR1);
    struct pollfd wanted = {file, POLLIN | POLLOUT, 0};
    SHOW(poll(&wanted, 1, 0));
    printf("revents %x\n", wanted.revents);
    SHOW(read(file, infos, sizeof infos));
    printf("%d, %d, from %s\n", infos[0].ssi_signo, infos[1].ssi_signo, yes(infos[0].ssi_pid == (unsigned)getpid()));
    SHOW(poll(&wanted, 1, 0));

    // One that another thread sends, and one of a timer.
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 5}, news;
    SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event));
    pthread_create(&thread, NULL, send_later, NULL);
    SHOW(epoll_wait(epoll, &news, 1, -1));
    SHOW(read(file, infos, sizeof infos));
    SHOW(infos[0].ssi_signo == SIGUSR2);
    pthread_join(thread, NULL);
    timer_t timer;
    struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
    how.sigev_value.sival_int = 77;
    struct itimerspec spec = in_ms(3, 0);
    SHOW(timer_create(CLOCK_MONOTONIC, &how, &timer));
    SHOW(timer_settime(timer, 0, &spec, NULL));
    SHOW(epoll_wait(epoll, &news, 1, -1));
    SHOW(read(file, infos, sizeof infos));
    printf("%d, code %d, value %d\n", infos[0].ssi_signo == SIGUSR2, infos[0].ssi_code, infos[0].ssi_int);
    SHOW(timer_delete(timer));
    close(file);
    close(epoll);
}

// Watches a timer while the main thread computes.
static volatile int seen;

static void *watch(void *argument) {
    uint64_t ends;
    for (int n = 0; n < 3; n++)
        if (read(*(int *)argument, &ends, 8) == 8) seen++;
    return NULL;
}

static void beside(void) {
    pthread_t thread;
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec spec = in_ms(1, 1);
    timerfd_settime(timer, 0, &spec, NULL);
    pthread_create(&thread, NULL, watch, &timer);
    while (seen < 3) {
    }
    pthread_join(thread, NULL);
    SHOW(seen);
    close(timer);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    files();
    timers();
    threads();
    signals();
    beside();
}
