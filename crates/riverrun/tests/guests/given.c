// A host function that takes nothing, and what is there behind its calls.
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

// Returns to another function, which reads the second argument.
uint64_t saved;
EXPORT(roundabout, "u64 (u64, u64)");
uint64_t roundabout(uint64_t a, uint64_t b);
__asm__(".pushsection .text\n.globl roundabout\n.type roundabout, @function\nroundabout:\n"
        "lla t1, saved\nsd ra, (t1)\n.insn u 0x0b, x0, 0\nlla ra, landing\nret\n.size roundabout, .-roundabout\n"
        ".type landing, @function\nlanding:\nadd a0, a0, a1\nlla t1, saved\nld ra, (t1)\nret\n"
        ".size landing, .-landing\n.popsection");

void _start(void) {
    __asm__ volatile("li a7, 93\n\tecall");
}
