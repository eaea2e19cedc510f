// Changes its own code: whether it would run. The argument says how it is to be made executable again.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

// Alone on their pages.
__attribute__((noinline, aligned(PAGE))) static int one(void) {
    __asm__ volatile("");
    return 1;
}
__attribute__((noinline, aligned(PAGE))) static int two(void) {
    __asm__ volatile("");
    return 2;
}
__attribute__((noinline, aligned(PAGE))) static int other(void) {
    __asm__ volatile("");
    return 0;
}

static void protect(const char *how, void *page, int protection) {
    int result = mprotect(page, PAGE, protection);
    printf("%s = %d\n", how, result);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IONBF, 0);
    int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    protect("writable", (void *)one, strcmp(how, "flush") == 0 ? all : PROT_READ | PROT_WRITE);
    // What it has already: as good as unchanged.
    memcpy((void *)one, (void *)one, 8);
    __builtin___clear_cache((char *)one, (char *)one + PAGE);
    if (strcmp(how, "same") != 0)
        memcpy((void *)one, (void *)two, 8);
    if (strcmp(how, "hidden") == 0)
        protect("hidden", (void *)one, PROT_NONE);
    if (strcmp(how, "flush") == 0)
        __builtin___clear_cache((char *)one, (char *)one + PAGE);
    protect("executable", (void *)one, PROT_READ | PROT_EXEC);
    // Others' code may be hidden, and shown again.
    protect("hidden", (void *)other, PROT_NONE);
    protect("executable", (void *)other, PROT_READ | PROT_EXEC);
    return other() + (strcmp(how, "same") == 0 ? one() : 0);
}
