// Bad pointers, given to the calls themselves rather than to the C library.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "show.h"

#define BAD ((void *)8)
#define CALL(name, ...) SHOW(syscall(SYS_##name, __VA_ARGS__))

int main(int argc, char **argv) {
    if (argc != 2 || chdir(argv[1]) != 0) return 2;
    int fd = open("file", O_RDWR | O_CREAT, 0600), ends[2];
    if (write(fd, "text", 4) != 4 || lseek(fd, 0, SEEK_SET) != 0 || pipe(ends) != 0) return 3;
    CALL(read, fd, BAD, 4);
    CALL(write, fd, BAD, 4);
    CALL(pread64, fd, BAD, 4, 0);
    CALL(pwrite64, fd, BAD, 4, 0);
    CALL(readv, fd, BAD, 1);
    CALL(writev, fd, BAD, 1);
    CALL(openat, AT_FDCWD, BAD, O_RDONLY);
    CALL(mkdirat, AT_FDCWD, BAD, 0);
    CALL(unlinkat, AT_FDCWD, BAD, 0);
    CALL(symlinkat, "x", AT_FDCWD, BAD);
    CALL(symlinkat, BAD, AT_FDCWD, "y");
    CALL(linkat, AT_FDCWD, "file", AT_FDCWD, BAD, 0);
    CALL(renameat2, AT_FDCWD, BAD, AT_FDCWD, "x", 0);
    CALL(readlinkat, AT_FDCWD, BAD, BAD, 10);
    CALL(faccessat, AT_FDCWD, BAD, 0);
    CALL(truncate, BAD, 0);
    CALL(chdir, BAD);
    CALL(getcwd, BAD, 1000);
    CALL(fstat, fd, BAD);
    CALL(newfstatat, AT_FDCWD, "file", BAD, 0);
    CALL(statx, AT_FDCWD, "file", 0, 0x7ff, BAD);
    CALL(statfs, ".", BAD);
    CALL(pipe2, BAD, 0);
    CALL(ppoll, BAD, 1, 0, 0, 8);
    CALL(pselect6, 5, BAD, 0, 0, 0, 0);
    CALL(clock_gettime, 0, BAD);
    CALL(gettimeofday, BAD, 0);
    CALL(getrandom, BAD, 5, 0);
    CALL(uname, BAD);
    CALL(sysinfo, BAD);
    CALL(getrlimit, 7, BAD);
    CALL(prlimit64, 0, 7, 0, BAD);
    CALL(getrusage, 0, BAD);
    CALL(rt_sigaction, 10, BAD, 0, 8);
    CALL(rt_sigprocmask, 0, BAD, 0, 8);
    CALL(sigaltstack, BAD, 0);
    CALL(utimensat, AT_FDCWD, "file", BAD, 0);
    CALL(sendfile, ends[1], fd, BAD, 1);

    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page + 4096, 4096);
    memset(page + 4090, 'x', 6);
    CALL(openat, AT_FDCWD, page + 4093, O_RDONLY);
    char path[5000];
    memset(path, 'a', sizeof path);
    CALL(openat, AT_FDCWD, path, O_RDONLY);
    path[300] = 0;
    CALL(openat, AT_FDCWD, path, O_RDONLY);
    for (int i = 1; i < 4990; i += 2) path[i] = '/', path[i + 1] = 'a';
    path[4099] = 0;
    CALL(openat, AT_FDCWD, path, O_RDONLY);
    return 0;
}
