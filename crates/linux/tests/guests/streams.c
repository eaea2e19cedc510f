// Standard streams, pipes, descriptors, waiting for readiness.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

#include "show.h"

int main(void) {
    char line[100], buffer[70000];
    printf("%s", fgets(line, sizeof line, stdin));
    int number;
    SHOW(scanf("%d", &number));
    printf("%d\n", number);
    SHOW(fread(line, 1, sizeof line, stdin));
    SHOW(feof(stdin));
    SHOW(isatty(0));
    SHOW(lseek(1, 0, SEEK_CUR));
    struct winsize size;
    SHOW(ioctl(1, TIOCGWINSZ, &size));
    fflush(stdout);

    int ends[2];
    SHOW(pipe2(ends, O_CLOEXEC));
    struct pollfd polled[3] = {{ends[0], POLLIN, 0}, {ends[1], POLLOUT, 0}, {77, POLLIN, 0}};
    SHOW(poll(polled, 3, 0));
    printf("%x %x %x\n", polled[0].revents, polled[1].revents, polled[2].revents);
    SHOW(write(ends[1], "pipe", 4));
    SHOW(poll(polled, 2, -1));
    printf("%x\n", polled[0].revents);
    fd_set readable, writable;
    FD_ZERO(&readable);
    FD_ZERO(&writable);
    FD_SET(ends[0], &readable);
    FD_SET(ends[1], &writable);
    struct timeval soon = {0, 1000};
    SHOW(select(ends[1] + 1, &readable, &writable, NULL, &soon));
    printf("%d %d\n", !!FD_ISSET(ends[0], &readable), !!FD_ISSET(ends[1], &writable));
    SHOW(read(ends[0], buffer, 100));
    FD_ZERO(&readable);
    FD_SET(ends[0], &readable);
    SHOW(select(ends[1] + 1, &readable, NULL, NULL, &soon));
    SHOW(FD_ISSET(ends[0], &readable));
    FD_SET(30, &readable);
    SHOW(select(31, &readable, NULL, NULL, &soon));
    SHOW(fcntl(ends[0], F_SETFL, O_NONBLOCK));
    SHOW(read(ends[0], buffer, 100));
    SHOW(fcntl(ends[1], F_SETFL, O_NONBLOCK));
    SHOW(write(ends[1], buffer, 70000));
    SHOW(write(ends[1], buffer, 1));
    SHOW(poll(polled + 1, 1, 0));
    SHOW(read(ends[0], buffer, 70000));
    SHOW(read(ends[1], buffer, 1));
    SHOW(write(ends[0], buffer, 1));
    SHOW(lseek(ends[0], 0, SEEK_SET));
    SHOW(pread(ends[0], buffer, 1, 0));
    struct stat st;
    fstat(ends[0], &st);
    printf("%o\n", st.st_mode & S_IFMT);
    SHOW(close(ends[1]));
    SHOW(read(ends[0], buffer, 1));
    SHOW(poll(polled, 1, 0));
    printf("%x\n", polled[0].revents);
    SHOW(close(ends[0]));
    signal(SIGPIPE, SIG_IGN);
    SHOW(pipe(ends));
    SHOW(close(ends[0]));
    SHOW(write(ends[1], "x", 1));
    SHOW(close(ends[1]));

    SHOW(dup(0));
    SHOW(dup2(1, 50));
    SHOW(dup2(1, 1));
    SHOW(dup3(1, 1, 0));
    SHOW(dup2(1, -5));
    SHOW(dup2(49, 50));
    SHOW(fcntl(1, F_DUPFD, 20));
    SHOW(fcntl(1, F_DUPFD_CLOEXEC, 20));
    SHOW(fcntl(21, F_GETFD));
    SHOW(fcntl(21, F_SETFD, 0));
    SHOW(fcntl(21, F_GETFD));
    SHOW(fcntl(21, 12345));
    SHOW(fcntl(99, F_GETFD));
    SHOW(write(50, "to the copy\n", 12));
    SHOW(close_range(20, 60, 0));
    SHOW(write(50, "x", 1));
    fflush(stdout);
    SHOW(close(1));
    fprintf(stderr, "stdout is closed: %d\n", printf("lost") < 0 || fflush(stdout) != 0);
    return 3;
}
