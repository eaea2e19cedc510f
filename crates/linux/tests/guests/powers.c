// Tries to make files with the bits for set-user-ID and set-group-ID in the directory of the first argument.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void show(const char *what, const char *name) {
    struct stat st;
    if (lstat(name, &st) == 0) printf("%s %o\n", what, st.st_mode & 07777);
}

int main(int argc, char **argv) {
    if (argc < 2 || chdir(argv[1]) != 0) return 1;
    umask(0);
    mkdir("directory", 07755);
    show("mkdir", "directory");
    int fd = open("opened", O_CREAT | O_RDWR, 07644);
    show("open", "opened");
    mknod("made", S_IFREG | 07644, 0);
    show("mknod", "made");
    chmod("opened", 07711);
    show("chmod", "opened");
    fchmod(fd, 07700);
    show("fchmod", "opened");
    return 0;
}
