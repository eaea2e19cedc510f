// Data of threads: keys with destructors, thread-local variables, stacks of a chosen size.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_key_t key, later;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int destroyed;
static __thread int plain = 3;
static __thread char text[64] = "initial";

static void destroy(void *value) {
    destroyed += *(int *)value;
    // A destructor that sets a value has destructors run again.
    pthread_setspecific(later, value);
}

static void release(void *value) { free(value); }

static void prepare(void) {
    pthread_key_create(&key, destroy);
    pthread_key_create(&later, release);
}

static int deep(int depth) {
    volatile char frame[1024];
    memset((char *)frame, depth, sizeof frame);
    return depth == 0 ? frame[0] : deep(depth - 1) + frame[5] - depth % 128 + 1;
}

static void *run(void *argument) {
    int *value = malloc(sizeof *value);
    pthread_once(&once, prepare);
    *value = (int)(long)argument;
    pthread_setspecific(key, value);
    plain += *value;
    snprintf(text, sizeof text, "thread %d", *value);
    printf("%s: plain %d, deep %d\n", text, plain, deep(100 * *value) > 0);
    return pthread_getspecific(key) == value ? argument : NULL;
}

int main(void) {
    long results = 0;
    for (long i = 1; i <= 5; i++) {
        pthread_attr_t attributes;
        pthread_t thread;
        void *result;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, (size_t)(256 * i) << 10);
        pthread_create(&thread, &attributes, run, (void *)i);
        pthread_join(thread, &result);
        results += (long)result;
    }
    printf("results %ld destroyed %d main: %s %d\n", results, destroyed, text, plain);
    return 0;
}
