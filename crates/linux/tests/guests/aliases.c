// Two shared mappings of one file.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

static const char *try(int fd, int prot, long page) {
    return mmap(NULL, PAGE, prot, MAP_SHARED, fd, page * PAGE) == MAP_FAILED ? strerror(errno) : "works";
}

int main(void) {
    int fd = memfd_create("file", 0);
    ftruncate(fd, 4 * PAGE);
    char *first = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    printf("second writer: %s\n", try(fd, PROT_READ | PROT_WRITE, 1));
    printf("second reader: %s\n", try(fd, PROT_READ, 1));
    printf("other part: %s\n", try(fd, PROT_READ | PROT_WRITE, 2));
    char *one = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 3 * PAGE);
    char *two = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 3 * PAGE);
    pwrite(fd, "x", 1, 3 * PAGE);
    printf("two readers: %s\n", *one == 'x' && *two == 'x' ? "work" : "miss it");
    printf("made writable: %s\n", mprotect(one, PAGE, PROT_READ | PROT_WRITE) == 0 ? "works" : strerror(errno));
    char *again = mmap(first, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    printf("in its place: %s\n", again == first ? "works" : strerror(errno));
    return 0;
}
