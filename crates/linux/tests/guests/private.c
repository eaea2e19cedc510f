// Files of the guest's own, in the directory of the first argument: what programs do in `/tmp` and with shared memory.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "show.h"

static char text[100];

static void show_file(const char *name) {
    struct stat st;
    int fd = open(name, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0) {
        printf("%s: %s\n", name, strerror(errno));
        return;
    }
    ssize_t len = read(fd, text, sizeof text - 1);
    text[len < 0 ? 0 : len] = 0;
    printf("%s: mode %o links %lu size %ld blocks %ld <%s>\n", name, st.st_mode, (long)st.st_nlink, st.st_size,
           st.st_blocks, text);
    close(fd);
}

static void temporary(void) {
    char name[] = "made-XXXXXX", directory[] = "dir-XXXXXX";
    int fd = mkstemp(name);
    SHOW(write(fd, "temporary", 9));
    SHOW(access(name, R_OK | W_OK));
    SHOW(unlink(name));
    SHOW(access(name, F_OK));
    SHOW(pread(fd, text, 9, 0));
    struct stat st;
    fstat(fd, &st);
    printf("links %lu size %ld\n", (long)st.st_nlink, st.st_size);
    close(fd);
    printf("directory: %d\n", mkdtemp(directory) != NULL);
    SHOW(rmdir(directory));
    FILE *file = tmpfile();
    fprintf(file, "%d", 12345);
    rewind(file);
    int value = 0;
    printf("%d", fscanf(file, "%d", &value));
    printf(" %d\n", value);
    fclose(file);
    fd = open(".", O_TMPFILE | O_RDWR, 0640);
    SHOW(write(fd, "named later", 11));
    snprintf(text, sizeof text, "/proc/self/fd/%d", fd);
    SHOW(linkat(AT_FDCWD, text, AT_FDCWD, "later", AT_SYMLINK_FOLLOW));
    SHOW(linkat(AT_FDCWD, text, AT_FDCWD, "later", AT_SYMLINK_FOLLOW));
    int again = open(text, O_RDONLY);
    SHOW(read(again, text, 5));
    SHOW(close(again));
    SHOW(close(fd));
    show_file("later");
}

static void links(void) {
    SHOW(symlink("later", "link"));
    SHOW(symlink("/etc", "outward"));
    SHOW(symlink("loop", "loop"));
    SHOW(readlink("outward", text, sizeof text));
    show_file("link");
    SHOW(open("loop", O_RDONLY));
    SHOW(open("link", O_RDONLY | O_NOFOLLOW));
    SHOW(link("later", "hard"));
    show_file("hard");
    SHOW(link("hard/", "x"));
    SHOW(rename("hard", "later"));
    SHOW(rename("hard", "other"));
    SHOW(renameat2(AT_FDCWD, "link", AT_FDCWD, "other", RENAME_EXCHANGE));
    show_file("other");
    SHOW(renameat2(AT_FDCWD, "link", AT_FDCWD, "other", RENAME_NOREPLACE));
    SHOW(unlink("link"));
    SHOW(truncate("other", 5));
    SHOW(chmod("other", 0604));
    show_file("other");
    SHOW(open("other", O_RDONLY | O_DIRECTORY));
    SHOW(open("other/x", O_RDONLY));
    SHOW(mkdir("other", 0700));
    SHOW(unlink("outward"));
}

static void directories(void) {
    SHOW(mkdir("a", 0755));
    SHOW(mkdir("a/b", 0700));
    SHOW(mkdir("x/y", 0700));
    SHOW(rename("a", "a/b/c"));
    SHOW(rename("a", "d"));
    SHOW(rmdir("d"));
    SHOW(unlink("d"));
    SHOW(rename("other", "d"));
    SHOW(rename("d", "other"));
    struct stat st;
    stat("d", &st);
    printf("d: mode %o links %lu\n", st.st_mode, (long)st.st_nlink);
    SHOW(chdir("d/b"));
    printf("in b: %d\n", strcmp(strrchr(getcwd(text, sizeof text), '/'), "/b"));
    SHOW(open("../../other", O_RDONLY) >= 0);
    SHOW(chdir("../.."));
    // Entries are removed while they are read.
    char name[60];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "d/a-rather-long-name-that-fills-buffers-%d", i);
        close(open(name, O_CREAT | O_WRONLY, 0600));
    }
    DIR *directory = opendir("d");
    struct dirent *entry;
    int removed = 0, kept = 0;
    while ((entry = readdir(directory))) {
        if (entry->d_type == DT_REG) {
            removed += unlinkat(dirfd(directory), entry->d_name, 0) == 0;
        } else {
            kept++;
        }
    }
    printf("removed %d, kept %d\n", removed, kept);
    closedir(directory);
    int fd = open("d/b", O_RDONLY | O_DIRECTORY);
    SHOW(rmdir("d/b"));
    SHOW(openat(fd, "new", O_CREAT | O_WRONLY, 0600));
    SHOW(fstat(fd, &st));
    printf("removed directory: links %lu\n", (long)st.st_nlink);
    SHOW(close(fd));
    SHOW(rmdir("d"));
    struct statfs fs;
    SHOW(statfs(".", &fs));
    printf("type %lx, block %ld\n", (long)fs.f_type, (long)fs.f_bsize);
}

static void sparse(void) {
    int fd = open("sparse", O_RDWR | O_CREAT, 0600);
    SHOW(ftruncate(fd, 1L << 40));
    SHOW(pwrite(fd, "far", 3, 1L << 39));
    SHOW(lseek(fd, 0, SEEK_DATA));
    SHOW(lseek(fd, 1L << 39, SEEK_HOLE));
    SHOW(lseek(fd, (1L << 39) + 5000, SEEK_DATA));
    SHOW(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1L << 39, 4096));
    SHOW(lseek(fd, 0, SEEK_DATA));
    SHOW(fallocate(fd, 0, 0, 8192));
    show_file("sparse");
    SHOW(ftruncate(fd, 10));
    SHOW(pwrite(fd, "x", 1, -1));
    SHOW(ftruncate(fd, 9000));
    SHOW(pread(fd, text, 3, 8998));
    close(fd);
    SHOW(unlink("sparse"));
}

int main(int argc, char **argv) {
    // It may be there.
    if (argc > 1) mkdir(argv[1], 0755);
    if (chdir(argv[1]) != 0) return perror(argv[1]), 1;
    umask(022);
    temporary();
    links();
    directories();
    sparse();
    // What is left, for the next guest.
    if (argc > 2) {
        char line[9000];
        memset(line, 'f', sizeof line);
        int fd = open("full", O_CREAT | O_WRONLY, 0600);
        ssize_t written;
        while ((written = write(fd, line, sizeof line)) == sizeof line) {}
        printf("short %d", written > 0);
        written = write(fd, line, sizeof line);
        printf(", then %zd %s\n", written, strerror(errno));
        // Names take some of the last page.
        do sprintf(text, "made-%d", argc++);
        while (mkdir(text, 0700) == 0);
        printf("mkdir: %s\n", strerror(errno));
        SHOW(ftruncate(fd, 0));
        SHOW(mkdir("beyond", 0700));
    }
    return 0;
}
