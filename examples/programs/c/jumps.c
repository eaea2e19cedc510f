// Jumps out of functions, contexts that switch, functions with variable arguments and nested closures.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

static jmp_buf back;
static ucontext_t main_context, contexts[2];
static int log_of_turns[12], turns;

static int out(int depth) {
    if (depth == 0) longjmp(back, 7);
    return out(depth - 1) + 1;
}

static void turn(int own) {
    for (int i = 0; i < 5; i++) {
        log_of_turns[turns++] = own * 10 + i;
        swapcontext(&contexts[own], &contexts[1 - own]);
    }
    log_of_turns[turns++] = -own;
}

static double sum(const char *kinds, ...) {
    va_list list;
    double total = 0;
    va_start(list, kinds);
    for (; *kinds; kinds++) total += *kinds == 'd' ? va_arg(list, double) : va_arg(list, int);
    va_end(list);
    return total;
}

static void farewell(void) { puts("farewell"); }

int main(void) {
    volatile int kept = 1;
    int value = setjmp(back);
    if (value == 0) {
        kept = 5;
        out(1000);
    }
    printf("value %d kept %d\n", value, kept);
    for (int i = 0; i < 2; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_size = 64 << 10;
        contexts[i].uc_stack.ss_sp = malloc(64 << 10);
        contexts[i].uc_link = &main_context;
        makecontext(&contexts[i], (void (*)(void))turn, 1, i);
    }
    swapcontext(&main_context, &contexts[0]);
    for (int i = 0; i < turns; i++) printf("%d ", log_of_turns[i]);
    printf("\n%.2f\n", sum("ididd", 1, 2.5, -3, 1e3, 0.25));
    atexit(farewell);
    return 9;
}
