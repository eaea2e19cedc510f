// Takes values from a function on a stack of its own, by swapcontext, or WITHOUT it by calling one.
#include "bench.h"

#include <ucontext.h>

static uint64_t value;

#ifdef WITHOUT
__attribute__((noinline)) static void next(void) {
    static uint64_t i;
    value = i * i;
    i++;
}
#else
static ucontext_t taker, giver;
static char stack[64 << 10];

static void give(void) {
    for (uint64_t i = 0;; i++) {
        value = i * i;
        swapcontext(&giver, &taker);
    }
}

static void next(void) { swapcontext(&taker, &giver); }
#endif

int main(int argc, char **argv) {
    uint64_t size = bench_size(argc, argv), sum = 0;
#ifndef WITHOUT
    getcontext(&giver);
    giver.uc_stack.ss_sp = stack;
    giver.uc_stack.ss_size = sizeof stack;
    makecontext(&giver, give, 0);
#endif
    for (uint64_t i = 0; i < size; i++) {
        next();
        sum = sum * 31 + value;
    }
    return bench_report(sum);
}
