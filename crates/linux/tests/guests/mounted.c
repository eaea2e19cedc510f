// A tree of granted directories within each other: /w is writable, /w/git/hooks and /w/new/deep/ro are for reading.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "show.h"

static int compare(const void *a, const void *b) {
    return strcmp(*(const char **)a, *(const char **)b);
}

// Lists it twice, the second time in small pieces; goes back to the middle, too.
static void list(const char *path) {
    DIR *directory = opendir(path);
    if (!directory) {
        printf("%s: %s\n", path, strerror(errno));
        return;
    }
    for (int round = 0; round < 2; round++) {
        char *names[1000];
        long places[1000];
        int count = 0;
        for (struct dirent *entry; (places[count] = telldir(directory), entry = readdir(directory)); count++) {
            names[count] = malloc(300);
            snprintf(names[count], 300, "%s%s", entry->d_name, entry->d_type == DT_DIR ? "/" : "");
        }
        for (int i = 0; i < count; i++) {
            seekdir(directory, places[i]);
            struct dirent *entry = readdir(directory);
            if (!entry || strncmp(entry->d_name, names[i], strlen(entry->d_name))) printf("%s is lost\n", names[i]);
        }
        qsort(names, count, sizeof *names, compare);
        printf("%s:", path);
        for (int i = 0; i < count && i < 12; i++) printf(" %s", names[i]);
        printf("%s\n", count >= 12 ? " .." : "");
        rewinddir(directory);
    }
    closedir(directory);
}

int main(void) {
    struct stat st;
    list("/w");
    list("/w/git");
    list("/w/new");
    list("/w/new/deep");
    list("/w/new/deep/ro");
    list("/w/many");
    SHOW(stat("/w/new", &st));
    printf("%o\n", st.st_mode);
    SHOW(access("/w/git/../new/deep/ro/file", R_OK));
    SHOW(chdir("/w/new/deep"));
    SHOW(access("ro/file", R_OK));
    SHOW(access("../../git/hooks/file", R_OK));
    SHOW(chdir("/w"));
    SHOW(access("shadow/ro/file", R_OK));
    SHOW(access("shadow/secret", R_OK));

    SHOW(open("/w/git/hooks/file", O_WRONLY));
    SHOW(rename("/w/git", "/w/git2"));
    SHOW(rename("/w/git/hooks", "/w/git/hooks2"));
    SHOW(rename("/w/other", "/w/git"));
    SHOW(rename("/w/other", "/w/git/hooks"));
    SHOW(renameat2(AT_FDCWD, "/w/git", AT_FDCWD, "/w/other", RENAME_EXCHANGE));
    SHOW(renameat2(AT_FDCWD, "/w/other", AT_FDCWD, "/w/git", RENAME_EXCHANGE));
    SHOW(rename("/w/new", "/w/new2"));
    SHOW(rename("/w", "/v"));
    SHOW(rmdir("/w/git"));
    SHOW(rmdir("/w/git/hooks"));
    SHOW(rmdir("/w/new"));
    SHOW(unlink("/w/git"));
    SHOW(mkdir("/w/new", 0700));
    SHOW(symlink("git", "/w/new"));
    SHOW(link("/w/file", "/w/new"));
    SHOW(open("/w/new", O_WRONLY | O_CREAT | O_EXCL, 0600));
    SHOW(open("/w/new/file", O_WRONLY | O_CREAT, 0600));
    SHOW(mkdir("/w/new/deep/more", 0700));
    SHOW(open("/w/new/gone", O_RDONLY));
    SHOW(open("/w/new/gone/file", O_WRONLY | O_CREAT, 0600));
    SHOW(open("/w/shadow/file", O_WRONLY | O_CREAT, 0600));
    SHOW(mkdir("/ro/new", 0700));
    SHOW(symlink("../../git", "/w/a/b/way"));
    SHOW(symlink("../../../git", "/w/c/d/way"));
    SHOW(access("/w/a/b/way", F_OK));
    SHOW(link("/w/git/hooks/file", "/w/mine"));
    SHOW(rename("/w/git/hooks/file", "/w/mine"));
    SHOW(symlink("git", "/w/way"));
    SHOW(open("/w/way/hooks/file", O_WRONLY));
    SHOW(rename("/w/way/hooks", "/w/way/hooks2"));
    SHOW(rename("/w/way", "/w/way2"));
    SHOW(open("/w/git/new", O_WRONLY | O_CREAT, 0600) >= 0);
    SHOW(rename("/w/git/new", "/w/new/file"));
    SHOW(rename("/w/git/new", "/w/git/newer"));
    SHOW(rename("/w/other", "/w/git/other"));
    return 0;
}
