// Faults that the host handles.
typedef unsigned long u64;

u64 load(volatile u64 *place) { return *place + 1; }

u64 store(volatile u64 *place) {
    *place = 5;
    return *place;
}

u64 halt(u64 value) {
    __asm__ volatile(".option push\n.option norvc\nebreak\n.option pop" : "+r"(value));
    return value + 1;
}

void spin(void) {
    for (;;) __asm__ volatile("");
}

// Has the host call load.
u64 nested(u64 place) {
    register u64 a0 __asm__("a0") = place;
    register u64 a7 __asm__("a7") = 1000;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
    return a0 + 1;
}

void _start(void) {
    nested((u64)load);
    store(0);
    halt(0);
    spin();
}
