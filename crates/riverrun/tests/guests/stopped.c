/* Some milliseconds of everything that compiled code can be stopped in. The exit status depends on all of it. */

#pragma GCC diagnostic ignored "-Winfinite-recursion"

typedef unsigned long word;

static void exit_with(word status) {
    register word a0 __asm__("a0") = status;
    register word a7 __asm__("a7") = 93;
    __asm__ volatile("ecall" ::"r"(a0), "r"(a7));
}

enum { SIZE = 1 << 14, SIDE = 24 };

static unsigned char bytes[SIZE], copied[SIZE];
static word words[SIZE / 8];
static double left[SIDE][SIDE], right[SIDE][SIDE], product[SIDE][SIDE];

__attribute__((noinline)) void *memcpy(void *to, const void *from, word size) {
    char *out = to;
    const char *in = from;
    for (word i = 0; i < size; i++) out[i] = in[i];
    return to;
}

__attribute__((noinline)) static word fib(word n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

__attribute__((noinline)) static word sieve(void) {
    word count = 0;
    for (word i = 2; i < SIZE; i++) bytes[i] = 1;
    for (word i = 2; i < SIZE; i++) {
        if (!bytes[i]) continue;
        count += i;
        for (word j = i * i; j < SIZE; j += i) bytes[j] = 0;
    }
    return count;
}

__attribute__((noinline)) static word multiply(void) {
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) left[i][j] = i + 0.5 * j, right[i][j] = i - 0.25 * j;
    double sum = 0;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            product[i][j] = 0;
            for (int k = 0; k < SIDE; k++) product[i][j] += left[i][k] * right[k][j];
            sum += product[i][j];
        }
    return (word)(long)sum;
}

static int ascends(word a, word b) { return a < b; }
static int descends(word a, word b) { return a > b; }

__attribute__((noinline)) static void sort(word *at, long count, int (*before)(word, word)) {
    if (count < 2) return;
    word pivot = at[count / 2];
    long i = 0, j = count - 1;
    while (i <= j) {
        while (before(at[i], pivot)) i++;
        while (before(pivot, at[j])) j--;
        if (i <= j) {
            word swapped = at[i];
            at[i++] = at[j], at[j--] = swapped;
        }
    }
    sort(at, j + 1, before);
    sort(at + i, count - i, before);
}

__attribute__((noinline)) static word interpret(word state) {
    word sum = 0;
    for (word step = 0; step < 4000; step++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        switch (state >> 61) {
        case 0: sum += step; break;
        case 1: sum ^= state >> 7; break;
        case 2: sum = sum << 3 | sum >> 61; break;
        case 3: sum -= words[step % (SIZE / 8)]; break;
        case 4: words[step % (SIZE / 8)] += sum; break;
        case 5: sum *= 31; break;
        case 6: sum += (unsigned)sum * 7u; break;
        default: sum = ~sum;
        }
    }
    return sum;
}

/* What setjmp and longjmp do. */
__asm__(".type mark, @function\n mark: sd ra, 0(a0)\n sd sp, 8(a0)\n sd s0, 16(a0)\n sd s1, 24(a0)\n li a0, 0\n ret\n"
        ".size mark, .-mark\n .type back, @function\n"
        "back: ld ra, 0(a0)\n ld sp, 8(a0)\n ld s0, 16(a0)\n ld s1, 24(a0)\n mv a0, a1\n ret\n .size back, .-back\n");
__attribute__((returns_twice)) word mark(word *at);
void back(word *at, word value);
static word place[4];

__attribute__((noinline)) static word deep(word depth) {
    if (depth == 0) back(place, 17);
    return deep(depth - 1) + 1;
}

__attribute__((noinline)) static word jumps(void) {
    static volatile word times;
    times = 0;
    word value = mark(place);
    times += value + 1;
    if (times < 1000) deep(times % 8);
    return times;
}

void _start(void) {
    word sum = 0;
    for (word round = 0; round < 40; round++) {
        sum = sum * 31 + fib(18);
        sum = sum * 31 + sieve();
        sum = sum * 31 + multiply();
        for (word i = 0; i < SIZE / 8; i++) words[i] = (i + round) * 2654435761u % 100003;
        sort(words, SIZE / 8, round % 2 ? ascends : descends);
        sum = sum * 31 + words[100] + words[1000];
        sum = sum * 31 + interpret(sum);
        memcpy(copied, bytes, SIZE);
        for (word i = 0; i < SIZE; i++) sum = sum * 3 + copied[i];
        sum = sum * 31 + jumps();
    }
    exit_with(sum & 0x7fffffff);
}
