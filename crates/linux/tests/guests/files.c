// Everything about files, in the directory of the first argument.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "show.h"

static void show_stat(const char *name) {
    struct stat st;
    struct statx stx;
    if (fstatat(AT_FDCWD, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        statx(AT_FDCWD, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &stx) != 0) {
        printf("%s: %s\n", name, strerror(errno));
        return;
    }
    // The size of a directory is its file system's own business.
    long size = S_ISDIR(st.st_mode) ? 0 : st.st_size;
    printf("%s: mode %o links %lu size %ld\n", name, st.st_mode, S_ISDIR(st.st_mode) ? 0 : (long)st.st_nlink, size);
    int same = stx.stx_mode == st.st_mode && stx.stx_size == (unsigned long)st.st_size && stx.stx_ino == st.st_ino &&
               stx.stx_nlink == st.st_nlink && stx.stx_mtime.tv_sec == st.st_mtim.tv_sec &&
               makedev(stx.stx_dev_major, stx.stx_dev_minor) == st.st_dev && stx.stx_blocks == (unsigned long)st.st_blocks;
    if (!same) printf("stat and statx disagree about %s\n", name);
}

static int compare(const void *a, const void *b) {
    return strcmp(*(const char **)a, *(const char **)b);
}

static void list(const char *name) {
    DIR *directory = opendir(name);
    if (!directory) {
        printf("%s: %s\n", name, strerror(errno));
        return;
    }
    for (int round = 0; round < 2; round++) {
        static char *names[1000];
        int count = 0;
        struct dirent *entry;
        while ((entry = readdir(directory))) {
            char line[300];
            snprintf(line, sizeof line, "%s type %d", entry->d_name, entry->d_type);
            names[count++] = strdup(line);
        }
        qsort(names, count, sizeof *names, compare);
        printf("%s has %d entries:", name, count);
        for (int i = 0; i < count && i < 12; i++) printf(" [%s]", names[i]);
        puts("");
        rewinddir(directory);
    }
    closedir(directory);
}

static void reads_and_writes(void) {
    char buffer[100] = "";
    int fd = open("data", O_RDWR | O_CREAT | O_EXCL, 0640);
    SHOW(write(fd, "0123456789", 10));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(lseek(fd, -4, SEEK_END));
    SHOW(read(fd, buffer, 100));
    printf("%.4s\n", buffer);
    SHOW(read(fd, buffer, 100));
    SHOW(pwrite(fd, "abc", 3, 20));
    SHOW(pread(fd, buffer, 100, 8));
    printf("%.2s %d %.3s\n", buffer, buffer[5], buffer + 12);
    SHOW(lseek(fd, -1, SEEK_SET));
    SHOW(lseek(fd, 0, 77));
    SHOW(pread(fd, buffer, 1, -1));
    struct iovec vector[3] = {{"one", 3}, {NULL, 0}, {"three", 5}};
    SHOW(lseek(fd, 0, SEEK_SET));
    SHOW(writev(fd, vector, 3));
    char first[2], second[30];
    struct iovec into[2] = {{first, 2}, {second, 30}};
    SHOW(preadv(fd, into, 2, 1));
    printf("%.2s %.5s\n", first, second);
    SHOW(syscall(SYS_readv, fd, into, 1025));
    SHOW(syscall(SYS_readv, fd, into, -1));
    SHOW(pwritev(fd, vector, 1, 100));
    SHOW(ftruncate(fd, 50));
    SHOW(ftruncate(fd, -1));
    SHOW(fallocate(fd, 0, 0, 5000));
    SHOW(fsync(fd));
    SHOW(fdatasync(fd));
    SHOW(flock(fd, LOCK_EX));
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    SHOW(fcntl(fd, F_SETLK, &lock));
    SHOW(posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL));
    show_stat("data");
    int copy = open("copy", O_RDWR | O_CREAT | O_TRUNC, 0600);
    off_t from = 1;
    SHOW(sendfile(copy, fd, &from, 9));
    printf("from %ld\n", from);
    SHOW(copy_file_range(fd, &from, copy, NULL, 100000, 0));
    // Within a file: apart, onto itself, and with an end that is behind the file's.
    off_t to = 200;
    from = 100;
    SHOW(copy_file_range(copy, &from, copy, &to, 50, 0));
    from = 100, to = 149;
    SHOW(copy_file_range(copy, &from, copy, &to, 50, 0));
    from = 149, to = 100;
    SHOW(copy_file_range(copy, &from, copy, &to, 50, 0));
    SHOW(copy_file_range(copy, &from, copy, &from, 0, 0));
    from = 4990, to = 5040;
    SHOW(copy_file_range(copy, &from, copy, &to, 1000, 0));
    SHOW(fcntl(copy, F_SETFL, O_APPEND));
    SHOW(copy_file_range(fd, &from, copy, NULL, 5, 0));
    SHOW(close(copy));
    show_stat("copy");
    SHOW(fchmod(fd, 0444));
    struct timespec times[2] = {{1000000000, 5}, {1000000001, 7}};
    SHOW(futimens(fd, times));
    struct stat st;
    fstat(fd, &st);
    printf("%ld %ld.%09ld\n", st.st_atim.tv_sec, st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    int reader = open("data", O_RDONLY);
    SHOW(write(reader, "x", 1));
    SHOW(ftruncate(reader, 1));
    SHOW(close(reader));
    SHOW(close(fd));
    SHOW(close(fd));
    int append = open("copy", O_WRONLY | O_APPEND);
    SHOW(write(append, "end", 3));
    SHOW(fcntl(append, F_SETFL, 0));
    SHOW(pwrite(append, "START", 5, 0));
    SHOW(read(append, buffer, 1));
    SHOW(close(append));
    SHOW(truncate("copy", 12));
    show_stat("copy");
}

static void names(void) {
    SHOW(mkdir("sub", 0777));
    SHOW(mkdir("sub", 0777));
    SHOW(mkdir("sub/deep/", 0700));
    SHOW(mkdir("missing/deep", 0700));
    SHOW(symlink("data", "link"));
    SHOW(symlink("data", "link"));
    SHOW(symlink("../data", "sub/up"));
    SHOW(symlink("loop", "loop"));
    SHOW(symlink("nowhere", "dangling"));
    SHOW(symlink("sub/deep", "dirlink"));
    char target[100];
    SHOW(readlink("link", target, sizeof target));
    SHOW(readlink("link", target, 2));
    SHOW(readlink("data", target, 2));
    SHOW(open("loop", O_RDONLY));
    SHOW(open("link", O_RDONLY | O_NOFOLLOW));
    SHOW(open("data/", O_RDONLY));
    SHOW(open("data/x", O_RDONLY));
    SHOW(open("sub", O_WRONLY));
    SHOW(open("data", O_RDONLY | O_DIRECTORY));
    SHOW(open("data", O_WRONLY | O_CREAT | O_EXCL, 0600));
    SHOW(open("link", O_WRONLY | O_CREAT | O_EXCL, 0600));
    SHOW(open("", O_RDONLY));
    int fd = open("dangling", O_WRONLY | O_CREAT, 0600);
    SHOW(close(fd));
    show_stat("nowhere");
    SHOW(access("sub/up", R_OK | W_OK));
    SHOW(access("missing", F_OK));
    SHOW(access("data", X_OK));
    SHOW(access("data", 8));
    SHOW(link("copy", "hard"));
    SHOW(link("copy", "hard"));
    show_stat("hard");
    SHOW(rename("hard", "sub/moved"));
    SHOW(rename("missing", "x"));
    SHOW(rename("sub", "sub/deep/x"));
    SHOW(renameat2(AT_FDCWD, "copy", AT_FDCWD, "sub/moved", RENAME_NOREPLACE));
    SHOW(rename("nowhere", "sub/deep/../other"));
    SHOW(chmod("sub/other", 0751));
    SHOW(chmod("missing", 0751));
    struct timespec times[2] = {{5, 0}, {0, UTIME_OMIT}};
    SHOW(utimensat(AT_FDCWD, "sub/other", times, 0));
    SHOW(utimensat(AT_FDCWD, "missing", times, 0));
    SHOW(chown("data", -1, -1));
    SHOW(chown("missing", -1, -1));
    show_stat("sub/other");
    show_stat("link");
    show_stat("dirlink");
    show_stat("sub/deep/");
    show_stat("link/");
    show_stat(".");
    show_stat("sub/up");
    list("sub");
    list(".");
    list("data");
    list("dirlink/..");
    SHOW(rmdir("sub"));
    SHOW(unlink("sub"));
    SHOW(rmdir("data"));
    SHOW(rmdir("sub/deep"));
    SHOW(unlink("missing"));
    SHOW(unlink("link"));
    SHOW(rmdir("sub/."));
}

static void directories(void) {
    char path[300], name[20];
    SHOW(mkdir("many", 0755));
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "many/file%d", i);
        close(open(name, O_CREAT | O_WRONLY, 0644));
    }
    list("many");
    int directory = open("many", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    SHOW(fcntl(directory, F_GETFD));
    SHOW(read(directory, path, 1));
    int fd = openat(directory, "file7", O_RDONLY);
    SHOW(write(fd, "x", 1));
    SHOW(close(fd));
    SHOW(openat(fd, "file7", O_RDONLY));
    SHOW(unlinkat(directory, "file7", 0));
    SHOW(faccessat(directory, "file7", F_OK, 0));
    SHOW(mkdirat(directory, "inner", 0755));
    SHOW(fchdir(directory));
    SHOW(chdir("inner"));
    SHOW(chdir("../.."));
    SHOW(chdir("data"));
    SHOW(chdir("missing"));
    SHOW(access("many/file8", F_OK));
    char *here = getcwd(path, sizeof path);
    printf("%s\n", here && here[0] == '/' ? "getcwd gives an absolute path" : "getcwd fails");
    SHOW(getcwd(path, 1) ? 0 : -1);
    SHOW(umask(077));
    SHOW(umask(022));
    struct stat by_name, by_descriptor;
    stat("many", &by_name);
    fstat(directory, &by_descriptor);
    printf("%d\n", by_name.st_ino == by_descriptor.st_ino && by_name.st_dev == by_descriptor.st_dev);
    SHOW(fstatat(directory, "", &by_descriptor, AT_EMPTY_PATH));
    SHOW(fstatat(directory, "", &by_descriptor, 0));
    struct statvfs space;
    SHOW(statvfs(".", &space));
    SHOW(fstatvfs(directory, &space));
    printf("%d\n", space.f_blocks >= space.f_bfree && space.f_bsize > 0);
    SHOW(close(directory));
}

static void devices(void) {
    char bytes[8] = "xxxxxxx";
    int null = open("/dev/null", O_RDWR);
    SHOW(read(null, bytes, 8));
    SHOW(write(null, bytes, 8));
    SHOW(close(null));
    int zero = open("/dev/zero", O_RDONLY);
    SHOW(read(zero, bytes, 8));
    printf("%d\n", bytes[0] | bytes[7]);
    SHOW(write(zero, bytes, 8));
    SHOW(close(zero));
    int full = open("/dev/full", O_WRONLY);
    SHOW(write(full, bytes, 8));
    SHOW(close(full));
    int random = open("/dev/urandom", O_RDONLY);
    SHOW(read(random, bytes, 8));
    SHOW(close(random));
    struct stat st;
    stat("/dev/null", &st);
    printf("%o %lx\n", st.st_mode & S_IFMT, st.st_rdev);
    SHOW(open("/dev/null/x", O_RDONLY));
}

int main(int argc, char **argv) {
    // It may be there.
    if (argc > 1) mkdir(argv[1], 0755);
    if (argc != 2 || chdir(argv[1]) != 0) return 2;
    reads_and_writes();
    names();
    directories();
    devices();
    return 0;
}
