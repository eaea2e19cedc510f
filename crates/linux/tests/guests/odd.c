// Handlers at odd addresses, and that go on at one: the lowest bit of a pc is not kept.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <ucontext.h>

static int handled;

static void handler(int number) {
    (void)number;
    handled++;
}

static void skips(int number, siginfo_t *info, void *context) {
    ucontext_t *at = context;
    (void)number;
    (void)info;
    at->uc_mcontext.__gregs[0] += 5;
    printf("flags of the alternate stack: %d\n", at->uc_stack.ss_flags);
}

int main(void) {
    signal(SIGUSR1, (void (*)(int))((uintptr_t)handler | 1));
    raise(SIGUSR1);
    struct sigaction action = {.sa_sigaction = skips, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, NULL);
    long sum = 1;
    // Goes on behind the word, which is no instruction, at its own address and 5.
    __asm__ volatile(".4byte 0xffffffff\n\taddi %0, %0, 7" : "+r"(sum));
    printf("%d handled, sum %ld\n", handled, sum);
    return 0;
}
