// Does to the device of the first argument only what would do no harm if it were let.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "show.h"

int main(int argc, char **argv) {
    const char *path = argv[argc - 1];
    struct stat st;
    SHOW(lstat(path, &st));
    SHOW(open(path, O_RDONLY));
    SHOW(open(path, O_RDWR));
    SHOW(open(path, O_PATH));
    SHOW(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600));
    SHOW(truncate(path, 0));
    SHOW(chmod(path, st.st_mode & 0777));
    SHOW(chown(path, 1000, 1000));
    SHOW(utimensat(AT_FDCWD, path, NULL, 0));
    SHOW(link(path, path));
    SHOW(rename(path, path));
    return 0;
}
