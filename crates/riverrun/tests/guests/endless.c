/* Runs that do not end by themselves; a0 says which. */

#pragma GCC diagnostic ignored "-Winfinite-recursion"

typedef unsigned long word;

static volatile word sink[16];

__attribute__((noinline)) static word fib(word n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) static word deeper(volatile word *outer) {
    volatile word frame[8] = {0};
    frame[0] = outer ? outer[0] + 1 : 0;
    return deeper(frame) + frame[1];
}

static void (*volatile again)(word);

__attribute__((noinline)) static void bounce(word n) {
    sink[n & 15] = n;
    again(n + 1);
}

static void exit_with(word status) {
    register word a0 __asm__("a0") = status;
    register word a7 __asm__("a7") = 93;
    __asm__ volatile("ecall" ::"r"(a0), "r"(a7));
}

void _start(word which) {
    switch (which) {
    case 0:
        for (;;);
    case 1:
        for (word i = 0;; i++) sink[i & 15] = i;
    case 2:
        for (;;) sink[0] = fib(40);
    case 3: {
        double x = 1;
        for (;;) { x = x * 0.5 + 1; __asm__ volatile("" : "+f"(x)); }
    }
    case 4:
        again = bounce;
        bounce(0);
    case 5:
        for (;;) __asm__ volatile("csrr t0, instret" ::: "t0");
    case 6:
        sink[0] = deeper(0);
    default:
        exit_with(which);
    }
    for (;;);
}
