// Opens files and directories, puts links in their places, and goes on with what it has open.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "show.h"

// The descriptor of "a/name", which is opened with these flags; then "a" is a link to the outside, or "a/name" is.
static int swapped(const char *name, int flags, int swaps_parent, const char *outside) {
    char inside[100], target[200];
    mkdir("a", 0755);
    snprintf(inside, sizeof inside, "a/%s", name);
    snprintf(target, sizeof target, "%s/%s", outside, name);
    if (flags & O_DIRECTORY) mkdir(inside, 0755);
    int fd = open(inside, flags | (flags & O_DIRECTORY ? 0 : O_CREAT), 0644);
    if (swaps_parent) rename("a", "b");
    else rename(inside, "c");
    SHOW(symlink(swaps_parent ? outside : target, swaps_parent ? "a" : inside));
    return fd;
}

static void clean(void) {
    unlink("a/file"), unlink("a/sub"), unlink("a"), rmdir("a/file"), rmdir("a");
    unlink("b/file"), rmdir("b/sub"), rmdir("b"), unlink("c"), rmdir("c");
}

int main(int argc, char **argv) {
    if (argc < 3 || chdir(argv[1]) != 0) return 2;
    struct timespec times[2] = {{5, 0}, {5, 0}};
    for (int swaps_parent = 0; swaps_parent < 2; swaps_parent++) {
        int file = swapped("file", O_RDWR, swaps_parent, argv[2]);
        SHOW(fchmod(file, 0600));
        SHOW(futimens(file, times));
        char again[50];
        snprintf(again, sizeof again, "/proc/self/fd/%d", file);
        SHOW(open(again, O_WRONLY | O_TRUNC));
        SHOW(write(file, "its own", 7));
        clean();
        int directory = swapped("sub", O_RDONLY | O_DIRECTORY, swaps_parent, argv[2]);
        struct stat status;
        SHOW(fchmod(directory, 0700));
        SHOW(futimens(directory, times));
        SHOW(fstat(directory, &status));
        SHOW(openat(directory, "secret", O_RDONLY));
        // Its own two come first.
        char entries[1000];
        long len = 0, count;
        while ((count = syscall(SYS_getdents64, directory, entries + len, sizeof entries - len)) > 0) len += count;
        printf("secrets: %d, %s\n", memmem(entries, len, "secret", 6) != NULL, count < 0 ? strerror(errno) : "read");
        clean();
    }
    symlink(argv[2], "link");
    SHOW(utimensat(AT_FDCWD, "link", times, AT_SYMLINK_NOFOLLOW));
    SHOW(chmod("link/file", 0600));
    return 0;
}
