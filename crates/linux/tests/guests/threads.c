// What POSIX threads do: each case prints the same under every scheduler.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 4, ROUNDS = 1000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static long sum;

static void each(void *(*body)(void *), const char *name) {
    pthread_t threads[COUNT];
    long total = 0;
    for (long n = 0; n < COUNT; n++) {
        if (pthread_create(&threads[n], NULL, body, (void *)n)) printf("no thread\n");
    }
    for (int n = 0; n < COUNT; n++) {
        void *result;
        pthread_join(threads[n], &result);
        total += (long)result;
    }
    printf("%s: %ld\n", name, total);
}

static void *lock(void *argument) {
    for (int n = 0; n < ROUNDS; n++) {
        pthread_mutex_lock(&mutex);
        long before = sum;
        if (n % 100 == 0) sched_yield();
        sum = before + 1;
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

static int turn;

static void *take_turns(void *argument) {
    for (int n = 0; n < 20; n++) {
        pthread_mutex_lock(&mutex);
        while (turn % COUNT != (long)argument) pthread_cond_wait(&condition, &mutex);
        turn++;
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&mutex);
    }
    return (void *)1;
}

static pthread_barrier_t barrier;

static void *meet(void *argument) {
    (void)argument;
    long serial = 0;
    for (int n = 0; n < 50; n++) serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
    return (void *)serial;
}

static pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;
static long shared[2];

static void *read_and_write(void *argument) {
    long differences = 0;
    for (int n = 0; n < 200; n++) {
        if (argument == NULL) {
            pthread_rwlock_wrlock(&readers);
            shared[0]++;
            sched_yield();
            shared[1]++;
        } else {
            pthread_rwlock_rdlock(&readers);
            differences += shared[0] != shared[1];
        }
        pthread_rwlock_unlock(&readers);
    }
    return (void *)differences;
}

static atomic_int spinning;

// No call at all until every thread is here.
static void *spin(void *argument) {
    atomic_fetch_add(&spinning, 1);
    while (atomic_load(&spinning) < COUNT) {}
    return argument;
}

static pthread_key_t key;
static atomic_int destroyed;

static void destroy(void *value) { atomic_fetch_add(&destroyed, (int)(long)value); }

static _Thread_local int local = 5;

static void *keep(void *argument) {
    pthread_setspecific(key, (void *)((long)argument + 1));
    local += (int)(long)argument;
    sched_yield();
    return (void *)(long)local;
}

static void clean(void *argument) { printf("cleaned %s\n", (char *)argument); }

static void *cancelled(void *argument) {
    pthread_cleanup_push(clean, argument);
    if (strcmp(argument, "spinning") == 0) {
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
        for (;;) {}
    }
    for (;;) pause();
    pthread_cleanup_pop(0);
}

static void cancel(char *how) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, cancelled, how);
    usleep(2000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("%s: %s\n", how, result == PTHREAD_CANCELED ? "cancelled" : "ended");
}

static pthread_t signalled_thread;
static atomic_int signals_here, signals_elsewhere;

static void on_signal(int number) {
    (void)number;
    if (pthread_equal(pthread_self(), signalled_thread)) signals_here++;
    else signals_elsewhere++;
}

static sem_t ready;
static atomic_int has_slept;

static void *be_signalled(void *argument) {
    sem_post(&ready);
    if (argument == NULL) {
        while (signals_here < 1) {}
        sem_post(&ready);
        struct timespec long_time = {100, 0};
        if (nanosleep(&long_time, NULL) != -1 || errno != EINTR) printf("slept\n");
        has_slept = 1;
    } else {
        sigset_t set;
        int number = 0;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        int error = sigwait(&set, &number);
        printf("sigwait %d, signal %d\n", error, number);
    }
    return NULL;
}

static pthread_mutex_t robust;

static void *die_with_lock(void *argument) {
    pthread_mutex_lock(&robust);
    if (argument) sched_yield();
    return NULL;
}

static void *wait_for_lock(void *argument) {
    (void)argument;
    int error = pthread_mutex_lock(&robust);
    printf("lock of a dead thread: %s\n", error == EOWNERDEAD ? "EOWNERDEAD" : "other");
    pthread_mutex_consistent(&robust);
    pthread_mutex_unlock(&robust);
    return NULL;
}

static int ends[2];

static void *write_slowly(void *argument) {
    (void)argument;
    for (int n = 0; n < 5; n++) {
        usleep(500);
        if (write(ends[1], "word ", 5) != 5) printf("not written\n");
    }
    close(ends[1]);
    return NULL;
}

static void *fill_pipe(void *argument) {
    (void)argument;
    static char much[200000];
    long written = 0;
    memset(much, 'x', sizeof much);
    while (written < (long)sizeof much) {
        ssize_t moved = write(ends[1], much + written, sizeof much - written);
        if (moved <= 0) break;
        written += moved;
    }
    close(ends[1]);
    return (void *)written;
}

static void *exit_later(void *argument) {
    usleep(1000);
    printf("last thread\n");
    return argument;
}

static struct timespec in(long milliseconds) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_nsec += milliseconds * 1000000;
    now.tv_sec += now.tv_nsec / 1000000000;
    now.tv_nsec %= 1000000000;
    return now;
}

int main(void) {
    pthread_t thread, other;
    setvbuf(stdout, NULL, _IOLBF, 0);

    each(lock, "locks");
    printf("sum %ld\n", sum);
    each(take_turns, "turns");
    printf("turn %d\n", turn);
    pthread_barrier_init(&barrier, NULL, COUNT);
    each(meet, "serial threads of a barrier");
    each(read_and_write, "differences");
    each(spin, "spinning threads");
    pthread_key_create(&key, destroy);
    each(keep, "thread-local values");
    printf("destroyed %d, own %d\n", destroyed, local);

    cancel("waiting");
    cancel("spinning");

    struct timespec soon = in(5);
    pthread_mutex_lock(&mutex);
    printf("timed wait: %s\n", strerror(pthread_cond_timedwait(&condition, &mutex, &soon)));
    soon = in(5);
    pthread_create(&thread, NULL, lock, NULL);
    printf("timed lock: %s\n", strerror(pthread_mutex_timedlock(&mutex, &soon)));
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);

    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    sem_init(&ready, 0, 0);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&thread, NULL, be_signalled, NULL);
    signalled_thread = thread;
    sem_wait(&ready);
    pthread_kill(thread, SIGUSR1);
    sem_wait(&ready);
    // Repeatedly, as a signal may come before the thread sleeps.
    while (!has_slept) {
        usleep(1000);
        pthread_kill(thread, SIGUSR1);
    }
    pthread_join(thread, NULL);
    printf("signals: %d to the thread, %d elsewhere\n", signals_here >= 2, signals_elsewhere);
    kill(getpid(), SIGUSR1);
    printf("signals: %d to the thread, %d elsewhere\n", signals_here >= 2, signals_elsewhere);
    pthread_create(&thread, NULL, be_signalled, &set);
    sem_wait(&ready);
    kill(getpid(), SIGUSR2);
    pthread_join(thread, NULL);
    printf("signal to nobody: %d\n", pthread_kill(pthread_self(), 0));

    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    pthread_create(&thread, NULL, die_with_lock, &set);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, wait_for_lock, NULL);
    pthread_join(thread, NULL);

    if (pipe(ends)) return 1;
    pthread_create(&thread, NULL, write_slowly, NULL);
    char words[8];
    ssize_t len;
    while ((len = read(ends[0], words, sizeof words)) > 0) printf("%.*s", (int)len, words);
    printf("| end of pipe\n");
    pthread_join(thread, NULL);
    close(ends[0]);

    if (pipe(ends)) return 1;
    pthread_create(&thread, NULL, fill_pipe, NULL);
    long total = 0;
    static char much[3000];
    while ((len = read(ends[0], much, sizeof much)) > 0) {
        total += len;
        if (total % 7 == 0) sched_yield();
    }
    void *written;
    pthread_join(thread, &written);
    printf("read %ld, written %ld\n", total, (long)written);

    char name[16];
    pthread_setname_np(pthread_self(), "renamed");
    pthread_getname_np(pthread_self(), name, sizeof name);
    printf("%s, %s\n", name, gettid() == getpid() ? "the first thread" : "another");
    printf("wait: %s\n", wait(NULL) == -1 ? strerror(errno) : "a child");
    cpu_set_t processors;
    printf("affinity %d\n", sched_getaffinity(0, sizeof processors, &processors));
    sched_setaffinity(gettid(), sizeof processors, &processors);

    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_create(&other, &detached, exit_later, NULL);
    pthread_exit(NULL);
}
