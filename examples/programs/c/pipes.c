// A chain of threads that are joined by pipes, with poll, scatter and gather.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { STAGES = 6 };

static int ends[STAGES + 1][2];

static void *stage(void *argument) {
    long n = (long)argument;
    char buffer[3000];
    for (ssize_t len; (len = read(ends[n][0], buffer, sizeof buffer)) > 0;) {
        for (ssize_t i = 0; i < len; i++) buffer[i] = (char)(buffer[i] + 1);
        struct iovec parts[2] = {{buffer, (size_t)len / 2}, {buffer + len / 2, (size_t)(len - len / 2)}};
        if (writev(ends[n + 1][1], parts, 2) != len) perror("writev");
    }
    close(ends[n + 1][1]);
    return NULL;
}

static void *feed(void *argument) {
    (void)argument;
    char block[5000];
    for (int i = 0; i < 60; i++) {
        memset(block, 'a' + i % 20, sizeof block);
        if (write(ends[0][1], block, sizeof block) != sizeof block) perror("write");
    }
    close(ends[0][1]);
    return NULL;
}

int main(void) {
    pthread_t threads[STAGES + 1];
    for (int i = 0; i <= STAGES; i++)
        if (pipe2(ends[i], O_CLOEXEC) != 0) return 1;
    for (long i = 0; i < STAGES; i++) pthread_create(&threads[i], NULL, stage, (void *)i);
    pthread_create(&threads[STAGES], NULL, feed, NULL);
    fcntl(ends[STAGES][0], F_SETFL, O_NONBLOCK);
    long counts[256] = {0}, total = 0;
    for (;;) {
        struct pollfd wait = {ends[STAGES][0], POLLIN, 0};
        if (poll(&wait, 1, -1) != 1) return 2;
        unsigned char buffer[1000];
        ssize_t len = read(ends[STAGES][0], buffer, sizeof buffer);
        if (len == 0) break;
        if (len < 0 && errno == EAGAIN) continue;
        for (ssize_t i = 0; i < len; i++) counts[buffer[i]]++;
        total += len;
    }
    for (int i = 0; i <= STAGES; i++) pthread_join(threads[i], NULL);
    printf("total %ld g %ld z %ld a %ld\n", total, counts['g'], counts['z'], counts['a']);
    return 0;
}
