// files read PATH: prints a file. files write PATH: puts "written" there.

#include <errno.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    if (argc != 3) return 99;
    int writing = !strcmp(argv[1], "write");
    FILE *file = fopen(argv[2], writing ? "w" : "r");
    if (!file) {
        printf("%s: %s\n", argv[2], strerror(errno));
        return 1;
    }
    if (writing) {
        fputs("written\n", file);
    } else {
        for (int c; (c = getc(file)) != EOF;) putchar(c);
    }
    return fclose(file) ? 2 : 0;
}
