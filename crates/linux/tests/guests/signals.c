// Signals that a program sends to itself.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include "show.h"

static volatile int depth;
static jmp_buf escape;
static char alternate[16384];

static void plain(int number) {
    printf("handler of %d\n", number);
}

static void with_info(int number, siginfo_t *info, void *context) {
    ucontext_t *saved = context;
    printf("signal %d, info %d, sender is me: %d, sp saved: %d\n", number, info->si_signo, info->si_pid == getpid(),
           saved->uc_mcontext.__gregs[2] > (unsigned long)&saved);
    // The handler may change what it returns to: the code here does not use s11.
    saved->uc_mcontext.__gregs[27] = 4711;
}

static void nested(int number) {
    int before = ++depth;
    if (before < 4) raise(number);
    printf("depth %d, left with %d\n", before, depth);
}

static void leap(int number) {
    siglongjmp(escape, number);
}

static void on_alternate(int number) {
    char here;
    printf("signal %d on the alternate stack: %d\n", number, &here >= alternate && &here < alternate + sizeof alternate);
    stack_t now;
    sigaltstack(NULL, &now);
    printf("flags %d\n", now.ss_flags);
}

static void shrink_alternate(int number, siginfo_t *info, void *context) {
    ((ucontext_t *)context)->uc_stack.ss_size = 4096;
}

static void by_kill(int number) {
    static int calls;
    printf("call %d of %d\n", ++calls, number);
    if (calls < 3) kill(getpid(), number);
}

static void install(int number, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    if (sigaction(number, &action, NULL) != 0) puts("sigaction fails");
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    install(SIGUSR1, plain, 0);
    SHOW(raise(SIGUSR1));
    SHOW(kill(getpid(), SIGUSR1));
    SHOW(pthread_kill(pthread_self(), SIGUSR1));

    struct sigaction action = {.sa_sigaction = with_info, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR2, &action, NULL);
    double number = 2.5;
    register long s11 asm("s11") = 5;
    asm volatile("" : "+r"(s11), "+f"(number));
    raise(SIGUSR2);
    asm volatile("" : "+r"(s11), "+f"(number));
    printf("%ld %g\n", s11 == 5 || s11 == 4711 ? 1L : s11, number);

    install(SIGUSR1, nested, SA_NODEFER);
    SHOW(raise(SIGUSR1));
    depth = 0;
    install(SIGUSR1, nested, 0);
    SHOW(raise(SIGUSR1));

    install(SIGUSR1, plain, SA_RESETHAND);
    raise(SIGUSR1);
    struct sigaction old;
    sigaction(SIGUSR1, NULL, &old);
    printf("reset: %d\n", old.sa_handler == SIG_DFL);

    install(SIGUSR1, plain, 0);
    install(SIGUSR2, plain, 0);
    sigset_t set, before, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    SHOW(sigprocmask(SIG_BLOCK, &set, &before));
    raise(SIGUSR2);
    raise(SIGUSR1);
    sigpending(&pending);
    printf("pending %d %d %d\n", sigismember(&pending, SIGUSR1), sigismember(&pending, SIGUSR2),
           sigismember(&pending, SIGINT));
    SHOW(sigprocmask(SIG_SETMASK, &before, NULL));

    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1);
    SHOW(sigsuspend(&before));
    sigset_t now;
    sigprocmask(SIG_SETMASK, NULL, &now);
    printf("blocked again: %d\n", sigismember(&now, SIGUSR1));
    raise(SIGUSR2);
    struct timespec short_time = {0, 1000000};
    SHOW(sigtimedwait(&set, NULL, &short_time));
    SHOW(sigtimedwait(&set, NULL, &short_time));
    sigprocmask(SIG_SETMASK, &before, NULL);

    for (volatile int i = 0; i < 600; i++) {
        install(SIGUSR1, leap, SA_NODEFER);
        if (sigsetjmp(escape, 1) == 0) raise(SIGUSR1);
    }
    puts("escaped from 600 handlers");

    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    SHOW(sigaltstack(&stack, NULL));
    install(SIGUSR1, on_alternate, SA_ONSTACK);
    raise(SIGUSR1);
    sigaltstack(NULL, &stack);
    printf("flags %d\n", stack.ss_flags);
    struct sigaction shrinks = {.sa_sigaction = shrink_alternate, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &shrinks, NULL);
    raise(SIGUSR1);
    sigaltstack(NULL, &stack);
    printf("the handler's return sets the size %zu\n", stack.ss_size);

    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    install(SIGCHLD, plain, 0);
    raise(SIGCHLD);
    install(SIGCHLD, SIG_DFL, 0);
    sigpending(&child);
    printf("ignored by default, pending: %d\n", sigismember(&child, SIGCHLD));
    sigprocmask(SIG_SETMASK, &before, NULL);

    install(SIGUSR1, by_kill, SA_NODEFER);
    SHOW(kill(getpid(), SIGUSR1));

    install(SIGUSR1, SIG_IGN, 0);
    SHOW(raise(SIGUSR1));
    SHOW(raise(SIGCHLD));
    SHOW(raise(0));
    SHOW(raise(99));
    SHOW(kill(getpid(), 65));
    SHOW(sigaction(SIGKILL, &action, NULL));
    install(SIGABRT, leap, 0);
    if (sigsetjmp(escape, 1) == 0) abort();
    puts("escaped from abort");
    return 0;
}
