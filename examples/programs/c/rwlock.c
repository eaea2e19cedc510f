// Locks for readers and writers, error-checking and recursive locks, conditions with time limits.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long values[2], torn;

static void *writes(void *argument) {
    for (int i = 0; i < 1000; i++) {
        pthread_rwlock_wrlock(&lock);
        values[0] += (long)argument;
        values[1] += (long)argument;
        pthread_rwlock_unlock(&lock);
    }
    return NULL;
}

static void *reads(void *argument) {
    (void)argument;
    for (int i = 0; i < 1000; i++) {
        pthread_rwlock_rdlock(&lock);
        if (values[0] != values[1]) torn++;
        pthread_rwlock_unlock(&lock);
    }
    return NULL;
}

static struct timespec in_milliseconds(int count) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += count * 1000000L;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static void *tries(void *argument) {
    struct timespec limit = in_milliseconds(2);
    printf("try %s\n", strerror(pthread_rwlock_trywrlock(&lock)));
    printf("timed %s\n", strerror(pthread_rwlock_timedwrlock(&lock, &limit)));
    printf("mutex %s\n", strerror(pthread_mutex_unlock(argument)));
    return NULL;
}

int main(void) {
    pthread_t threads[6];
    for (long i = 0; i < 6; i++) pthread_create(&threads[i], NULL, i % 2 ? writes : reads, (void *)i);
    for (int i = 0; i < 6; i++) pthread_join(threads[i], NULL);
    printf("values %ld %ld torn %ld\n", values[0], values[1], torn);

    pthread_mutexattr_t kind;
    pthread_mutex_t checking;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checking, &kind);
    pthread_mutex_lock(&checking);
    printf("again %s\n", strerror(pthread_mutex_lock(&checking)));
    pthread_rwlock_rdlock(&lock);
    pthread_create(&threads[0], NULL, tries, &checking);
    pthread_join(threads[0], NULL);

    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    struct timespec limit = in_milliseconds(3);
    printf("condition %s\n", strerror(pthread_cond_timedwait(&never, &checking, &limit)));
    return 0;
}
