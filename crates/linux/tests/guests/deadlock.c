// Two threads that each hold the lock that the other one wants, while a third one waits for them; or as many threads as
// there can be.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t both;

static __attribute__((noinline)) void take_both(int first) {
    pthread_mutex_lock(&locks[first]);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&locks[!first]);
}

static void *take(void *argument) {
    take_both(argument != NULL);
    return NULL;
}

static void *stay(void *argument) {
    pause();
    return argument;
}

int main(int argc, char **argv) {
    pthread_t threads[2];
    if (argc > 1) {
        int count = 1, error;
        pthread_attr_t small;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, 32 << 10);
        while ((error = pthread_create(&threads[0], &small, stay, NULL)) == 0) count++;
        printf("%d threads: %s\n", count, strerror(error));
        return 0;
    }
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&threads[0], NULL, take, NULL);
    pthread_create(&threads[1], NULL, take, &locks);
    pthread_join(threads[0], NULL);
}
