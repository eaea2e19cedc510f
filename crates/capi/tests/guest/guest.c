/* What the tests of the C and C++ interfaces call, and are called by. */
#include "api.h"
#include <riverrun.h>

RIVERRUN_EXPORT(void, nop, (void));
RIVERRUN_EXPORT(int, add, (int, int));
RIVERRUN_EXPORT(float, half, (float, int));
RIVERRUN_EXPORT(bool, is_odd, (unsigned char));
RIVERRUN_EXPORT(double, stack, (int, int, int, int, int, int, int, int, int, float, double));
RIVERRUN_EXPORT(int, play, (int));
RIVERRUN_EXPORT(double, floats, (float, double, int));
RIVERRUN_EXPORT(long, many, (void));
RIVERRUN_EXPORT(long, stacked, (void));
RIVERRUN_EXPORT(long, kept, (int));
RIVERRUN_EXPORT(long, deep, (int));
RIVERRUN_EXPORT(int, fail, (int));
RIVERRUN_EXPORT(int, again, (int));
RIVERRUN_EXPORT(int, say, (void));
RIVERRUN_EXPORT(void, trap, (void));
RIVERRUN_EXPORT(void, spin, (void));
RIVERRUN_EXPORT(void, leave, (int));
RIVERRUN_EXPORT(int, rounded, (int));
RIVERRUN_EXPORT(int, length, (const char *));
RIVERRUN_EXPORT(void, twice, (int *, unsigned long));

void nop(void) {}
int add(int a, int b) { return a + b; }
float half(float x, int times)
{
    while (times-- > 0)
        x /= 2;
    return x;
}
bool is_odd(unsigned char n) { return n & 1; }
double stack(int a, int b, int c, int d, int e, int f, int g, int h, int i, float x, double y)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + (double)x + y;
}
int play(int points) { return dsys_score(dsys_add(points, 0)); }
double floats(float a, double b, int c) { return dsys_floats(a, b, c); }
long many(void) { return dsys_many(1, -2, 3, 4, 5); }
long stacked(void) { return dsys_stack(1, 2, 3, 4, 5, 6, 7, 8, 9, 10.5f, -11); }
/* The host gets arguments, and does with them what it likes. */
static inline long keep(int a, int b, int c, int d, int e)
{
    return dsys_many(a, b, c, d, e) + 10 * b + 100 * c + 1000 * d + 10000 * e;
}
long kept(int n) { return keep(1 + n, -2 + n, 3 + n, 4 + n, 5 + n); }
/* The same from a function that the host has not called itself. */
__attribute__((noinline)) static long deeper(int n)
{
    long sum = kept(n);
    dsys_fail(n);
    return sum;
}
long deep(int n) { return deeper(n) + 1; }
int fail(int n)
{
    dsys_fail(n);
    return n;
}
int again(int n) { return dsys_again(n) + 1; }
int say(void) { return dsys_text("hello from the guest"); }
__attribute__((noinline)) static void store(long at) { __asm__ volatile("sw zero, 0(%0)" : : "r"(at) : "memory"); }
void trap(void) { store(16); }
void spin(void)
{
    for (;;)
        __asm__ volatile("");
}
void leave(int status)
{
    register long a0 __asm__("a0") = status;
    register long a7 __asm__("a7") = 93;
    __asm__ volatile("ecall" : : "r"(a0), "r"(a7));
}
/* Compiled code exits before the first instruction, and the interpreter before all. Programs
   that touch the float environment are called otherwise than others. */
int rounded(int n)
{
#ifdef GUARDED
    __asm__ volatile("fsrmi zero, 1\n\tfsrmi zero, 0" : : : "memory");
#else
    __asm__ volatile("rdinstret t0" : : : "t0", "memory");
#endif
    return n;
}
int length(const char *text)
{
    int length = 0;
    while (text[length])
        length++;
    return length;
}
void twice(int *numbers, unsigned long count)
{
    for (unsigned long i = 0; i < count; i++)
        numbers[i] *= 2;
}

#ifdef GUARDED
/* Whether the host's float operations are seen here: they must not be. */
RIVERRUN_EXPORT(int, flags, (void));
int flags(void)
{
    int flags;
    __asm__ volatile("fsflags zero" : : : "memory");
    dsys_floats(0.1f, 0.3, 3);
    dsys_text("");
    __asm__ volatile("frflags %0" : "=r"(flags) : : "memory");
    return flags;
}
#endif

/* Types of a structure of two, which exports cannot name; the host does. */
typedef struct { double x; int n; } Mixed;
typedef struct { short a; int b; } Packed;
Mixed mixed(double x, int n) { return (Mixed){x * 2, n + 1}; }
Packed packed(int a, int b) { return (Packed){(short)a, b}; }

int main(void) { return 7; }
