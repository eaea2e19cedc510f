// Barriers between phases of a computation, and spin locks.
#include <pthread.h>
#include <stdio.h>

enum { MEMBERS = 5, PHASES = 200, CELLS = 500 };

static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static unsigned cells[2][CELLS], serial, spins;

static void *work(void *argument) {
    long member = (long)argument;
    for (int phase = 0; phase < PHASES; phase++) {
        unsigned *from = cells[phase % 2], *to = cells[1 - phase % 2];
        for (int i = (int)member; i < CELLS; i += MEMBERS)
            to[i] = from[(i + CELLS - 1) % CELLS] ^ from[i] * 3 ^ (from[(i + 1) % CELLS] >> 1);
        pthread_spin_lock(&spin);
        spins++;
        pthread_spin_unlock(&spin);
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) serial++;
    }
    return NULL;
}

int main(void) {
    pthread_t threads[MEMBERS];
    unsigned sum = 0;
    cells[0][CELLS / 2] = 1;
    pthread_barrier_init(&barrier, NULL, MEMBERS);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    for (long i = 0; i < MEMBERS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < MEMBERS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < CELLS; i++) sum = sum * 31 + cells[0][i];
    printf("sum %08x serial %u spins %u\n", sum, serial, spins);
    printf("destroyed %d\n", pthread_barrier_destroy(&barrier));
    return 0;
}
