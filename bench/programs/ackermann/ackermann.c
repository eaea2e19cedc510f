// Ackermann's function: recursion thousands of calls deep.
#include "bench.h"

// `noinline` keeps compilers from unrolling the recursion: calls are what is measured.
__attribute__((noinline)) static uint64_t ackermann(uint64_t m, uint64_t n) {
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

int main(int argc, char **argv) {
    uint64_t rounds = bench_size(argc, argv);
    uint64_t checksum = BENCH_CHECKSUM_START;
    for (uint64_t round = 0; round < rounds; round++) {
        // What the last round gave decides how deep this one goes.
        uint64_t result = ackermann(3, 6 + (checksum >> 8 & 1));
        checksum = bench_checksum(checksum, &result, sizeof result);
    }
    return bench_report(checksum);
}
