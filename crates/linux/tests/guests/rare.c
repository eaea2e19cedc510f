// Calls that few programs make: priorities, groups and users, files without names, holes, special files, attributes.
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "show.h"

static void identity(void) {
    SHOW(getpriority(PRIO_PROCESS, 0));
    SHOW(setpriority(PRIO_PROCESS, 0, 5));
    SHOW(getpriority(PRIO_PROCESS, getpid()));
    SHOW(nice(100));
    SHOW(getpriority(PRIO_PROCESS, 0));
    SHOW(getpriority(9, 0));
    SHOW(getpriority(PRIO_PROCESS, 999999));
    SHOW(setpgid(0, 0));
    SHOW(getpgid(0) == getpid());
    SHOW(setpgid(0, -1));
    SHOW(setpgid(999999, 0));
    SHOW(setsid());
    // 0 for a leader outside of the PID namespace.
    SHOW(getsid(0) >= 0 && getsid(0) != getpid());
    SHOW(setuid(getuid()));
    SHOW(setresgid(-1, getegid(), -1));
    SHOW(setreuid(-1, -1));
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    SHOW(setrlimit(RLIMIT_NOFILE, &limit));
    SHOW(setrlimit(99, &limit));
    cpu_set_t processors;
    CPU_ZERO(&processors);
    CPU_SET(0, &processors);
    SHOW(sched_setaffinity(0, sizeof processors, &processors));
    SHOW(mlockall(MCL_CURRENT));
    SHOW(munlockall());
}

static void files(void) {
    struct stat status;
    char text[9000];
    int file = open(".", O_TMPFILE | O_RDWR, 0600);
    SHOW(file >= 0);
    SHOW(write(file, "nameless", 8));
    SHOW(pread(file, text, 8, 0));
    fstat(file, &status);
    printf("%o %ld links\n", status.st_mode, (long)status.st_nlink);
    SHOW(open(".", O_TMPFILE | O_RDONLY, 0600));
    SHOW(open("none", O_TMPFILE | O_RDWR, 0600));
    close(file);

    file = open("holes", O_RDWR | O_CREAT, 0644);
    memset(text, 'x', sizeof text);
    SHOW(write(file, text, sizeof text));
    SHOW(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 4096));
    SHOW(fallocate(file, FALLOC_FL_PUNCH_HOLE, 0, 4096));
    SHOW(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 0));
    pread(file, text, sizeof text, 0);
    int zeros = 0;
    for (size_t i = 0; i < sizeof text; i++) zeros += text[i] == 0;
    fstat(file, &status);
    printf("%d zeros of %ld\n", zeros, (long)status.st_size);
    struct iovec part = {text, 5};
    SHOW(preadv2(file, &part, 1, 0, 0));
    SHOW(pwritev2(file, &part, 1, 8998, 0));
    SHOW(lseek(file, 0, SEEK_CUR));
    SHOW(lseek(file, 100, SEEK_SET));
    int available;
    SHOW(ioctl(file, FIONREAD, &available));
    printf("%d available\n", available);
    SHOW(syncfs(file));
    close(file);

    SHOW(mknod("plain", S_IFREG | 0640, 0));
    SHOW(mknod("plain", S_IFREG | 0640, 0));
    SHOW(mknod("other", S_IFDIR | 0640, 0));
    SHOW(fchmodat(AT_FDCWD, "plain", 0600, 0));
    SHOW(stat("plain", &status));
    printf("%o %ld\n", status.st_mode, (long)status.st_size);
    SHOW(getxattr("none", "user.name", text, 10));
    SHOW(fgetxattr(99, "user.name", text, 10));
    SHOW(listxattr("plain", text, sizeof text));
}

// What hosts may have, and guests do not.
static void absent(void) {
    char text[10];
    SHOW(setxattr("plain", "user.name", "value", 5, 0));
    SHOW(getxattr("plain", "user.name", text, sizeof text));
    SHOW(mkfifo("fifo", 0600));
    SHOW(mknod("device", S_IFCHR | 0600, makedev(1, 3)));
    SHOW(setuid(4));
    SHOW(setgroups(0, NULL));
    SHOW(setpriority(PRIO_PROCESS, 0, -5));
    SHOW(syscall(SYS_userfaultfd, 0));
    SHOW(syscall(SYS_inotify_init1, 0));
    SHOW(vfork());
    SHOW(fork());
    SHOW(execl("/bin/true", "true", NULL));
}

int main(int argc, char **argv) {
    // It may be there.
    if (argc > 1) mkdir(argv[1], 0755);
    if (argc < 2 || chdir(argv[1]) != 0) return 1;
    identity();
    files();
    if (argc > 2) absent();
    return 0;
}
