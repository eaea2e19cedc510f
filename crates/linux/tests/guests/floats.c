/* NaNs that are seen, and exceptions that are read in other functions than those that raise them. */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <stdint.h>
static volatile double zero = 0.0, tenth = 0.1, inf = INFINITY, big = 1e300, minus = -0.0;
static volatile float fzero = 0.0f;
__attribute__((noinline)) static long convert(double x) { return lrint(x); }
__attribute__((noipa)) static double divide(double a, double b) { return a / b; }
__attribute__((noinline)) static int raised(void) { return fetestexcept(FE_ALL_EXCEPT); }
static void show(const char *what, double x) { uint64_t bits; memcpy(&bits, &x, 8); printf("%s %016llx %f\n", what, (unsigned long long)bits, x); }
static volatile int calls;
__attribute__((noipa)) static double call(double x) { calls++; return x + 1; }
/* Comparisons whose results are branched on behind accesses to the exceptions, with values kept over calls. */
__attribute__((noipa)) static double quiet(double x, double y)
{
    double z = call(1.0);
    if (__builtin_isless(y, z)) return call(x);
    if (__builtin_isless(y, 1.0)) return call(call(x)) + z;
    return call(z) + call(z + x);
}
__attribute__((noipa)) static double signalling(double x, double y, long *flags)
{
    double z = call(1.0);
    int less;
    long after;
    __asm__ volatile("fsflags zero");
    __asm__ volatile("flt.d %0, %2, %3\nfrflags %1" : "=&r"(less), "=r"(after) : "f"(y), "f"(z));
    *flags = after;
    if (less) return call(x);
    return call(z) + call(z + x);
}
int main(void)
{
    long flags;
    feclearexcept(FE_ALL_EXCEPT);
    printf("quiet %f", quiet(2, zero / zero * 0 + NAN)); feclearexcept(FE_ALL_EXCEPT);
    printf(" %f raises %x\n", quiet(2, NAN), raised());
    printf("signalling %f", signalling(2, NAN, &flags)); printf(" raises %lx\n", flags);
    printf("ordered %f", signalling(2, 1, &flags)); printf(" raises %lx\n", flags);
    printf("atanh %f", atanh(zero / zero)); printf(" raises %x\n", raised());
    feclearexcept(FE_ALL_EXCEPT);
    long l = convert(tenth); printf("lrint %ld raises %x\n", l, raised());
    feclearexcept(FE_ALL_EXCEPT);
    volatile double quotient = divide(1, zero); (void)quotient; printf("divide raises %x\n", raised());
    feclearexcept(FE_ALL_EXCEPT);
    show("0/0", zero / zero); printf("raises %x\n", raised());
    feclearexcept(FE_ALL_EXCEPT);
    show("-0*inf", minus * inf); printf("raises %x\n", raised());
    feclearexcept(FE_ALL_EXCEPT);
    show("overflow", big * big); printf("raises %x\n", raised());
    show("inf-inf", inf - inf); show("sqrt(-1)", sqrt(-tenth)); show("fmod", fmod(inf, 2));
    float f = fzero / fzero; uint32_t b; memcpy(&b, &f, 4); printf("float %08x %f\n", b, f);
    double nan = zero / zero; uint64_t payload = 0x7ff8000000001234; double mine; memcpy(&mine, &payload, 8);
    volatile double m = mine; show("payload", m); show("payload+1", m + 1); show("-payload", -m); show("copysign", copysign(nan, -1)); show("max", fmax(nan, 2));
    printf("%d %d %d\n", signbit(nan) != 0, isnan(nan), nan == nan);
    return 0;
}
