// Fills much memory and changes it by one call.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(int argc, char **argv) {
    unsigned long size = 64ul << 20;
    int way = argc > 1 ? atoi(argv[1]) : 0;
    char *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned long n = 0; n < size; n += 4096) {
        p[n] = 1;
    }
    puts("filled");
    fflush(stdout);
    switch (way) {
    case 0: munmap(p, size); break;
    case 1: mmap(p, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); break;
    case 2: mprotect(p, size, PROT_READ); break;
    default: madvise(p, size, MADV_DONTNEED); break;
    }
    puts("done");
    return 0;
}
