// Descriptors in messages between sockets of a pair.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "show.h"

enum { MOST = 16 };

// A flag that is not shown: qemu does not tell when only some of the descriptors fit.
static int hidden = MSG_CTRUNC;

// Sends text with descriptors; `count` may be none.
static long give(int fd, const char *text, const int *given, int count) {
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(MOST * sizeof(int))] = {0};
    struct iovec part = {(char *)text, strlen(text)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count) {
        struct cmsghdr *header = (struct cmsghdr *)control;
        *header = (struct cmsghdr){CMSG_LEN(count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(header), given, count * sizeof(int));
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

// Receives, shows all that is told, and the descriptors in `got`; how many.
static int take(int fd, size_t size, size_t room, int flags, int *got) {
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(MOST * sizeof(int))], text[100] = "";
    struct iovec part = {text, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = room};
    long result = recvmsg(fd, &message, flags);
    if (result < 0) {
        printf("nothing: %s\n", strerror(errno));
        return 0;
    }
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    int count = header ? (int)(header->cmsg_len - CMSG_LEN(0)) / 4 : 0;
    if (header) memcpy(got, CMSG_DATA(header), count * sizeof(int));
    printf("%ld <%s>, %d descriptors, %d bytes of control, flags %#x\n", result, text, count,
           (int)message.msg_controllen, count ? message.msg_flags & ~hidden : message.msg_flags);
    return count;
}

static void close_all(const int *fds, int count) {
    while (count) close(fds[--count]);
}

static void use(int type) {
    int pair[2], pipes[2], got[MOST], file = open("given", O_RDWR | O_CREAT | O_TRUNC, 0600);
    SHOW(socketpair(AF_UNIX, type, 0, pair));
    SHOW(pipe(pipes));
    int given[3] = {pipes[0], file, file};
    SHOW(give(pair[0], "three", given, 3));
    SHOW(close(pipes[0]));
    SHOW(write(pipes[1], "by pipe", 7));
    SHOW(write(file, "in the file", 11));
    SHOW(take(pair[1], 20, CMSG_SPACE(3 * sizeof(int)), 0, got));
    char text[20] = "";
    SHOW(read(got[0], text, 19));
    SHOW(lseek(got[1], 3, SEEK_SET));
    SHOW(read(got[2], text, 19));
    printf("<%s>\n", text);
    SHOW(fcntl(got[0], F_GETFD));
    close_all(got, 3);
    // The last reader is gone.
    struct pollfd entry = {pipes[1], POLLOUT, 0};
    SHOW(poll(&entry, 1, 0));
    printf("%#x\n", entry.revents & POLLERR);

    // Too little room: what does not fit is closed.
    SHOW(give(pair[0], "room", given + 1, 2));
    SHOW(take(pair[1], 20, CMSG_LEN(sizeof(int)), MSG_CMSG_CLOEXEC, got));
    SHOW(fcntl(got[0], F_GETFD));
    close_all(got, 1);
    SHOW(give(pair[0], "none", given + 1, 2));
    SHOW(take(pair[1], 20, 0, 0, got));
    SHOW(give(pair[0], "read", given + 1, 1));
    SHOW(read(pair[1], text, 19));
    // A look takes nothing.
    SHOW(give(pair[0], "look", given + 1, 1));
    SHOW(take(pair[1], 20, 64, MSG_PEEK, got));
    close_all(got, 1);
    SHOW(take(pair[1], 20, 64, 0, got));
    close_all(got, 1);

    // Bounds of messages with descriptors.
    SHOW(give(pair[0], "one ", NULL, 0));
    SHOW(give(pair[0], "two ", given + 1, 1));
    SHOW(give(pair[0], "three ", NULL, 0));
    SHOW(give(pair[0], "four", given + 1, 2));
    for (int n = 0; n < 4; n++) {
        int count = take(pair[1], 9, 64, MSG_DONTWAIT, got);
        close_all(got, count);
    }
    while (recv(pair[1], text, 19, MSG_DONTWAIT) > 0) continue;

    int wrong[1] = {99};
    SHOW(give(pair[0], "x", wrong, 1));
    struct cmsghdr header = {sizeof header, SOL_SOCKET, SCM_RIGHTS};
    struct iovec part = {text, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &header, .msg_controllen = sizeof header};
    text[0] = 'n';
    SHOW(sendmsg(pair[0], &message, 0));
    SHOW(take(pair[1], 20, 64, MSG_DONTWAIT, got));

    // Nothing comes in time: what is told of names and control stays.
    struct timeval span = {0, 20000};
    SHOW(setsockopt(pair[1], SOL_SOCKET, SO_RCVTIMEO, &span, sizeof span));
    char name[20];
    struct msghdr none = {name, sizeof name, &part, 1, text, sizeof text, 77};
    SHOW(recvmsg(pair[1], &none, 0));
    printf("%d %d %d\n", (int)none.msg_namelen, (int)none.msg_controllen, none.msg_flags);

    // What is on its way is closed with the sockets.
    SHOW(pipe(pipes));
    SHOW(give(pair[0], "x", pipes, 1));
    close(pipes[0]), close(pair[1]), close(pair[0]);
    entry.fd = pipes[1];
    SHOW(poll(&entry, 1, 0));
    printf("%#x\n", entry.revents & POLLERR);
    close(pipes[1]), close(file);
}

// What riverrun refuses: more descriptors on their way than there may be open, messages without end, and sockets of a pair,
// which would keep themselves alive.
static void refused(void) {
    int pair[2], null = open("/dev/null", O_RDONLY), sent = 0, got[MOST];
    hidden = 0;
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    SHOW(give(pair[0], "two", (int[]){null, null}, 2));
    SHOW(take(pair[1], 20, CMSG_LEN(sizeof(int)), 0, got));
    close(got[0]);
    SHOW(give(pair[0], "x", pair, 1));
    while (sent < 5000 && give(pair[0], "x", &null, 1) == 1) sent++;
    printf("%d, then %s\n", sent, strerror(errno));
    SHOW(take(pair[1], 20, 64, 0, got));
    SHOW(give(pair[0], "x", &null, 1));
    SHOW(give(pair[0], "x", &null, 1));
    struct cmsghdr header = {5, SOL_SOCKET, SCM_RIGHTS};
    struct iovec part = {"x", 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &header, .msg_controllen = sizeof header};
    SHOW(sendmsg(pair[0], &message, 0));
    header.cmsg_len = -1;
    SHOW(sendmsg(pair[0], &message, 0));
    message.msg_controllen = -1;
    SHOW(sendmsg(pair[0], &message, 0));
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc < 2) {
        refused();
        return 0;
    }
    if (chdir(argv[1])) return 1;
    use(SOCK_STREAM);
    use(SOCK_DGRAM);
    use(SOCK_SEQPACKET);
}
