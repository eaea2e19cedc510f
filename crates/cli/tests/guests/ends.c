// Ends in the way that its first argument names.

#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Kept out of line and opaque, so that the compiler cannot see what goes wrong.
#define OPAQUE __attribute__((noinline, noclone))

static int data[4] = {1, 2, 3, 4};

static OPAQUE uintptr_t hide(uintptr_t value) {
    __asm__ volatile("" : "+r"(value));
    return value;
}

static OPAQUE int load(uintptr_t address) { return *(volatile int *)hide(address); }

static OPAQUE void store(uintptr_t address) { *(volatile int *)hide(address) = 1; }

static OPAQUE int jump(uintptr_t address) { return ((int (*)(void))hide(address))() + 1; }

static OPAQUE void illegal(void) { __asm__ volatile(".2byte 0"); }

static OPAQUE int runaway(int depth) {
    volatile char frame[100];
    frame[0] = (char)depth;
    if (hide(0)) return 0;  // never, but the compiler need not know
    return runaway(depth + 1) + frame[0];
}

static OPAQUE void endless(void) {
    for (;;) {
        __asm__ volatile("");
    }
}

static void hog(void) {
    int mebibytes = 0;
    for (;;) {
        char *block = malloc(1 << 20);
        if (!block) {
            printf("%d MiB, then %s\n", mebibytes, errno == ENOMEM ? "ENOMEM" : strerror(errno));
            exit(0);
        }
        memset(block, 1, 1 << 20);
        mebibytes++;
    }
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "exit")) return atoi(argv[2]);
    if (!strcmp(how, "null")) return load(0);
    if (!strcmp(how, "wild-load")) return load(0x60000000);
    if (!strcmp(how, "wild-store")) store(0x60000000);
    if (!strcmp(how, "write-text")) store((uintptr_t)main);
    if (!strcmp(how, "jump-data")) return jump((uintptr_t)data);
    if (!strcmp(how, "jump-null")) return jump(0);
    if (!strcmp(how, "illegal")) illegal();
    if (!strcmp(how, "breakpoint")) __asm__ volatile("ebreak");
    if (!strcmp(how, "runaway")) return runaway(0);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "endless")) endless();
    if (!strcmp(how, "hog")) hog();
    if (!strcmp(how, "chatter")) {
        for (;;) puts("still here");
    }
    if (!strcmp(how, "read")) return (int)read(0, data, 1);
    if (!strcmp(how, "unknown-call")) return syscall(4000) == -1 && errno == ENOSYS ? 0 : 1;
    fprintf(stderr, "unknown ending: %s\n", how);
    return 99;
}
