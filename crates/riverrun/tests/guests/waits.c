// Calls of host functions that wait, with values in registers, on the stack, and in frames of callers.
#include "boundary.h"

IMPORT(0, 0xec03b249, "later", later, "i64 (i64)", int64_t later(int64_t));
IMPORT(1, 0xf60fa619, "sum_later", sum_later, "f64 (f64, i32)", double sum_later(double, int));
IMPORT(2, 0xd31847ad, "fill_later", fill_later, "void (ptr, u64)", void fill_later(uint8_t *, size_t));
IMPORT(3, 0x913a02ef, "twice_later", twice_later, "i64 (ptr, i64)", int64_t twice_later(int64_t (*)(int64_t), int64_t));
IMPORT(4, 0x192062cf, "plain", plain, "i64 (i64)", int64_t plain(int64_t));

EXPORT(loop, "i64 (i64)");
EXPORT(deep, "i64 (i64)");
EXPORT(floats, "f64 (i32)");
EXPORT(fill, "i64 (u64)");
EXPORT(back, "i64 (i64)");
EXPORT(nested, "i64 (i64)");
EXPORT(add, "i64 (i64)");
EXPORT(kept, "i64 (i64)");

int64_t add(int64_t n) {
    return n + 7;
}

int64_t loop(int64_t n) {
    int64_t a = 1, b = 2, c = 3, d = 5, e = 8;
    for (int64_t i = 0; i < n; i++) {
        a += later(i) * b;
        b ^= a + c;
        c += plain(d) - e;
        d = (d * 3) ^ later(e & 15);
        e += a ^ d;
    }
    return a ^ b ^ c ^ d ^ e;
}

__attribute__((noinline)) int64_t deep(int64_t n) {
    if (n == 0)
        return later(100);
    int64_t below = deep(n - 1);
    return below * 3 + n + later(n);
}

double floats(int n) {
    double sum = 0.5, factor = 1.25;
    for (int i = 0; i < n; i++) {
        sum = sum_later(sum, i) * factor;
        factor += 0.125;
    }
    return sum;
}

static uint8_t bytes[4096];

int64_t fill(uint64_t n) {
    fill_later(bytes, n);
    int64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += bytes[i];
    return sum;
}

int64_t back(int64_t n) {
    return twice_later(add, n) + n;
}

// Calls in the midst of code that keeps values in the registers of arguments, as inlined stubs do.
int64_t kept(int64_t n) {
    register int64_t a0 __asm__("a0") = n;
    register int64_t a1 __asm__("a1") = n * 3, a2 __asm__("a2") = n ^ 5, a3 __asm__("a3") = n + 7;
    register int64_t a4 __asm__("a4") = n - 11, a5 __asm__("a5") = n * 13, t0 __asm__("t0") = n ^ 17;
    __asm__ volatile(".insn u 0x0b, x0, 0"
                     : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3), "+r"(a4), "+r"(a5), "+r"(t0)
                     :
                     : "memory");
    return a0 * 3 ^ a1 * 5 ^ a2 * 7 ^ a3 * 11 ^ a4 * 13 ^ a5 * 17 ^ t0 * 19;
}

// `plain` calls this again, which then waits.
int64_t nested(int64_t n) {
    return n < 0 ? later(n) : plain(-1000 - n);
}

void _start(void) {
    __asm__ volatile(".option push\n.option norelax\nla gp, __global_pointer$\n.option pop\n");
    register int64_t a0 __asm__("a0") = (loop(20) ^ deep(9)) & 127;
    register int64_t a7 __asm__("a7") = 93;
    __asm__ volatile("ecall" : : "r"(a0), "r"(a7));
}
