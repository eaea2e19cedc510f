/* Functions that the host calls, of machines that take turns. With EXPORTED the program offers them by records, and
 * not by its symbols alone. */
#include "boundary.h"

typedef unsigned long word;

#ifndef EXPORTED
#undef EXPORT
#define EXPORT(function, signature)
#endif

EXPORT(twice, "u64 (u64)");
EXPORT(wild, "u64 ()");
EXPORT(endless, "u64 ()");
EXPORT(out, "u64 (u64)");
EXPORT(around, "u64 ()");
EXPORT(elsewhere, "u64 ()");
EXPORT(rounded, "f64 (f64, f64)");
EXPORT(chosen, "u64 (u64)");

static volatile word ended;
static volatile word *volatile nothing = (volatile word *)16;

word twice(word n) {
    return 2 * n;
}

/* A fault where there is nothing. */
word wild(void) {
    return *nothing;
}

word endless(void) {
    while (!ended) {
    }
    return ended;
}

/* Calls the host with the argument, and then does what it says. */
word out(word n) {
    register word a0 __asm__("a0") = n;
    register word a7 __asm__("a7") = 1000;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
    return a0 == 1 ? wild() : a0 == 2 ? endless() : a0;
}

/* Leaves compiled code for a system call, and comes back. */
word around(void) {
    register word a0 __asm__("a0") = 7;
    register word a7 __asm__("a7") = 2000;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
    return a0 + twice(1);
}

/* Returns by way of an address of its own. */
__attribute__((naked)) word elsewhere(void) {
    __asm__("mv t1, ra\n"
            "la ra, 1f\n"
            "ret\n"
            "1: li a0, 9\n"
            "jr t1\n");
}

/* The quotient, rounded down, whatever the mode was. */
double rounded(double a, double b) {
    unsigned long before;
    __asm__ volatile("csrrwi %0, frm, 2" : "=r"(before));
    double quotient;
    __asm__ volatile("fdiv.d %0, %1, %2, dyn" : "=f"(quotient) : "f"(a), "f"(b));
    __asm__ volatile("csrw frm, %0" : : "r"(before));
    return quotient;
}

/* A jump by a table. */
word chosen(word n) {
    static volatile word last;
    switch (n) {
    case 0: last = 3; return last + 1;
    case 1: last = 1; return last * 4;
    case 2: last = 4; return last << 2;
    case 3: last = 1; return last ^ 5;
    case 4: last = 5; return last - 9;
    case 5: last = 9; return last / 2;
    default: return n;
    }
}

void _start(void) {
}
