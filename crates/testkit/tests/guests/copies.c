/* Small functions, most of which call themselves, so that compiled code has copies of them; a0 says what is done. */

typedef unsigned long word;

static void exit_with(word status) {
    register word a0 __asm__("a0") = status;
    register word a7 __asm__("a7") = 93;
    __asm__ volatile("ecall" ::"r"(a0), "r"(a7));
}

static word data[16] = {5, 1, 4, 2, 3, 9, 7, 8, 6, 0, 15, 11, 14, 12, 13, 10};

__attribute__((noipa)) static word leaf(const word *at) { return *at * 3 + 1; }

/* The most that leaf makes of data in a range. */
__attribute__((noipa)) static word most(word from, word to) {
    if (to - from == 1) return leaf(&data[from]);
    word middle = from + (to - from) / 2;
    word left = most(from, middle), right = most(middle, to);
    return left > right ? left : right;
}

/* What setjmp and longjmp do. */
__asm__(".type mark, @function\n mark: sd ra, 0(a0)\n sd sp, 8(a0)\n sd s0, 16(a0)\n sd s1, 24(a0)\n li a0, 0\n ret\n"
        ".size mark, .-mark\n .type back, @function\n"
        "back: ld ra, 0(a0)\n ld sp, 8(a0)\n ld s0, 16(a0)\n ld s1, 24(a0)\n mv a0, a1\n ret\n .size back, .-back\n");
__attribute__((returns_twice)) word mark(word *at);
void back(word *at, word value);
static word place[4];

__attribute__((noipa)) static word jump_out(word depth) {
    if (depth == 0) {
        back(place, 17);
        return 0;
    }
    return jump_out(depth - 1) + data[depth & 15];
}

/* At the bottom, returns to another place than that behind its call; what is there takes 100 from the result. */
__asm__(".type elsewhere, @function\n"
        "elsewhere: addi sp, sp, -16\n sd ra, 8(sp)\n beqz a0, 1f\n addi a0, a0, -1\n call elsewhere\n addi a0, a0, 1\n"
        " j 2f\n"
        "1: la t0, 3f\n sd t0, 8(sp)\n li a0, 120\n"
        "2: ld ra, 8(sp)\n addi sp, sp, 16\n ret\n"
        "3: addi a0, a0, -100\n j 2b\n .size elsewhere, .-elsewhere\n");
word elsewhere(word depth);

/* Returns past the instruction behind its call. */
__asm__(".option push\n .option norvc\n"
        ".type skip, @function\n skip: addi ra, ra, 4\n addi a0, a0, 1\n ret\n .size skip, .-skip\n"
        ".type skips, @function\n"
        "skips: addi sp, sp, -16\n sd ra, 8(sp)\n jal skip\n addi a0, a0, 64\n jal skip\n addi a0, a0, 64\n"
        " addi a0, a0, 7\n ld ra, 8(sp)\n addi sp, sp, 16\n ret\n .size skips, .-skips\n .option pop\n");
word skips(word x);

__attribute__((noipa)) static word poke(word depth, volatile word *at) {
    if (depth == 0) return *at;
    return poke(depth - 1, at) + 1;
}

__attribute__((noipa)) static word peek(volatile word *at) { return *at + 1; }

/* Goes on for very long, in copies. */
__attribute__((noipa)) static word fib(word n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

void _start(word which) {
    word result = 0;
    switch (which) {
    case 0: result = most(0, 16); break;
    case 1: result = mark(place); if (!result) result = jump_out(5); break;
    case 2: for (word depth = 0; depth < 6; depth++) result += elsewhere(depth + 1); break;
    case 3: result = skips(3); break;
    case 4: result = poke(4, (word *)0x40000000) + peek(data); break;
    case 5: result = peek((word *)0x40000000); break;
    case 6: result = fib(24) % 100; break;
    case 7: for (;;) fib(40);
    }
    exit_with(result);
    for (;;);
}
