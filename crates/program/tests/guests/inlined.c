volatile int sink;

static inline __attribute__((always_inline)) void store(int value) {
    sink = value;
}

static inline __attribute__((always_inline)) void store_square(int value) {
    store(value * value);
}

__attribute__((noinline)) void work(int value) {
    store_square(value);
}

void _start(void) {
    work(3);
    for (;;) {
    }
}
