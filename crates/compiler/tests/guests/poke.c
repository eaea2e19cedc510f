/* Traps in the function `poke`, at the line that says so. */
__attribute__((noinline)) static void poke(volatile int *place, int value) {
    *place = value; /* traps */
}

__attribute__((noinline)) static int add(int a, int b) {
    return a + b;
}

void _start(void) {
    int local;
    poke(&local, 1);
    poke((volatile int *)8L, add(local, 2));
    for (;;) {
    }
}
