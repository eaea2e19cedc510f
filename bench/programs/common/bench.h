// What every benchmark program shares: its size from argv[1] and its one line of output.
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// The work size; the harness passes it, so that no compiler can fold the work away.
static inline uint64_t bench_size(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s SIZE\n", argc > 0 ? argv[0] : "program");
        exit(2);
    }
    return strtoull(argv[1], NULL, 10);
}

#define BENCH_CHECKSUM_START 0xcbf29ce484222325u

// FNV-1a over bytes, continuing from `checksum`.
static inline uint64_t bench_checksum(uint64_t checksum, const void *data, size_t size) {
    const unsigned char *bytes = (const unsigned char *)data;
    for (size_t i = 0; i < size; i++)
        checksum = (checksum ^ bytes[i]) * 0x100000001b3u;
    return checksum;
}

static inline int bench_report(uint64_t checksum) {
    char digits[17];
    for (int i = 0; i < 16; i++)
        digits[i] = "0123456789abcdef"[checksum >> (60 - 4 * i) & 15];
    digits[16] = 0;
    puts(digits);
    return 0;
}

#endif
