// Tries to reach each path of the arguments by every call that takes one.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "show.h"

int main(int argc, char **argv) {
    char beside[4096], text[64];
    struct stat st;
    struct statx stx;
    struct statvfs vfs;
    struct timespec times[2] = {{1, 0}, {1, 0}};
    for (int i = 1; i < argc; i++) {
        const char *path = argv[i];
        printf("%s\n", path);
        snprintf(beside, sizeof beside, "%s~", path);
        SHOW(open(path, O_RDONLY));
        SHOW(open(path, O_PATH));
        SHOW(open(path, O_PATH | O_NOFOLLOW));
        SHOW(open(path, O_RDWR));
        SHOW(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600));
        SHOW(opendir(path) ? 0 : -1);
        SHOW(stat(path, &st));
        SHOW(lstat(path, &st));
        SHOW(statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &stx));
        SHOW(statvfs(path, &vfs));
        SHOW(access(path, F_OK));
        SHOW(readlink(path, text, sizeof text));
        SHOW(chdir(path));
        SHOW(truncate(path, 0));
        SHOW(chmod(path, 0777));
        SHOW(chown(path, 1000, 1000));
        SHOW(utimensat(AT_FDCWD, path, times, 0));
        SHOW(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW));
        SHOW(link(path, beside));
        SHOW(rename(path, beside));
        SHOW(renameat2(AT_FDCWD, path, AT_FDCWD, beside, RENAME_NOREPLACE));
        SHOW(unlink(path));
        SHOW(rmdir(path));
    }
    return 0;
}
