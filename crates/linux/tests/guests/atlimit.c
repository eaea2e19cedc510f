// Changes much memory when that is all that there may be, or in as many pieces as it may be.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "show.h"

#define PAGE 4096ul
#define MUCH (64ul << 20)

static char *map(unsigned long size, int prot, int more) {
    return mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | more, -1, 0);
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    // More memory than there may be: refused, and nothing is lost.
    char *room = map(16 * MUCH, PROT_NONE, 0);
    mprotect(room, MUCH, PROT_READ | PROT_WRITE);
    room[0] = room[MUCH / 2] = 1;
    SHOW(mmap(room, 16 * MUCH, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED);
    SHOW(room[0] + room[MUCH / 2]);

    // Regions between holes, two regions within one another, and then as many pieces as there may be.
    char *first = map(MUCH + 2 * PAGE, PROT_NONE, 0), *second = map(MUCH + 2 * PAGE, PROT_NONE, 0);
    mprotect(first + PAGE, MUCH, PROT_READ | PROT_WRITE);
    mprotect(second + PAGE, MUCH, PROT_READ | PROT_WRITE);
    first += PAGE, second += PAGE;
    first[MUCH / 2] = first[0] = second[MUCH / 2] = second[0] = 1;
    char *pieces = map(5000 * PAGE, PROT_READ, 0);
    for (unsigned long n = 1; mprotect(pieces + n * PAGE, PAGE, PROT_READ | PROT_WRITE) == 0; n += 2) {}
    mprotect(pieces + 4999 * PAGE, PAGE, PROT_READ | PROT_WRITE);

    // As many pieces as before.
    SHOW(mprotect(first, MUCH, PROT_READ));
    SHOW(mprotect(first, MUCH, PROT_READ | PROT_WRITE));
    SHOW(first[MUCH / 2] + first[0]);
    SHOW(munmap(first, MUCH));

    // More pieces: refused, and nothing is lost.
    SHOW(munmap(second + PAGE, MUCH - 2 * PAGE));
    SHOW(mprotect(second + PAGE, MUCH - 2 * PAGE, PROT_READ));
    SHOW(mmap(second + PAGE, MUCH - 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED);
    SHOW(second[MUCH / 2] + second[0]);
    second[MUCH / 2] = 5;
    SHOW(mmap(second, MUCH, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == second);
    SHOW(second[MUCH / 2]);
    return 0;
}
