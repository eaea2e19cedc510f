#include "bench.h"

// `noinline` keeps compilers from unrolling the recursion into a loop: calls are what is measured.
__attribute__((noinline)) static uint64_t fib(uint64_t n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(int argc, char **argv) {
    return bench_report(fib(bench_size(argc, argv)));
}
