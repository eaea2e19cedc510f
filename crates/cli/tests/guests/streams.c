// streams HOW: reads from standard input, or writes to standard output, for ever; or tries what only files can.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

static char block[64 << 10];

// Writes this many bytes, in pieces of many sizes, each by one call.
static int count(long total) {
    for (unsigned i = 0; i < sizeof block; i++) block[i] = "0123456789abcde\n"[i % 16];
    long done = 0;
    for (long n = 1; done < total; n = n * 7 % 65521) {
        long size = n < total - done ? n : total - done;
        if (write(1, block, size) != size) return 1;
        done += size;
    }
    return 0;
}

static void *write_much(void *has_begun) {
    *(volatile int *)has_begun = 1;
    for (int n = 0; n < 16; n++)
        if (write(1, block, sizeof block) != sizeof block) return NULL;
    return has_begun;
}

// One thread writes to standard output while the other one works and says so.
static int beside(void) {
    static volatile int has_begun;
    pthread_t thread;
    void *result;
    memset(block, 'x', sizeof block);
    pthread_create(&thread, NULL, write_much, (void *)&has_begun);
    while (!has_begun) continue;
    for (int n = 0; n < 5; n++) {
        usleep(1000);
        dprintf(2, "%d\n", n);
    }
    pthread_join(thread, &result);
    return result == NULL;
}

// Waits until the other ends of standard input and output are gone, and for nothing else.
static int gone(void) {
    for (int fd = 0; fd < 2; fd++) {
        struct pollfd entry = {fd, 0, 0};
        dprintf(2, "poll %d\n", poll(&entry, 1, 20));
        entry.events = fd == 0 ? POLLIN : 0;
        dprintf(2, "poll %d\n", poll(&entry, 1, -1));
        dprintf(2, "%#x\n", entry.revents);
        char byte;
        if (fd == 0) dprintf(2, "read %zd\n", read(0, &byte, 1));
    }
    return 0;
}

static int positions(void) {
    struct iovec part = {"FORGED\n", 7};
    char text[8] = "";
    dprintf(2, "lseek %ld %s\n", (long)lseek(1, 0, SEEK_SET), strerror(errno));
    dprintf(2, "pwrite %zd %s\n", pwrite(1, "FORGED\n", 7, 0), strerror(errno));
    dprintf(2, "pwritev %zd %s\n", pwritev(1, &part, 1, 0), strerror(errno));
    dprintf(2, "ftruncate %d %s\n", ftruncate(1, 0), strerror(errno));
    dprintf(2, "fallocate %d %s\n", fallocate(1, 0, 0, 1 << 20), strerror(errno));
    dprintf(2, "write %zd\n", write(1, "appended\n", 9));
    dprintf(2, "pread %zd %s\n", pread(0, text, 4, 1), text);
    dprintf(2, "lseek %ld\n", (long)lseek(0, 2, SEEK_SET));
    dprintf(2, "read %zd %s\n", read(0, text, 4), text);
    return 0;
}

// How much there is to read, before and after some of it is read, and what is said of standard error.
static int available(void) {
    char text[2];
    int count = -1, result = ioctl(0, FIONREAD, &count);
    printf("%d %d\n", result, count);
    if (read(0, text, 2) != 2) return 1;
    result = ioctl(0, FIONREAD, &count);
    printf("%d %d\n", result, count);
    result = ioctl(2, FIONREAD, &count);
    printf("%d %s\n", result, strerror(errno));
    return 0;
}

int main(int argc, char **argv) {
    const char *how = argv[1];
    struct iovec vector[1024];
    for (int i = 0; i < 1024; i++) vector[i].iov_base = block, vector[i].iov_len = sizeof block;
    int zero = open("/dev/zero", O_RDONLY);
    if (argc > 2) return count(atol(argv[2]));
    if (!strcmp(how, "available")) return available();
    if (!strcmp(how, "gone")) return gone();
    if (!strcmp(how, "positions")) return positions();
    if (!strcmp(how, "beside")) return beside();
    for (;;) {
        if (!strcmp(how, "blocks")) write(1, block, sizeof block);
        if (!strcmp(how, "words")) write(1, "hello, world\n", 13);
        if (!strcmp(how, "lines")) write(1, "\n", 1);
        if (!strcmp(how, "vectors")) writev(1, vector, 1024);
        if (!strcmp(how, "sendfile")) sendfile(1, zero, NULL, 1 << 30);
        if (!strcmp(how, "stdio")) fputs("hello, world\n", stdout);
        if (!strcmp(how, "read")) read(0, block, sizeof block);
    }
}
