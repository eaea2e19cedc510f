// A guest without a libc that uses the host's heap, well and badly.
#include <riverrun.h>
#include <riverrun/malloc.h>

static void fill(char *block, size_t size, char byte)
{
    for (size_t i = 0; i < size; i++)
        block[i] = byte;
}

static bool holds(const char *block, size_t size, char byte)
{
    for (size_t i = 0; i < size; i++)
        if (block[i] != byte)
            return false;
    return true;
}

// Every function once, used as it should be; gives the number of the first that does not do what it should.
RIVERRUN_EXPORT(int, all, (void));
int all(void)
{
    char *one = malloc(100);
    if (!one || (size_t)one % 16 || malloc_usable_size(one) < 100)
        return 1;
    fill(one, 100, 1);
    char *zeros = calloc(10, 30);
    if (!zeros || !holds(zeros, 300, 0) || !holds(one, 100, 1))
        return 2;
    fill(zeros, 300, 2);
    free(zeros);
    zeros = calloc(1, 300);
    if (!holds(zeros, 300, 0))
        return 3;
    one = realloc(one, 100000);
    if (!holds(one, 100, 1))
        return 4;
    fill(one, 100000, 3);
    one = realloc(one, 50);
    if (!holds(one, 50, 3))
        return 5;
    for (size_t alignment = 8; alignment <= 1 << 20; alignment *= 2) {
        void *aligned = 0;
        if (posix_memalign(&aligned, alignment, 100) || !aligned || (size_t)aligned % alignment)
            return 6;
        free(aligned);
        char *large = aligned_alloc(alignment, 50000);
        if ((size_t)large % alignment)
            return 7;
        fill(large, 50000, 4);
        riverrun_free_sized(large, 50000);
    }
    void *untouched = &one;
    if (posix_memalign(&untouched, 24, 1) != 22 || untouched != &one)
        return 8;
    char *none = malloc(0), *other = malloc(0);
    if (!none || none == other)
        return 9;
    free(none), free(other);
    if (realloc(zeros, 0))
        return 10;
    free(0);
    zeros = realloc(0, 10);
    riverrun_memset(zeros, 7, 10);
    riverrun_memcpy(one, zeros, 10);
    if (!holds(one, 10, 7) || !holds(one + 10, 40, 3))
        return 11;
    free(zeros), free(one);
    return 0;
}

// Takes blocks until there are no more; gives their number, all freed again.
RIVERRUN_EXPORT(long, exhaust, (size_t));
long exhaust(size_t size)
{
    struct block { struct block *next; } *blocks = 0;
    long count = 0;
    for (struct block *block; (block = malloc(size)); count++) {
        block->next = blocks;
        blocks = block;
    }
    while (blocks) {
        struct block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
    return count;
}

// Addresses are numbers here, so that the host can make them up.

RIVERRUN_EXPORT(size_t, take, (size_t));
size_t take(size_t size)
{
    return (size_t)malloc(size);
}

RIVERRUN_EXPORT(size_t, take_aligned, (size_t, size_t));
size_t take_aligned(size_t alignment, size_t size)
{
    return (size_t)riverrun_aligned_alloc(alignment, size);
}

RIVERRUN_EXPORT(size_t, take_zeroed, (size_t, size_t));
size_t take_zeroed(size_t count, size_t size)
{
    return (size_t)calloc(count, size);
}

RIVERRUN_EXPORT(size_t, change, (size_t, size_t));
size_t change(size_t block, size_t size)
{
    return (size_t)realloc((void *)block, size);
}

RIVERRUN_EXPORT(void, give, (size_t));
void give(size_t block)
{
    free((void *)block);
}

RIVERRUN_EXPORT(void, give_sized, (size_t, size_t));
void give_sized(size_t block, size_t size)
{
    riverrun_free_sized((void *)block, size);
}

RIVERRUN_EXPORT(size_t, usable, (size_t));
size_t usable(size_t block)
{
    return malloc_usable_size((void *)block);
}

RIVERRUN_EXPORT(void, copy, (size_t, size_t, size_t));
void copy(size_t to, size_t from, size_t size)
{
    riverrun_memcpy((void *)to, (void *)from, size);
}

RIVERRUN_EXPORT(void, set, (size_t, int, size_t));
void set(size_t to, int byte, size_t size)
{
    riverrun_memset((void *)to, byte, size);
}

// A million uses, sizes and lifetimes as programs have them; gives a checksum of what was in the blocks.
RIVERRUN_EXPORT(size_t, trace, (size_t));
size_t trace(size_t uses)
{
    static struct { unsigned char *block; size_t size; } slots[4096];
    uint64_t state = 1;
    size_t sum = 0;
    for (size_t use = 0; use < uses; use++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t random = state >> 33;
        // Most blocks live shortly, some for long.
        size_t slot = random % 8 ? random / 8 % 64 : random / 8 % 4096;
        size_t size = ((size_t)16 << (random >> 20) % 8) + (random >> 12) % 97;
        if (random % 1024 == 0)
            size *= 100;
        if (slots[slot].block && random % 16 == 1) {
            slots[slot].block = realloc(slots[slot].block, size);
        } else {
            if (slots[slot].block)
                sum = sum * 31 + slots[slot].block[0] + slots[slot].block[slots[slot].size - 1];
            free(slots[slot].block);
            slots[slot].block = malloc(size);
        }
        slots[slot].block[0] = (unsigned char)use;
        slots[slot].block[size - 1] = (unsigned char)(use >> 8);
        slots[slot].size = size;
    }
    for (size_t slot = 0; slot < 4096; slot++) {
        free(slots[slot].block);
        slots[slot].block = 0;
    }
    return sum;
}

void _start(void)
{
    __asm__ volatile("li a7, 93; li a0, 0; ecall");
    __builtin_unreachable();
}
