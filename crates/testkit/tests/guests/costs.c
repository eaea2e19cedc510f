/* Copies, moves and fills by the C library's functions, wherever the bytes lie; from a0 bytes to less than a1. */

typedef unsigned long word;
typedef unsigned char byte;

void *memcpy(void *, const void *, word);
void *memmove(void *, const void *, word);
void *memset(void *, int, word);

/* Not what compilers know by heart. */
static void *(*volatile copy)(void *, const void *, word) = memcpy;
static void *(*volatile move)(void *, const void *, word) = memmove;
static void *(*volatile fill)(void *, int, word) = memset;

enum { SIZE = 512, HALF = SIZE / 2 };
static byte memory[SIZE];

static word hash(word so_far) {
    for (int i = 0; i < SIZE; i++) so_far = (so_far ^ memory[i]) * 1099511628211u;
    return so_far;
}

static word all(word from, word to) {
    word found = 1469598103934665603u;
    for (word length = from; length < to; length++)
        for (word at = 0; at < 8; at++)
            for (word other = 0; other < 8; other++) {
                memory[at * 8 + other] = (byte)length;
                copy(memory + at, memory + HALF + other, length);
                move(memory + 64 + at, memory + 64 + 9 * other, length);
                fill(memory + 128 + at, (int)(at + other), length);
                found = hash(found);
            }
    return found;
}

void _start(word from, word to) {
    register word a0 __asm__("a0") = all(from, to) >> 40 & 0xff;
    register word a7 __asm__("a7") = 93;
    __asm__ volatile("ecall" ::"r"(a0), "r"(a7));
}
