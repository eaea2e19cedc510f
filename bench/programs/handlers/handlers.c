// A stack machine whose instructions are calls through pointers: the other way to write an
// interpreter in C.
#include "bench.h"

struct machine;
struct instruction;
typedef const struct instruction *handler(const struct instruction *, struct machine *);

struct instruction {
    handler *execute;
    int64_t operand;
};

enum { STACK = 64, CELLS = 64 };

struct machine {
    uint64_t *top, stack[STACK], cells[CELLS];
    const struct instruction *code;
};

#define HANDLER(name) static const struct instruction *name(const struct instruction *pc, struct machine *m)

HANDLER(push) { *++m->top = (uint64_t)pc->operand; return pc + 1; }
HANDLER(load) { *++m->top = m->cells[pc->operand]; return pc + 1; }
HANDLER(store) { m->cells[pc->operand] = *m->top--; return pc + 1; }
HANDLER(load_at) { *m->top = m->cells[*m->top % CELLS]; return pc + 1; }
HANDLER(store_at) { m->cells[*m->top % CELLS] = m->top[-1]; m->top -= 2; return pc + 1; }
HANDLER(add) { m->top--; *m->top += m->top[1]; return pc + 1; }
HANDLER(multiply) { m->top--; *m->top *= m->top[1]; return pc + 1; }
HANDLER(exclusive_or) { m->top--; *m->top ^= m->top[1]; return pc + 1; }
HANDLER(shift_right) { *m->top >>= pc->operand; return pc + 1; }
HANDLER(jump_if) { return *m->top-- != 0 ? m->code + pc->operand : pc + 1; }
HANDLER(halt) { (void)pc, (void)m; return NULL; }

// Cell 0 counts down, 1 holds a random number, 2 a sum; the rest are mixed.
static const struct instruction code[] = {
    {load, 1}, {push, 6364136223846793005}, {multiply, 0}, {push, 1442695040888963407}, {add, 0}, {store, 1},
    {load, 1}, {shift_right, 41}, {load_at, 0}, {load, 1}, {exclusive_or, 0},
    {load, 1}, {shift_right, 59}, {push, 3}, {add, 0}, {store_at, 0},
    {load, 1}, {shift_right, 63}, {jump_if, 23},
    {load, 2}, {load, 1}, {add, 0}, {store, 2},
    {load, 0}, {push, -1}, {add, 0}, {store, 0}, {load, 0}, {jump_if, 0},
    {halt, 0},
};

int main(int argc, char **argv) {
    static struct machine machine;
    machine.top = machine.stack;
    machine.code = code;
    machine.cells[0] = bench_size(argc, argv);
    const struct instruction *pc = code;
    while (pc != NULL)
        pc = pc->execute(pc, &machine);
    return bench_report(bench_checksum(BENCH_CHECKSUM_START, machine.cells, sizeof machine.cells));
}
