// Sums of long products, as big numbers are multiplied, beside the same by halves of words, which carry nothing.
#include <stdint.h>

typedef unsigned __int128 wide;

enum { TERMS = 5, ROUNDS = 200 };

__attribute__((noinline)) static wide by_carries(const uint64_t *a, const uint64_t *b, uint64_t start) {
    wide sum = start;
    for (int i = 0; i < TERMS; i++)
        sum += (wide)a[i] * b[TERMS - 1 - i];
    return sum + (uint64_t)(sum >> 64) + a[0] + b[0];
}

static void add_at(uint32_t *limbs, int at, uint64_t number) {
    for (; number != 0 && at < 4; at++) {
        number += limbs[at];
        limbs[at] = (uint32_t)number;
        number >>= 32;
    }
}

static void add_word(uint32_t *limbs, uint64_t word) {
    add_at(limbs, 0, (uint32_t)word);
    add_at(limbs, 1, word >> 32);
}

static wide by_halves(const uint64_t *a, const uint64_t *b, uint64_t start) {
    uint32_t limbs[4] = {0};
    add_word(limbs, start);
    for (int i = 0; i < TERMS; i++)
        for (int n = 0; n < 4; n++) {
            uint64_t x = (uint32_t)(a[i] >> 32 * (n & 1)), y = (uint32_t)(b[TERMS - 1 - i] >> 32 * (n >> 1));
            add_at(limbs, (n & 1) + (n >> 1), x * y);
        }
    add_word(limbs, (uint64_t)limbs[3] << 32 | limbs[2]);
    add_word(limbs, a[0]);
    add_word(limbs, b[0]);
    return (wide)((uint64_t)limbs[3] << 32 | limbs[2]) << 64 | ((uint64_t)limbs[1] << 32 | limbs[0]);
}

// Many words have ones or zeros only, in half of them: these carry far.
static uint64_t next(uint64_t *random) {
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    uint64_t word = *random ^ *random >> 29;
    return (word & 1 ? word : 0) | (word & 2 ? 0xffffffff : 0) | (word & 4 ? (uint64_t)-1 << 32 : 0);
}

static long check(void) {
    uint64_t random = 1, a[TERMS], b[TERMS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < TERMS; i++)
            a[i] = next(&random), b[i] = next(&random);
        uint64_t start = next(&random);
        if (by_carries(a, b, start) != by_halves(a, b, start))
            return 1;
    }
    return 0;
}

void _start(void) {
    register long status __asm__("a0") = check();
    register long number __asm__("a7") = 93;
    __asm__ volatile("ecall" : : "r"(status), "r"(number));
    __builtin_unreachable();
}
