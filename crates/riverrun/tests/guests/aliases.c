// Memory accesses of all kinds, at addresses that the host chooses.
#include <riverrun.h>

typedef unsigned long u64;

static unsigned char bytes[1 << 16] __attribute__((aligned(64)));

// The library's, which compiled code replaces.
void *memcpy(void *to, const void *from, u64 len)
{
    for (u64 i = 0; i < len; i++)
        ((volatile unsigned char *)to)[i] = ((const unsigned char *)from)[i];
    return to;
}

void *memset(void *to, int byte, u64 len)
{
    for (u64 i = 0; i < len; i++)
        ((volatile unsigned char *)to)[i] = (unsigned char)byte;
    return to;
}

RIVERRUN_EXPORT(u64, place, (void));
u64 place(void)
{
    return (u64)bytes;
}

// Calls that the compiler must not see through.
static void *(*volatile copier)(void *, const void *, u64) = memcpy;
static void *(*volatile filler)(void *, int, u64) = memset;

RIVERRUN_EXPORT(void, copy, (u64, u64, u64));
void copy(u64 to, u64 from, u64 len)
{
    copier((void *)to, (const void *)from, len);
}

RIVERRUN_EXPORT(void, fill, (u64, int, u64));
void fill(u64 to, int byte, u64 len)
{
    filler((void *)to, byte, len);
}

// A loop whose index and values are 32-bit numbers.
RIVERRUN_EXPORT(long, sum, (u64, int, int));
long sum(u64 at, int count, int step)
{
    long all = 0;
    for (int i = 0; i < count; i++)
        all += ((volatile int *)at)[i * step];
    return all;
}

// A table of 256 entries at an address.
RIVERRUN_EXPORT(long, look, (u64, u64));
long look(u64 table, u64 index)
{
    return ((volatile unsigned char *)table)[index & 255];
}

RIVERRUN_EXPORT(u64, down, (u64));
u64 down(u64 depth)
{
    volatile u64 here[8] = { depth };
    return depth ? down(depth - 1) + here[0] : 0;
}

static u64 total;

// Writes to a page, and to the stack's.
RIVERRUN_EXPORT(u64, touch, (u64));
u64 touch(u64 by)
{
    volatile u64 here = by;
    total += here;
    return total;
}

void _start(void)
{
    register long a7 __asm__("a7") = 93;
    __asm__ volatile("li a0, 0\necall" ::"r"(a7));
    for (;;)
        ;
}
