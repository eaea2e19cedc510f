#include "bench.h"

#include <string.h>

enum { LIMIT = 1 << 20 };

static unsigned char composite[LIMIT];

static uint64_t count_primes(uint64_t limit) {
    memset(composite, 0, limit);
    uint64_t count = 0;
    for (uint64_t i = 2; i < limit; i++) {
        if (composite[i])
            continue;
        count++;
        for (uint64_t j = i * i; j < limit; j += i)
            composite[j] = 1;
    }
    return count;
}

int main(int argc, char **argv) {
    uint64_t rounds = bench_size(argc, argv);
    uint64_t checksum = BENCH_CHECKSUM_START;
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t primes = count_primes(LIMIT - round);
        checksum = bench_checksum(checksum, &primes, sizeof primes);
    }
    return bench_report(checksum);
}
