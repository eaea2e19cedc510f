/* The heap that the host keeps for a guest, in C (C11 or newer) and C++, with GCC or Clang. Each call is one
 * instruction where it stands.
 *
 * The blocks are in the guest's memory, what is known of them is in the host's: nothing that a guest writes
 * can damage its heap. Where there is no room, allocations give NULL. Freeing what is no block in use ends
 * the guest, with a message that says what was wrong.
 *
 * For the names that programs use already: riverrun/malloc.h (C), riverrun/new.h (C++).
 */
#pragma once

#include <riverrun/import.h>

/* `size` bytes at least, at a multiple of 16. */
RIVERRUN_INLINE void *riverrun_malloc(size_t size)
{
    register size_t a0 __asm__("a0") = size;
    RIVERRUN_ASM(RIVERRUN_IMPORT("0", "0x657b340b", "riverrun_malloc", "riverrun::malloc", "ptr (u64)") : "+r"(a0));
    return __builtin_assume_aligned((void *)a0, 16);
}

/* As many zeros. */
RIVERRUN_INLINE void *riverrun_calloc(size_t count, size_t size)
{
    register size_t a0 __asm__("a0") = count;
    register size_t a1 __asm__("a1") = size;
    RIVERRUN_ASM(RIVERRUN_IMPORT("1", "0x5f71557b", "riverrun_calloc", "riverrun::calloc", "ptr (u64, u64)")
                 : "+r"(a0) : "r"(a1) : "memory");
    return __builtin_assume_aligned((void *)a0, 16);
}

/* At a multiple of `alignment`, a power of two. */
RIVERRUN_INLINE void *riverrun_aligned_alloc(size_t alignment, size_t size)
{
    register size_t a0 __asm__("a0") = alignment;
    register size_t a1 __asm__("a1") = size;
    RIVERRUN_ASM(RIVERRUN_IMPORT("2", "0xfe5c5be8", "riverrun_aligned_alloc", "riverrun::aligned_alloc",
                                 "ptr (u64, u64)")
                 : "+r"(a0) : "r"(a1));
    return (void *)a0;
}

/* Gives a block another size, maybe elsewhere, with what it has. Without a block it allocates; with a size
   of 0 it frees. */
RIVERRUN_INLINE void *riverrun_realloc(void *block, size_t size)
{
    register void *a0 __asm__("a0") = block;
    register size_t a1 __asm__("a1") = size;
    RIVERRUN_ASM(RIVERRUN_IMPORT("3", "0xcd6ae606", "riverrun_realloc", "riverrun::realloc", "ptr (ptr, u64)")
                 : "+r"(a0) : "r"(a1) : "memory");
    return __builtin_assume_aligned(a0, 16);
}

/* Frees a block; NULL is none. (What was written there must be written before: others get the memory.) */
RIVERRUN_INLINE void riverrun_free(void *block)
{
    register void *a0 __asm__("a0") = block;
    RIVERRUN_ASM(RIVERRUN_IMPORT("4", "0x88e24c75", "riverrun_free", "riverrun::free", "void (ptr)")
                 : : "r"(a0) : "memory");
}

/* Frees a block of this size, which the host compares with what was asked for. */
RIVERRUN_INLINE void riverrun_free_sized(void *block, size_t size)
{
    register void *a0 __asm__("a0") = block;
    register size_t a1 __asm__("a1") = size;
    RIVERRUN_ASM(RIVERRUN_IMPORT("5", "0xeac90483", "riverrun_free_sized", "riverrun::free_sized", "void (ptr, u64)")
                 : : "r"(a0), "r"(a1) : "memory");
}

/* Bytes that may be used of a block, as many as were asked for or more. */
RIVERRUN_INLINE size_t riverrun_malloc_usable_size(const void *block)
{
    register size_t a0 __asm__("a0") = (size_t)block;
    RIVERRUN_ASM(RIVERRUN_IMPORT("6", "0xf773cc19", "riverrun_malloc_usable_size", "riverrun::malloc_usable_size",
                                 "u64 (ptr)")
                 : "+r"(a0));
    return a0;
}

/* Copies, fast where there is much; the places may overlap if there are 1 MiB at most. */
RIVERRUN_INLINE void riverrun_memcpy(void *to, const void *from, size_t size)
{
    char *out = (char *)to;
    const char *in = (const char *)from;
    while (size) {
        register size_t a0 __asm__("a0") = (size_t)out;
        register const char *a1 __asm__("a1") = in;
        register size_t a2 __asm__("a2") = size;
        RIVERRUN_ASM(RIVERRUN_IMPORT("7", "0x51953231", "riverrun_memmove", "riverrun::memmove",
                                     "u64 (ptr, ptr, u64)")
                     : "+r"(a0) : "r"(a1), "r"(a2) : "memory");
        size_t done = a0;
        out += done, in += done, size -= done;
    }
}

/* Fills, fast where there is much. */
RIVERRUN_INLINE void riverrun_memset(void *to, int byte, size_t size)
{
    char *out = (char *)to;
    while (size) {
        register size_t a0 __asm__("a0") = (size_t)out;
        register int a1 __asm__("a1") = byte;
        register size_t a2 __asm__("a2") = size;
        RIVERRUN_ASM(RIVERRUN_IMPORT("8", "0x46017cae", "riverrun_memset", "riverrun::memset", "u64 (ptr, i32, u64)")
                     : "+r"(a0) : "r"(a1), "r"(a2) : "memory");
        size_t done = a0;
        out += done, size -= done;
    }
}
