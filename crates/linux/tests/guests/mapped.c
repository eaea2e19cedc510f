// What can be done to a shared mapping, by the first argument.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "show.h"

enum { PAGE = 4096 };

static char *map(int fd, long pages) {
    return mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static int file_of(long pages) {
    int fd = memfd_create("file", 0);
    ftruncate(fd, pages * PAGE);
    return fd;
}

// Cuts a mapping into as many pieces as it can.
static void pieces(void) {
    int fd = file_of(400);
    char *all = map(fd, 400);
    all[0] = 'a';
    int holes = 0;
    while (holes < 190 && munmap(all + (2 * holes + 1) * PAGE, PAGE) == 0) holes++;
    printf("%d holes: %s\n", holes, strerror(errno));
    char *middle = all + (2 * holes + 2) * PAGE;
    *middle = 'm';
    SHOW(mmap(middle, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    SHOW(mremap(middle, PAGE, 2 * PAGE, MREMAP_MAYMOVE));
    char *other = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SHOW(mremap(other, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, middle));
    printf("still %c\n", *middle);
    // An edge makes no piece more.
    SHOW(munmap(all + 399 * PAGE, PAGE));
    SHOW(munmap(all + (2 * holes + 1) * PAGE, (399 - 2 * holes - 1) * PAGE));
    SHOW(map(fd, 1) == MAP_FAILED);
    char in_file[2] = "";
    pread(fd, in_file, 1, (2 * holes + 2) * PAGE);
    printf("file: %s\n", in_file);
}

int main(int argc, char **argv) {
    const char *what = argv[1];
    if (strcmp(what, "pieces") == 0) pieces();
    fflush(stdout);
    return 0;
}
