/* Control that goes other ways than calls and returns; a0 says which. Each does ROUNDS rounds. */

typedef unsigned long word;

enum { ROUNDS = 100000 };

static volatile word sink;

static void exit_with(word status) {
    register word a0 __asm__("a0") = status;
    register word a7 __asm__("a7") = 93;
    __asm__ volatile("ecall" ::"r"(a0), "r"(a7));
}

__attribute__((noinline)) static word plain(word x) {
    for (word i = 0; i < ROUNDS; i++) __asm__ volatile("addi %0, %0, 3" : "+r"(x));
    return x;
}

/* A rounding mode that compiled code does not know, for a while. */
static word rounding(void) {
    word old, x = 0;
    __asm__ volatile("fsrmi %0, 1" : "=r"(old));
    x = plain(x) / ROUNDS;
    __asm__ volatile("fsrm %0" ::"r"(old));
    return x + plain(0) / ROUNDS + plain(0) / ROUNDS;
}

/* The index of the first round is known, the others are not. */
__attribute__((noinline)) static word bytecode(const volatile unsigned char *code) {
    word x = 0, rounds = 0;
    for (word op = 0;; op = *code++) switch (op) {
        case 0: x += 1; break;
        case 1: x ^= 2; break;
        case 2: x *= 3; break;
        case 3: x -= 4; break;
        case 4: x = x << 1 | 1; break;
        case 5: x &= 0xfffff; break;
        case 6: x = -x; break;
        case 7: x |= 8; break;
        case 8: if (++rounds == ROUNDS) return 8; code -= 9; break;
        default: return x;
    }
}

/* Called with the return address in t0, as -msave-restore and outliners do. */
__asm__(".globl millicode\n millicode: addi sp, sp, -16\n sd ra, 8(sp)\n sd s0, 0(sp)\n jr t0\n"
        ".globl user\n user: jal t0, millicode\n mv s0, a0\n addi a0, a0, 1\n call twice\n sub a0, a0, s0\n"
        " ld ra, 8(sp)\n ld s0, 0(sp)\n addi sp, sp, 16\n ret\n");
word user(word x);
__attribute__((noinline)) word twice(word x) { return 2 * x; }

/* Two stacks; switching returns into the other. */
__asm__(".globl change\n change: sd ra, 0(a0)\n sd sp, 8(a0)\n ld t1, 0(a1)\n ld sp, 8(a1)\n"
        " sd s0, 16(a0)\n ld s0, 16(a1)\n"
        " sd s1, 24(a0)\n ld s1, 24(a1)\n"
        " sd s2, 32(a0)\n ld s2, 32(a1)\n"
        " sd s3, 40(a0)\n ld s3, 40(a1)\n"
        " sd s4, 48(a0)\n ld s4, 48(a1)\n"
        " sd s5, 56(a0)\n ld s5, 56(a1)\n"
        " sd s6, 64(a0)\n ld s6, 64(a1)\n"
        " sd s7, 72(a0)\n ld s7, 72(a1)\n"
        " sd s8, 80(a0)\n ld s8, 80(a1)\n"
        " sd s9, 88(a0)\n ld s9, 88(a1)\n"
        " sd s10, 96(a0)\n ld s10, 96(a1)\n"
        " sd s11, 104(a0)\n ld s11, 104(a1)\n"
        " jr t1\n");
void change(word *from, word *to);
static word here[14], there[14], other_stack[512];
static void other(void) {
    for (;;) {
        sink += 1;
        change(there, here);
    }
}

/* What longjmp does: back over frames that are not returned to. */
__asm__(".globl mark\n mark: sd ra, 0(a0)\n sd sp, 8(a0)\n sd s0, 16(a0)\n sd s1, 24(a0)\n li a0, 0\n ret\n"
        ".globl back\n back: ld ra, 0(a0)\n ld sp, 8(a0)\n ld s0, 16(a0)\n ld s1, 24(a0)\n li a0, 1\n ret\n");
__attribute__((returns_twice)) word mark(word *at);
void back(word *at);
__attribute__((noinline)) static word inner(word depth) {
    if (depth == 0) {
        back(here);
        return 0;
    }
    return inner(depth - 1) + sink;
}

/* Labels whose addresses are in data. */
__attribute__((noinline)) static word labels(word rounds) {
    static void *const at[] = {&&one, &&two, &&three};
    word x = 0;
one:
    x += 1;
    goto *at[1 + (x & 1)];
two:
    x += 3;
    goto *at[2];
three:
    x -= 3;
    if (--rounds) goto *at[0];
    return 5;
}

/* Stacks switched by labels inside functions, with a value in a register. */
__attribute__((always_inline)) static inline word pass(word *from, word *to, word value) {
    register word a0 __asm__("a0") = value;
    register word *a1 __asm__("a1") = from;
    register word *a2 __asm__("a2") = to;
    __asm__ volatile("la t0, 1f\n sd t0, 0(a1)\n sd sp, 8(a1)\n sd s0, 16(a1)\n sd s1, 24(a1)\n"
                     " ld t1, 0(a2)\n ld sp, 8(a2)\n ld s0, 16(a2)\n ld s1, 24(a2)\n jr t1\n1:"
                     : "+r"(a0), "+r"(a1), "+r"(a2)
                     :
                     : "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a3", "a4", "a5", "a6", "a7", "s2", "s3", "s4",
                       "s5", "s6", "s7", "s8", "s9", "s10", "s11", "memory");
    return a0;
}
__attribute__((noinline)) static void adder(word value) {
    for (;;) value = pass(there, here, value + 1);
}
__attribute__((noinline)) static word doubler(word rounds) {
    word value = 0;
    there[0] = (word)adder;
    there[1] = (word)(other_stack + 512);
    for (word i = 0; i < rounds; i++) value = pass(here, there, 2 * value) & 0xff;
    return value;
}

void _start(word which) {
    static const volatile unsigned char code[] = {1, 2, 3, 4, 5, 6, 7, 0, 8};
    word result = 0;
    switch (which) {
    case 0: result = rounding(); break;
    case 1: result = bytecode(code); break;
    case 2: for (word i = 0; i < ROUNDS; i++) result = user(6); break;
    case 3:
        there[0] = (word)other;
        there[1] = (word)(other_stack + 512);
        for (word i = 0; i < ROUNDS; i++) change(here, there);
        result = sink / ROUNDS + 8;
        break;
    case 4:
        for (word i = 0; i < ROUNDS; i++) if (!mark(here)) inner(9);
        result = 10;
        break;
    case 5: result = labels(ROUNDS) + 6; break;
    case 6: result = doubler(ROUNDS) & 15; break;
    }
    exit_with(result);
    for (;;);
}
