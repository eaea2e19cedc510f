// Two threads that hand over to each other at every depth of a recursion, and often at its bottom.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

enum { DEPTH = 3000, HANDS = 20000 };

static sem_t turns[2];
static unsigned long trace;

static void hand_over(int me, unsigned long what) {
    sem_wait(&turns[me]);
    trace = trace * 31 + what;
    sem_post(&turns[!me]);
}

static __attribute__((noinline)) unsigned long go_down(int me, unsigned long depth) {
    volatile unsigned long own = depth * 7 + me;
    hand_over(me, depth);
    if (depth == 0) {
        for (int n = 0; n < HANDS; n++) hand_over(me, n);
        return 1;
    }
    unsigned long below = go_down(me, depth - 1);
    hand_over(me, own);
    return below + own;
}

static void *run(void *argument) {
    return (void *)go_down(argument != NULL, DEPTH);
}

int main(void) {
    pthread_t threads[2];
    void *results[2];
    sem_init(&turns[0], 0, 1);
    sem_init(&turns[1], 0, 0);
    pthread_create(&threads[0], NULL, run, NULL);
    pthread_create(&threads[1], NULL, run, turns);
    for (int n = 0; n < 2; n++) pthread_join(threads[n], &results[n]);
    printf("%lu %lu %lx\n", (unsigned long)results[0], (unsigned long)results[1], trace);
}
