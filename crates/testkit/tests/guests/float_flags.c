// Float exceptions and rounding modes as programs use them: raised by arithmetic, read, cleared, kept
// over a comparison, and other modes for a while. Prints what it sees.

static long system_call(long number, long a, const void *b, unsigned long c) {
    register long a0 __asm__("a0") = a;
    register const void *a1 __asm__("a1") = b;
    register unsigned long a2 __asm__("a2") = c;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
    return a0;
}

static long read_flags(void) {
    long flags;
    __asm__ volatile("frflags %0" : "=r"(flags)::"memory");
    return flags;
}

static long swap_flags(long flags) {
    __asm__ volatile("fsflags %0, %0" : "+r"(flags)::"memory");
    return flags;
}

static long swap_mode(long mode) {
    __asm__ volatile("fsrm %0, %0" : "+r"(mode)::"memory");
    return mode;
}

static volatile double zero = 0.0, one = 1.0, three = 3.0, huge = 1e300, tiny = 1e-300, result;

static void show(double value) {
    result = value;
    system_call(64, 1, (const void *)&result, sizeof result);
}

static void show_flags(void) {
    long flags = swap_flags(0);
    system_call(64, 1, &flags, sizeof flags);
}

// The compiler saves and restores the exceptions around the comparison.
__attribute__((noinline)) static int is_less(double a, double b) { return __builtin_isless(a, b); }

// Does not access the exceptions itself.
__attribute__((noinline)) static double third(double a) { return a / three; }

void _start(void) {
    for (int round = 0; round < 3; round++) {
        show(one / three);
        show_flags();
        show(one / zero);
        show_flags();
        show(huge * huge);
        show_flags();
        show(tiny * tiny);
        show_flags();
        show(-(zero / zero) > one);
        show_flags();
        show((double)(long)(huge + round));
        show_flags();
        show(third(one));
        show_flags();
        show(is_less(zero / zero, one) + 2 * is_less(one, three));
        show_flags();
        swap_flags(round * 9);
        show(is_less(one, zero / zero * 0.0));
        show(read_flags());
        long before;
        __asm__ volatile("csrrs %0, fcsr, %1" : "=r"(before) : "r"(6L) : "memory");
        show(before);
        show_flags();
        for (long mode = 0; mode < 4; mode++) {
            long old = swap_mode(mode);
            show(third(one + round) + third(-one));
            long rounded;
            __asm__ volatile("fcvt.l.d %0, %1, dyn" : "=r"(rounded) : "f"(result * 1e3) : "memory");
            show(rounded);
            show(swap_mode(old) + 8 * old);
        }
        show_flags();
    }
    system_call(93, 0, 0, 0);
    __builtin_unreachable();
}
