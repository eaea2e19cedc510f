// Many messages by one call (sendmmsg, recvmmsg), on sockets of all kinds.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "show.h"

enum { MOST = 5, SIZE = 40 };

static struct mmsghdr messages[2000];
static struct iovec parts[2000];
static char texts[MOST][SIZE];
static struct sockaddr_in froms[MOST];

// Prepares messages: texts to send, or room to receive.
static void prepare(int count, const char *text) {
    memset(messages, 0, sizeof messages);
    for (int n = 0; n < count; n++) {
        if (text) snprintf(texts[n], SIZE, "%s %d", text, n);
        else memset(texts[n], 0, SIZE);
        parts[n] = (struct iovec){texts[n], text ? strlen(texts[n]) : SIZE};
        messages[n].msg_hdr = (struct msghdr){.msg_iov = &parts[n], .msg_iovlen = 1};
        messages[n].msg_len = 77;
    }
}

static void show_all(int count) {
    for (int n = 0; n < count; n++)
        printf("%d: %d <%.*s> flags %#x\n", n, messages[n].msg_len, SIZE, texts[n], messages[n].msg_hdr.msg_flags);
}

static void on_signal(int number) { printf("signal %d\n", number); }

struct later {
    int fd, count;
};

static void *send_later(void *argument) {
    struct later *later = argument;
    for (int n = 0; n < later->count; n++) {
        usleep(3000);
        send(later->fd, n ? "later" : "late", 4 + n, 0);
    }
    return NULL;
}

static void pairs(int type) {
    int pair[2];
    pthread_t thread;
    SHOW(socketpair(AF_UNIX, type, 0, pair));
    prepare(3, "message");
    SHOW(sendmmsg(pair[0], messages, 3, 0));
    show_all(3);
    prepare(MOST, NULL);
    parts[1].iov_len = type == SOCK_STREAM ? 5 : 3;
    SHOW(recvmmsg(pair[1], messages, MOST, MSG_DONTWAIT, NULL));
    show_all(MOST);
    SHOW(recvmmsg(pair[1], messages, MOST, MSG_DONTWAIT, NULL));
    SHOW(sendmmsg(pair[0], messages, 0, 0));
    SHOW(recvmmsg(pair[1], messages, 0, 0, NULL));
    // It waits for the first one alone, or for all. However late it begins, a stream gives the first one no more than its own.
    for (int n = 0; n < 2; n++) {
        struct later later = {pair[0], n + 1};
        pthread_create(&thread, NULL, send_later, &later);
        prepare(2, NULL);
        parts[0].iov_len = 4;
        SHOW(recvmmsg(pair[1], messages, n ? 2 : MOST, n ? 0 : MSG_WAITFORONE, NULL));
        show_all(2);
        pthread_join(thread, NULL);
    }
    // A time in which nothing comes.
    struct timeval span = {0, 20000};
    setsockopt(pair[1], SOL_SOCKET, SO_RCVTIMEO, &span, sizeof span);
    send(pair[0], "only", 4, 0);
    prepare(2, NULL);
    SHOW(recvmmsg(pair[1], messages, 2, 0, NULL));
    show_all(2);
    SHOW(recvmmsg(pair[1], messages, 2, 0, NULL));
    // The second one is wrong.
    prepare(3, "wrong");
    messages[1].msg_hdr.msg_iov = (struct iovec *)8;
    SHOW(sendmmsg(pair[0], messages, 3, 0));
    show_all(2);
    SHOW(sendmmsg(pair[0], messages + 1, 2, 0));
    SHOW(sendmmsg(pair[0], (struct mmsghdr *)8, 2, 0));
    prepare(2, NULL);
    messages[1].msg_hdr.msg_iov = (struct iovec *)8;
    SHOW(recvmmsg(pair[1], messages + 1, 1, MSG_DONTWAIT, NULL));
    SHOW(recvmmsg(pair[1], messages, 2, MSG_DONTWAIT, NULL));
    close(pair[1]);
    prepare(2, "nobody");
    SHOW(sendmmsg(pair[0], messages, 2, MSG_NOSIGNAL));
    SHOW(sendmmsg(pair[0], messages, 2, 0));
    close(pair[0]);
    SHOW(sendmmsg(0, messages, 1, 0));
    SHOW(recvmmsg(0, messages, 1, 0, NULL));
    SHOW(recvmmsg(99, messages, 1, 0, NULL));
}

// All bytes of messages that are longer than there is room for, in order.
static char much[3][100000];

static void *send_much(void *argument) {
    for (int n = 0; n < 3; n++) {
        memset(much[n], 'a' + n, sizeof much[n]);
        parts[n] = (struct iovec){much[n], sizeof much[n]};
        messages[n].msg_hdr = (struct msghdr){.msg_iov = &parts[n], .msg_iovlen = 1};
    }
    SHOW(sendmmsg(*(int *)argument, messages, 3, 0));
    for (int n = 0; n < 3; n++) printf("%d bytes\n", messages[n].msg_len);
    shutdown(*(int *)argument, SHUT_WR);
    return NULL;
}

static void waits(void) {
    int pair[2], total = 0, are_ordered = 1;
    pthread_t thread;
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    pthread_create(&thread, NULL, send_much, &pair[0]);
    static char bytes[7000];
    for (int got; (got = read(pair[1], bytes, sizeof bytes)) > 0; total += got)
        for (int n = 0; n < got; n++) are_ordered &= bytes[n] == 'a' + (total + n) / 100000;
    pthread_join(thread, NULL);
    printf("%d bytes, in order: %d\n", total, are_ordered);
    close(pair[0]), close(pair[1]);
}

// Datagrams between local sockets with names.
static void named(void) {
    struct sockaddr_un names[2] = {{AF_UNIX, "\0one"}, {AF_UNIX, "\0two"}}, got[MOST];
    int fds[2];
    for (int n = 0; n < 2; n++) {
        names[n].sun_path[4] = 'x';
        fds[n] = socket(AF_UNIX, SOCK_DGRAM, 0);
        SHOW(bind(fds[n], (struct sockaddr *)&names[n], 6));
    }
    prepare(3, "to");
    for (int n = 0; n < 3; n++) messages[n].msg_hdr.msg_name = &names[n % 2], messages[n].msg_hdr.msg_namelen = 6;
    SHOW(sendmmsg(fds[0], messages, 3, 0));
    for (int n = 0; n < 2; n++) {
        prepare(MOST, NULL);
        for (int m = 0; m < MOST; m++) {
            messages[m].msg_hdr.msg_name = &got[m];
            messages[m].msg_hdr.msg_namelen = sizeof got[m];
        }
        int count;
        SHOW(count = recvmmsg(fds[n], messages, MOST, MSG_WAITFORONE, NULL));
        show_all(count);
        for (int m = 0; m < count; m++)
            printf("from %.3s, %d bytes\n", got[m].sun_path + 1, (int)messages[m].msg_hdr.msg_namelen);
    }
    close(fds[0]), close(fds[1]);
}

// Datagrams to an echo.
static void udp(int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0) perror("socket"), exit(1);
    prepare(3, "datagram");
    for (int n = 0; n < 3; n++) messages[n].msg_hdr.msg_name = &to, messages[n].msg_hdr.msg_namelen = sizeof to;
    SHOW(sendmmsg(fd, messages, 3, 0));
    show_all(3);
    prepare(3, NULL);
    for (int n = 0; n < 3; n++) {
        messages[n].msg_hdr.msg_name = &froms[n];
        messages[n].msg_hdr.msg_namelen = sizeof froms[n];
    }
    SHOW(recvmmsg(fd, messages, 3, 0, NULL));
    show_all(3);
    for (int n = 0; n < 3; n++) printf("from the echo: %d\n", ntohs(froms[n].sin_port) == port);
    close(fd);
}

// What qemu knows nothing of: the time in which messages may come.
static void timeouts(void) {
    int pair[2];
    socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
    struct timespec span = {1, 0};
    send(pair[0], "only", 4, 0);
    prepare(3, NULL);
    SHOW(recvmmsg(pair[1], messages, 1, 0, &span));
    printf("left: %d\n", span.tv_sec == 0 && span.tv_nsec > 0);
    send(pair[0], "only", 4, 0);
    span = (struct timespec){0, 20000000};
    SHOW(recvmmsg(pair[1], messages, 2, 0, &span));
    printf("left: %d %d\n", (int)span.tv_sec, (int)span.tv_nsec);
    span = (struct timespec){0, 20000000};
    SHOW(recvmmsg(pair[1], messages, 2, 0, &span));
    send(pair[0], "one", 3, 0), send(pair[0], "two", 3, 0);
    span = (struct timespec){0, 0};
    SHOW(recvmmsg(pair[1], messages, 2, 0, &span));
    span = (struct timespec){0, 1000000000};
    SHOW(recvmmsg(pair[1], messages, 2, 0, &span));
    SHOW(recvmmsg(pair[1], messages, 2, 0, (struct timespec *)8));
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, on_signal);
    if (argc > 1 && !strcmp(argv[1], "timeouts")) {
        timeouts();
        return 0;
    }
    if (argc > 2) {
        udp(atoi(argv[2]));
        return 0;
    }
    pairs(SOCK_STREAM);
    pairs(SOCK_DGRAM);
    pairs(SOCK_SEQPACKET);
    waits();
    named();
    return 0;
}
