// Fills much memory and changes it by one call, or has one fill it from a file.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int way = argc > 1 ? atoi(argv[1]) : 0;
    unsigned long size = (way > 3 ? 32ul : 64ul) << 20;
    char *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned long n = 0; n < size; n += 4096) {
        p[n] = 1;
    }
    int file = open("/tmp/file", O_CREAT | O_RDWR, 0600);
    if (way > 3) {
        for (unsigned long n = 0; n < size; n += 4096) {
            p[n + 1] = n >> 12;
            p[n + 2] = n >> 20;
        }
        if (write(file, p, size) != size) return 2;
    }
    char *page = mmap(0, 4096, PROT_READ, MAP_SHARED, file, 0), *q = p;
    puts("filled");
    fflush(stdout);
    switch (way) {
    case 0: munmap(p, size); break;
    case 1: mmap(p, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); break;
    case 2: mprotect(p, size, PROT_READ); break;
    case 3: madvise(p, size, MADV_DONTNEED); break;
    case 4: q = mmap(0, size, PROT_READ, MAP_PRIVATE, file, 0); break;
    case 5: munmap(page, 4096), q = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0); break;
    case 6: q = mremap(page, 4096, size, MREMAP_MAYMOVE); break;
    }
    if (way > 3 && (q == MAP_FAILED || q == p || memcmp(p, q, size))) return 1;
    puts("done");
    return 0;
}
