// Prints 16 random bytes.

#include <stdio.h>
#include <sys/random.h>

int main(void) {
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return 1;
    for (unsigned i = 0; i < sizeof bytes; i++) printf("%02x", bytes[i]);
    putchar('\n');
    return 0;
}
