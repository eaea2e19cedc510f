// Files with holes, mapped: holes are zeros, and stay in step with what the file says.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "show.h"

enum { PAGE = 4096, SIZE = 16 * PAGE };

static long sum(const unsigned char *bytes, size_t size) {
    long sum = 0;
    for (size_t n = 0; n < size; n++) sum += bytes[n];
    return sum;
}

static void holes(int fd) {
    SHOW(ftruncate(fd, SIZE));
    SHOW(pwrite(fd, "data", 4, 5 * PAGE));
    unsigned char *shared = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    unsigned char *private = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    printf("mapped %d %d\n", shared != MAP_FAILED, private != MAP_FAILED);
    printf("sums %ld %ld\n", sum(shared, SIZE), sum(private, SIZE));
    // A page that was a hole is written by way of the mapping.
    shared[9 * PAGE + 7] = 'x';
    SHOW(msync(shared, SIZE, MS_SYNC));
    char text[9] = "";
    SHOW(pread(fd, text, 8, 9 * PAGE + 7));
    printf("<%s>\n", text);
    private[2 * PAGE] = 1;
    SHOW(pread(fd, text, 1, 2 * PAGE));
    printf("%d\n", text[0]);
    // A hole is made below the mapping.
    SHOW(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 5 * PAGE, 2 * PAGE));
    printf("sums %ld %ld\n", sum(shared, SIZE), sum(private + 3 * PAGE, PAGE));
    SHOW(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 9 * PAGE + 1, 20));
    printf("sum %ld\n", sum(shared, SIZE));
    SHOW(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, PAGE));
    SHOW(lseek(fd, 0, SEEK_HOLE) >= 0);
    SHOW(munmap(shared, SIZE));
    SHOW(munmap(private, SIZE));
    // The file grows, and the mapping with it.
    SHOW(ftruncate(fd, PAGE));
    shared = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    SHOW(ftruncate(fd, 4 * PAGE));
    shared[3 * PAGE] = 'g';
    SHOW(pread(fd, text, 1, 3 * PAGE));
    printf("%c %ld\n", text[0], sum(shared, 3 * PAGE));
    struct stat status;
    SHOW(fstat(fd, &status));
    printf("size %ld\n", (long)status.st_size);
    SHOW(munmap(shared, 4 * PAGE));
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc < 2 || chdir(argv[1])) return 1;
    int fd = open("sparse", O_RDWR | O_CREAT | O_TRUNC, 0600);
    holes(fd);
    close(fd);
    fd = memfd_create("sparse", 0);
    holes(fd);
    close(fd);
}
