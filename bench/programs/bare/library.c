// As much of C's library as the integer programs need. Messages go nowhere: a failure is a status.
#include "host.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Keeps the compiler from turning a function into a call of itself.
#define PLAIN __attribute__((no_builtin))

enum { WORD = sizeof(uint64_t), HEAP = 1 << 20 };

PLAIN void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    unsigned char *out = to;
    const unsigned char *in = from;
    if (((uintptr_t)out | (uintptr_t)in) % WORD == 0)
        for (; size >= WORD; size -= WORD, out += WORD, in += WORD)
            *(uint64_t *)(void *)out = *(const uint64_t *)(const void *)in;
    while (size-- > 0)
        *out++ = *in++;
    return to;
}

PLAIN void *memmove(void *to, const void *from, size_t size) {
    unsigned char *out = to;
    const unsigned char *in = from;
    if (out <= in || out >= in + size)
        return memcpy(to, from, size);
    while (size-- > 0)
        out[size] = in[size];
    return to;
}

PLAIN void *memset(void *to, int byte, size_t size) {
    unsigned char *out = to;
    for (; size > 0 && (uintptr_t)out % WORD != 0; size--)
        *out++ = (unsigned char)byte;
    for (; size >= WORD; size -= WORD, out += WORD)
        *(uint64_t *)(void *)out = (unsigned char)byte * (uint64_t)0x0101010101010101;
    while (size-- > 0)
        *out++ = (unsigned char)byte;
    return to;
}

PLAIN int memcmp(const void *a, const void *b, size_t size) {
    const unsigned char *x = a, *y = b;
    for (; size > 0; size--, x++, y++)
        if (*x != *y)
            return *x - *y;
    return 0;
}

PLAIN size_t strlen(const char *text) {
    size_t size = 0;
    while (text[size] != 0)
        size++;
    return size;
}

// Nothing is ever freed: programs ask for little, and once.
void *malloc(size_t size) {
    static _Alignas(16) unsigned char heap[HEAP];
    static size_t used;
    size = (size + 15) / 16 * 16;
    if (size > HEAP - used)
        return NULL;
    void *place = heap + used;
    used += size;
    return place;
}

void free(void *place) { (void)place; }

// Decimal digits only.
unsigned long long strtoull(const char *text, char **end, int base) {
    (void)end, (void)base;
    unsigned long long value = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (unsigned)(*text - '0');
    return value;
}

int puts(const char *text) {
    host_print(text, strlen(text));
    host_print("\n", 1);
    return 0;
}

int fprintf(FILE *file, const char *format, ...) {
    (void)file, (void)format;
    return 0;
}

_Noreturn void exit(int status) { host_exit(status); }
_Noreturn void abort(void) { host_exit(134); }
