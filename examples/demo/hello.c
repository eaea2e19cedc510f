// The smallest useful guest: static glibc, one line of output.

#include <stdio.h>

int main(void) {
    puts("Hello from a RISC-V guest");
    return 0;
}
