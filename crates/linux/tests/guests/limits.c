// Runs into limits, as the first argument says.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "show.h"

static void memory(void) {
    long blocks = 0;
    char *block;
    errno = 0;
    while ((block = malloc(1 << 20))) {
        memset(block, 1, 1 << 20);
        blocks++;
    }
    printf("%s after %s\n", strerror(errno), blocks >= 40 && blocks < 64 ? "40 to 63 MiB" : "too few or many");
    SHOW(mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static void mappings(void) {
    char *block = mmap(NULL, 4096L << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SHOW(mmap(block, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
    SHOW(mmap(NULL, 4096, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    int failed = 0;
    for (long i = 0; i < 1 << 16 && !failed; i += 2) failed = mprotect(block + 4096 * i, 4096, PROT_READ);
    printf("mprotect = %d %s\n", failed, strerror(errno));
    // A place of its own is two pieces more.
    char *page = mmap((void *)0x40000000, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SHOW(page == MAP_FAILED);
}

static void executable(void) {
    long text = (long)executable & -4096;
    SHOW(mprotect((void *)text, 4096, PROT_READ | PROT_EXEC));
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SHOW(mprotect(page, 4096, PROT_READ | PROT_EXEC));
    SHOW(mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
    SHOW(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    SHOW(mmap(page, 4096, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    page[0] = 1;
}

static void descriptors(void) {
    int fd, last = -1, count = 0;
    while ((fd = open("/dev/null", O_RDONLY)) >= 0) last = fd, count++;
    printf("%s after %d, the last %d\n", strerror(errno), count, last);
    SHOW(dup(0));
    SHOW(close(500));
    SHOW(dup(0));
    SHOW(close_range(3, 2000, 0));
    int ends[2], pipes = 0;
    while (pipe(ends) == 0) pipes++;
    printf("%s after %d pipes\n", strerror(errno), pipes);
}

static void generated(void) {
    int files = 0;
    while (open("/proc/self/maps", O_RDONLY) >= 0) files++;
    printf("%s after %d files\n", strerror(errno), files);
}

static void unknown(void) {
    SHOW(syscall(SYS_bpf, 2, 1, 0));
    SHOW(syscall(SYS_bpf, 2, 1, 0));
    SHOW(syscall(SYS_io_uring_setup, 1, 0));
    SHOW(syscall(4000));
    SHOW(syscall(-1));
    SHOW(getpid() > 0);
}

static void partial(void) {
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page + 4096, 4096);
    int zero = open("/dev/zero", O_RDONLY);
    page[4095] = 1;
    SHOW(read(zero, page + 4000, 4096));
    SHOW(page[4095]);
    SHOW(write(1, page + 4096, 1));
}

static void opened(void) {
    char path[400];
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = 0;
    open("/not\nthere", O_RDONLY);
    open((char *)8, O_RDONLY);
    open(path, O_RDONLY);
    rename("/a", "/b");
}

static void clocks(void) {
    struct timespec span = {3600, 0}, before, after;
    unsigned char random[8];
    clock_gettime(CLOCK_REALTIME, &before);
    nanosleep(&span, NULL);
    clock_gettime(CLOCK_REALTIME, &after);
    printf("%ld.%09ld to %ld.%09ld\n", before.tv_sec, before.tv_nsec, after.tv_sec, after.tv_nsec);
    getentropy(random, sizeof random);
    for (int i = 0; i < 8; i++) printf("%02x", random[i]);
    printf("\n");
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    switch (argc > 1 ? argv[1][0] : 0) {
        case 'm': memory(); break;
        case 'r': mappings(); break;
        case 'd': descriptors(); break;
        case 'e': executable(); break;
        case 'g': generated(); break;
        case 'u': unknown(); break;
        case 'p': partial(); break;
        case 'c': clocks(); break;
        case 'o': opened(); break;
        case 'a': abort();
        case 's': raise(SIGSTOP); raise(SIGTERM); break;
        case 'w': pause(); break;
        case 'n': sleep(1000); break;
        case 'i': return (int)read(0, argv[1], 1);
        default: return 2;
    }
    return 0;
}
