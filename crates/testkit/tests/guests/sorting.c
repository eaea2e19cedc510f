// What compiled programs do, without a C library: calls, recursion, function pointers, strings,
// bytes and words, 64-bit multiplication and division, floats. Prints a checksum.

typedef unsigned long word;

static long system_call(long number, long a, const void *b, word c) {
    register long a0 __asm__("a0") = a;
    register const void *a1 __asm__("a1") = b;
    register word a2 __asm__("a2") = c;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
    return a0;
}

static word seed = 1;
static double numbers[24];
static char text[64];

static word next(void) {
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return seed >> 20;
}

static int rising(double a, double b) { return a < b; }
static int falling(double a, double b) { return a > b; }

static void sort(double *from, double *to, int (*before)(double, double)) {
    if (to - from < 2)
        return;
    double pivot = from[(to - from) / 2];
    double *low = from, *high = to - 1;
    while (low <= high) {
        while (before(*low, pivot)) low++;
        while (before(pivot, *high)) high--;
        if (low <= high) {
            double kept = *low;
            *low++ = *high;
            *high-- = kept;
        }
    }
    sort(from, high + 1, before);
    sort(low, to, before);
}

static word checksum(const unsigned char *bytes, word count) {
    word sum = 0xcbf29ce484222325ul;
    for (word i = 0; i < count; i++)
        sum = (sum ^ bytes[i]) * 0x100000001b3ul;
    return sum;
}

static char *decimal(word value, char *end) {
    do *--end = '0' + value % 10;
    while (value /= 10);
    return end;
}

void _start(void) {
    const int count = sizeof numbers / sizeof *numbers;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < count; i++)
            numbers[i] = (double)(long)next() / 3.0 - (float)(next() % 1000);
        sort(numbers, numbers + count, round & 1 ? falling : rising);
        char *end = text + sizeof text;
        *--end = '\n';
        char *start = decimal(checksum((const unsigned char *)numbers, sizeof numbers), end);
        system_call(64, 1, start, text + sizeof text - start);
    }
    system_call(93, (long)(seed % 200), 0, 0);
    __builtin_trap();
}
