// Moves 64 MiB a hundred times.
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

enum { LEN = 64 << 20 };

int main(void) {
    char *bytes = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(bytes, 7, LEN);
    for (int i = 0; i < 100; i++) {
        char *there = mmap(NULL, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        bytes = mremap(bytes, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, there);
        if (bytes != there || bytes[LEN - 1] != 7) return 1;
    }
    return 0;
}
