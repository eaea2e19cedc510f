/* Reads and writes memory around calls that read and write it, in ways that compilers like to change:
   each function fails if a store before a call is dropped or moved behind it, or a value from before a call
   is used after it. FORM(sum) is sys_sum, isys_sum or dsys_sum. */
#include "memory.h"
#include <riverrun.h>

#define CHECK(condition)     \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

/* The host reads: what was stored before is there, what is stored afterwards is not. */
static int reads(void)
{
    int values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    CHECK(FORM(sum)(values, 8) == 36);
    values[0] = 100;
    CHECK(FORM(sum)(values, 8) == 135);
    values[0] = 0;
    values[7] = 0;
    CHECK(FORM(sum)(values, 8) == 27);
    long total = 0;
    for (int i = 0; i < 8; i++) {
        values[i] = 10;
        total += FORM(sum)(values, 8);
        values[i] = 0;
    }
    CHECK(total == 37 + 35 + 32 + 28 + 23 + 17 + 10 + 10);
    char text[4] = "abc";
    CHECK(FORM(length)(text) == 3);
    text[1] = 0;
    CHECK(FORM(length)(text) == 1);
    return 0;
}

/* The host writes: what was there before is not what is read afterwards. */
static int writes(int n)
{
    int values[8];
    for (int i = 0; i < 8; i++)
        values[i] = i;
    FORM(fill)(values, 8, n);
    CHECK(values[0] == n && values[7] == n);
    values[3] = 1;
    FORM(fill)(values, 8, n + 1);
    CHECK(values[3] == n + 1);
    int sum = 0;
    for (int i = 0; i < 4; i++) {
        FORM(fill)(values + i, 1, i);
        sum += values[i] + values[3];
    }
    CHECK(sum == 0 + 1 + 2 + 3 + 3 * (n + 1) + 3);
    return 0;
}

/* Both. */
static int changes(int n)
{
    int value = n;
    CHECK(FORM(increment)(&value) == n);
    CHECK(value == n + 1);
    for (int i = 0; i < 5; i++)
        FORM(increment)(&value);
    CHECK(value == n + 6);
    value = 1;
    FORM(increment)(&value);
    value *= 10;
    CHECK(FORM(increment)(&value) == 20 && value == 21);
    Item item = {n, 2, 0.5};
    CHECK(FORM(item)(&item) == n + 2.5);
    CHECK(item.a == -n && item.b == -2 && item.c == -0.5);
    item.b = 7;
    CHECK(FORM(item)(&item) == -n + 7 - 0.5);
    CHECK(item.b == -7);
    return 0;
}

/* The host keeps a pointer: no argument leads there. */
static int watched;

static int keeps(int n)
{
    watched = n;
    FORM(watch)(&watched);
    FORM(poke)(n + 1);
    CHECK(watched == n + 1);
    watched = n + 2;
    CHECK(FORM(peek)() == n + 2);
    int own = 5;
    FORM(watch)(&own);
    own = 6;
    CHECK(FORM(peek)() == 6);
    FORM(poke)(7);
    CHECK(own == 7);
    return 0;
}

/* The host calls back. */
static int counted;

static void count(int times)
{
    counted += times;
}

static int calls_back(int n)
{
    counted = n;
    FORM(call)(count, 3);
    CHECK(counted == n + 3 + 2 + 1);
    for (int i = 0; i < 3; i++) {
        int before = counted;
        FORM(call)(count, 1);
        CHECK(counted == before + 1);
    }
    return 0;
}

/* Calls that say exactly which memory they touch. */
static int leaves(int n)
{
    int values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, others[8];
    CHECK(FORM(leaf_sum)(values) == 36);
    values[7] = n;
    CHECK(FORM(leaf_sum)(values) == 28 + n);
    values[7] = 0;
    FORM(leaf_fill)(others, n);
    CHECK(others[0] == n && others[7] == n);
    FORM(leaf_scale)(others, values, 2);
    CHECK(others[0] == 2 && others[6] == 14 && others[7] == 0);
    values[0] = 50;
    FORM(leaf_scale)(values, values, n);
    CHECK(values[0] == 50 * n && values[1] == 2 * n && values[7] == 0);
    long total = 0;
    for (int i = 0; i < 8; i++) {
        values[i] = 1;
        FORM(leaf_scale)(others, values, i);
        total += others[i] + FORM(leaf_sum)(values);
        values[i] = 0;
    }
    CHECK(total == 28 + 8 + (27 + 25 + 22 + 18 + 13 + 7) * n);
    for (int i = 0; i < 8; i++)
        values[i] = n + i;
    FORM(leaf_negate)(values);
    CHECK(values[0] == -n && values[7] == -n - 7);
    values[7] = 3;
    FORM(leaf_negate)(values);
    CHECK(values[6] == n + 6 && values[7] == -3);
    Item items[3] = {{1, 2, 3}, {4, 5, 6}, {0, 0, 0}};
    items[1].b = (short)n;
    CHECK(FORM(leaf_items)(items, items + 2) == 1 + 2 + 3 + 4 + n + 6);
    CHECK(items[2].a == 5 && items[2].b == 2 + n && items[2].c == 9);
    return 0;
}

RIVERRUN_EXPORT(int, memory, (int));

int memory(int n)
{
    int line;
    if ((line = reads()) || (line = writes(n)) || (line = changes(n)) || (line = keeps(n)) ||
        (line = calls_back(n)) || (line = leaves(n)))
        return line;
    return 0;
}

int main(void)
{
    return 0;
}
