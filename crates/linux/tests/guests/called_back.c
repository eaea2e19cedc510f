// A host function calls the guest back for far longer than a thread's turn, while another thread could run.
#include "boundary.h"

#include <pthread.h>

IMPORT(0, 0x1d8f9346, "where", where, "u64 (i32)", uint64_t where(int));

static volatile int over;
static volatile uint64_t turns;

static void *spin(void *unused) {
    while (!over)
        turns = turns + 1;
    return unused;
}

// The sum of the numbers below `count`; 0 if another thread runs meanwhile.
EXPORT(sum, "u64 (i32)");
uint64_t sum(int count) {
    uint64_t before = turns;
    volatile uint64_t sum = 0;
    for (int n = 0; n < count; n++)
        sum = sum + (unsigned)n;
    return turns == before ? sum : 0;
}

int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, 0, spin, 0) != 0)
        return 1;
    for (int count = 200000; count < 200003; count++) {
        if (where(count) != (uint64_t)count * (unsigned)(count - 1) / 2)
            return 2;
        // Now the threads take turns again.
        uint64_t before = turns;
        while (turns == before) {
        }
    }
    over = 1;
    return pthread_join(thread, 0);
}
