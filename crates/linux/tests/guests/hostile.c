// Threads that do their worst: random calls on threads, by random threads, with random arguments.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t state;
static uint32_t words[64];
static char stacks[16][4096];

static uint64_t next(void) {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static uint64_t below(uint64_t end) { return next() % end; }

static uint64_t address(void) {
    switch (below(8)) {
    case 0: return next();
    case 1: return 0;
    case 2: return (uint64_t)stacks[below(16)] + below(4096);
    case 3: return (uint64_t)words + below(300);
    default: return (uint64_t)&words[below(64)];
    }
}

static long call(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f) {
    register uint64_t a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c, a3 __asm__("a3") = d;
    register uint64_t a4 __asm__("a4") = e, a5 __asm__("a5") = f, a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7) : "memory");
    return a0;
}

static void work(void);

// A thread begins at its stack's top, in `work`, which does not return.
static long begin(uint64_t flags, uint64_t stack) {
    register uint64_t a0 __asm__("a0") = flags, a1 __asm__("a1") = stack, a2 __asm__("a2") = address();
    register uint64_t a3 __asm__("a3") = address(), a4 __asm__("a4") = address(), a7 __asm__("a7") = SYS_clone;
    __asm__ volatile("ecall\n bnez a0, 1f\n call %[work]\n1:"
                     : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a7), [work] "i"(work) : "memory", "ra");
    return a0;
}

static void handle(int number) {
    if (below(4) == 0) call(SYS_tkill, 1000 + below(20), number, 0, 0, 0, 0);
}

static uint64_t timeout(void) {
    static int64_t times[4][2] = {{0, 1000}, {0, 0}, {0, 2000000}, {0, -1}};
    return below(3) ? (uint64_t)times[below(4)] : 0;
}

static void work(void) {
    for (;;) {
        switch (below(24)) {
        case 0: case 1: case 2: {
            uint64_t flags = 0x50f00 | (below(4) ? 0 : next() & next());
            uint64_t stack = below(12) ? (uint64_t)stacks[below(16)] + 4096 - 16 * below(4) : address();
            begin(flags | (below(2) << 24 | below(2) << 21 | below(2) << 20), stack & ~15);
            break;
        }
        case 3: case 4: case 5: case 6: case 7: case 8:
            call(SYS_futex, address(), below(13) | (below(2) << 7) | (below(4) == 0) << 8, below(4) ? 0 : next(), timeout(),
                 address(), below(2) ? ~0u : next());
            break;
        case 9: call(SYS_futex, address(), 1, below(100), 0, 0, 0); break;
        case 10: if (below(3) == 0) call(SYS_exit, next(), 0, 0, 0, 0, 0); break;
        case 11: call(SYS_set_robust_list, address(), 24, 0, 0, 0, 0); break;
        case 12: call(SYS_set_tid_address, address(), 0, 0, 0, 0, 0); break;
        case 13: call(below(2) ? SYS_tkill : SYS_kill, 1000 + below(20), 10 + 2 * below(2), 0, 0, 0, 0); break;
        case 14: call(SYS_tgkill, 1000, 1000 + below(20), 10, 0, 0, 0); break;
        case 15: call(SYS_sched_yield, 0, 0, 0, 0, 0, 0); break;
        case 16: words[below(64)] = below(3) ? 0 : next(); break;
        case 17: call(SYS_rt_sigprocmask, below(3), address(), address(), 8, 0, 0); break;
        case 18: call(SYS_rt_sigtimedwait, address(), 0, timeout(), 8, 0, 0); break;
        case 19: call(SYS_nanosleep, timeout(), address(), 0, 0, 0, 0); break;
        case 20: call(SYS_ppoll, address(), below(3), timeout(), 0, 8, 0); break;
        case 21: {
            uint64_t arguments[8] = {0x50f00, 0, address(), address(), 0, (uint64_t)stacks[below(16)], 4096, address()};
            if (below(4) == 0) call(SYS_clone3, (uint64_t)arguments, 64 + 8 * below(3), 0, 0, 0, 0);
            break;
        }
        case 22: call(SYS_get_robust_list, 1000 + below(20), address(), address(), 0, 0, 0); break;
        case 23: call(below(2) ? SYS_rt_sigsuspend : SYS_sched_getaffinity, address(), 8, address(), 0, 0, 0); break;
        }
    }
}

int main(int argc, char **argv) {
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    signal(10, handle);
    signal(12, handle);
    // One thread does not wait, so that there is always one.
    for (;;) {
        if (below(3) == 0) begin(0x50f00, (uint64_t)stacks[below(16)] + 4096);
        call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
        if (below(8) == 0) call(SYS_futex, (uint64_t)&words[below(64)], 1, 99, 0, 0, 0);
    }
}
