// Address space: mappings, the heap, protections; in the directory of the first argument.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "show.h"

enum { PAGE = 4096 };

static int is_zero(const char *bytes, long len) {
    for (long i = 0; i < len; i++)
        if (bytes[i]) return 0;
    return 1;
}

static char *map(long len) {
    return mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(int argc, char **argv) {
    if (argc != 2 || chdir(argv[1]) != 0) return 2;
    char *a = map(10 * PAGE), *b = map(10 * PAGE);
    printf("%d %d\n", is_zero(a, 10 * PAGE), a != b);
    memset(a, 1, 10 * PAGE);
    memset(b, 2, 10 * PAGE);
    SHOW(munmap(a + 3 * PAGE, PAGE));
    SHOW(munmap(a + 3 * PAGE, PAGE));
    SHOW(munmap(a + 1, PAGE));
    SHOW(munmap(a, 0));
    SHOW(mprotect(a, 10 * PAGE, PROT_READ));
    SHOW(mprotect(a, 3 * PAGE, PROT_READ));
    SHOW(mprotect(a + 4 * PAGE, PAGE, PROT_NONE));
    SHOW(write(1, a + 4 * PAGE, 1));
    SHOW(read(0, a, 1));
    char *again = mmap(a + 3 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    printf("%d %d %d\n", again == a + 3 * PAGE, is_zero(again, PAGE), a[2 * PAGE]);
    SHOW(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    SHOW(mmap(NULL, PAGE, PROT_READ, MAP_ANONYMOUS, -1, 0));
    SHOW(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 99, 0));
    SHOW(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 1));
    SHOW(mmap(NULL, -PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    SHOW(madvise(b, 2 * PAGE, MADV_DONTNEED));
    printf("%d %d\n", is_zero(b, 2 * PAGE), b[2 * PAGE]);
    SHOW(madvise(b + 1, PAGE, MADV_DONTNEED));

    char *c = map(4 * PAGE);
    for (int i = 0; i < 4; i++) c[i * PAGE] = 10 + i;
    c = mremap(c, 4 * PAGE, 2 * PAGE, 0);
    printf("%d %d\n", c[0], c[PAGE]);
    c = mremap(c, 2 * PAGE, 5000 * PAGE, MREMAP_MAYMOVE);
    printf("%d %d %d\n", c[0], c[PAGE], is_zero(c + 2 * PAGE, 4998L * PAGE));
    char *place = map(10 * PAGE);
    char *moved = mremap(c, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    printf("%d %d\n", moved == place, moved[PAGE]);
    SHOW(mremap(b, PAGE, PAGE, MREMAP_FIXED, place));
    SHOW(mremap(b + 1, PAGE, PAGE, 0));

    // Moved over and over, by pages and by megabytes, and grown.
    for (long pages = 3; pages <= 1000; pages += 997) {
        char *d = map(pages * PAGE);
        for (long i = 0; i < pages; i++) d[i * PAGE] = (char)i;
        SHOW(mprotect(d, pages * PAGE, PROT_NONE));
        char *there = map(2 * pages * PAGE);
        memset(there, 4, 2 * pages * PAGE);
        d = mremap(d, pages * PAGE, 2 * pages * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, there);
        SHOW(write(1, d, 1));
        SHOW(mprotect(d, 2 * pages * PAGE, PROT_READ | PROT_WRITE));
        int kept = is_zero(d + pages * PAGE, pages * PAGE);
        for (long i = 0; i < pages; i++) kept = kept && d[i * PAGE] == (char)i;
        for (int i = 0; i < 50; i++) {
            char *next = map(2 * pages * PAGE);
            d = mremap(d, 2 * pages * PAGE, 2 * pages * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, next);
            kept = kept && d[(i % pages) * PAGE] == (char)(i % pages);
        }
        there = map(pages * PAGE);
        d = mremap(d, 2 * pages * PAGE, pages * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, there);
        kept = kept && d[(pages - 1) * PAGE] == (char)(pages - 1) && d[1] == 0;
        printf("%d %d\n", d == there, kept);
        SHOW(munmap(d, pages * PAGE));
    }

    int fd = open("mapped", O_RDWR | O_CREAT, 0600);
    char text[6000];
    memset(text, 'm', sizeof text);
    SHOW(write(fd, text, sizeof text));
    char *file = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    printf("%c %c %d\n", file[0], file[5999], is_zero(file + 6000, 2 * PAGE - 6000));
    file[0] = 'x';
    SHOW(pread(fd, text, 1, 0));
    printf("%c\n", text[0]);
    char *second = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, PAGE);
    printf("%c %d\n", second[0], second[6000 - PAGE]);
    SHOW(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 5));
    int writer = open("mapped", O_WRONLY);
    SHOW(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, writer, 0));
    SHOW(close(fd));
    printf("%c\n", file[1]);

    char *heap = sbrk(0);
    SHOW(brk(heap + 100000));
    printf("%ld %d\n", (long)((char *)sbrk(0) - heap), is_zero(heap, 100000));
    memset(heap, 3, 100000);
    SHOW(brk(heap));
    SHOW(brk(heap + 100000));
    printf("%d\n", is_zero(heap + PAGE, 90000));
    SHOW(brk((void *)1) == 0 ? 0 : 1);

    unsigned sum = 0;
    void *blocks[300] = {0};
    for (unsigned i = 0; i < 20000; i++) {
        unsigned slot = i * 2654435761u >> 8, size = slot % 40000;
        slot %= 300;
        blocks[slot] = realloc(blocks[slot], size + 1);
        memset(blocks[slot], (int)i, size + 1);
        sum += ((unsigned char *)blocks[slot])[size / 2];
    }
    printf("%u\n", sum);
    char *big = realloc(NULL, 1 << 20);
    memset(big, 7, 1 << 20);
    big = realloc(big, 64 << 20);
    printf("%d %d\n", big[(1 << 20) - 1], big[1 << 20]);
    free(big);
    return 0;
}
