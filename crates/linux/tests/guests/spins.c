// Threads that wait for each other by spinning: each round ends only if the one that spins is interrupted.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define ROUNDS 3

static atomic_int turn;
static unsigned sum[2];

// A function that begins with its loop.
__attribute__((noinline, noclone)) static void wait_for(atomic_int *place, int own) {
    while (atomic_load_explicit(place, memory_order_relaxed) != own) {
    }
}

static void *spin(void *argument) {
    int own = argument != 0;
    for (int round = 0; round < ROUNDS; round++) {
        while (atomic_load_explicit(&turn, memory_order_acquire) != own) {
        }
        wait_for(&turn, own);
        for (unsigned i = 0; i < 40000; i++) {
            sum[own] = sum[own] * 1664525 + i;
        }
        atomic_store_explicit(&turn, !own, memory_order_release);
    }
    return 0;
}

static void *later(void *argument) {
    atomic_store_explicit(&turn, 7, memory_order_release);
    return argument;
}

int main(void) {
    pthread_t other;
    pthread_create(&other, 0, spin, &other);
    spin(0);
    pthread_join(other, 0);
    printf("%u %u\n", sum[0], sum[1]);
    pthread_create(&other, 0, later, 0);
    wait_for(&turn, 7);
    pthread_join(other, 0);
    puts("done");
    return 0;
}
