// Lists some directories, and says where two files have one number, or one file has two.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct stat seen[200];
static int count;

static void check(const char *path, int is_listed, unsigned long listed) {
    struct stat by_name, by_descriptor;
    if (lstat(path, &by_name) != 0) fprintf(stderr, "%s is not there\n", path);
    int fd = open(path, O_RDONLY | O_NOFOLLOW);
    if (fd >= 0) {
        fstat(fd, &by_descriptor);
        if (by_descriptor.st_ino != by_name.st_ino || by_descriptor.st_dev != by_name.st_dev)
            fprintf(stderr, "%s has two numbers\n", path);
        close(fd);
    }
    // That of a mount point is that of the directory below it.
    if (is_listed && S_ISREG(by_name.st_mode) && listed != by_name.st_ino)
        fprintf(stderr, "%s is listed by another number\n", path);
    for (int n = 0; n < count; n++) {
        if (seen[n].st_ino == by_name.st_ino && seen[n].st_dev == by_name.st_dev)
            fprintf(stderr, "%s has a number that was there\n", path);
    }
    seen[count++] = by_name;
}

static int compare(const void *a, const void *b) {
    return strcmp(*(const char **)a, *(const char **)b);
}

static void list(const char *path) {
    char *names[50], full[300];
    int found = 0;
    DIR *directory = opendir(path);
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(full, sizeof full, "%s/%s", path, entry->d_name);
        check(full, 1, entry->d_ino);
        names[found++] = strdup(entry->d_name);
    }
    closedir(directory);
    qsort(names, found, sizeof *names, compare);
    printf("%s:", path);
    if (strcmp(path, "/dev") == 0) found = 0, printf(" not checked");
    for (int n = 0; n < found; n++) printf(" %s", names[n]);
    puts("");
}

int main(void) {
    check("/", 0, 0);
    list("/data");
    list("/data/more");
    list("/dev");
    list("/etc");
    return 0;
}
