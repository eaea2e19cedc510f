// Threads that wait for each other by spinning: each round ends only if the one that spins is interrupted.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define ROUNDS 3

static atomic_int turn;
static unsigned sum[2];

static void *spin(void *argument) {
    int own = argument != 0;
    for (int round = 0; round < ROUNDS; round++) {
        while (atomic_load_explicit(&turn, memory_order_acquire) != own) {
        }
        for (unsigned i = 0; i < 40000; i++) {
            sum[own] = sum[own] * 1664525 + i;
        }
        atomic_store_explicit(&turn, !own, memory_order_release);
    }
    return 0;
}

int main(void) {
    pthread_t other;
    pthread_create(&other, 0, spin, &other);
    spin(0);
    pthread_join(other, 0);
    printf("%u %u\n", sum[0], sum[1]);
    return 0;
}
