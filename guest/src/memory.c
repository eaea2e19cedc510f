/* What compilers call without being asked, for guests without a libc. */
#include <stddef.h>
#include <stdint.h>

/* Otherwise compilers turn these loops into calls of what they are. */
#if defined(__clang__)
#define PLAIN __attribute__((no_builtin))
#else
#define PLAIN __attribute__((optimize("no-tree-loop-distribute-patterns")))
#endif

typedef uint64_t __attribute__((may_alias, aligned(1))) word;

PLAIN void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    char *out = to;
    const char *in = from;
    for (; size >= sizeof(word); size -= sizeof(word), out += sizeof(word), in += sizeof(word))
        *(word *)out = *(const word *)in;
    while (size--)
        *out++ = *in++;
    return to;
}

PLAIN void *memmove(void *to, const void *from, size_t size)
{
    if ((uintptr_t)to - (uintptr_t)from >= size)
        return memcpy(to, from, size);
    /* They overlap, the target behind the source. */
    char *out = (char *)to + size;
    const char *in = (const char *)from + size;
    while (size--)
        *--out = *--in;
    return to;
}

PLAIN void *memset(void *to, int byte, size_t size)
{
    char *out = to;
    const uint64_t all = (unsigned char)byte * UINT64_C(0x0101010101010101);
    for (; size >= sizeof(word); size -= sizeof(word), out += sizeof(word))
        *(word *)out = all;
    while (size--)
        *out++ = (char)byte;
    return to;
}

PLAIN int memcmp(const void *a, const void *b, size_t size)
{
    const unsigned char *x = a, *y = b;
    for (; size--; x++, y++)
        if (*x != *y)
            return *x - *y;
    return 0;
}

PLAIN size_t strlen(const char *text)
{
    const char *end = text;
    while (*end)
        end++;
    return (size_t)(end - text);
}
