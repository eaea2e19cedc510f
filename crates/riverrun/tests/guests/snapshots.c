// A guest that keeps state everywhere a guest can: in its data, its stack, its heap, and in pages that the host maps.
#include <riverrun.h>
#include <riverrun/malloc.h>

enum { PAGE = 4096, PAGES = 64 };

static char pages[PAGES * PAGE] __attribute__((aligned(4096)));
static long counter = 3;
static char *block;

static int ask(int x)
{
    register long a0 __asm__("a0") = x;
    register long a7 __asm__("a7") = 500;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
    return (int)a0;
}

RIVERRUN_EXPORT(long, count, (long));
long count(long by)
{
    return counter += by;
}

// Writes to two pages.
RIVERRUN_EXPORT(long, touch, (long));
long touch(long x)
{
    *(volatile long *)pages += x;
    *(volatile long *)(pages + PAGE) += *(volatile long *)pages;
    return *(volatile long *)pages + *(volatile long *)(pages + PAGE);
}

// Writes a secret into this many pages, the stack and the heap.
RIVERRUN_EXPORT(void, hide, (unsigned long, int));
void hide(unsigned long secret, int number)
{
    for (int i = 0; i < number && i < PAGES; i++)
        *(volatile unsigned long *)(pages + i * PAGE + 8 * i) = secret;
    volatile unsigned long local[600];
    (void)local;
    for (int i = 0; i < 600; i++)
        local[i] = secret;
    if (!block)
        block = malloc(100000);
    for (int i = 0; i + 8 <= 100000; i += 1000)
        *(volatile unsigned long *)(block + i) = secret;
}

// How many words of its own memory are neither 0 nor a secret's mask: `from` to `to` are words.
RIVERRUN_EXPORT(long, find, (unsigned long, unsigned long, unsigned long, unsigned long));
long find(unsigned long from, unsigned long to, unsigned long mask, unsigned long like)
{
    long found = 0;
    for (unsigned long at = from; at < to; at += 8)
        found += (*(volatile unsigned long *)at & mask) == like;
    return found;
}

RIVERRUN_EXPORT(long, allocate, (long));
long allocate(long size)
{
    return (long)malloc(size);
}

RIVERRUN_EXPORT(void, release, (long));
void release(long address)
{
    free((void *)address);
}

RIVERRUN_EXPORT(long, poke, (unsigned long, long));
long poke(unsigned long address, long value)
{
    long old = *(volatile long *)address;
    *(volatile long *)address = value;
    return old;
}

RIVERRUN_EXPORT(long, peek, (unsigned long));
long peek(unsigned long address)
{
    return *(volatile long *)address;
}

RIVERRUN_EXPORT(int, ask_host, (int));
int ask_host(int x)
{
    counter++;
    int result = ask(x);
    counter++;
    return result;
}

RIVERRUN_EXPORT(long, spin, (void));
long spin(void)
{
    for (;;)
        (*(volatile long *)pages)++;
}
