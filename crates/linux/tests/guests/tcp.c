// tcp HOW PORT: TCP to and from 127.0.0.1, and what is refused.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "show.h"

static char buffer[1 << 20];

static struct sockaddr_in to(const char *ip, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, ip, &address.sin_addr);
    return address;
}

#define AT(address) (struct sockaddr *)&address, sizeof address

static int events(int fd, short wanted, int timeout) {
    struct pollfd entry = {fd, wanted, 0};
    return poll(&entry, 1, timeout) < 0 ? -1 : entry.revents;
}

static int option(int fd, int level, int name) {
    int value = -7;
    socklen_t length = sizeof value;
    return getsockopt(fd, level, name, &value, &length) == 0 ? value : -errno;
}

static long receive(int fd, size_t size, int flags) {
    memset(buffer, 0, 64);
    long result = recv(fd, buffer, size, flags);
    if (result >= 0) printf("<%.*s> ", (int)(result < 64 ? result : 64), buffer);
    return result;
}

// The server sends back what it gets, a whole line at a time, and ends when the client does.
static void client(int port) {
    struct sockaddr_in address = to("127.0.0.1", port), name;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    SHOW(send(fd, "early", 5, MSG_NOSIGNAL));
    SHOW(connect(fd, AT(address)));
    SHOW(connect(fd, AT(address)));
    socklen_t length = sizeof name;
    SHOW(getpeername(fd, (struct sockaddr *)&name, &length));
    printf("%s, the port: %d, %d bytes\n", inet_ntoa(name.sin_addr), ntohs(name.sin_port) == port, (int)length);
    length = sizeof name;
    SHOW(getsockname(fd, (struct sockaddr *)&name, &length));
    printf("%s, a port: %d\n", inet_ntoa(name.sin_addr), name.sin_port != 0);
    printf("type %d, domain %d, protocol %d, accepts %d, error %d\n", option(fd, SOL_SOCKET, SO_TYPE),
           option(fd, SOL_SOCKET, SO_DOMAIN), option(fd, SOL_SOCKET, SO_PROTOCOL), option(fd, SOL_SOCKET, SO_ACCEPTCONN),
           option(fd, SOL_SOCKET, SO_ERROR));
    int one = 1;
    SHOW(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one));
    SHOW(option(fd, IPPROTO_TCP, TCP_NODELAY));
    SHOW(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one));
    SHOW(option(fd, SOL_SOCKET, SO_KEEPALIVE));
    SHOW(events(fd, POLLIN | POLLOUT, 0));
    SHOW(receive(fd, 10, MSG_DONTWAIT));
    SHOW(write(fd, "a line\n", 7));
    SHOW(recv(fd, buffer, 7, MSG_PEEK | MSG_WAITALL) > 0);
    SHOW(receive(fd, 7, MSG_WAITALL));
    struct iovec parts[2] = {{"two ", 4}, {"parts\n", 6}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    SHOW(sendmsg(fd, &message, 0));
    SHOW(events(fd, POLLIN, -1));
    SHOW(receive(fd, 10, MSG_WAITALL));
    SHOW(fcntl(fd, F_SETFL, O_NONBLOCK));
    SHOW(read(fd, buffer, 10));
    SHOW(sendto(fd, "third\n", 6, 0, AT(address)));
    int epoll = epoll_create1(0);
    struct epoll_event event = {EPOLLIN | EPOLLOUT | EPOLLET, {.u64 = 5}}, got;
    SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
    int seen = 0;
    while (!(seen & EPOLLIN) && epoll_wait(epoll, &got, 1, -1) == 1) seen |= got.events;
    printf("%#x\n", seen);
    SHOW(receive(fd, 100, 0));
    struct timeval before, after;
    gettimeofday(&before, NULL);
    // What is told once is not told again.
    while (epoll_wait(epoll, &got, 1, 30) == 1) continue;
    gettimeofday(&after, NULL);
    printf("waited %d\n", (after.tv_sec - before.tv_sec) * 1000000 + after.tv_usec - before.tv_usec >= 30000);
    SHOW(shutdown(fd, SHUT_WR));
    SHOW(epoll_wait(epoll, &got, 1, -1));
    SHOW(events(fd, POLLIN, -1) & POLLIN);
    SHOW(receive(fd, 100, 0));
    SHOW(send(fd, "late", 4, MSG_NOSIGNAL));
    close(epoll), close(fd);

    // Much at once, in blocking calls: more than buffers hold, so that both ways are used at a time.
    fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP);
    long result = connect(fd, AT(address));
    printf("in progress: %d\n", result == 0 || errno == EINPROGRESS);
    SHOW(events(fd, POLLOUT, -1));
    SHOW(option(fd, SOL_SOCKET, SO_ERROR));
    SHOW(fcntl(fd, F_SETFL, 0));
    memset(buffer, 'x', sizeof buffer);
    buffer[sizeof buffer - 1] = '\n';
    for (int n = 0; n < 4; n++)
        if (write(fd, buffer, sizeof buffer) != sizeof buffer) printf("not written\n");
    SHOW(shutdown(fd, SHUT_WR));
    long total = 0;
    for (long got; (got = read(fd, buffer, sizeof buffer)) > 0;) total += got;
    printf("%ld bytes\n", total);
    close(fd);
}

static void *work(void *argument) {
    for (int n = 0; n < 5; n++) {
        usleep(1000);
        printf("working\n");
    }
    return argument;
}

// The server answers once the other thread has worked.
static void beside(int port) {
    struct sockaddr_in address = to("127.0.0.1", port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    pthread_t thread;
    SHOW(connect(fd, AT(address)));
    pthread_create(&thread, NULL, work, NULL);
    SHOW(receive(fd, 100, 0));
    pthread_join(thread, NULL);
    struct timeval span = {0, 20000};
    SHOW(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &span, sizeof span));
    SHOW(receive(fd, 100, 0));
}

static void *echo(void *argument) {
    int fd = (long)argument;
    char line[100];
    for (long got; (got = read(fd, line, sizeof line)) > 0;) {
        if (write(fd, line, got) != got) break;
        if (memcmp(line, "quit", 4) == 0) exit(7);
    }
    close(fd);
    return NULL;
}

static int listener(const char *ip, int port) {
    struct sockaddr_in address = to(ip, port);
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    socklen_t length = sizeof address;
    SHOW(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one));
    SHOW(bind(fd, AT(address)));
    SHOW(listen(fd, 10));
    SHOW(option(fd, SOL_SOCKET, SO_ACCEPTCONN));
    SHOW(fcntl(fd, F_SETFL, O_NONBLOCK));
    SHOW(accept(fd, NULL, NULL));
    SHOW(fcntl(fd, F_SETFL, 0));
    getsockname(fd, (struct sockaddr *)&address, &length);
    printf("at %s\nport %d\n", inet_ntoa(address.sin_addr), ntohs(address.sin_port));
    return fd;
}

static void server(void) {
    int fd = listener("0.0.0.0", 0);
    for (;;) {
        struct sockaddr_in peer;
        socklen_t length = sizeof peer;
        int accepted = accept(fd, (struct sockaddr *)&peer, &length);
        if (accepted < 0) perror("accept"), exit(1);
        printf("accepted from %s, %d bytes\n", inet_ntoa(peer.sin_addr), (int)length);
        pthread_t thread;
        pthread_create(&thread, NULL, echo, (void *)(long)accepted);
        pthread_detach(thread);
    }
}

static void one(void) {
    int fd = accept(listener("127.0.0.1", 0), NULL, NULL);
    SHOW(receive(fd, 5, MSG_WAITALL));
}

static void by_name(const char *name, const char *port) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    int error = getaddrinfo(name, port, &hints, &found);
    if (error) printf("%s: %s\n", name, gai_strerror(error)), exit(1);
    for (; found; found = found->ai_next) {
        int fd = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
        if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0) {
            SHOW(receive(fd, 100, 0));
            return;
        }
    }
    printf("nobody there\n");
}

static void refused(int port) {
    struct sockaddr_in granted = to("127.0.0.1", port), other = to("127.0.0.1", port ^ 1), any = to("0.0.0.0", port);
    struct sockaddr_in away = to("127.0.0.2", port), none = to("127.0.0.1", 0);
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_loopback};
    struct sockaddr_un path = {AF_UNIX, "/tmp/socket"};
    SHOW(socket(AF_INET, SOCK_DGRAM, 0));
    SHOW(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
    SHOW(socket(AF_INET6, SOCK_STREAM, 0));
    SHOW(socket(AF_NETLINK, SOCK_RAW, 0));
    SHOW(socket(AF_PACKET, SOCK_RAW, 0));
    SHOW(socket(AF_VSOCK, SOCK_STREAM, 0));
    SHOW(socket(AF_INET, SOCK_STREAM, 262));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) {
        perror("socket");
        return;
    }
    SHOW(connect(fd, AT(other)));
    SHOW(connect(fd, AT(any)));
    SHOW(connect(fd, AT(away)));
    SHOW(connect(fd, AT(six)));
    SHOW(connect(fd, AT(path)));
    SHOW(connect(fd, (struct sockaddr *)&granted, 8));
    SHOW(connect(fd, (struct sockaddr *)&granted, -1));
    // Some calls can connect by themselves.
    SHOW(sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, AT(other)));
    SHOW(bind(fd, AT(granted)));
    SHOW(bind(fd, AT(none)));
    SHOW(bind(fd, AT(any)));
    SHOW(listen(fd, 5));
    int value = 1;
    SHOW(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo\0", 4));
    SHOW(setsockopt(fd, SOL_SOCKET, SO_MARK, &value, 4));
    SHOW(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &value, 4));
    SHOW(setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &value, 4));
    SHOW(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &value, 4));
    SHOW(setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &value, 4));
    SHOW(connect(fd, AT(granted)));
    SHOW(connect(fd, AT(other)));
    struct sockaddr unspecified = {.sa_family = AF_UNSPEC};
    SHOW(connect(fd, AT(unspecified)));
    struct cmsghdr rights[2] = {{.cmsg_len = 20, .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct msghdr message = {.msg_control = rights, .msg_controllen = 20};
    SHOW(sendmsg(fd, &message, MSG_NOSIGNAL));
    int pair[2];
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    SHOW(sendmsg(pair[0], &message, MSG_NOSIGNAL));
    SHOW(accept(pair[0], NULL, NULL));
    SHOW(listen(pair[0], 1));
    SHOW(connect(0, AT(granted)));
}

static volatile int is_told;

// Receives what another thread waits for that never waits itself.
static void *tell(void *argument) {
    is_told = recv(*(int *)argument, buffer, 100, 0);
    return NULL;
}

// Waits at edges until a connection is there.
static void *see_connection(void *argument) {
    int epoll = *(int *)argument;
    struct epoll_event event;
    do
        if (epoll_wait(epoll, &event, 1, -1) != 1) return NULL;
    while (event.events & EPOLLHUP);
    printf("seen %x\n", event.events);
    return NULL;
}

static void beside_busy_threads(int port) {
    struct sockaddr_in address = to("127.0.0.1", port);
    pthread_t thread;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    SHOW(connect(fd, AT(address)));
    SHOW(read(fd, buffer, 0));
    SHOW(setsockopt(fd, SOL_SOCKET, SO_LINGER, &port, 4));
    pthread_create(&thread, NULL, tell, &fd);
    usleep(10000);
    SHOW(send(fd, "hello\n", 6, 0));
    while (!is_told) sched_yield();
    SHOW(is_told);
    pthread_join(thread, NULL);
    close(fd);

    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET};
    fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
    pthread_create(&thread, NULL, see_connection, &epoll);
    usleep(10000);
    connect(fd, AT(address));
    pthread_join(thread, NULL);
    // What has been told is not told again because reading finds nothing.
    SHOW(recv(fd, buffer, 100, 0));
    SHOW(epoll_wait(epoll, &event, 1, 20));
    close(fd);

    fd = listener("127.0.0.1", 0);
    SHOW(shutdown(fd, SHUT_RDWR));
    SHOW(accept(fd, NULL, NULL));
    close(fd);
}

static void nobody(int port) {
    struct sockaddr_in address = to("127.0.0.1", port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    SHOW(connect(fd, AT(address)));
    fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    long result = connect(fd, AT(address));
    printf("fails: %d\n", result == -1 && (errno == EINPROGRESS || errno == ECONNREFUSED));
}

int main(int argc, char **argv) {
    const char *how = argv[1];
    int port = argc > 2 ? atoi(argv[2]) : 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    if (!strcmp(how, "client")) client(port);
    if (!strcmp(how, "beside")) beside(port);
    if (!strcmp(how, "server")) server();
    if (!strcmp(how, "one")) one();
    if (!strcmp(how, "name")) by_name(argv[3], argv[2]);
    if (!strcmp(how, "refused")) refused(port);
    if (!strcmp(how, "nobody")) nobody(port);
    if (!strcmp(how, "busy")) beside_busy_threads(port);
    return 0;
}
