// Functions that the host calls, which make it work without end, by few calls with much in each.
#define _GNU_SOURCE
#include "../../../riverrun/tests/guests/boundary.h"

#include <riverrun/heap.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#define MUCH (256UL << 20)
#define PART (8UL << 20)
#define BUFFERS 1024

static char *much, *more, *block;
static int file, copy, null, zero, urandom, mirror, private;

static long map(int flags, int fd) {
    return mmap(more, MUCH, PROT_READ | PROT_WRITE, MAP_FIXED | flags, fd, 0) == more ? 0 : -1;
}

// A page of a file that grows to be all of it.
static long grow(void) {
    if (munmap(more, MUCH)) return -1;
    if (mmap(more, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) != more) return -1;
    return mremap(more, 4096, MUCH, 0) == more ? 0 : -1;
}

// A block of zeros where others were written before.
static long zeros(void) {
    char *p = riverrun_calloc(2, 8 * PART);
    if (p) p[PART] = 1;
    riverrun_free(p);
    return p ? 0 : -1;
}

// A block that another one keeps from growing in place.
static long move(void) {
    char *p = riverrun_malloc(8 * PART);
    char *behind = riverrun_malloc(1 << 20);
    char *moved = riverrun_realloc(p, 9 * PART);
    riverrun_free(behind);
    riverrun_free(moved);
    return moved ? 0 : -1;
}

// A file that is mapped many times.
static int mirrored(void) {
    int fd = open("/data/mirrored", O_CREAT | O_RDWR, 0600);
    if (ftruncate(fd, PART)) return -1;
    for (int n = 0; n < 64; n++) {
        if (mmap(NULL, PART, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED) return -1;
    }
    return fd;
}

// So many bytes in each of as many buffers as a call takes.
static struct iovec *buffers(size_t len) {
    static struct iovec all[BUFFERS];
    for (int n = 0; n < BUFFERS; n++) all[n] = (struct iovec){much + n * len, len};
    return all;
}

EXPORT(toil, "u64 (u64)");
uint64_t toil(uint64_t how) {
    for (uint64_t rounds = 1; how != 0; rounds++) {
        off_t from = 0, to = 0;
        // A call that has been cut short has done a part.
        long done = 0;
        switch (how) {
        case 1: done = getrandom(much, MUCH, 0); break;
        case 2: done = read(zero, much, MUCH); break;
        case 3: done = write(null, much, MUCH); break;
        case 4: done = sendfile(null, file, &from, MUCH); break;
        case 5: done = copy_file_range(file, &from, copy, &to, MUCH, 0); break;
        case 6: done = pread(file, much, MUCH, 0); break;
        case 7: done = pwrite(copy, much, MUCH, 0); break;
        case 8: memset(much, rounds, MUCH); break;
        case 9: memmove(much, much + 1, MUCH - 1); break;
        case 10: done = ftruncate(copy, 0) | posix_fallocate(copy, 0, MUCH); break;
        case 11: done = map(MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1) | munmap(more, MUCH); break;
        case 12: done = map(MAP_PRIVATE, file) | munmap(more, MUCH); break;
        case 13: done = madvise(much, MUCH, MADV_DONTNEED); memset(much, 1, 1 << 20); break;
        case 14: done = mprotect(much, MUCH, rounds & 1 ? PROT_READ : PROT_READ | PROT_WRITE); break;
        case 15: done = mprotect(much, MUCH, PROT_READ | PROT_WRITE) | -(read(urandom, much, MUCH) < 0); break;
        case 16: done = map(MAP_PRIVATE | MAP_ANONYMOUS, -1) | -(read(zero, more, MUCH) < 0); break;
        case 17: done = map(MAP_SHARED, file) | munmap(more, MUCH); break;
        case 18: done = grow(); break;
        case 19: done = pwrite(mirror, much, PART, 0); break;
        case 20: done = copy_file_range(file, &from, mirror, &to, PART, 0); break;
        case 21: done = readv(urandom, buffers(64 << 10), BUFFERS); break;
        case 22: done = pwritev(mirror, buffers(PART / BUFFERS), BUFFERS, 0); break;
        case 23: done = ftruncate(private, 0) | posix_fallocate(private, 0, 6 * PART); break;
        case 24: riverrun_memcpy(block, block + 1, 8 * PART - 1); break;
        case 25: riverrun_memset(block, rounds, 8 * PART); break;
        case 26: done = zeros(); break;
        case 27: done = move(); break;
        }
        if (done < 0) return rounds;
    }
    return 0;
}

int main(int argc, char **argv) {
    char path[256];
    much = mmap(NULL, MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    more = mmap(NULL, MUCH, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    block = riverrun_malloc(8 * PART);
    null = open("/dev/null", O_WRONLY);
    zero = open("/dev/zero", O_RDONLY);
    urandom = open("/dev/urandom", O_RDONLY);
    file = open("/data/file", O_CREAT | O_RDWR, 0600);
    copy = open("/data/copy", O_CREAT | O_RDWR, 0600);
    mirror = mirrored();
    private = open("/tmp/private", O_CREAT | O_RDWR, 0600);
    if (much == MAP_FAILED || more == MAP_FAILED || !block) return 1;
    if (null < 0 || zero < 0 || urandom < 0 || file < 0 || copy < 0 || mirror < 0 || private < 0) return 1;
    if (pwrite(file, much, MUCH, 0) != MUCH) return 2;
    // The host calls the functions of a program that is ready.
    register long a0 __asm__("a0") = 0;
    register long a7 __asm__("a7") = 505;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
    return 99;
}
