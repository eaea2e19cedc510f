// Reads, maps and tries to change the file that its argument names.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char here[256], text[64] = {0};
    printf("in %s\n", getcwd(here, sizeof here));
    int fd = open(argv[1], O_RDONLY);
    if (fd < 0) {
        printf("%s\n", strerror(errno));
        return 1;
    }
    struct stat status;
    fstat(fd, &status);
    printf("%o, %ld bytes\n", status.st_mode, (long)status.st_size);
    printf("%ld: %s", read(fd, text, 6), text);
    printf(", then %ld", lseek(fd, 2, SEEK_CUR));
    memset(text, 0, sizeof text);
    printf(", %ld: %s\n", read(fd, text, sizeof text), text);
    char *mapped = mmap(0, status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    mapped[0] = '<';
    printf("mapped: %.9s\n", mapped);
    printf("write: %d\n", open(argv[1], O_WRONLY) < 0 ? errno : 0);
    printf("truncate: %d\n", truncate(argv[1], 0) < 0 ? errno : 0);
    printf("unlink: %d\n", unlink(argv[1]) < 0 ? errno : 0);
    printf("rename: %d\n", rename(argv[1], argv[1]) < 0 ? errno : 0);
    printf("chmod: %d\n", chmod(argv[1], 0777) < 0 ? errno : 0);
    printf("execute: %d\n", access(argv[1], X_OK) < 0 ? errno : 0);
    return argc;
}
