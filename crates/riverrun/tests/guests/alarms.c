// Computes until the host changes a word, which only an alarm lets it do.
static volatile unsigned long flag;

static unsigned long call(unsigned long number, volatile void *argument) {
    register unsigned long a0 __asm__("a0") = (unsigned long)argument;
    register unsigned long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
    return a0;
}

__attribute__((noinline)) static unsigned long mix(unsigned long x) {
    return x * 6364136223846793005u + (x >> 7);
}

unsigned long spin(unsigned long x) {
    unsigned long y = x + 1, z = x ^ 5;
    while (!flag) x = mix(x) ^ y, y += z >> 3, z = z * 31 + x;
    flag = 0;
    return x ^ y ^ z;
}

// Asks for the alarm first.
unsigned long spin_with_alarm(unsigned long x) {
    call(1, &flag);
    return spin(x);
}

void _start(void) {
    call(93, (void *)(spin_with_alarm(1) >> 40 & 127));
}
