// Records sorted by comparison functions. The sort is the program's own, with the interface of C's
// qsort, because every C library has another.
#include "bench.h"

#include <string.h>

typedef int comparison(const void *, const void *);

static void swap(unsigned char *a, unsigned char *b, size_t size) {
    unsigned char spare[64];
    memcpy(spare, a, size);
    memcpy(a, b, size);
    memcpy(b, spare, size);
}

// Quicksort around the median of three, insertion sort below.
__attribute__((noinline)) static void sort(void *base, size_t count, size_t size, comparison *compare) {
    unsigned char *first = base;
    while (count > 12) {
        unsigned char *middle = first + count / 2 * size, *last = first + (count - 1) * size;
        if (compare(middle, first) < 0)
            swap(middle, first, size);
        if (compare(last, middle) < 0) {
            swap(last, middle, size);
            if (compare(middle, first) < 0)
                swap(middle, first, size);
        }
        swap(first, middle, size); // the pivot
        unsigned char *low = first, *high = first + count * size;
        for (;;) {
            do
                low += size;
            while (low < first + count * size && compare(low, first) < 0);
            do
                high -= size;
            while (compare(high, first) > 0);
            if (low >= high)
                break;
            swap(low, high, size);
        }
        swap(first, high, size);
        size_t before = (size_t)(high - first) / size, after = count - before - 1;
        if (before < after) {
            sort(first, before, size, compare);
            first = high + size, count = after;
        } else {
            sort(high + size, after, size, compare);
            count = before;
        }
    }
    for (size_t i = 1; i < count; i++)
        for (unsigned char *at = first + i * size; at > first && compare(at, at - size) < 0; at -= size)
            swap(at, at - size, size);
}

struct record {
    uint64_t id;
    uint32_t group;
    int32_t amount;
    char name[16];
};

enum { RECORDS = 4096 };

static struct record records[RECORDS];

static int by_id(const void *a, const void *b) {
    uint64_t x = ((const struct record *)a)->id, y = ((const struct record *)b)->id;
    return (x > y) - (x < y);
}

static int by_group_and_amount(const void *a, const void *b) {
    const struct record *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->amount != y->amount)
        return x->amount < y->amount ? 1 : -1;
    return by_id(a, b);
}

static int by_name(const void *a, const void *b) {
    const struct record *x = a, *y = b;
    for (size_t i = 0; i < sizeof x->name; i++)
        if (x->name[i] != y->name[i])
            return x->name[i] < y->name[i] ? -1 : 1;
    return by_id(a, b);
}

int main(int argc, char **argv) {
    static comparison *const comparisons[] = {by_id, by_group_and_amount, by_name};
    uint64_t rounds = bench_size(argc, argv);
    uint64_t random = 7, checksum = BENCH_CHECKSUM_START;
    for (uint64_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < RECORDS; i++) {
            struct record *r = &records[i];
            random = random * 6364136223846793005u + 1442695040888963407u;
            r->id = random >> 8;
            r->group = random >> 33 & 31;
            r->amount = (int32_t)(random >> 20) % 1000;
            for (size_t c = 0; c < sizeof r->name; c++)
                r->name[c] = (char)('a' + (random >> (c < 2 ? 60 : 2 * c + 24) & 7));
        }
        sort(records, RECORDS, sizeof *records, comparisons[round % 3]);
        for (size_t i = 0; i < RECORDS; i += 64)
            checksum = bench_checksum(checksum, &records[i].id, sizeof records[i].id);
    }
    return bench_report(checksum);
}
