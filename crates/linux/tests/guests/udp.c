// udp HOW PORT: UDP to and from 127.0.0.1, and what is refused.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "show.h"

static char buffer[70000];

static struct sockaddr_in to(const char *ip, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, ip, &address.sin_addr);
    return address;
}

#define AT(address) (struct sockaddr *)&address, sizeof address

static int option(int fd, int level, int name) {
    int value = -7;
    socklen_t length = sizeof value;
    return getsockopt(fd, level, name, &value, &length) == 0 ? value : -errno;
}

static int events(int fd, short wanted, int timeout) {
    struct pollfd entry = {fd, wanted, 0};
    return poll(&entry, 1, timeout) < 0 ? -1 : entry.revents;
}

static int available(int fd) {
    int count = -7;
    return ioctl(fd, FIONREAD, &count) == 0 ? count : -errno;
}

static long receive(int fd, size_t size, int flags) {
    memset(buffer, 0, 64);
    long result = recv(fd, buffer, size, flags);
    if (result >= 0) printf("<%.64s> ", buffer);
    return result;
}

// Receives by recvmsg, and shows all that it tells.
static void receive_message(int fd, int port, size_t size, int flags) {
    struct sockaddr_in from;
    char control[64];
    struct iovec part = {buffer, size};
    struct msghdr message = {&from, sizeof from, &part, 1, control, sizeof control, 77};
    memset(&from, 0, sizeof from), memset(buffer, 0, 64);
    SHOW(recvmsg(fd, &message, flags));
    printf("<%.64s>, name of %d bytes, from the server: %d, %d bytes of control, flags %#x\n", buffer,
           (int)message.msg_namelen, ntohs(from.sin_port) == port, (int)message.msg_controllen, message.msg_flags);
}

// The server sends back what it gets.
static void client(int port) {
    struct sockaddr_in server = to("127.0.0.1", port), from, any = to("0.0.0.0", 0);
    socklen_t length = sizeof from;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    printf("type %d, domain %d, protocol %d, accepts %d, error %d\n", option(fd, SOL_SOCKET, SO_TYPE),
           option(fd, SOL_SOCKET, SO_DOMAIN), option(fd, SOL_SOCKET, SO_PROTOCOL), option(fd, SOL_SOCKET, SO_ACCEPTCONN),
           option(fd, SOL_SOCKET, SO_ERROR));
    int one = 1;
    SHOW(setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &one, sizeof one));
    SHOW(setsockopt(fd, IPPROTO_IP, IP_RECVERR, &one, sizeof one));
    SHOW(send(fd, "x", 1, 0));
    SHOW(listen(fd, 1));
    SHOW(accept(fd, NULL, NULL));
    SHOW(getpeername(fd, (struct sockaddr *)&from, &length));
    SHOW(bind(fd, AT(any)));
    SHOW(events(fd, POLLIN | POLLOUT, 0));
    SHOW(available(fd));
    SHOW(receive(fd, 10, MSG_DONTWAIT));

    SHOW(sendto(fd, "one", 3, 0, AT(server)));
    SHOW(events(fd, POLLIN, -1));
    SHOW(available(fd));
    SHOW(recv(fd, buffer, 1, MSG_PEEK | MSG_TRUNC));
    SHOW(receive(fd, 2, MSG_PEEK));
    memset(&from, 0, sizeof from);
    SHOW(recvfrom(fd, buffer, 100, 0, (struct sockaddr *)&from, &length));
    printf("%s, the port: %d, %d bytes\n", inet_ntoa(from.sin_addr), ntohs(from.sin_port) == port, (int)length);
    SHOW(sendto(fd, "four", 4, 0, AT(server)));
    receive_message(fd, port, 2, 0);
    SHOW(sendto(fd, "fives", 5, 0, AT(server)));
    receive_message(fd, port, 2, MSG_TRUNC);
    SHOW(sendto(fd, "", 0, 0, AT(server)));
    receive_message(fd, port, 10, 0);
    struct iovec parts[2] = {{"two ", 4}, {"parts", 5}};
    struct msghdr message = {.msg_name = &server, .msg_namelen = sizeof server, .msg_iov = parts, .msg_iovlen = 2};
    SHOW(sendmsg(fd, &message, 0));
    SHOW(receive(fd, 100, 0));
    SHOW(sendto(fd, buffer, 65508, 0, AT(server)));
    SHOW(sendto(fd, "x", 1, 0, (struct sockaddr *)&server, 8));
    SHOW(sendto(fd, "x", 1, MSG_OOB, AT(server)));

    struct timeval span = {0, 20000};
    SHOW(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &span, sizeof span));
    receive_message(fd, port, 10, 0);
    length = 5;
    SHOW(recvfrom(fd, buffer, 100, 0, (struct sockaddr *)&from, &length));
    printf("length %d\n", (int)length);
    span.tv_usec = 0;
    SHOW(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &span, sizeof span));

    SHOW(connect(fd, AT(server)));
    length = sizeof from;
    SHOW(getpeername(fd, (struct sockaddr *)&from, &length));
    printf("%s, the port: %d, %d bytes\n", inet_ntoa(from.sin_addr), ntohs(from.sin_port) == port, (int)length);
    SHOW(write(fd, "written", 7));
    SHOW(read(fd, buffer, 3));
    SHOW(writev(fd, parts, 2));
    SHOW(receive(fd, 100, 0));
    SHOW(sendto(fd, "to", 2, 0, AT(server)));
    SHOW(receive(fd, 100, 0));
    struct sockaddr unspecified = {.sa_family = AF_UNSPEC};
    SHOW(connect(fd, AT(unspecified)));
    SHOW(getpeername(fd, (struct sockaddr *)&from, &length));
    SHOW(send(fd, "x", 1, 0));
    SHOW(shutdown(fd, SHUT_WR));
}

// No socket is at the port: the host says so.
static void nobody(int port) {
    struct sockaddr_in server = to("127.0.0.1", port);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    SHOW(connect(fd, AT(server)));
    SHOW(send(fd, "x", 1, 0));
    SHOW(receive(fd, 10, 0));
    SHOW(receive(fd, 10, MSG_DONTWAIT));
}

static void server(void) {
    struct sockaddr_in address = to("0.0.0.0", 0), from;
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    SHOW(bind(fd, AT(address)));
    getsockname(fd, (struct sockaddr *)&address, &length);
    printf("at %s\nport %d\n", inet_ntoa(address.sin_addr), ntohs(address.sin_port));
    for (long got = 0; got != 4 || memcmp(buffer, "quit", 4);) {
        length = sizeof from;
        got = recvfrom(fd, buffer, sizeof buffer, 0, (struct sockaddr *)&from, &length);
        if (got < 0 || sendto(fd, buffer, got, 0, (struct sockaddr *)&from, length) != got) perror("server"), exit(1);
    }
}

static void refused(int port, int stranger) {
    struct sockaddr_in granted = to("127.0.0.1", port), other = to("127.0.0.1", stranger), away = to("127.0.0.2", port);
    struct sockaddr_in everyone = to("255.255.255.255", port), any = to("0.0.0.0", port), own;
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_loopback};
    int fd = socket(AF_INET, SOCK_DGRAM, 0), value = 1;
    struct iovec part = {"x", 1};
    struct msghdr message = {.msg_name = &other, .msg_namelen = sizeof other, .msg_iov = &part, .msg_iovlen = 1};
    SHOW(sendto(fd, "x", 1, 0, AT(other)));
    SHOW(sendto(fd, "x", 1, 0, AT(away)));
    SHOW(sendto(fd, "x", 1, 0, AT(everyone)));
    SHOW(sendto(fd, "x", 1, 0, AT(six)));
    SHOW(sendto(fd, "x", 1, MSG_CONFIRM, AT(any)));
    SHOW(sendmsg(fd, &message, 0));
    SHOW(connect(fd, AT(other)));
    SHOW(bind(fd, AT(granted)));
    SHOW(bind(fd, AT(any)));
    SHOW(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo\0", 4));
    SHOW(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &value, 4));
    SHOW(setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &value, 4));
    SHOW(setsockopt(fd, IPPROTO_UDP, 103, &value, 4));
    // What a stranger sends to its port is not heard: the host tells it the port by a datagram of the guest's.
    SHOW(sendto(fd, "here", 4, 0, AT(granted)));
    SHOW(receive(fd, 100, 0));
    SHOW(events(fd, POLLIN, 20));
    SHOW(receive(fd, 100, MSG_DONTWAIT));
    SHOW(connect(fd, AT(granted)));
    SHOW(sendto(fd, "x", 1, 0, AT(other)));
    SHOW(connect(fd, AT(other)));
    socklen_t length = sizeof own;
    SHOW(getsockname(fd, (struct sockaddr *)&own, &length));
    SHOW(socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP));
    SHOW(socket(AF_INET, SOCK_DGRAM, IPPROTO_TCP));
}

int main(int argc, char **argv) {
    const char *how = argv[1];
    int port = argc > 2 ? atoi(argv[2]) : 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!strcmp(how, "client")) client(port);
    if (!strcmp(how, "nobody")) nobody(port);
    if (!strcmp(how, "server")) server();
    if (!strcmp(how, "refused")) refused(port, atoi(argv[3]));
}
