// A register machine in a `switch` loop: an interpreter inside the interpreter.
#include "bench.h"

enum op { LOAD, ADD, SUB, MUL, XOR, SHIFT, READ, WRITE, LOOP, SKIP_IF_ODD, HALT };

struct instruction {
    uint8_t op, to, a, b;
};

enum { REGISTERS = 8, CELLS = 256 };

// r0 counts down; r1 and r2 are mixed, and kept in memory cells chosen by r1.
static const struct instruction program[] = {
    {LOAD, 3, 7, 0},        // r3 = 7
    {LOAD, 4, 29, 0},       // r4 = 29
    {MUL, 1, 1, 4},         // loop: r1 = r1 * r4
    {ADD, 1, 1, 3},         // r1 = r1 + r3
    {SHIFT, 5, 1, 11},      // r5 = r1 >> 11
    {XOR, 2, 2, 5},         // r2 = r2 ^ r5
    {READ, 6, 5, 0},        // r6 = cell[r5]
    {ADD, 6, 6, 2},         // r6 = r6 + r2
    {SKIP_IF_ODD, 0, 6, 0}, // if r6 is even
    {SUB, 2, 2, 6},         //     r2 = r2 - r6
    {WRITE, 0, 5, 6},       // cell[r5] = r6
    {LOOP, 0, 2, 0},        // if --r0 != 0 goto loop
    {HALT, 0, 0, 0},
};

static uint64_t cells[CELLS];

__attribute__((noinline)) static uint64_t run(const struct instruction *code, uint64_t count) {
    uint64_t r[REGISTERS] = {count, 1, 2};
    for (const struct instruction *pc = code;; pc++) {
        switch ((enum op)pc->op) {
        case LOAD: r[pc->to] = pc->a; break;
        case ADD: r[pc->to] = r[pc->a] + r[pc->b]; break;
        case SUB: r[pc->to] = r[pc->a] - r[pc->b]; break;
        case MUL: r[pc->to] = r[pc->a] * r[pc->b]; break;
        case XOR: r[pc->to] = r[pc->a] ^ r[pc->b]; break;
        case SHIFT: r[pc->to] = r[pc->a] >> pc->b; break;
        case READ: r[pc->to] = cells[r[pc->a] % CELLS]; break;
        case WRITE: cells[r[pc->a] % CELLS] = r[pc->b]; break;
        case LOOP:
            if (--r[pc->to] != 0)
                pc = code + pc->a - 1;
            break;
        case SKIP_IF_ODD:
            if (r[pc->a] & 1)
                pc++;
            break;
        case HALT: return r[2];
        }
    }
}

int main(int argc, char **argv) {
    uint64_t result = run(program, bench_size(argc, argv));
    uint64_t checksum = bench_checksum(BENCH_CHECKSUM_START, &result, sizeof result);
    return bench_report(bench_checksum(checksum, cells, sizeof cells));
}
