// Threads write more to a pipe than it holds, in one piece and in several, while another one reads slowly.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LEN = 100000 };

static int ends[2];
static char data[LEN];

static void *write_whole(void *argument) {
    (void)argument;
    printf("write %zd\n", write(ends[1], data, LEN));
    struct iovec parts[4] = {{data, 100}, {data + 100, 70000}, {data, 0}, {data + 70100, LEN - 70100}};
    printf("writev %zd\n", writev(ends[1], parts, 4));
    close(ends[1]);
    return NULL;
}

static void handle(int number) { (void)number; }

// How many writes have returned.
static atomic_int writes;

static void *write_until(void *argument) {
    (void)argument;
    ssize_t written = write(ends[1], data, LEN);
    printf("interrupted after %d\n", written > 0 && written < LEN);
    writes++;
    written = write(ends[1], data, LEN);
    printf("then %zd %s\n", written, strerror(errno));
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    writes++;
    written = write(ends[1], data, LEN);
    printf("closed %zd %s\n", written, strerror(errno));
    return NULL;
}

int main(void) {
    pthread_t thread;
    static char read_data[LEN];
    for (int i = 0; i < LEN; i += sizeof i) memcpy(data + i, &i, sizeof i);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (pipe(ends) != 0) return 1;
    pthread_create(&thread, NULL, write_whole, NULL);
    int at = 0, wrong = 0, total = 0;
    for (ssize_t len; (len = read(ends[0], read_data, LEN - at < 5000 ? LEN - at : 1 + at % 5000)) > 0; total += len) {
        wrong += memcmp(read_data, data + at, len) != 0;
        at = (at + len) % LEN;
    }
    pthread_join(thread, NULL);
    printf("read %d wrong %d\n", total, wrong);
    close(ends[0]);

    // Without SA_RESTART; what a write has moved before a signal counts.
    struct sigaction action = {.sa_handler = handle};
    sigaction(SIGUSR1, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    if (pipe(ends) != 0) return 1;
    pthread_create(&thread, NULL, write_until, NULL);
    // The pipe is full first, so that the write waits.
    for (int held = 0; held < 65536; sched_yield()) ioctl(ends[0], FIONREAD, &held);
    // Repeatedly, as a signal may come before the call that it is to interrupt.
    for (int done = 0; done < 2; done++)
        while (writes == done) {
            pthread_kill(thread, SIGUSR1);
            usleep(1000);
        }
    usleep(1000);
    close(ends[0]);
    pthread_join(thread, NULL);
    return 0;
}
