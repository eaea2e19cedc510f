// Prints by which names it knows its own program.

#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char exe[4096];
    long len = readlink("/proc/self/exe", exe, sizeof exe);
    printf("%s %s %.*s\n", argc ? argv[0] : "", (const char *)getauxval(AT_EXECFN), (int)len, exe);
    return len < 0;
}
