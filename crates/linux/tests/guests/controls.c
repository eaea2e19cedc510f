// Asks fcntl and ioctl of descriptors of every kind what files of all kinds know.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "show.h"

static void ask_flags(int fd) {
    int on = 1, off = 0;
    // Of a descriptor that is not open, qemu looks at the address first; Linux does not.
    if (fcntl(fd, F_GETFD) >= 0) SHOW(ioctl(fd, FIONBIO, NULL));
    SHOW(ioctl(fd, FIONBIO, &on));
    SHOW(fcntl(fd, F_GETFL) & O_NONBLOCK);
    SHOW(ioctl(fd, FIONBIO, &off));
    SHOW(fcntl(fd, F_GETFL) & O_NONBLOCK);
    SHOW(ioctl(fd, FIOCLEX));
    SHOW(fcntl(fd, F_GETFD));
    SHOW(ioctl(fd, FIONCLEX));
    SHOW(fcntl(fd, F_GETFD));
    SHOW(fcntl(fd, F_SETFL, O_NONBLOCK));
    SHOW(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

static void ask(int fd) {
    int count = -1;
    ask_flags(fd);
    SHOW(ioctl(fd, FIONREAD, &count));
    SHOW(count);
    SHOW(fcntl(fd, F_GETPIPE_SZ));
    SHOW(fcntl(fd, F_SETPIPE_SZ, 1 << 16));
}

// Duplicates, of which each has a flag of its own.
static void duplicate(int fd) {
    SHOW(fcntl(fd, F_SETFD, FD_CLOEXEC));
    SHOW(fcntl(fd, F_DUPFD, 200));
    SHOW(fcntl(fd, F_DUPFD_CLOEXEC, 200));
    SHOW(fcntl(200, F_GETFD));
    SHOW(fcntl(201, F_GETFD));
    SHOW(fcntl(201, F_SETFD, 0));
    SHOW(fcntl(fd, F_GETFD));
    SHOW(fcntl(200, F_GETFL) & (O_ACCMODE | O_NONBLOCK));
    SHOW(fcntl(fd, F_DUPFD_CLOEXEC, -1));
    SHOW(fcntl(fd, F_DUPFD, 1 << 30));
    SHOW(close(200));
    SHOW(close(201));
}

int main(int argc, char **argv) {
    int ends[2], on = 1;
    char byte;
    char path[4096];
    if (argc > 2) {
        // Where the network is granted; all are unbound.
        int tcp = socket(AF_INET, SOCK_STREAM, 0);
        ask(tcp);
        duplicate(tcp);
        ask(socket(AF_INET, SOCK_DGRAM, 0));
        return 0;
    }
    snprintf(path, sizeof path, "%s/controls", argc > 1 ? argv[1] : ".");
    SHOW(pipe(ends));
    SHOW(ioctl(ends[0], FIONBIO, &on));
    SHOW(read(ends[0], &byte, 1));
    SHOW(write(ends[1], "abc", 3));
    ask(ends[0]);
    ask(ends[1]);
    int file = open(path, O_CREAT | O_RDWR, 0600);
    SHOW(write(file, "hello", 5));
    SHOW(lseek(file, 2, SEEK_SET));
    ask(file);
    ask(open("/dev/null", O_RDWR));
    ask(open("/dev/zero", O_RDONLY));
    ask(open(argc > 1 ? argv[1] : ".", O_RDONLY | O_DIRECTORY));
    ask(1000);
    int kinds[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    for (int i = 0; i < 3; i++) {
        SHOW(socketpair(AF_UNIX, kinds[i], 0, ends));
        SHOW(write(ends[1], "abc", 3));
        ask(ends[0]);
        ask(ends[1]);
    }
    ask(socket(AF_UNIX, SOCK_STREAM, 0));
    ask(eventfd(3, 0));
    ask(timerfd_create(CLOCK_MONOTONIC, 0));
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    ask(signalfd(-1, &set, 0));
    // Kernels differ in what else they answer.
    ask_flags(epoll_create1(0));
    ask(memfd_create("memory", 0));
    // Standard streams, which stay as they have been. Those of tests do not say how much there is to read.
    for (int fd = 0; fd < 3; fd++) {
        int before = fcntl(fd, F_GETFL);
        ask_flags(fd);
        duplicate(fd);
        SHOW(fcntl(fd, F_SETFL, before));
        SHOW(fcntl(fd, F_SETFD, 0));
    }
    int process = syscall(SYS_pidfd_open, getpid(), 0);
    ask(process);
    duplicate(process);
    int place = open(path, O_PATH);
    SHOW(ioctl(place, FIONBIO, &on));
    SHOW(ioctl(place, FIONREAD, &on));
    SHOW(ioctl(place, FIOCLEX));
    SHOW(fcntl(place, F_GETFD));
    SHOW(fcntl(place, F_SETFL, O_NONBLOCK));
    SHOW(fcntl(place, F_GETFL) & (O_PATH | O_NONBLOCK));
    SHOW(fcntl(place, F_GET_SEALS));
    struct flock lock = {.l_type = F_RDLCK};
    SHOW(fcntl(place, F_GETLK, &lock));
    SHOW(fcntl(place, F_SETLK, &lock));
    duplicate(place);
    SHOW(read(place, &byte, 1));
    SHOW(fchmod(place, 0600));
    SHOW(fsync(place));
    SHOW(lseek(place, 0, SEEK_SET));
    SHOW(ftruncate(place, 0));
    struct pollfd polled = {.fd = place, .events = POLLIN | POLLOUT};
    SHOW(poll(&polled, 1, 0));
    SHOW(polled.revents);
    fd_set sets[3];
    for (int n = 0; n < 3; n++) {
        FD_ZERO(&sets[n]);
        FD_SET(place, &sets[n]);
    }
    struct timeval none = {0};
    SHOW(select(place + 1, &sets[0], &sets[1], &sets[2], &none));
    for (int n = 0; n < 3; n++)
        SHOW(FD_ISSET(place, &sets[n]));
    return 0;
}
