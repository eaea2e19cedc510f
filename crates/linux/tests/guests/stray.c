// Jumps to addresses where functions and signal handlers return: where they return from nothing, and by frames of its own.
#include "../../../riverrun/tests/guests/boundary.h"

typedef uint64_t word;

enum { CLONE = 220, EXIT_GROUP = 94, FUTEX = 98, GETPID = 172, KILL = 129, READY = 505, SIGACTION = 134, SIGUSR1 = 10 };

// The host calls `strays` with the arguments and gives its result.
IMPORT(0, 0x437ee939, "visit", visit, "u64 (u64, u64)", word visit(word way, word to));

// What an end by a jump gives: it is in a0.
#define VALUE 7

__asm__(".pushsection .text\n.globl jump\n.type jump, @function\njump:\nmv t1, a0\nli a0, 7\njr t1\n"
        ".size jump, . - jump\n"
        ".globl jump_with_sp\n.type jump_with_sp, @function\njump_with_sp:\nmv sp, a1\nj jump\n"
        ".size jump_with_sp, . - jump_with_sp\n"
        // A thread with this stack, which jumps there.
        ".globl spawn\n.type spawn, @function\nspawn:\nmv t2, a1\nmv a1, a0\nli a0, 0x50f00\nli a2, 0\nli a3, 0\n"
        "li a4, 0\nli a7, 220\necall\nbeqz a0, 1f\nret\n1: mv a0, t2\nj jump\n.size spawn, . - spawn\n.popsection\n");
word jump(word to);
word jump_with_sp(word to, word sp);
word spawn(void *stack, word to);

static word call(word number, word a, word b, word c, word d) {
    register word a0 __asm__("a0") = a;
    register word a1 __asm__("a1") = b;
    register word a2 __asm__("a2") = c;
    register word a3 __asm__("a3") = d;
    register word a7 __asm__("a7") = number;
    // The key and the name of a host function, for number 504.
    register word t0 __asm__("t0") = a;
    register word t1 __asm__("t1") = b;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a7), "r"(t0), "r"(t1) : "memory");
    return a0;
}

static volatile word target;
static void handler(int number) {
    jump(target);
}

// What rt_sigreturn reads: the registers are behind a siginfo and a ucontext's head.
static struct {
    word head[(128 + 176) / 8];
    word pc, x[31];
    word floats[66];
} frame __attribute__((aligned(16)));
static word thread_stack[512] __attribute__((aligned(16)));
static int never;

static void fine(void) {
    call(EXIT_GROUP, 42, 0, 0, 0);
}

EXPORT(strays, "u64 (u64, u64)");
word strays(word way, word to) {
    const word signal_return = 0xffeeffe0;
    switch (way) {
    case 0: return jump(to) + 1000;
    case 1: { // In a signal's handler, which may be interrupted by the same.
        word action[] = {(word)handler, 0x40000000, 0};
        target = to;
        call(SIGACTION, SIGUSR1, (word)action, 0, 8);
        return call(KILL, call(GETPID, 0, 0, 0, 0), SIGUSR1, 0, 0) + 1000;
    }
    case 2: // By a frame of its own.
        frame.pc = to == 1 ? (word)fine : to;
        frame.x[1] = (word)(thread_stack + 512);
        frame.x[9] = VALUE;
        return jump_with_sp(signal_return, (word)&frame) + 1000;
    case 3: // By none.
        return jump_with_sp(signal_return, to) + 1000;
    case 4: // In a thread, while this one waits.
        spawn(thread_stack + 512, to);
        return call(FUTEX, (word)&never, 128, 0, 0) + 1000;
    }
    return to;
}

// Keeps a value over a call of the host's, in whose midst the guest strays.
EXPORT(outer, "u64 (u64, u64)");
word outer(word way, word to) {
    return visit(way, to) + 100 * way + (to & 0xff);
}

EXPORT(calls, "u64 (u64, u64, u64)");
word calls(word number, word a, word b) {
    return call(number, a, b, a, b);
}

void _start(word depth, word way, word to) {
    word result = depth == 2 ? outer(way, to) : depth == 1 ? strays(way, to) : 0;
    call(depth ? EXIT_GROUP : READY, result, 0, 0, 0);
    call(EXIT_GROUP, 99, 0, 0, 0);
}
