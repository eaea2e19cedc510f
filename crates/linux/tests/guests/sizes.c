// Files larger than 10,240 bytes cannot be made: the limit is set by the test that runs this, or here.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "show.h"

static void tell(int number) {
    printf("signal %d\n", number);
}

int main(int argc, char **argv) {
    static char block[8192];
    struct rlimit limit = {10240, 10240};
    struct iovec parts[3] = {{block, 6000}, {block, 6000}, {block, 6000}};
    struct stat st;
    setvbuf(stdout, NULL, _IONBF, 0);
    signal(SIGXFSZ, tell);
    SHOW(setrlimit(RLIMIT_FSIZE, &limit));
    SHOW(getrlimit(RLIMIT_FSIZE, &limit));
    SHOW(limit.rlim_cur);
    if (argc > 1 && chdir(argv[1]) != 0) return 1;
    int fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0600);
    SHOW(write(fd, block, 8192));
    SHOW(write(fd, block, 8192));
    SHOW(write(fd, block, 8192));
    SHOW(write(fd, block, 0));
    SHOW(pwrite(fd, block, 100, 10200));
    SHOW(pwrite(fd, block, 100, 10240));
    SHOW(pwrite(fd, block, 100, 1L << 40));
    SHOW(lseek(fd, 0, SEEK_SET));
    SHOW(writev(fd, parts, 3));
    SHOW(ftruncate(fd, 10241));
    SHOW(ftruncate(fd, 10240));
    SHOW(ftruncate(fd, 5));
    SHOW(truncate("file", 10241));
    SHOW(truncate("file", 10000));
    SHOW(fallocate(fd, 0, 10000, 241));
    SHOW(fallocate(fd, 0, 10000, 240));
    SHOW(ftruncate(fd, 10000));
    int appending = open("file", O_WRONLY | O_APPEND);
    SHOW(pwrite(appending, block, 1000, 0));
    SHOW(write(appending, block, 1000));
    int copy = open("copy", O_RDWR | O_CREAT | O_EXCL, 0600);
    SHOW(lseek(copy, 9000, SEEK_SET));
    SHOW(lseek(fd, 0, SEEK_SET));
    SHOW(sendfile(copy, fd, NULL, 8192));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(fstat(fd, &st));
    SHOW(st.st_size);
    return 0;
}
