// Instructions that trap, each between reads and writes of registers, and a handler that changes some of them and goes on
// behind the instruction.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <ucontext.h>

static uint64_t seen;

static void step_over(int number, siginfo_t *info, void *context) {
    unsigned long *x = ((ucontext_t *)context)->uc_mcontext.__gregs;
    seen = seen * 31 + x[5] + x[10] * 3 + x[11] * 5 + x[18] * 7 + x[28] * 11;
    x[0] += 4;
    x[10] += (unsigned)number;
    x[18] += 3;
}

// What it needs behind the trap it has from before, or from its caller alone.
#define FUNCTIONS(name, trap)                                                                                          \
    __attribute__((noinline)) static uint64_t name(uint64_t value, uint64_t other) {                                   \
        for (uint64_t turn = 0; turn < 100; turn++) {                                                                  \
            register uint64_t a0 __asm__("a0") = value;                                                                \
            register uint64_t a1 __asm__("a1") = other * 3;                                                            \
            register uint64_t s2 __asm__("s2") = other + turn;                                                         \
            register uint64_t t0 __asm__("t0") = value ^ 5;                                                            \
            register uint64_t t3 __asm__("t3") = value + 9;                                                            \
            __asm__ volatile(trap : "+r"(a0), "+r"(a1), "+r"(s2), "+r"(t0), "+r"(t3) : : "memory");                    \
            value = a0 * 3 + turn + s2 * 7;                                                                            \
            other = a1 ^ (t0 + t3);                                                                                    \
        }                                                                                                              \
        return value ^ other;                                                                                          \
    }                                                                                                                  \
    __attribute__((noinline)) static double name##_first(uint64_t one, double two, uint64_t three) {                   \
        __asm__ volatile(trap : "+r"(one) : : "memory");                                                               \
        return (double)(one + 2 * three) + two;                                                                        \
    }

#define WORD(bits) ".word " #bits
FUNCTIONS(breakpoint, ".option push\n.option norvc\nebreak\n.option pop")
FUNCTIONS(unimplemented, WORD(0xc0001073))
FUNCTIONS(ones, WORD(0xffffffff))
FUNCTIONS(opcode, WORD(0x0000007f))
FUNCTIONS(csr, "csrrw x0, 0x180, x0")
FUNCTIONS(zeros, ".half 0\n.half 1")

int main(void) {
    struct sigaction action = {.sa_sigaction = step_over, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, NULL);
    sigaction(SIGTRAP, &action, NULL);
#define SHOW(name)                                                                                                     \
    seen = 0;                                                                                                          \
    printf(#name ": %lu, ", name(1, 2));                                                                               \
    printf("%lu, ", seen);                                                                                             \
    printf("%d\n", (int)name##_first(3, 4.5, 5))
    SHOW(breakpoint);
    SHOW(ones);
    SHOW(opcode);
    SHOW(csr);
    SHOW(unimplemented);
    SHOW(zeros);
    return 0;
}
