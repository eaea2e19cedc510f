// What a program learns of itself by /proc and /dev; with a third argument, also what qemu-user answers as its own.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char text[1 << 16];

// The contents of a file; negative if it cannot be read.
static long contents(const char *path) {
    int fd = open(path, O_RDONLY);
    if (fd < 0) {
        return -errno;
    }
    long len = 0, got;
    while ((got = read(fd, text + len, sizeof text - 1 - len)) > 0) {
        len += got;
    }
    close(fd);
    text[len] = 0;
    return len;
}

static int is_mapped(const void *at, const char *permissions) {
    unsigned long address = (unsigned long)at;
    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        unsigned long start, end;
        char found[5];
        sscanf(line, "%lx-%lx %4s", &start, &end, found);
        if (start <= address && address < end) {
            return memcmp(found, permissions, strlen(permissions)) == 0;
        }
    }
    return 0;
}

static void directory(const char *path, const char *name) {
    DIR *dir = opendir(path);
    int found = 0, bad = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat status;
        found += !strcmp(entry->d_name, name);
        bad += fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0;
    }
    printf("%s lists %s: %d, lists what is not there: %d\n", path, name, found, bad > 1);
    closedir(dir);
}

static void *waits(void *argument) {
    return read(*(int *)argument, text, 1), NULL;
}

int main(int argc, char **argv) {
    static int written = 1;
    int local;
    void *heap = malloc(100);

    printf("cmdline: %ld", contents("/proc/self/cmdline"));
    printf(" %s %s\n", text, text + strlen(text) + 1);
    printf("environ: %ld %s\n", contents("/proc/self/environ"), text);
    contents("/proc/self/maps");
    printf("maps: %d %d %d %d\n", is_mapped(&local, "rw"), is_mapped(&written, "rw"), is_mapped(heap, "rw"),
           strstr(text, "[stack]") != 0);
    contents("/proc/self/status");
    printf("status: %d\n", strncmp(text, "Name:\t", 6));
    if (argc > 2) {
        int ends[2], count = 0, listed = 0;
        pthread_t thread;
        if (pipe(ends) != 0 || pthread_create(&thread, NULL, waits, ends) != 0) {
            return 1;
        }
        contents("/proc/self/status");
        sscanf(strstr(text, "\nThreads:"), " Threads: %d", &count);
        contents("/proc/self/stat");
        sscanf(text, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d", &listed);
        printf("threads: %d %d\n", count, listed);
        close(ends[1]);
        pthread_join(thread, NULL);
    }
    int pid = 0;
    char state = 0;
    contents("/proc/self/stat");
    sscanf(text, "%d (%*[^)]) %c", &pid, &state);
    printf("stat: %d\n", pid == getpid());
    if (argc > 2) {
        printf("state: %c\n", state);
        printf("write: %d\n", open("/proc/self/stat", O_WRONLY) < 0 && errno == EACCES);
    }
    printf("comm: %d\n", contents("/proc/self/comm") > 0);
    unsigned long total = 0;
    contents("/proc/meminfo");
    printf("meminfo: %d\n", sscanf(text, "MemTotal: %lu kB", &total) == 1 && total > 0);
    double uptime = -1;
    contents("/proc/uptime");
    printf("uptime: %d\n", sscanf(text, "%lf", &uptime) == 1 && uptime >= 0);
    unsigned long long user = 0, idle = 0, begin = 0;
    contents("/proc/stat");
    char *boot = strstr(text, "\nbtime ");
    printf("times: %d %d\n", sscanf(text, "cpu %llu %*u %*u %llu", &user, &idle) == 2, strstr(text, "\ncpu0 ") != 0);
    printf("boot: %d\n", boot && sscanf(boot, " btime %llu", &begin) == 1 && begin <= (unsigned long long)time(NULL));
    contents("/proc/cpuinfo");
    printf("cpuinfo: %d\n", strstr(text, "processor\t: 0\n") != 0);

    long len = readlink("/proc/self/exe", text, sizeof text - 1);
    text[len < 0 ? 0 : len] = 0;
    printf("exe: %d %d\n", text[0] == '/', contents("/proc/self/exe") > 4 && !memcmp(text, "\x7f" "ELF", 4));
    struct stat status;
    printf("self: %d", lstat("/proc/self", &status) == 0 && S_ISLNK(status.st_mode));
    printf(" %d\n", stat("/proc/self", &status) == 0 && S_ISDIR(status.st_mode));
    printf("missing: %d\n", open("/proc/self/fd/99", O_RDONLY) < 0 && errno == ENOENT);

    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], "piped", 5) != 5) {
        return 1;
    }
    char name[64];
    sprintf(name, "/dev/fd/%d", ends[0]);
    printf("pipe: %ld %.5s\n", read(open(name, O_RDONLY), text, 5), text);
    printf("wrong way: %d\n", stat(name, &status) == 0 && S_ISFIFO(status.st_mode));
    int input = open("/dev/stdin", O_RDONLY);
    printf("stdin: %ld %.6s\n", read(input, text, 6), text);
    int output = open("/dev/stdout", O_WRONLY);
    fflush(stdout);
    printf("stdout: %ld\n", write(output, "by name\n", 8));

    directory("/proc/self/fd", "0");
    directory("/proc", "self");
    directory("/dev", "null");
    return argc;
}
