// Jumps to addresses where nothing of the guest is, in several ways and depths; and any system call.
#include "boundary.h"

typedef uint64_t word;

// The host calls `strays` with the arguments and gives its result.
IMPORT(0, 0x437ee939, "visit", visit, "u64 (u64, u64, u64)", word visit(word way, word to, word value));

// Go to `to` with `value` in a0: as a return, as a jump, and as a call.
#define WAY(name, text)                                                                                                \
    word name(word to, word value);                                                                                    \
    __asm__(".pushsection .text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" text                     \
            ".size " #name ", .-" #name "\n.popsection\n")
WAY(by_return, "mv ra, a0\nmv a0, a1\nret\n");
WAY(by_jump, "mv t1, a0\nmv a0, a1\njr t1\n");
WAY(by_call, "addi sp, sp, -16\nsd ra, 8(sp)\nmv t1, a0\nmv a0, a1\njalr t1\nld ra, 8(sp)\naddi sp, sp, 16\nret\n");

// What each caller adds shows where control has come back to.
__attribute__((noinline, noipa)) static word choose(word way, word to, word value) {
    switch (way) {
    case 0: return by_return(to, value) + 1000;
    case 1: return by_jump(to, value) + 1000;
    default: return by_call(to, value) + 1000;
    }
}

EXPORT(strays, "u64 (u64, u64, u64)");
word strays(word way, word to, word value) {
    return choose(way, to, value) + 100000;
}

// Keeps values over a call of the host's, in whose midst the guest strays.
EXPORT(outer, "u64 (u64, u64, u64)");
word outer(word way, word to, word value) {
    word kept = 3 * value;
    return visit(way, to, value) + kept + (way ^ to);
}

EXPORT(twice, "u64 (u64)");
word twice(word n) {
    return 2 * n;
}

// A system call with such registers.
EXPORT(calls, "u64 (u64, u64, u64, u64)");
word calls(word number, word key, word name, word argument) {
    register word a0 __asm__("a0") = argument;
    register word a1 __asm__("a1") = argument;
    register word a7 __asm__("a7") = number;
    register word t0 __asm__("t0") = key;
    register word t1 __asm__("t1") = name;
    __asm__ volatile("ecall" : "+r"(a0), "+r"(a1) : "r"(a7), "r"(t0), "r"(t1) : "memory");
    return a0;
}

// Strays by itself, or within a call of the host's; `depth` says which.
void _start(word way, word to, word value, word depth) {
    register word a0 __asm__("a0") = (depth ? outer : strays)(way, to, value);
    register word a7 __asm__("a7") = 93;
    __asm__ volatile("ecall" : : "r"(a0), "r"(a7));
}
