// Work for code that gets better while it runs.

static long ask(long x) {
    register long a0 __asm__("a0") = x;
    register long a7 __asm__("a7") = 500;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
    return a0;
}

// Longer than functions that are compiled because they are called.
__attribute__((noinline)) unsigned hot(unsigned x) {
    __asm__ volatile(".rept 40\nnop\n.endr");
    return x * 1664525 + 1013904223;
}

// Rounds of calls until the host says that it is enough: the sum of what it has answered.
__attribute__((noinline)) long rounds(void) {
    unsigned x = 1;
    long sum = 0;
    for (;;) {
        for (int i = 0; i < 1000; i++)
            x = hot(x);
        long answer = ask(x);
        if (answer < 0)
            return sum;
        sum += answer;
    }
}

// A long loop without a call.
__attribute__((noinline)) unsigned spin(unsigned times) {
    unsigned x = 1;
    for (unsigned i = 0; i < times; i++)
        x = (x ^ i) * 2654435761u + (x >> 7);
    return x;
}

// Calls the host in a call by the host.
__attribute__((noinline)) long nested(long depth) {
    long before = hot((unsigned)depth);
    long inside = depth > 0 ? ask(depth - 1) : 0;
    return before + inside + hot((unsigned)inside);
}

// The status is a digest: what is returned to the host is asked by calls of functions.
__attribute__((noreturn)) void _start(long which, unsigned times) {
    register long a0 __asm__("a0") = which == 0 ? rounds() : which == 1 ? spin(times) % 251 : nested(times);
    register long a7 __asm__("a7") = 93;
    __asm__ volatile("ecall" : : "r"(a0), "r"(a7) : "memory");
    __builtin_unreachable();
}
