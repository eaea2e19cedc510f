// Threads that are cancelled where they wait, or where they compute, and clean up.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static sem_t ready, cancelled, never;
static int cleaned;

static void clean(void *what) {
    cleaned++;
    printf("cleaned up %s\n", (const char *)what);
}

static void *waits(void *argument) {
    pthread_cleanup_push(clean, argument);
    pthread_cleanup_push(clean, "the inner one");
    sem_post(&ready);
    sem_wait(&never);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *computes(void *argument) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    pthread_cleanup_push(clean, argument);
    sem_post(&ready);
    for (volatile unsigned n = 0;; n++) {
    }
    pthread_cleanup_pop(0);
    return NULL;
}

static void *refuses(void *argument) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    sem_post(&ready);
    while (sem_wait(&cancelled)) {
    }
    pthread_cleanup_push(clean, argument);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    pthread_testcancel();
    pthread_cleanup_pop(0);
    return NULL;
}

static void *reads(void *argument) {
    char byte;
    sem_post(&ready);
    read(*(int *)argument, &byte, 1);
    return NULL;
}

static void cancel(const char *name, void *(*body)(void *), void *argument) {
    pthread_t thread;
    void *result;
    sem_init(&cancelled, 0, 0);
    pthread_create(&thread, NULL, body, argument);
    sem_wait(&ready);
    pthread_cancel(thread);
    sem_post(&cancelled);
    pthread_join(thread, &result);
    printf("%s: cancelled %d\n", name, result == PTHREAD_CANCELED);
}

int main(void) {
    int ends[2];
    sem_init(&ready, 0, 0);
    sem_init(&never, 0, 0);
    if (pipe(ends) != 0) return 1;
    cancel("waiting", waits, "a waiting thread");
    cancel("computing", computes, "a computing thread");
    cancel("refusing", refuses, "a refusing thread");
    cancel("reading", reads, ends);
    printf("%d cleaned up\n", cleaned);
    return 0;
}
