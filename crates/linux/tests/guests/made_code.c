// Maps a file of its own to be executed, as libraries that make code do: the error, for one in /tmp and one without a name.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void map(int file) {
    ftruncate(file, 4096);
    void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    puts(code == MAP_FAILED ? strerror(errno) : "mapped");
}

int main(void) {
    map(open("/tmp/code", O_RDWR | O_CREAT, 0700));
    map(memfd_create("code", 0));
    return 0;
}
