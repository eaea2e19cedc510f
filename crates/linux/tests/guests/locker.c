// Does what its arguments say, one after the other, to the file that it has opened last, and prints each before and after.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "show.h"

static long record(int fd, int command, int type) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = 100, .l_len = 10};
    long result = fcntl(fd, command, &lock);
    if (result == 0 && command == F_GETLK && lock.l_type != F_UNLCK)
        printf("type %d whence %d start %ld length %ld of %d\n", lock.l_type, lock.l_whence, (long)lock.l_start,
               (long)lock.l_len, (int)lock.l_pid);
    return result;
}

static long act(int *fd, const char *what) {
    static const struct {
        const char *name;
        int command, type;
    } records[] = {
        {"read", F_SETLK, F_RDLCK},           {"write", F_SETLK, F_WRLCK},          {"unlock", F_SETLK, F_UNLCK},
        {"wait-read", F_SETLKW, F_RDLCK},     {"wait-write", F_SETLKW, F_WRLCK},    {"get", F_GETLK, F_WRLCK},
        {"file-read", F_OFD_SETLK, F_RDLCK},  {"file-write", F_OFD_SETLK, F_WRLCK}, {"file-wait", F_OFD_SETLKW, F_WRLCK},
    };
    for (unsigned n = 0; n < sizeof records / sizeof *records; n++)
        if (strcmp(what, records[n].name) == 0) return record(*fd, records[n].command, records[n].type);
    if (strncmp(what, "open:", 5) == 0) return *fd = open(what + 5, O_RDWR);
    if (strncmp(what, "open-to-read:", 13) == 0) return *fd = open(what + 13, O_RDONLY);
    if (strncmp(what, "make:", 5) == 0) return *fd = open(what + 5, O_RDWR | O_CREAT, 0644);
    if (strncmp(what, "close:", 6) == 0) return close(atoi(what + 6));
    if (strncmp(what, "many:", 5) == 0) {
        for (long n = 0; n < atoi(what + 5); n++) {
            struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 2 * n, .l_len = 1};
            if (fcntl(*fd, F_SETLK, &lock) != 0) return -1;
        }
        return 0;
    }
    if (strcmp(what, "shared") == 0) return flock(*fd, LOCK_SH | LOCK_NB);
    if (strcmp(what, "exclusive") == 0) return flock(*fd, LOCK_EX | LOCK_NB);
    if (strcmp(what, "wait-exclusive") == 0) return flock(*fd, LOCK_EX);
    if (strcmp(what, "chmod") == 0) return fchmod(*fd, 0400);
    if (strcmp(what, "sleep") == 0) return sleep(1000);
    exit(99);
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    int fd = -1;
    for (int n = 1; n < argc; n++) {
        printf("%s\n", argv[n]);
        errno = 0;
        long result = act(&fd, argv[n]);
        if (result == -1) printf("%s\n", strerror(errno));
    }
}
