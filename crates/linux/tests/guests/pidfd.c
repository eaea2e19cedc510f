// Descriptors of processes: of its own, and of others, which there are none of.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "show.h"

#define OPEN(process, flags) syscall(SYS_pidfd_open, process, flags)
#define SEND(fd, number, info, flags) syscall(SYS_pidfd_send_signal, fd, number, info, flags)
#define GET(fd, target, flags) syscall(SYS_pidfd_getfd, fd, target, flags)

static void handle(int number) {
    char text[] = "signal of the descriptor\n";
    (void)!write(1, text, sizeof text - 1);
    (void)number;
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    int fd = OPEN(getpid(), 0);
    printf("opened %d\n", fd >= 0);
    SHOW(fcntl(fd, F_GETFD));
    SHOW(OPEN(0, 0));
    SHOW(OPEN(-1, 0));
    SHOW(OPEN(0x7ffffffe, 0));
    SHOW(OPEN(getpid(), 1));
    struct pollfd entry = {fd, POLLIN, 0};
    SHOW(poll(&entry, 1, 10));
    char byte;
    SHOW(read(fd, &byte, 1));
    SHOW(write(fd, &byte, 1));
    SHOW(SEND(fd, 0, NULL, 0));
    SHOW(SEND(fd, 99, NULL, 0));
    SHOW(SEND(fd, SIGUSR1, NULL, 8));
    SHOW(SEND(1, SIGUSR1, NULL, 0));
    SHOW(SEND(99, SIGUSR1, NULL, 0));
    signal(SIGUSR1, handle);
    SHOW(SEND(fd, SIGUSR1, NULL, 0));
    int got = GET(fd, 1, 0);
    SHOW(write(got, "got\n", 4));
    SHOW(fcntl(got, F_GETFD));
    SHOW(GET(fd, 99, 0));
    SHOW(GET(1, 1, 0));
    SHOW(close(fd));
    SHOW(SEND(fd, SIGUSR1, NULL, 0));
}
