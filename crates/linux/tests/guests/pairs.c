// Pairs of sockets, call by call, and with threads that wait for them.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "show.h"

static int pair[2];
static char buffer[1 << 20];

static void make(int type) {
    if (socketpair(AF_UNIX, type, 0, pair) != 0) perror("socketpair"), exit(1);
}

static void close_both(void) { close(pair[0]), close(pair[1]); }

static int events(int fd, short wanted) {
    struct pollfd entry = {fd, wanted, 0};
    return poll(&entry, 1, 0) < 0 ? -1 : entry.revents;
}

static void show_events(const char *when) {
    printf("%s: %#x %#x\n", when, events(pair[0], POLLIN | POLLOUT | POLLRDHUP), events(pair[1], POLLIN | POLLOUT | POLLRDHUP));
}

static void on_pipe(int number) { printf("signal %d\n", number); }

static long receive(int fd, size_t size, int flags) {
    memset(buffer, 0, 64);
    long result = recv(fd, buffer, size, flags);
    if (result >= 0) printf("<%.*s> ", (int)(result < 64 ? result : 64), buffer);
    return result;
}

static void streams(void) {
    make(SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC);
    printf("flags %#x %d\n", fcntl(pair[0], F_GETFL), fcntl(pair[1], F_GETFD));
    struct stat status;
    fstat(pair[0], &status);
    printf("a socket: %d\n", S_ISSOCK(status.st_mode));
    show_events("new");
    SHOW(receive(pair[0], 10, 0));
    SHOW(send(pair[0], "hello, ", 7, 0));
    SHOW(write(pair[0], "world", 5));
    show_events("written");
    int available;
    SHOW(ioctl(pair[1], FIONREAD, &available));
    SHOW(available);
    SHOW(receive(pair[1], 5, MSG_PEEK));
    SHOW(receive(pair[1], 5, 0));
    SHOW(receive(pair[1], 100, 0));
    SHOW(receive(pair[1], 100, MSG_DONTWAIT));
    SHOW(pread(pair[0], buffer, 1, 0));
    SHOW(lseek(pair[0], 0, SEEK_CUR));
    SHOW(sendto(pair[1], "abc", 3, 0, NULL, 0));
    struct iovec parts[3] = {{"one", 3}, {"", 0}, {"two", 3}};
    SHOW(writev(pair[1], parts, 3));
    char left[5], right[20] = "";
    struct iovec places[2] = {{left, 4}, {right, 19}};
    struct msghdr message = {.msg_iov = places, .msg_iovlen = 2};
    SHOW(recvmsg(pair[0], &message, 0));
    printf("%.4s %s, flags %d\n", left, right, message.msg_flags);
    struct msghdr sent = {.msg_iov = parts, .msg_iovlen = 3};
    SHOW(sendmsg(pair[0], &sent, MSG_NOSIGNAL));
    SHOW(readv(pair[1], places, 2));
    struct sockaddr_un name;
    socklen_t length = sizeof name;
    memset(&name, 1, sizeof name);
    SHOW(getsockname(pair[0], (struct sockaddr *)&name, &length));
    printf("family %d, %d bytes\n", name.sun_family, (int)length);
    length = sizeof name;
    SHOW(getpeername(pair[0], (struct sockaddr *)&name, &length));
    printf("family %d, %d bytes\n", name.sun_family, (int)length);
    SHOW(write(pair[0], "last", 4));
    SHOW(shutdown(pair[0], SHUT_WR));
    show_events("half shut");
    SHOW(receive(pair[1], 100, 0));
    SHOW(receive(pair[1], 100, 0));
    SHOW(write(pair[1], "back", 4));
    SHOW(receive(pair[0], 100, 0));
    SHOW(write(pair[0], "x", 1));
    SHOW(send(pair[0], "x", 1, MSG_NOSIGNAL));
    SHOW(shutdown(pair[1], SHUT_RDWR));
    show_events("shut");
    SHOW(shutdown(pair[1], 7));
    close_both();

    make(SOCK_STREAM | SOCK_NONBLOCK);
    SHOW(write(pair[0], "rest", 4));
    SHOW(close(pair[0]));
    printf("%#x\n", events(pair[1], POLLIN | POLLOUT));
    SHOW(receive(pair[1], 100, 0));
    SHOW(receive(pair[1], 100, 0));
    SHOW(write(pair[1], "x", 1));
    SHOW(close(pair[1]));
    SHOW(send(0, "x", 1, 0));
    SHOW(send(99, "x", 1, 0));
    SHOW(socketpair(AF_INET, SOCK_STREAM, 0, pair));
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 5, pair));
    SHOW(socketpair(AF_UNIX, SOCK_RDM, 0, pair));
    SHOW(socketpair(AF_UNIX, 77, 0, pair));
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 0, NULL));
}

static void messages(int type) {
    make(type | SOCK_NONBLOCK);
    SHOW(send(pair[0], "first message", 13, 0));
    SHOW(send(pair[0], "", 0, 0));
    struct iovec parts[2] = {{"sec", 3}, {"ond", 3}};
    SHOW(writev(pair[0], parts, 2));
    SHOW(write(pair[0], "third", 5));
    show_events("messages");
    SHOW(receive(pair[1], 100, MSG_PEEK));
    SHOW(receive(pair[1], 5, 0));
    SHOW(receive(pair[1], 5, 0));
    char left[3], right[20] = "";
    struct iovec places[2] = {{left, 2}, {right, 2}};
    struct msghdr message = {.msg_iov = places, .msg_iovlen = 2};
    SHOW(recvmsg(pair[1], &message, 0));
    printf("%.2s %s, cut: %d\n", left, right, (message.msg_flags & MSG_TRUNC) != 0);
    SHOW(receive(pair[1], 2, MSG_TRUNC));
    SHOW(receive(pair[1], 2, 0));
    SHOW(send(pair[1], buffer, sizeof buffer, 0));
    SHOW(shutdown(pair[0], SHUT_RD));
    SHOW(send(pair[1], "x", 1, 0));
    show_events("shut");
    SHOW(send(pair[0], "left", 4, 0));
    SHOW(close(pair[0]));
    printf("%#x\n", events(pair[1], POLLIN | POLLRDHUP));
    SHOW(receive(pair[1], 100, 0));
    SHOW(receive(pair[1], 100, 0));
    SHOW(send(pair[1], "x", 1, 0));
    close(pair[1]);
}

static int option(int name) {
    int value = -7;
    socklen_t length = sizeof value;
    return getsockopt(pair[0], SOL_SOCKET, name, &value, &length) == 0 ? value : -errno;
}

static void options(void) {
    make(SOCK_SEQPACKET);
    printf("type %d, error %d, domain %d, protocol %d, accepts %d\n", option(SO_TYPE), option(SO_ERROR), option(SO_DOMAIN),
           option(SO_PROTOCOL), option(SO_ACCEPTCONN));
    printf("has buffers: %d %d\n", option(SO_SNDBUF) > 4096, option(SO_RCVBUF) > 4096);
    struct ucred peer;
    socklen_t length = sizeof peer;
    getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &peer, &length);
    printf("own peer: %d\n", peer.pid == getpid() && peer.uid == getuid());
    struct timeval span = {0, 30000}, got, before, after;
    SHOW(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &span, sizeof span));
    length = sizeof got;
    SHOW(getsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &got, &length));
    printf("%d.%d\n", (int)got.tv_sec, (int)got.tv_usec / 10000);
    gettimeofday(&before, NULL);
    SHOW(receive(pair[0], 10, 0));
    SHOW(read(pair[0], buffer, 10));
    gettimeofday(&after, NULL);
    long waited = (after.tv_sec - before.tv_sec) * 1000000 + after.tv_usec - before.tv_usec;
    printf("waited: %d\n", waited >= 60000);
    span.tv_usec = 1000000;
    SHOW(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &span, sizeof span));
    SHOW(setsockopt(pair[0], SOL_SOCKET, SO_TYPE, &span, sizeof span));
    SHOW(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &span, 2));
    SHOW(getsockopt(0, SOL_SOCKET, SO_TYPE, &span, &length));
    close_both();
}

// What the other side has sent and nobody has read is told of once.
static void resets(int type) {
    make(type | SOCK_NONBLOCK);
    SHOW(send(pair[0], "seen", 4, 0));
    SHOW(send(pair[0], "unseen", 6, 0));
    SHOW(receive(pair[1], 4, 0));
    SHOW(send(pair[1], "answer", 6, 0));
    close(pair[1]);
    for (int n = 0; n < 4; n++) {
        printf("%#x\n", events(pair[0], POLLIN | POLLOUT | POLLRDHUP));
        SHOW(receive(pair[0], 100, 0));
    }
    close(pair[0]);
    for (int end = 0; end < 3; end++) {
        make(type | SOCK_NONBLOCK);
        SHOW(send(pair[0], "unseen", 6, 0));
        if (end == 0) shutdown(pair[1], SHUT_RD);
        if (end == 1) SHOW(receive(pair[1], 6, 0));
        printf("error %d\n", option(SO_ERROR));
        close(pair[1]);
        SHOW(send(pair[0], "x", 1, MSG_NOSIGNAL));
        printf("error %d, then %d\n", option(SO_ERROR), option(SO_ERROR));
        SHOW(receive(pair[0], 100, 0));
        close(pair[0]);
    }

    // Nobody has accepted it.
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int length = 3 + snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "resets %d", getpid());
    int listener = socket(AF_UNIX, type, 0);
    pair[0] = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);
    SHOW(bind(listener, (struct sockaddr *)&name, length));
    SHOW(listen(listener, 1));
    SHOW(connect(pair[0], (struct sockaddr *)&name, length));
    SHOW(receive(pair[0], 100, 0));
    close(listener);
    printf("%#x\n", events(pair[0], POLLIN | POLLOUT | POLLRDHUP));
    SHOW(receive(pair[0], 100, 0));
    SHOW(receive(pair[0], 100, 0));
    close(pair[0]);
}

// All bytes, in pieces that the other end's room cuts.
static void *write_much(void *argument) {
    for (int n = 0; n < 10; n++) {
        memset(buffer, 'a' + n, 50000);
        long written = argument ? write(pair[0], buffer, 50000) : send(pair[0], buffer, 50000, 0);
        if (written != 50000) printf("only %ld written\n", written);
    }
    shutdown(pair[0], SHUT_WR);
    return NULL;
}

static void waits(void) {
    pthread_t thread;
    for (int n = 0; n < 2; n++) {
        make(SOCK_STREAM);
        pthread_create(&thread, NULL, write_much, (void *)(long)n);
        static char bytes[500000];
        SHOW(recv(pair[1], bytes, 1000, MSG_WAITALL));
        long total = 1000, sum = 0;
        for (long got; (got = read(pair[1], bytes + total, sizeof bytes - total)) > 0;) total += got;
        for (long at = 0; at < total; at++) sum += bytes[at];
        printf("%ld bytes, sum %ld\n", total, sum);
        SHOW(recv(pair[1], bytes, 1000, MSG_WAITALL));
        pthread_join(thread, NULL);
        close_both();
    }
}

static void *write_later(void *argument) {
    usleep(3000);
    if (write(pair[0], argument, strlen(argument)) < 0) perror("write");
    return NULL;
}

static void polls(void) {
    pthread_t thread;
    make(SOCK_STREAM);
    int epoll = epoll_create1(0);
    struct epoll_event event = {EPOLLIN | EPOLLRDHUP | EPOLLET, {.u64 = 5}};
    SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, pair[1], &event));
    SHOW(epoll_wait(epoll, &event, 1, 10));
    pthread_create(&thread, NULL, write_later, "first");
    SHOW(epoll_wait(epoll, &event, 1, -1));
    pthread_join(thread, NULL);
    printf("%#x %d\n", event.events, (int)event.data.u64);
    SHOW(receive(pair[1], 100, 0));
    SHOW(epoll_wait(epoll, &event, 1, 0));
    pthread_create(&thread, NULL, write_later, "second");
    SHOW(receive(pair[1], 100, 0));
    pthread_join(thread, NULL);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pair[1], &set);
    pthread_create(&thread, NULL, write_later, "third");
    SHOW(select(pair[1] + 1, &set, NULL, NULL, NULL));
    pthread_join(thread, NULL);
    close(pair[0]);
    SHOW(epoll_wait(epoll, &event, 1, -1));
    printf("%#x\n", event.events);
    close(pair[1]), close(epoll);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, on_pipe);
    streams();
    messages(SOCK_DGRAM);
    messages(SOCK_SEQPACKET);
    options();
    resets(SOCK_STREAM);
    resets(SOCK_SEQPACKET);
    waits();
    polls();
    return 0;
}
