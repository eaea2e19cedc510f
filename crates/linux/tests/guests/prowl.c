// Tries to get out of the directory /data, and to change what may only be read.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "show.h"

static void look(const char *path) {
    char text[7] = "";
    int fd = open(path, O_RDONLY);
    if (fd >= 0 && read(fd, text, 6) < 0) strcpy(text, "-");
    printf("%s: %s\n", path, fd < 0 ? strerror(errno) : text);
    close(fd);
}

static void list(const char *path) {
    DIR *directory = opendir(path);
    printf("%s:", path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) printf(" %s", entry->d_name);
    puts(directory ? "" : strerror(errno));
    if (directory) closedir(directory);
}

int main(void) {
    char path[100];
    printf("%s\n", getcwd(path, sizeof path));
    list("/");
    list("/deep");
    list("/dev");
    look("/data/inside");
    look("data/inside");
    look("/data/../data/inside");
    look("/deep/er/../er/read");
    look("/data/../outside");
    look("/data/../secret/file");
    look("/data/../../../../../../../../etc/passwd");
    look("/etc/passwd");
    look("/proc/self/environ");
    look("/data/absolute");
    look("/data/upwards");
    look("/data/through/file");
    look("/data/into_guest");
    look("/data/fifo");
    int data = open("/data", O_RDONLY | O_DIRECTORY);
    SHOW(openat(data, "../outside", O_RDONLY));
    SHOW(openat(data, "/etc/passwd", O_RDONLY));
    SHOW(symlink("../../secret/file", "/data/made"));
    look("/data/made");
    SHOW(symlink("/etc", "/data/etc"));
    look("/data/etc/passwd");
    SHOW(open("/data/upwards", O_WRONLY | O_TRUNC));
    SHOW(open("/data/dangling", O_WRONLY | O_CREAT, 0600));
    SHOW(truncate("/data/upwards", 0));
    SHOW(chmod("/data/upwards", 0777));
    SHOW(utimensat(AT_FDCWD, "/data/upwards", NULL, 0));
    SHOW(link("/data/upwards", "/data/hard") == 0);
    look("/data/hard");
    SHOW(rename("/data/inside", "/data/../../inside"));
    SHOW(mkdir("/data/../new", 0777));
    SHOW(mkdir("/new", 0777));
    SHOW(rmdir("/data"));
    SHOW(rename("/data", "/deep/er/data"));
    SHOW(chroot("/data"));
    SHOW(open("/data/setuid", O_WRONLY | O_CREAT, 06755));
    SHOW(chmod("/data/inside", 06755));
    struct stat st;
    stat("/data/inside", &st);
    printf("%o\n", st.st_mode);

    look("/deep/er/read");
    SHOW(open("/deep/er/read", O_WRONLY));
    SHOW(open("/deep/er/read", O_RDONLY | O_TRUNC));
    SHOW(open("/deep/er/new", O_WRONLY | O_CREAT, 0600));
    SHOW(open("/deep/er/read", O_RDONLY | O_CREAT, 0600) >= 0);
    SHOW(mkdir("/deep/er/new", 0777));
    SHOW(mkdir("/deep/er/sub", 0777));
    SHOW(unlink("/deep/er/read"));
    SHOW(rmdir("/deep/er/sub"));
    SHOW(rename("/deep/er/read", "/deep/er/x"));
    SHOW(rename("/deep/er/read", "/data/x"));
    SHOW(link("/deep/er/read", "/data/x"));
    SHOW(symlink("x", "/deep/er/x"));
    SHOW(truncate("/deep/er/read", 0));
    SHOW(chmod("/deep/er/read", 0));
    SHOW(utimensat(AT_FDCWD, "/deep/er/read", NULL, 0));
    SHOW(access("/deep/er/read", R_OK));
    SHOW(access("/deep/er/read", W_OK));
    int fd = open("/deep/er/read", O_RDONLY);
    SHOW(fchmod(fd, 0));
    SHOW(futimens(fd, NULL));
    SHOW(ftruncate(fd, 0));
    SHOW(chdir("/deep"));
    look("er/read");
    SHOW(chdir(".."));
    printf("%s\n", getcwd(path, sizeof path));
    return 0;
}
