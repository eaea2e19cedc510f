/* Allocations, as many as the argument says; prints a checksum.
 *
 * HEAP_TRACE: of many sizes and lifetimes, else the same again and again. HEAP_WRAPPED: malloc and free are
 * functions around the host's heap. HEAP_INLINE: they are the host's heap, where they stand. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef HEAP_WRAPPED
#include <riverrun/malloc.h>
#endif
#ifdef HEAP_INLINE
#include <riverrun/heap.h>
#define malloc riverrun_malloc
#define free riverrun_free
#endif

#ifndef HEAP_TRACE

/* The compiler has to believe that the block is used. */
#define USED(block) __asm__ volatile("" : : "r"(block) : "memory")

static uint64_t run(uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t pair = 0; pair < count; pair++) {
        void *block = malloc(1024);
        USED(block);
        sum += block != 0;
        free(block);
    }
    return sum;
}

#else

struct slot {
    unsigned char *block;
    uint32_t size;
};

/* Sizes and lifetimes as programs have them: most blocks are small and live shortly, some of either are
   not. Every block is written at both ends, and read before it is freed. */
static uint64_t run(uint64_t uses)
{
    static struct slot slots[16384];
    uint64_t state = 1, sum = 0;
    for (uint64_t use = 0; use < uses; use++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t random = (uint32_t)(state >> 33);
        struct slot *slot = &slots[random % 8 ? random / 8 % 64 : random / 8 % 16384];
        uint32_t size = (16u << (random >> 20) % 8) + (random >> 12) % 97;
        if (random % 1024 == 0)
            size *= 100;
        if (slot->block) {
            sum = sum * 31 + slot->block[0] + slot->block[slot->size - 1];
            free(slot->block);
        }
        slot->block = malloc(size);
        slot->block[0] = (unsigned char)use;
        slot->block[size - 1] = (unsigned char)(use >> 8);
        slot->size = size;
    }
    return sum;
}

#endif

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    printf("%016llx\n", (unsigned long long)run(strtoull(argv[1], 0, 10)));
    return 0;
}
