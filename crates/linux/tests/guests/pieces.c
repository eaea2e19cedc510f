// Splits its memory into as many pieces as it can, by each call that splits, and says how many and why no more.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul
#define PAGES 20000ul

static int file;
static char *mapped;

static int split(int way, char *page) {
    switch (way) {
    case 0: return munmap(page, PAGE);
    case 1: return mprotect(page, PAGE, PROT_READ);
    default: return mmap(page, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? -1 : 0;
    }
}

// In the middle of memory with the same permissions.
static void map_file(void) {
    char *p = mmap(0, 3 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    file = open("/tmp/file", O_CREAT | O_RDWR, 0600);
    ftruncate(file, PAGE);
    mapped = mmap(p + PAGE, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0);
}

// What is written to a mapped file is seen there, however many pieces there are.
static void written(void) {
    printf("%.4s is seen\n", pwrite(file, "news", 4, 0) == 4 ? mapped : "none");
}

int main(void) {
    map_file();
    static char line[100];
    for (int way = 0; way < 3; way++) {
        char *p = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        unsigned long made = 0;
        while (2 * made + 1 < PAGES && split(way, p + (2 * made + 1) * PAGE) == 0) {
            p[2 * made * PAGE] = 1;
            made++;
        }
        int length = snprintf(line, sizeof line, "%s: %s\n", made > 2000 && made < 2048 ? "2000 to 2047" : "other",
                              strerror(errno));
        fwrite(line, 1, length, stdout);
        if (way == 2) written();
        munmap(p, PAGES * PAGE);
    }
    return 0;
}
