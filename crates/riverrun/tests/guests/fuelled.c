// A host function that calls the guest back: what it gives is what the guest goes on with, however much fuel that took.
#include "boundary.h"

IMPORT(0, 0x49e22396, "given", given, "u64 ()", uint64_t given(void));

// Takes fuel.
EXPORT(work, "u64 (u64)");
uint64_t work(uint64_t times) {
    while (times-- > 0)
        __asm__ volatile("");
    return 7;
}

EXPORT(asked, "u64 (u64)");
uint64_t asked(uint64_t added) {
    return given() + added;
}

void _start(void) {
    __asm__ volatile("li a7, 93\n\tecall");
}
