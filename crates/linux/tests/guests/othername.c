// /ro is granted for reading; the same directory is /w/inner, below a writable one. /w2 is that directory, writable.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "show.h"

int main(void) {
    SHOW(open("/w/inner/file", O_RDONLY) >= 0);
    SHOW(open("/w/inner/file", O_WRONLY));
    SHOW(open("/w/inner/sub/file", O_RDWR));
    SHOW(open("/w/inner/sub/new", O_WRONLY | O_CREAT, 0600));
    SHOW(truncate("/w/inner/sub/file", 0));
    SHOW(mkdir("/w/inner/new", 0700));
    SHOW(unlink("/w/inner/sub/file"));
    SHOW(rmdir("/w/inner"));
    SHOW(chmod("/w/inner", 0777));
    SHOW(chmod("/w/inner/sub", 0777));
    SHOW(utimensat(AT_FDCWD, "/w/inner", NULL, 0));
    SHOW(open("/w/inner", O_TMPFILE | O_RDWR, 0600));
    SHOW(access("/w/inner", W_OK));
    SHOW(fchmod(open("/w/inner", O_RDONLY | O_DIRECTORY), 0777));
    SHOW(rename("/w/inner", "/w/moved"));
    SHOW(rename("/w/other", "/w/inner"));
    SHOW(renameat2(AT_FDCWD, "/w/inner", AT_FDCWD, "/w/other", RENAME_EXCHANGE));
    SHOW(rename("/w/inner/file", "/w/file"));
    SHOW(link("/w/inner/file", "/w/file"));
    SHOW(symlink("inner/sub", "/w/way"));
    SHOW(open("/w/way/file", O_WRONLY));
    SHOW(chdir("/w/inner/sub"));
    SHOW(open("file", O_WRONLY));
    SHOW(open("../file", O_WRONLY));
    int sub = open(".", O_RDONLY | O_DIRECTORY);
    SHOW(fchmod(sub, 0777));
    SHOW(openat(sub, "file", O_WRONLY));
    // The directory above moves, and takes its name along.
    SHOW(rename("/w/above", "/w/elsewhere"));
    SHOW(open("/w/elsewhere/deep/file", O_WRONLY));
    SHOW(open("/w2/file2", O_WRONLY | O_CREAT, 0600) >= 0);
    return 0;
}
