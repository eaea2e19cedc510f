/* Moves, fills and compares blocks of all small sizes, wherever they lie, by the functions of these names. With an
   argument, one that reaches over the end of what there is. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1024, MARGIN = 64 };

/* Not what compilers know by heart. */
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static void *(*volatile move)(void *, const void *, size_t) = memmove;
static void *(*volatile fill)(void *, int, size_t) = memset;
static int (*volatile compare)(const void *, const void *, size_t) = memcmp;

static unsigned char memory[SIZE], other[SIZE];

static void number(unsigned char *bytes, unsigned seed) {
    for (int i = 0; i < SIZE; i++) bytes[i] = (unsigned char)((seed += 2654435761u) >> 24);
}

static uint64_t hash(const unsigned char *bytes) {
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < SIZE; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

static int sign(int x) { return (x > 0) - (x < 0); }

/* The same where compilers know how much. */
#define LENGTHS(X) X(0) X(1) X(2) X(3) X(4) X(7) X(8) X(9) X(15) X(16) X(17) X(31) X(32) X(33) X(48) X(63) X(64) X(65)
#define CONSTANT(length)                                                                                              \
    number(memory, length), number(other, length + 1);                                                                \
    if (memcpy(memory + MARGIN + 1, other + MARGIN + 3, length) != memory + MARGIN + 1) puts("copy gives another");   \
    all = all * 31 + hash(memory);                                                                                    \
    memmove(memory + MARGIN + 5, memory + MARGIN, length);                                                            \
    all = all * 31 + hash(memory);                                                                                    \
    memmove(memory + MARGIN, memory + MARGIN + 9, length);                                                            \
    all = all * 31 + hash(memory);                                                                                    \
    memset(memory + MARGIN + 2, (int)all, length);                                                                    \
    all = all * 31 + hash(memory);

static uint64_t constants(uint64_t all) {
    LENGTHS(CONSTANT)
    return all;
}

static void over(const char *how) {
    size_t huge = strtoul(how + 1, 0, 0);
    switch (how[0]) {
    case 'c': copy(memory, other, huge); break;
    case 'm': move(memory, other, huge); break;
    case 'f': fill(memory, 1, huge); break;
    case 'e': number(memory, 1), number(other, 1); printf("%d\n", compare(memory, other, huge)); break;
    case 't': copy(memory, (void *)(uintptr_t)(0x100000000 - 32), huge); break;
    case 'n': copy(0, memory, huge); break;
    }
    puts("unharmed");
}

int main(int count, char **arguments) {
    if (count > 1) return over(arguments[1]), 0;
    uint64_t all = 0;
    for (size_t length = 0; length <= 300; length++) {
        for (size_t shift = 0; shift < 9; shift++) {
            number(memory, length * 9 + shift), number(other, length ^ shift);
            unsigned char *to = memory + MARGIN + shift, *from = other + MARGIN + (shift * 5 & 15);
            if (copy(to, from, length) != to) puts("copy gives another place");
            all = all * 31 + hash(memory);
            if (compare(to, from, length) != 0) puts("what was copied differs");
            for (size_t at = 0; at < length; at += 7) {
                from[at] ^= 0x80;
                all = all * 31 + (uint64_t)sign(compare(to, from, length));
                from[at] ^= 0x80;
            }
            /* Over itself, up and down. */
            if (move(to + 3 * shift, to, length) != to + 3 * shift) puts("move gives another place");
            all = all * 31 + hash(memory);
            move(to, to + 5 * shift, length);
            all = all * 31 + hash(memory);
            if (fill(to, (int)(0x100 + length), length) != to) puts("fill gives another place");
            all = all * 31 + hash(memory);
        }
    }
    printf("%016llx\n", (unsigned long long)constants(all));
    return 0;
}
