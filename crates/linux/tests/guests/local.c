// local DIRECTORY [WHAT]: local sockets (AF_UNIX) with names, call by call, and with threads that wait for them; WHAT is
// something that riverrun refuses, or that it does otherwise than qemu.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "show.h"

static char buffer[1 << 20];

// The address of a name, and one with a zero before it for `@`.
static struct sockaddr *at(const char *name) {
    static struct sockaddr_un address;
    memset(&address, 'x', sizeof address);
    address.sun_family = AF_UNIX;
    strcpy(address.sun_path, name);
    if (*name == '@') address.sun_path[0] = 0;
    // Qemu takes a zero behind an address for a part of it.
    if (*name == '@') address.sun_path[strlen(name)] = 'x';
    return (struct sockaddr *)&address;
}

#define NAMED(name) at(name), offsetof(struct sockaddr_un, sun_path) + strlen(name) + (*(name) != '@')

static int events(int fd) {
    struct pollfd entry = {fd, POLLIN | POLLOUT | POLLRDHUP, 0};
    return poll(&entry, 1, 0) < 0 ? -1 : entry.revents;
}

static int option(int fd, int name) {
    int value = -7;
    socklen_t length = sizeof value;
    return getsockopt(fd, SOL_SOCKET, name, &value, &length) == 0 ? value : -errno;
}

static void show_address(const char *what, const struct sockaddr_un *address, socklen_t length) {
    int count = (int)length - (int)offsetof(struct sockaddr_un, sun_path);
    printf("%s: %d bytes <", what, (int)length);
    for (int n = 0; n < count; n++) putchar(address->sun_path[n] ? address->sun_path[n] : '.');
    puts(">");
}

static void show_names(int fd) {
    struct sockaddr_un address;
    socklen_t length = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &length) == 0) show_address("own", &address, length);
    length = sizeof address;
    if (getpeername(fd, (struct sockaddr *)&address, &length) == 0) show_address("peer", &address, length);
    else printf("no peer: %s\n", strerror(errno));
}

static long receive(int fd, int flags) {
    struct sockaddr_un address;
    socklen_t length = sizeof address;
    memset(buffer, 0, 64);
    long result = recvfrom(fd, buffer, 64, flags, (struct sockaddr *)&address, &length);
    if (result >= 0) {
        printf("<%s> ", buffer);
        show_address("from", &address, length);
    }
    return result;
}

static int listener(const char *name, int type, int backlog) {
    int fd = socket(AF_UNIX, type, 0);
    if (bind(fd, NAMED(name)) != 0 || listen(fd, backlog) != 0) perror(name), exit(1);
    return fd;
}

static void connections(int type, const char *name) {
    int is_file = *name != '@';
    struct stat status;
    int server = socket(AF_UNIX, type | SOCK_NONBLOCK, 0), other = socket(AF_UNIX, type, 0);
    int client = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);
    printf("new: %#x, type %d, %d bytes\n", events(server), option(server, SO_TYPE), ioctl(server, FIONREAD, buffer));
    show_names(server);
    SHOW(send(server, "x", 1, MSG_NOSIGNAL));
    SHOW(receive(server, 0));
    SHOW(listen(server, 1));
    SHOW(accept(server, NULL, NULL));
    SHOW(connect(client, NAMED(name)));
    SHOW(bind(server, NAMED(name)));
    SHOW(bind(server, NAMED("@again")));
    SHOW(bind(server, NAMED("again")));
    SHOW(bind(other, NAMED(name)));
    if (is_file) {
        SHOW(stat(name, &status));
        printf("%o, %d links, %d bytes\n", status.st_mode, (int)status.st_nlink, (int)status.st_size);
        SHOW(open(name, O_RDWR));
        SHOW(truncate(name, 0));
        SHOW(rename(name, "other"));
        SHOW(connect(client, NAMED(name)));
        SHOW(link("other", name));
    }
    SHOW(connect(client, NAMED(name)));
    SHOW(listen(server, 1));
    SHOW(listen(server, 2));
    SHOW(bind(server, NAMED(name)));
    printf("listens: %#x, accepts %d\n", events(server), option(server, SO_ACCEPTCONN));
    SHOW(accept(server, NULL, NULL));
    SHOW(connect(server, NAMED(name)));
    SHOW(receive(server, 0));
    SHOW(connect(client, NAMED(is_file ? "other" : name)));
    SHOW(connect(client, NAMED(name)));
    SHOW(listen(client, 1));
    printf("waits: %#x, %#x\n", events(server), events(client));
    show_names(client);
    SHOW(send(client, "early", 5, 0));
    struct sockaddr_un from;
    socklen_t length = sizeof from;
    int accepted;
    SHOW(accepted = accept4(server, (struct sockaddr *)&from, &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    show_address("accepted", &from, length);
    printf("flags %#x %d\n", fcntl(accepted, F_GETFL), fcntl(accepted, F_GETFD));
    show_names(accepted);
    SHOW(receive(accepted, 0));
    SHOW(receive(accepted, 0));
    SHOW(send(accepted, "answer", 6, 0));
    SHOW(receive(client, MSG_PEEK));
    SHOW(receive(client, 0));
    SHOW(sendto(client, "x", 1, 0, NAMED(name)));
    SHOW(sendto(other, "x", 1, MSG_NOSIGNAL, NAMED(name)));
    struct ucred peer = {0};
    length = sizeof peer;
    SHOW(getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &length));
    printf("own peer: %d\n", peer.pid == getpid() && peer.uid == getuid() && peer.gid == getgid());
    length = sizeof peer;
    SHOW(getsockopt(other, SOL_SOCKET, SO_PEERCRED, &peer, &length));
    printf("%d %d %d\n", peer.pid, (int)peer.uid, (int)peer.gid);
    SHOW(accept4(server, NULL, NULL, 77));
    SHOW(shutdown(client, SHUT_WR));
    printf("half shut: %#x %#x\n", events(client), events(accepted));
    while (recv(accepted, buffer, 64, 0) > 0) continue;
    SHOW(close(client));
    printf("left: %#x\n", events(accepted));
    SHOW(send(accepted, "x", 1, MSG_NOSIGNAL));
    close(accepted);

    // A client with a name.
    client = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);
    SHOW(bind(client, NAMED("@client")));
    SHOW(connect(client, NAMED(name)));
    length = sizeof from;
    SHOW(accepted = accept(server, (struct sockaddr *)&from, &length));
    show_address("accepted", &from, length);
    SHOW(send(client, "named", 5, 0));
    SHOW(receive(accepted, 0));
    show_names(accepted), show_names(client);
    close(client), close(accepted);

    // Three may wait.
    int clients[4];
    for (int n = 0; n < 4; n++) {
        clients[n] = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);
        SHOW(connect(clients[n], NAMED(name)));
    }
    SHOW(close(clients[0]));
    SHOW(accepted = accept(server, NULL, NULL));
    printf("gone: %#x\n", events(accepted));
    SHOW(connect(clients[3], NAMED(name)));
    close(accepted);
    SHOW(shutdown(server, SHUT_RD));
    printf("shut: %#x\n", events(server));
    SHOW(connect(other, NAMED(name)));
    for (int n = 1; n < 4; n++) close(accept(server, NULL, NULL)), close(clients[n]);
    SHOW(accept(server, NULL, NULL));
    SHOW(close(server));
    SHOW(connect(other, NAMED(name)));
    if (is_file) {
        SHOW(bind(other, NAMED(name)));
        SHOW(unlink("other"));
        SHOW(unlink(name));
        SHOW(connect(other, NAMED(name)));
    }
    SHOW(bind(other, NAMED(name)));
    close(other);
    if (is_file) unlink(name);
}

static void wrong_names(void) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), datagrams = socket(AF_UNIX, SOCK_DGRAM, 0);
    struct sockaddr inet = {.sa_family = AF_INET};
    close(open("plain", O_WRONLY | O_CREAT, 0600));
    SHOW(bind(fd, NAMED("plain")));
    SHOW(bind(fd, NAMED("plain/below")));
    SHOW(bind(fd, NAMED("nowhere/below")));
    SHOW(bind(fd, NAMED(".")));
    SHOW(bind(fd, &inet, sizeof inet));
    SHOW(bind(fd, at("x"), 1));
    SHOW(bind(fd, at("x"), -1));
    SHOW(bind(fd, NULL, 20));
    SHOW(bind(fd, (struct sockaddr *)1, 20));
    SHOW(connect(fd, NAMED("plain")));
    SHOW(connect(fd, NAMED(".")));
    SHOW(connect(fd, NAMED("plain/below")));
    SHOW(connect(fd, NAMED("nowhere")));
    SHOW(connect(fd, NAMED("@nobody")));
    SHOW(connect(fd, at("x"), 2));
    SHOW(connect(fd, &inet, sizeof inet));
    inet.sa_family = AF_UNSPEC;
    SHOW(connect(fd, &inet, sizeof inet));
    SHOW(symlink("target", "link"));
    SHOW(bind(fd, NAMED("link")));
    SHOW(mknod("made", S_IFSOCK | 0600, 0));
    SHOW(connect(fd, NAMED("made")));
    SHOW(chmod("made", 0400));
    // The path may have no end.
    char name[120] = "";
    struct sockaddr_un full = {AF_UNIX, ""};
    memset(full.sun_path, 'n', sizeof full.sun_path);
    SHOW(bind(fd, (struct sockaddr *)&full, sizeof full));
    memcpy(name, full.sun_path, sizeof full.sun_path);
    SHOW(access(name, F_OK));
    SHOW(unlink(name));
    SHOW(listen(fd, -1));
    SHOW(bind(datagrams, NAMED("datagrams")));
    SHOW(listen(datagrams, 1));
    SHOW(accept(datagrams, NULL, NULL));
    int wrong = socket(AF_UNIX, SOCK_STREAM, 0), packets = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    SHOW(connect(wrong, NAMED("datagrams")));
    SHOW(connect(packets, NAMED("datagrams")));
    SHOW(send(packets, "x", 1, 0));
    SHOW(recv(packets, buffer, 1, 0));
    SHOW(socket(AF_UNIX, SOCK_STREAM, 7));
    SHOW(socket(AF_UNIX, SOCK_RDM, 0));
    SHOW(socket(AF_UNIX, 77, 0));
    SHOW(socket(AF_UNIX, SOCK_STREAM, AF_UNIX) >= 0);
    close(wrong), close(packets);
    // Any name, which others can use.
    struct sockaddr_un any;
    socklen_t length = sizeof any;
    wrong = socket(AF_UNIX, SOCK_DGRAM, 0);
    SHOW(bind(wrong, at("x"), 2));
    SHOW(getsockname(wrong, (struct sockaddr *)&any, &length));
    printf("%d bytes, abstract: %d\n", (int)length, any.sun_path[0] == 0);
    SHOW(bind(wrong, at("x"), 2));
    SHOW(sendto(datagrams, "any", 3, 0, (struct sockaddr *)&any, length));
    SHOW(receive(wrong, 0));
    close(wrong), close(fd), close(datagrams);
    unlink("datagrams"), unlink("made"), unlink("link"), unlink("plain");
}

static void datagrams(const char *one_name, const char *two_name) {
    int one = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0), two = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    int third = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    printf("new: %#x\n", events(one));
    SHOW(bind(one, NAMED(one_name)));
    SHOW(bind(two, NAMED(two_name)));
    show_names(one);
    SHOW(send(one, "x", 1, 0));
    SHOW(receive(one, 0));
    SHOW(sendto(one, "first", 5, 0, NAMED(two_name)));
    SHOW(sendto(third, "from nobody", 11, 0, NAMED(two_name)));
    SHOW(sendto(one, "", 0, 0, NAMED(two_name)));
    SHOW(sendto(one, buffer, sizeof buffer, 0, NAMED(two_name)));
    SHOW(sendto(one, "x", 1, 0, NAMED("@nobody")));
    SHOW(sendto(one, "x", 1, 0, NAMED("nobody")));
    int available;
    SHOW(ioctl(two, FIONREAD, &available));
    SHOW(available);
    printf("written: %#x %#x\n", events(one), events(two));
    SHOW(receive(two, MSG_PEEK));
    for (int n = 0; n < 4; n++) SHOW(receive(two, 0));
    SHOW(connect(one, NAMED(two_name)));
    show_names(one);
    SHOW(send(one, "connected", 9, 0));
    SHOW(write(one, "written", 7));
    SHOW(receive(two, 0));
    SHOW(receive(two, 0));
    // It takes datagrams of the other one alone now, but sends anywhere.
    SHOW(sendto(third, "x", 1, 0, NAMED(one_name)));
    SHOW(connect(third, NAMED(one_name)));
    SHOW(sendto(two, "back", 4, 0, NAMED(one_name)));
    SHOW(receive(one, 0));
    SHOW(bind(third, NAMED("@third")));
    SHOW(sendto(one, "to the third", 12, 0, NAMED("@third")));
    SHOW(receive(third, 0));
    SHOW(connect(two, NAMED("@third")));
    SHOW(send(one, "x", 1, 0));
    SHOW(connect(two, NAMED(one_name)));
    SHOW(send(two, "both ways", 9, 0));
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    SHOW(receive(one, 0));
    SHOW(connect(one, &none, sizeof none));
    SHOW(send(one, "x", 1, 0));
    show_names(one);
    // Itself.
    SHOW(connect(third, NAMED("@third")));
    SHOW(send(third, "myself", 6, 0));
    SHOW(receive(third, 0));
    // Who is gone.
    SHOW(connect(one, NAMED(two_name)));
    SHOW(close(two));
    SHOW(sendto(one, "x", 1, 0, NAMED(two_name)));
    SHOW(send(one, "x", 1, 0));
    SHOW(shutdown(third, SHUT_RD));
    SHOW(connect(third, &none, sizeof none));
    SHOW(sendto(one, "x", 1, 0, NAMED("@third")));
    close(one), close(third);
    unlink(one_name), unlink(two_name);
}

// A pipe's descriptor comes by a connection.
static void rights(void) {
    int server = listener("rights", SOCK_STREAM, 5), client = socket(AF_UNIX, SOCK_STREAM, 0), pipes[2];
    SHOW(connect(client, NAMED("rights")));
    SHOW(pipe(pipes));
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {"by the way", 10};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    *(struct cmsghdr *)control = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA((struct cmsghdr *)control), &pipes[0], sizeof(int));
    SHOW(sendmsg(client, &message, 0));
    close(pipes[0]);
    SHOW(write(pipes[1], "piped", 5));
    int accepted = accept(server, NULL, NULL), got;
    char text[20] = "";
    part = (struct iovec){text, 19}, memset(text, 0, sizeof text);
    message.msg_controllen = sizeof control;
    SHOW(recvmsg(accepted, &message, 0));
    memcpy(&got, CMSG_DATA((struct cmsghdr *)control), sizeof(int));
    SHOW(read(got, text, 19));
    printf("<%.5s>\n", text);
    close(got), close(accepted);
    // What the listener has not accepted is closed with it.
    close(client);
    client = socket(AF_UNIX, SOCK_STREAM, 0);
    SHOW(connect(client, NAMED("rights")));
    close(server);
    printf("%#x\n", events(client) & ~POLLERR);
    SHOW(send(client, "x", 1, MSG_NOSIGNAL));
    close(client), close(pipes[1]);
    unlink("rights");
}

// Sends each message back, to as many clients as there are, one after the other.
static void *serve(void *argument) {
    int server = *(int *)argument;
    for (;;) {
        int fd = accept(server, NULL, NULL);
        if (fd < 0) break;
        for (long got; (got = read(fd, buffer, sizeof buffer)) > 0;)
            if (write(fd, buffer, got) != got) perror("write");
        close(fd);
    }
    printf("accept: %s\n", strerror(errno));
    return NULL;
}

static void waits(int type) {
    pthread_t thread;
    int server = listener("server", type, 0);
    pthread_create(&thread, NULL, serve, &server);
    for (int n = 0; n < 4; n++) {
        int fd = socket(AF_UNIX, type, 0);
        if (connect(fd, NAMED("server")) != 0) perror("connect");
        char text[100];
        int sent = sprintf(text, "message %d", n);
        if (send(fd, text, sent, 0) != sent) perror("send");
        long got = recv(fd, text, sizeof text, 0);
        printf("<%.*s>\n", (int)got, text);
        close(fd);
    }
    // Connections wait until others have been accepted.
    int fds[6];
    for (int n = 0; n < 6; n++) {
        fds[n] = socket(AF_UNIX, type, 0);
        struct timeval span = {0, 30000};
        setsockopt(fds[n], SOL_SOCKET, SO_SNDTIMEO, &span, sizeof span);
        long result = connect(fds[n], NAMED("server"));
        // The first is accepted, the second waits; for the others there is no room, unless the server is slow.
        if (n == 0 || n == 5) printf("connect: %ld %s\n", result, result ? strerror(errno) : "");
    }
    for (int n = 0; n < 6; n++) close(fds[n]);
    usleep(20000);
    shutdown(server, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(server), unlink("server");
}

static void *connect_later(void *argument) {
    usleep(3000);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, NAMED("server")) != 0) perror("connect");
    *(int *)argument = fd;
    return NULL;
}

static void *send_later(void *argument) {
    usleep(3000);
    if (sendto(*(int *)argument, "later", 5, 0, NAMED("@datagrams")) != 5) perror("sendto");
    return NULL;
}

static void polls(void) {
    pthread_t thread;
    int server = listener("server", SOCK_STREAM, 5), epoll = epoll_create1(0), client;
    struct epoll_event event = {EPOLLIN | EPOLLET, {.u64 = 5}};
    SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, server, &event));
    SHOW(epoll_wait(epoll, &event, 1, 0));
    for (int n = 0; n < 2; n++) {
        pthread_create(&thread, NULL, connect_later, &client);
        SHOW(epoll_wait(epoll, &event, 1, -1));
        pthread_join(thread, NULL);
        printf("%#x %d\n", event.events, (int)event.data.u64);
        SHOW(epoll_wait(epoll, &event, 1, 0));
        close(client);
    }
    pthread_create(&thread, NULL, connect_later, &client);
    struct pollfd entry = {server, POLLIN, 0};
    SHOW(poll(&entry, 1, -1));
    pthread_join(thread, NULL);
    close(client), close(server), close(epoll), unlink("server");

    int datagrams = socket(AF_UNIX, SOCK_DGRAM, 0), sender = socket(AF_UNIX, SOCK_DGRAM, 0);
    SHOW(bind(datagrams, NAMED("@datagrams")));
    pthread_create(&thread, NULL, send_later, &sender);
    SHOW(receive(datagrams, 0));
    pthread_join(thread, NULL);
    close(datagrams), close(sender);
}

// What waits for ever, alone.
static void endless(const char *what) {
    int server = listener("@server", SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    if (!strcmp(what, "accept")) accept(server, NULL, NULL);
    for (int n = 0; n < 2; n++) {
        client = socket(AF_UNIX, SOCK_STREAM, 0);
        connect(client, NAMED("@server"));
    }
}

// Directories of the host, in which a socket of the host is.
static void refused(void) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), datagrams = socket(AF_UNIX, SOCK_DGRAM, 0), pair[2];
    SHOW(bind(fd, NAMED("/data/new")));
    SHOW(bind(fd, NAMED("/data/socket")));
    SHOW(bind(fd, NAMED("/fixed/new")));
    SHOW(bind(fd, NAMED("/data/nowhere/new")));
    SHOW(connect(fd, NAMED("/data/socket")));
    SHOW(connect(fd, NAMED("/data/new")));
    SHOW(connect(fd, NAMED("/data")));
    SHOW(connect(fd, NAMED("/proc/self/exe")));
    SHOW(sendto(datagrams, "x", 1, 0, NAMED("/data/datagrams")));
    SHOW(mknod("/data/new", S_IFSOCK | 0600, 0));
    SHOW(bind(fd, NAMED("/dev/null")));
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    // A socket that is sent could keep itself alive.
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {"x", 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    *(struct cmsghdr *)control = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA((struct cmsghdr *)control), &fd, sizeof(int));
    SHOW(sendmsg(pair[0], &message, 0));
    // No more pipes than there may be.
    int server = listener("/tmp/server", SOCK_STREAM, 1000), count = 0;
    while (connect(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), NAMED("/tmp/server")) == 0) count++;
    printf("%d, then %s\n", count, strerror(errno));
    SHOW(close(server));
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    umask(022);
    mkdir(argv[1], 0700);
    if (chdir(argv[1])) return 1;
    if (argc > 2 && !strcmp(argv[2], "refused")) {
        refused();
        return 0;
    }
    if (argc > 2) {
        endless(argv[2]);
        return 0;
    }
    connections(SOCK_STREAM, "stream");
    connections(SOCK_STREAM, "@stream");
    connections(SOCK_SEQPACKET, "packets");
    wrong_names();
    datagrams("one", "two");
    datagrams("@one", "@two");
    rights();
    waits(SOCK_STREAM);
    waits(SOCK_SEQPACKET);
    polls();
    return 0;
}
