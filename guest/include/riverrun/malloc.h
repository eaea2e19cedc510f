/* Makes the host's heap what malloc, free and their like use, throughout a program: its own code, the libc's,
 * and that of other libraries. Include it in one or all of a program's files, or build with
 *
 *     riverrun cc -include riverrun/malloc.h program.c
 *
 * Programs without a libc have these functions by this file.
 */
#pragma once

#include <riverrun/heap.h>

#if __has_include(<stdlib.h>) && __STDC_HOSTED__
#include <errno.h>
#include <stdlib.h>
#define RIVERRUN_NO_MEMORY (errno = ENOMEM)
#define RIVERRUN_EINVAL EINVAL
#define RIVERRUN_ENOMEM ENOMEM
#else
#define RIVERRUN_NO_MEMORY ((void)0)
#define RIVERRUN_EINVAL 22
#define RIVERRUN_ENOMEM 12
#endif

#if defined(__cplusplus) && defined(__GLIBC__)
#define RIVERRUN_NOTHROW noexcept
#else
#define RIVERRUN_NOTHROW
#endif

/* Weak, as every file that includes this has them; a weak function still comes before a library's. */
#define RIVERRUN_REPLACES __attribute__((weak, used, noinline))

#ifdef __cplusplus
extern "C" {
#endif

RIVERRUN_INLINE void *riverrun_or_errno(void *block)
{
    if (__builtin_expect(!block, 0))
        RIVERRUN_NO_MEMORY;
    return block;
}

RIVERRUN_REPLACES void *malloc(size_t size) RIVERRUN_NOTHROW
{
    return riverrun_or_errno(riverrun_malloc(size));
}

RIVERRUN_REPLACES void free(void *block) RIVERRUN_NOTHROW
{
    riverrun_free(block);
}

RIVERRUN_REPLACES void *calloc(size_t count, size_t size) RIVERRUN_NOTHROW
{
    return riverrun_or_errno(riverrun_calloc(count, size));
}

RIVERRUN_REPLACES void *realloc(void *block, size_t size) RIVERRUN_NOTHROW
{
    void *moved = riverrun_realloc(block, size);
    return size ? riverrun_or_errno(moved) : moved;
}

RIVERRUN_REPLACES void *aligned_alloc(size_t alignment, size_t size) RIVERRUN_NOTHROW
{
    return riverrun_or_errno(riverrun_aligned_alloc(alignment, size));
}

RIVERRUN_REPLACES void *memalign(size_t alignment, size_t size) RIVERRUN_NOTHROW
{
    return riverrun_or_errno(riverrun_aligned_alloc(alignment, size));
}

RIVERRUN_REPLACES int posix_memalign(void **place, size_t alignment, size_t size) RIVERRUN_NOTHROW
{
    if (alignment % sizeof(void *) || !alignment || alignment & (alignment - 1))
        return RIVERRUN_EINVAL;
    void *block = riverrun_aligned_alloc(alignment, size);
    if (!block)
        return RIVERRUN_ENOMEM;
    *place = block;
    return 0;
}

RIVERRUN_REPLACES void *valloc(size_t size) RIVERRUN_NOTHROW
{
    return riverrun_or_errno(riverrun_aligned_alloc(4096, size));
}

RIVERRUN_REPLACES void *pvalloc(size_t size) RIVERRUN_NOTHROW
{
    return riverrun_or_errno(riverrun_aligned_alloc(4096, (size + 4095) & ~(size_t)4095));
}

RIVERRUN_REPLACES size_t malloc_usable_size(void *block) RIVERRUN_NOTHROW
{
    return riverrun_malloc_usable_size(block);
}

#ifdef __cplusplus
}
#endif
