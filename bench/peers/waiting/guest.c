// A call that waits for the host, with a frame on the stack and a number in memory that are used afterwards.
#include <stdint.h>

#define EXPORT(function, signature)                                                                                    \
    __asm__(".pushsection .rodata\n.Lname_" #function ": .asciz \"" #function "\"\n"                                 \
            ".Ltypes_" #function ": .asciz \"" signature "\"\n.popsection\n"                                         \
            ".pushsection .riverrun.exports, \"a\"\n.balign 8\n"                                                       \
            ".dword " #function ", .Lname_" #function ", .Ltypes_" #function "\n.popsection\n")

__asm__(".pushsection .rodata\n.Limport: .asciz \"later\"\n.Ltakes: .asciz \"i64 (i64)\"\n.popsection\n"
        ".pushsection .riverrun.imports, \"a\"\n.balign 8\n.word 0, 0xec03b249\n.dword .Limport, .Ltakes\n"
        ".popsection\n");

static inline int64_t later(int64_t x) {
    register int64_t a0 __asm__("a0") = x;
    __asm__ volatile(".insn u 0x0b, x0, 0" : "+r"(a0) : : "memory");
    return a0;
}

static volatile int64_t calls;

EXPORT(ask, "i64 (i64)");
int64_t ask(int64_t x) {
    volatile int64_t on_stack = x;
    calls += 1;
    int64_t answer = later(x);
    return answer + on_stack + calls;
}

void _start(void) {}
