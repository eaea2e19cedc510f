// Counts, behind its main: in memory, and in a file if one is named.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <riverrun.h>

static int count = 40;
static int file = -1;

RIVERRUN_EXPORT(int, add, (int));
int add(int n) {
    count += n;
    if (file >= 0) dprintf(file, "added %d\n", n);
    return count;
}

RIVERRUN_EXPORT(double, half, (double));
double half(double x) {
    return x / 2;
}

RIVERRUN_EXPORT(void, crash, (void));
void crash(void) {
    abort();
}

RIVERRUN_EXPORT(void, leave, (int));
void leave(int status) {
    _exit(status);
}

RIVERRUN_EXPORT(void, spin, (void));
void spin(void) {
    for (volatile int i = 0;; i = 0) continue;
}

static void at_exit(void) {
    printf("count %d at exit\n", count);
}

int main(int argc, char **argv) {
    atexit(at_exit);
    if (argc > 1) file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (volatile int i = 0; i < 1000; i++) continue;
    printf("main with %d arguments\n", argc);
    fflush(stdout);
    return 7;
}
