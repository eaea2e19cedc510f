// Asks fcntl and ioctl of descriptors of every kind what files of all kinds know.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "show.h"

static void ask(int fd) {
    int on = 1, off = 0, count = -1;
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
    SHOW(ioctl(fd, FIONREAD, &count));
    SHOW(count);
}

int main(int argc, char **argv) {
    int ends[2], on = 1;
    char byte;
    char path[4096];
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
    return 0;
}
