#include <stdio.h>

int counter = 42;
static __thread int per_thread = 7;

__attribute__((noinline)) static int square(int x) {
    return x * x;
}

int main(void) {
    printf("%d\n", square(counter) + per_thread);
    return 0;
}
