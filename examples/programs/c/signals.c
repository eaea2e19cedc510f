// Signals: masks, stacks of their own, information, faults that are handled, signals to threads.
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile sig_atomic_t count, on_stack;
static char *stack, *guarded;
static volatile int *volatile nowhere;

static void counts(int number, siginfo_t *info, void *context) {
    char here;
    (void)context;
    count++;
    on_stack = &here >= stack && &here < stack + SIGSTKSZ;
    printf("%s sent %d\n", strsignal(number), info->si_code <= 0);
}

static void jumps(int number) { siglongjmp(back, number); }

static void mends(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    count = (char *)info->si_addr == guarded + 100;
    mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
}

static void *takes(void *argument) {
    int number;
    sigwait(argument, &number);
    printf("a thread took %s\n", strsignal(number));
    return NULL;
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    stack = malloc(SIGSTKSZ);
    stack_t alternative = {.ss_sp = stack, .ss_size = SIGSTKSZ};
    sigaltstack(&alternative, NULL);
    struct sigaction action = {.sa_sigaction = counts, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    sigset_t set, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1);
    raise(SIGUSR1);
    sigpending(&pending);
    printf("pending %d count %d\n", sigismember(&pending, SIGUSR1), count);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(SIGUSR1);
    printf("count %d on stack %d\n", count, on_stack);

    signal(SIGSEGV, jumps);
    signal(SIGILL, jumps);
    int number = sigsetjmp(back, 1);
    if (number == 0) *nowhere = 1;
    printf("%s\n", strsignal(number));
    if (number == SIGSEGV) __asm__ volatile(".word 0");

    guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction mend = {.sa_sigaction = mends, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &mend, NULL);
    guarded[100] = 5;
    printf("mended %d, then %d\n", count, guarded[100]);

    pthread_t thread;
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&thread, NULL, takes, &set);
    pthread_kill(thread, SIGUSR2);
    pthread_join(thread, NULL);
    signal(SIGPIPE, SIG_IGN);
    int ends[2];
    if (pipe(ends) != 0) return 1;
    close(ends[0]);
    ssize_t written = write(ends[1], "", 1);
    printf("pipe %zd %s\n", written, strerror(errno));
    abort();
}
