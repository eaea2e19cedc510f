// Threads that race: what is printed depends on when each has its turn.
#include <pthread.h>
#include <stdio.h>

enum { COUNT = 4, STEPS = 3000 };

static volatile long counter;
static volatile int order[STEPS];
static volatile int turns;

static void *race(void *argument) {
    for (int n = 0; n < STEPS; n++) {
        long before = counter;
        for (volatile int wait = 0; wait < 7; wait++) {}
        counter = before + 1;
        if (n % 10 == 0 && turns < STEPS) order[turns++] = (int)(long)argument;
    }
    return NULL;
}

int main(void) {
    pthread_t threads[COUNT];
    for (long n = 0; n < COUNT; n++) pthread_create(&threads[n], NULL, race, (void *)n);
    for (int n = 0; n < COUNT; n++) pthread_join(threads[n], NULL);
    unsigned hash = 0;
    for (int n = 0; n < turns; n++) hash = hash * 31 + order[n];
    printf("%ld of %d, %d turns, %08x\n", counter, COUNT * STEPS, turns, hash);
}
