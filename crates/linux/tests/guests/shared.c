// Shared mappings of files, in the directory of the first argument.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "show.h"

enum { PAGE = 4096 };

static char text[40];

static const char *in_file(int fd, long at) {
    ssize_t len = pread(fd, text, 12, at);
    for (int i = 0; i < len; i++)
        if (!text[i]) text[i] = '.';
    text[len < 0 ? 0 : len] = 0;
    return text;
}

static void *map(int fd, long pages, int prot, long first) {
    void *start = mmap(NULL, pages * PAGE, prot, MAP_SHARED, fd, first * PAGE);
    if (start == MAP_FAILED) printf("mmap: %s\n", strerror(errno));
    return start;
}

static void *stores(void *there) {
    strcpy(there, "by a thread");
    return NULL;
}

static void of_file(int fd) {
    SHOW(ftruncate(fd, 4 * PAGE));
    char *all = map(fd, 4, PROT_READ | PROT_WRITE, 0);
    strcpy(all, "stored");
    printf("file: %s\n", in_file(fd, 0));
    SHOW(pwrite(fd, "W", 1, 3));
    printf("memory: %s\n", all);
    SHOW(lseek(fd, 2 * PAGE, SEEK_SET));
    SHOW(write(fd, "written", 7));
    printf("memory: %s\n", all + 2 * PAGE);
    pthread_t thread;
    pthread_create(&thread, NULL, stores, all + PAGE);
    pthread_join(thread, NULL);
    printf("file: %s\n", in_file(fd, PAGE));
    // A private copy has what has been stored so far.
    char *copy = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, PAGE);
    printf("copy: %s\n", copy);
    strcpy(copy, "private");
    printf("shared: %s\n", all + PAGE);
    SHOW(munmap(copy, PAGE));
    // Truncating keeps what lies before the end, and makes zeros behind it.
    strcpy(all + 3 * PAGE, "cut off");
    strcpy(all + 8, "kept");
    SHOW(ftruncate(fd, 2 * PAGE));
    SHOW(ftruncate(fd, 4 * PAGE));
    printf("memory: %s %s, %d\n", all, all + 8, all[3 * PAGE]);
    SHOW(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, PAGE));
    printf("memory: %d\n", all[PAGE]);
    strcpy(all + PAGE, "again");
    SHOW(madvise(all, 4 * PAGE, MADV_DONTNEED));
    printf("memory: %s %s\n", all, all + PAGE);
    SHOW(mprotect(all + PAGE, PAGE, PROT_NONE));
    SHOW(pwrite(fd, "U", 1, PAGE));
    SHOW(mprotect(all + PAGE, PAGE, PROT_READ | PROT_WRITE));
    printf("memory: %s\n", all + PAGE);
    SHOW(msync(all, 4 * PAGE, MS_SYNC));
    SHOW(msync(all, 4 * PAGE, MS_SYNC | MS_ASYNC));
    SHOW(msync(all + 1, PAGE, MS_SYNC));
    // The middle goes, the rest stays.
    strcpy(all + 2 * PAGE, "goes");
    SHOW(munmap(all + PAGE, 2 * PAGE));
    printf("file: %s\n", in_file(fd, 2 * PAGE));
    strcpy(all + 3 * PAGE, "stays");
    printf("file: %s\n", in_file(fd, 3 * PAGE));
    SHOW(ftruncate(fd, 8 * PAGE));
    SHOW(pwrite(fd, "grown", 5, 6 * PAGE));
    char *moved = mremap(all + 3 * PAGE, PAGE, 4 * PAGE, MREMAP_MAYMOVE);
    printf("moved: %s %s\n", moved, moved + 3 * PAGE);
    strcpy(moved + PAGE, "after");
    printf("file: %s\n", in_file(fd, 4 * PAGE));
    moved = mremap(moved, 4 * PAGE, PAGE, 0);
    strcpy(moved, "end");
    SHOW(munmap(moved, PAGE));
    printf("file: %s\n", in_file(fd, 3 * PAGE));
    // In place of a mapping.
    strcpy(all, "replaced");
    SHOW(mmap(all, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0) == all);
    printf("file: %s\n", in_file(fd, 0));
}

static void readers(const char *name, int fd) {
    int reader = open(name, O_RDONLY);
    char *one = map(reader, 2, PROT_READ, 0), *two = map(reader, 1, PROT_READ, 1);
    SHOW(map(reader, 1, PROT_READ | PROT_WRITE, 0) == MAP_FAILED);
    SHOW(mprotect(one, PAGE, PROT_READ | PROT_WRITE));
    SHOW(close(reader));
    SHOW(pwrite(fd, "later", 6, PAGE));
    printf("both: %s %s\n", one + PAGE, two);
    SHOW(pwrite(fd, "xy", 2, PAGE - 1));
    printf("across: %.7s\n", one + PAGE - 1);
    int other = open(name, O_RDWR | O_TRUNC);
    SHOW(ftruncate(other, 2 * PAGE));
    printf("truncated: %d\n", one[PAGE]);
    SHOW(munmap(one, 2 * PAGE));
    SHOW(munmap(two, PAGE));
    close(other);
}

int main(int argc, char **argv) {
    if (argc > 1) mkdir(argv[1], 0755);
    if (argc < 2 || chdir(argv[1]) != 0) return 1;
    int fd = open("mapped", O_RDWR | O_CREAT, 0600);
    of_file(fd);
    readers("mapped", fd);
    int memfd = memfd_create("mapped", MFD_ALLOW_SEALING);
    of_file(memfd);
    SHOW(ftruncate(memfd, PAGE));
    char *sealed = map(memfd, 1, PROT_READ | PROT_WRITE, 0);
    SHOW(fcntl(memfd, F_ADD_SEALS, F_SEAL_WRITE));
    SHOW(munmap(sealed, PAGE));
    SHOW(fcntl(memfd, F_ADD_SEALS, F_SEAL_WRITE));
    SHOW(map(memfd, 1, PROT_READ | PROT_WRITE, 0) == MAP_FAILED);
    SHOW(map(memfd, 1, PROT_READ, 0) == MAP_FAILED);
    SHOW(close(memfd));
    // The host has one such directory for all of its programs.
    char name[40];
    snprintf(name, sizeof name, "/riverrun-test-%d", getpid());
    int shm = shm_open(name, O_RDWR | O_CREAT, 0600);
    SHOW(ftruncate(shm, PAGE));
    char *shared = map(shm, 1, PROT_READ | PROT_WRITE, 0);
    SHOW(close(shm));
    strcpy(shared, "by its name");
    shm = shm_open(name, O_RDONLY, 0);
    printf("shm: %s\n", in_file(shm, 0));
    SHOW(shm_unlink(name));
    char *plain = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    strcpy(plain, "anonymous");
    puts(plain);
    // An appending file is written to where it is mapped.
    int log = open("log", O_RDWR | O_CREAT | O_APPEND, 0600);
    SHOW(write(log, "0123456789", 10));
    char *start = map(log, 1, PROT_READ | PROT_WRITE, 0);
    memcpy(start, "abc", 3);
    SHOW(write(log, "more", 4));
    printf("log: %s\n", in_file(log, 0));
    printf("memory: %.14s\n", start);
    // What is stored last is there once the program has ended.
    memcpy(start + 3, "END", 3);
    fflush(stdout);
    return 0;
}
