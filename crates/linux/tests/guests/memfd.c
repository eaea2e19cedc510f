// Files without names, and seals.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "show.h"

int main(void) {
    char text[300] = "";
    struct stat st;
    int fd = memfd_create("buffer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    SHOW(fcntl(fd, F_GETFD));
    SHOW(fcntl(fd, F_GETFL) & O_ACCMODE);
    SHOW(ftruncate(fd, 10));
    SHOW(pwrite(fd, "0123", 4, 8));
    SHOW(read(fd, text, sizeof text));
    fstat(fd, &st);
    printf("mode %o links %lu size %ld\n", st.st_mode, (long)st.st_nlink, st.st_size);
    snprintf(text, sizeof text, "/proc/self/fd/%d", fd);
    int reader = open(text, O_RDONLY);
    SHOW(pread(reader, text, 4, 8));
    printf("%.4s\n", text);
    SHOW(fcntl(fd, F_GET_SEALS));
    SHOW(fcntl(reader, F_ADD_SEALS, F_SEAL_GROW));
    SHOW(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK));
    SHOW(fcntl(fd, F_ADD_SEALS, 0x100));
    SHOW(ftruncate(fd, 13));
    SHOW(ftruncate(fd, 11));
    SHOW(ftruncate(fd, 12));
    SHOW(pwrite(fd, "x", 1, 12));
    SHOW(pwrite(fd, "y", 1, 11));
    SHOW(fallocate(fd, 0, 0, 100));
    SHOW(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 100));
    SHOW(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 12));
    SHOW(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE));
    SHOW(pwrite(fd, "z", 1, 1));
    SHOW(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL));
    SHOW(pwrite(fd, "z", 1, 1));
    SHOW(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4));
    SHOW(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
    SHOW(fcntl(fd, F_GET_SEALS));
    int plain = memfd_create("", 0);
    SHOW(fcntl(plain, F_GET_SEALS));
    SHOW(fcntl(plain, F_ADD_SEALS, F_SEAL_WRITE));
    SHOW(fcntl(0, F_GET_SEALS));
    memset(text, 'n', sizeof text - 1);
    SHOW(memfd_create(text, 0));
    text[249] = 0;
    SHOW(memfd_create(text, 0) >= 0);
    SHOW(memfd_create("x", 0x8000));
    return 0;
}
