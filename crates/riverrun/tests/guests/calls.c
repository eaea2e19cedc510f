// Calls in both directions, of all kinds of types.
#include "boundary.h"

struct ii {
    int32_t a, b;
};
struct ll {
    int64_t a, b;
};
struct df {
    double a;
    float b;
};
struct ld {
    int64_t a;
    double b;
};
struct point {
    float x, y;
};

IMPORT(0, 0x0f68396c, "nop", nop, "void ()", void nop(void));
IMPORT(1, 0xa77c1dcb, "ints", ints, "i64 (i8, u8, i16, u16, i32, u32, i64, u64, bool, i32)", int64_t ints(int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, bool, int32_t));
IMPORT(2, 0x9ba20d9e, "floats", floats, "f64 (f32, f64, f32, f64, f32, f64, f32, f64, f32, f64, f64)", double floats(float, double, float, double, float, double, float, double, float, double, double));
IMPORT(3, 0xe919ff23, "mixed", mixed, "f32 (i32, f32, i64, f64)", float mixed(int, float, long, double));
IMPORT(4, 0x0009ce1e, "pair_ii", pair_ii, "{i32, i32} (i32)", struct ii pair_ii(int));
IMPORT(5, 0x0d14ced4, "pair_ll", pair_ll, "{i64, i64} (i32)", struct ll pair_ll(int));
IMPORT(6, 0x2518adc2, "pair_df", pair_df, "{f64, f32} (i32)", struct df pair_df(int));
IMPORT(7, 0x03cf46e6, "pair_ld", pair_ld, "{i64, f64} (i32)", struct ld pair_ld(int));
IMPORT(8, 0x86272b49, "fail", fail, "void (i32)", void fail(int));
IMPORT(9, 0x9ea78192, "panic", panic_, "void ()", void panic_(void));
IMPORT(10, 0x8f3f68c5, "log", log_, "void (ptr)", void log_(const char*));
IMPORT(11, 0xc8bd9f4d, "sum", sum, "f32 (ptr, u64)", float sum(const float*, size_t));
IMPORT(12, 0xf5438eb4, "fill", fill, "void (ptr, u64)", void fill(uint8_t*, size_t));
IMPORT(13, 0xb7a5f324, "point", point, "f32 (ptr)", float point(struct point*));
IMPORT(14, 0x5a4fa66b, "call_back", call_back, "i32 (ptr, i32)", int call_back(int (*)(int), int));
IMPORT(15, 0x1d8f9346, "where", where, "u64 (i32)", uint64_t where(int));
IMPORT(16, 0x9409840e, "exit", exit_, "void (i32)", void exit_(int));

// Registers that a call must not change hold these, and are looked at afterwards.
#define KEPT(instruction, result)                                                                                      \
    __asm__ volatile("fld fs3, %1\nfmv.d.x ft9, %2\nmv s5, %2\nmv t3, %2\nmv t6, %2\nmv a5, %2\nmv a2, %2\n"           \
                     "mv t1, ra\n" instruction "\n"                                                                    \
                     "sub t1, t1, ra\nsub t3, t3, %2\nsub t6, t6, %2\nsub a5, a5, %2\nsub a2, a2, %2\nsub s5, s5, %2\n"      \
                     "fmv.x.d t2, ft9\nsub t2, t2, %2\nfmv.x.d t0, fs3\nld t4, %1\nsub t0, t0, t4\n"                     \
                     "or t0, t0, t1\nor t0, t0, t2\nor t0, t0, t3\nor t0, t0, t6\nor t0, t0, a5\nor t0, t0, s5\n"      \
                     "or %0, t0, a2\n"                                                                                 \
                     : "=r"(result)                                                                                    \
                     : "m"(pattern), "r"(0x123456789abcdef1)                                                           \
                     : "t0", "t1", "t2", "t3", "t4", "t6", "a0", "a1", "a2", "a5", "s5", "ft9", "fs3", "memory")

static double pattern = 1.25;
static int calls;

EXPORT(kept, "u64 ()");
uint64_t kept(void) {
    uint64_t result;
    KEPT(".insn u 0x0b, x0, 0", result);
    return result;
}

// The same about a call that calls back.
int clobber(int x) {
    __asm__ volatile("li t3, 1\nli t6, 2\nli a5, 3\nli a2, 4\nli s5, 5\nfmv.d.x ft9, x0\nfmv.d.x fs3, x0\nli t1, 6\n" ::
                         : "t3", "t6", "a5", "a2", "ft9", "t1", "memory");
    return x + 1;
}

EXPORT(kept_by_callback, "u64 ()");
uint64_t kept_by_callback(void) {
    uint64_t result;
    KEPT("la a0, clobber\nli a1, 7\n.insn u 0x0b, x0, 14", result);
    return result;
}

EXPORT(call_nop, "void ()");
void call_nop(void) {
    nop();
}

EXPORT(empty, "void ()");
void empty(void) {}

EXPORT(add, "i32 (i32, i32)");
int add(int a, int b) {
    return a + b;
}

EXPORT(scale, "f64 (f32, f64)");
double scale(float a, double b) {
    return a * b;
}

EXPORT(many, "i64 (i32, f32, i32, f64, i32, i32, i32, i32, i32, i32, i32, f64)");
int64_t many(int a, float b, int c, double d, int e, int f, int g, int h, int i, int j, int k, double l) {
    return a + 2 * (int)b + 3 * c + 4 * (int)d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * (int)l;
}

EXPORT(swap, "{i32, i32} (i64)");
struct ii swap(int64_t both) {
    return (struct ii){(int)(both >> 32), (int)both};
}

EXPORT(call_ints, "i64 ()");
int64_t call_ints(void) {
    return ints(-1, 255, -2, 65535, -3, 0xfffffffd, -4, ~0ul, true, 10);
}

EXPORT(call_floats, "f64 ()");
double call_floats(void) {
    return floats(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
}

EXPORT(call_mixed, "f32 ()");
float call_mixed(void) {
    return mixed(1, 2.5f, 3, 4.25);
}

EXPORT(call_pairs, "f64 (i32)");
double call_pairs(int x) {
    struct ii ii = pair_ii(x);
    struct ll ll = pair_ll(x);
    struct df df = pair_df(x);
    struct ld ld = pair_ld(x);
    return ii.a + 2 * ii.b + 3 * ll.a + 4 * ll.b + 5 * df.a + 6 * df.b + 7 * ld.a + 8 * ld.b;
}

EXPORT(call_fail, "void (i32)");
void call_fail(int x) {
    calls++;
    fail(x);
}

EXPORT(fail_computed, "void (i32)");
void fail_computed(int x) {
    calls++;
    fail(3 * x + calls);
}

EXPORT(fail_constant, "void ()");
void fail_constant(void) {
    calls++;
    fail(124);
}

EXPORT(call_panic, "void ()");
void call_panic(void) {
    calls++;
    panic_();
}

EXPORT(count, "i32 ()");
int count(void) {
    return calls;
}

EXPORT(call_log, "void (ptr)");
void call_log(const char* text) {
    log_(text ? text : "hello");
}

EXPORT(call_sum, "f32 (ptr, u64)");
float call_sum(const float* values, size_t len) {
    static const float own[] = {1, 2, 3.5};
    return values ? sum(values, len) : sum(own, 3);
}

EXPORT(call_fill, "i32 (ptr, u64)");
int call_fill(uint8_t* to, size_t len) {
    static uint8_t own[4] = {1, 1, 1, 1};
    fill(to ? to : own, to ? len : 3);
    return own[0] << 24 | own[1] << 16 | own[2] << 8 | own[3];
}

EXPORT(call_point, "f32 (ptr)");
float call_point(struct point* to) {
    struct point own = {1.5, 2};
    float sum = point(to ? to : &own);
    return sum + 10 * own.x;
}

// Recursion between guest and host, `depth` times.
EXPORT(recurse, "i32 (i32)");
int recurse(int depth) {
    return depth == 0 ? 0 : 1 + call_back(recurse, depth - 1);
}

EXPORT(call_call_back, "i32 (ptr, i32)");
int call_call_back(int (*function)(int), int x) {
    return call_back(function, x);
}

// Holds more over a call back than fits into registers, and calls back another function than itself.
int leaf(int depth) {
    int sum = 0;
    for (int i = 0; i < depth; i++) {
        volatile int local = i;
        sum += local;
    }
    return sum & 0;
}

EXPORT(spill, "i32 (ptr, i32)");
int spill(int (*unused)(int), int rounds) {
    (void)unused;
    int total = 0;
    for (int round = 0; round < rounds; round++) {
        volatile int seed = 1;
        int a[40];
        for (int i = 0; i < 40; i++) {
            a[i] = seed + i;
        }
        int b = seed, c = seed + 1, d = seed + 2, e = seed + 3, f = seed + 4, g = seed + 5, h = seed + 6, k = seed + 7;
        int back = call_back(leaf, 40);
        int sum = back + b + c + d + e + f + g + h + k - 36;
        for (int i = 0; i < 40; i++) {
            sum += a[i];
        }
        total += sum;
    }
    return total;
}

EXPORT(pointer, "ptr ()");
int (*pointer(void))(int) {
    return clobber;
}

EXPORT(trap, "void ()");
void trap(void) {
    static int* volatile nowhere = (int*)16;
    *nowhere = 1;
}

EXPORT(spin, "void ()");
void spin(void) {
    for (;;) {
        __asm__ volatile("");
    }
}

EXPORT(call_spin, "i32 ()");
int call_spin(void) {
    return call_back((int (*)(int))spin, 1);
}

EXPORT(call_where, "u64 (i32)");
uint64_t call_where(int what) {
    uint64_t result;
    __asm__ volatile("mv a0, %1\nhere:\n.insn u 0x0b, x0, 15\nmv %0, a0\n.globl here" : "=r"(result) : "r"(what) : "a0", "memory");
    return result;
}

// The other forms of calls.
EXPORT(call_inline, "i32 (i32)");
int call_inline(int x) {
    register int a0 __asm__("a0") = x;
    register long a7 __asm__("a7") = (int)0x896742bu;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
    return a0;
}

EXPORT(call_opaque, "i32 (i32)");
int call_opaque(int x) {
    register int a0 __asm__("a0") = x;
    register long a7 __asm__("a7") = 504;
    register long t0 __asm__("t0") = (int)0x896742bu;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(t0) : "memory");
    return a0;
}

EXPORT(system_call, "i64 (i64, i64)");
int64_t system_call(int64_t number, int64_t x) {
    register int64_t a0 __asm__("a0") = x;
    register int64_t a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
    return a0;
}

EXPORT(unbound, "void ()");
void unbound(void) {
    __asm__ volatile(".insn u 0x0b, x0, 1000");
}

EXPORT(loop, "i64 (i64)");
int64_t loop(int64_t times) {
    int64_t sum = 0;
    for (int64_t i = 0; i < times; i++) {
        sum += where(0) != 0;
        nop();
    }
    return sum;
}

// Waits for ever in compiled code that has been left before, for the handler of system calls.
EXPORT(spin_behind_a_call, "void ()");
void spin_behind_a_call(void) {
    system_call(1, 0);
    spin();
}

EXPORT(call_exit, "void (i32)");
void call_exit(int status) {
    system_call(93, status);
}

#ifdef FLOAT_FLAGS
IMPORT(17, 0x8cfb0591, "tenth", tenth, "f64 (f64)", double tenth(double));

// The rounding mode around a host function that rounds, with what it gives.
EXPORT(rounds_down, "{u64, f64} ()");
struct ld rounds_down(void) {
    struct ld result;
    __asm__ volatile("li t0, 1\nfcvt.d.w fa0, t0\nfsrmi 2\n.insn u 0x0b, x0, 17\nfrrm %0\nfmv.d %1, fa0\nfsrmi 0"
                     : "=r"(result.a), "=f"(result.b)
                     :
                     : "t0", "a0", "a1", "fa0", "fa1", "memory");
    return result;
}

// The exceptions that have accrued behind a host function that raises one, where the guest raises `divisor`'s.
EXPORT(exceptions, "u64 (f64, f64)");
uint64_t exceptions(double x, double divisor) {
    uint64_t flags;
    __asm__ volatile("fsflags x0\nfdiv.d %2, %1, %2\nfmv.d fa0, %1\n.insn u 0x0b, x0, 17\nfrflags %0"
                     : "=&r"(flags), "+f"(x), "+f"(divisor)
                     :
                     : "a0", "a1", "fa0", "fa1", "memory");
    return flags;
}

// The float environment and the reservation, each in a call of its own.
EXPORT(set_mode, "void (u64)");
void set_mode(uint64_t mode) {
    __asm__ volatile("fsrm %0" : : "r"(mode));
}

EXPORT(quotient, "f64 (f64, f64)");
double quotient(double x, double divisor) {
    __asm__ volatile("fdiv.d %0, %0, %1" : "+f"(x) : "f"(divisor));
    return x;
}

EXPORT(environment, "u64 ()");
uint64_t environment(void) {
    uint64_t environment;
    __asm__ volatile("frcsr %0" : "=r"(environment));
    return environment;
}

static int reserved;

EXPORT(reserve, "void ()");
void reserve(void) {
    __asm__ volatile("lr.w t0, (%0)" : : "r"(&reserved) : "t0", "memory");
}

EXPORT(store, "u64 ()");
uint64_t store(void) {
    uint64_t has_failed;
    __asm__ volatile("sc.w %0, zero, (%1)" : "=&r"(has_failed) : "r"(&reserved) : "memory");
    return has_failed;
}
#endif

void _start(void) {
    call_exit(add(3, 4));
}

