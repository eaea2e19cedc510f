// Names and links with slashes behind them, modes with the bits above the permissions, in the directory of the first
// argument; sizes of pipes.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "show.h"

static void show(const char *what, const char *name, long value) {
    char text[100];
    snprintf(text, sizeof text, "%s %s", what, name);
    show_value(text, value < 0 ? -1 : value, errno);
}

static void opened(const char *what, const char *name, int flags) {
    int fd = open(name, flags, 0600);
    show(what, name, fd < 0 ? -1 : 0);
    close(fd);
}

static void names(void) {
    static const char *names[] = {"f", "f/", "f//", "f/.", "f/..", "d", "d/", "d/.", "d/..", "l", "l/", "l/.", "ls",
        "ls/", "ld", "ld/", "ld/.", "lds", "lds/", "lls", "lls/", "ldot", "none", "none/", "none/.", "dangling",
        "dangling/", "dangles", "dangles/", ".", "./", "..", "/", "//", "d/none", "d/none/", "ld/none/", "loop", "loop/"};
    close(open("f", O_CREAT | O_RDWR, 0600));
    mkdir("d", 0700);
    SHOW(symlink("f", "l") | symlink("f/", "ls") | symlink("d", "ld") | symlink("d//", "lds") | symlink("ls", "lls"));
    SHOW(symlink("d/.", "ldot") | symlink("none", "dangling") | symlink("none/", "dangles") | symlink("loop/", "loop"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *name = names[i];
        struct stat st;
        opened("read", name, O_RDONLY);
        opened("write", name, O_RDWR);
        opened("path", name, O_PATH);
        opened("path and create", name, O_PATH | O_CREAT);
        opened("no follow", name, O_RDONLY | O_NOFOLLOW);
        opened("directory", name, O_RDONLY | O_DIRECTORY);
        opened("exclusive", name, O_RDWR | O_CREAT | O_EXCL);
        // What is there now is known to have been made.
        opened("create", name, O_RDWR | O_CREAT);
        opened("create, no follow", name, O_RDWR | O_CREAT | O_NOFOLLOW);
        unlink("none");
        unlink("d/none");
        show("stat", name, stat(name, &st) ? -1 : (long)(st.st_mode & S_IFMT));
        show("lstat", name, lstat(name, &st) ? -1 : (long)(st.st_mode & S_IFMT));
        show("truncate", name, truncate(name, 0));
        show("access", name, access(name, F_OK));
        // Not of what belongs to others.
        if (*name != '/' && strncmp(name, "..", 2)) show("chmod", name, chmod(name, 0700));
        DIR *directory = opendir(name);
        show("opendir", name, directory ? 0 : -1);
        if (directory) closedir(directory);
    }
    SHOW(mkdir("ls", 0700));
    SHOW(mkdir("dangles/", 0700));
    SHOW(rmdir("ld/"));
    SHOW(unlink("l/"));
    SHOW(unlink("ls/"));
    SHOW(rename("f", "g/"));
    SHOW(link("ls", "other"));
    SHOW(linkat(AT_FDCWD, "ls", AT_FDCWD, "another", AT_SYMLINK_FOLLOW));
    SHOW(readlink("ls/", (char[10]){0}, 10));
}

static void mode_of(const char *name) {
    struct stat st;
    show("mode", name, lstat(name, &st) ? -1 : (long)st.st_mode);
}

static void modes(void) {
    umask(0);
    SHOW(mkdir("sticky", 01755));
    mode_of("sticky");
    int fd = open("sticky file", O_CREAT | O_RDWR, 01640);
    mode_of("sticky file");
    SHOW(fchmod(fd, 0640));
    mode_of("sticky file");
    SHOW(fchmod(fd, 01600));
    mode_of("sticky file");
    close(fd);
    SHOW(mknod("made", S_IFREG | 01604, 0));
    mode_of("made");
    SHOW(chmod("made", 0604));
    mode_of("made");
    SHOW(chmod("made", 01777));
    mode_of("made");
    SHOW(chmod("sticky", 0700));
    mode_of("sticky");
    SHOW(chmod("sticky", 01700));
    mode_of("sticky");
    umask(07077);
    SHOW(mkdir("masked", 01777));
    mode_of("masked");
    SHOW(umask(022));
}

static void sizes(void) {
    static const int wanted[] = {0, 1, 4096, 4097, 8192, 20000, 32768, 65535, 65536};
    int ends[2];
    static char bytes[70000];
    if (pipe2(ends, O_NONBLOCK)) return;
    SHOW(fcntl(ends[0], F_GETPIPE_SZ));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        printf("%d:\n", wanted[i]);
        SHOW(fcntl(ends[i % 2], F_SETPIPE_SZ, wanted[i]));
        SHOW(fcntl(ends[1], F_GETPIPE_SZ));
        SHOW(write(ends[1], bytes, sizeof bytes));
        SHOW(write(ends[1], bytes, 1));
        SHOW(fcntl(ends[1], F_SETPIPE_SZ, 4096));
        SHOW(read(ends[0], bytes, sizeof bytes));
    }
    SHOW(fcntl(0, F_SETPIPE_SZ, -1) == -1);
}

int main(int argc, char **argv) {
    if (argc > 1) mkdir(argv[1], 0755);
    if (argc < 2 || chdir(argv[1]) != 0) return 1;
    names();
    modes();
    sizes();
    return 0;
}
