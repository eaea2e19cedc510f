// A program's handlers of its own faults. Without an argument all go well; an argument names a fault that ends the program.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "show.h"

#define PAGE 4096

typedef void handler(int, siginfo_t *, void *);

static sigjmp_buf escape;
static char alternate[65536];
static char *volatile page;
static const int constant[4] = {1, 2, 3, 4};
static int data[4] = {0x13, 0x13, 0x13, 0x13};
static volatile int depth;
static unsigned long return_address;

static void install(int number, handler *function, int flags) {
    struct sigaction action = {.sa_sigaction = function, .sa_flags = SA_SIGINFO | flags};
    sigemptyset(&action.sa_mask);
    if (sigaction(number, &action, NULL) != 0) puts("sigaction fails");
}

static void report(siginfo_t *info, long address) {
    printf("signal %d, error %d, code %d, address %ld\n", info->si_signo, info->si_errno, info->si_code, address);
}

// Not inlined, so that traps have this function's name.
__attribute__((noinline)) static void poke(volatile char *place, int value) {
    *place = value;
}

static void leap(int number, siginfo_t *info, void *context) {
    siglongjmp(escape, number + 1000 * info->si_code);
}

static void open_page(int number, siginfo_t *info, void *context) {
    report(info, (char *)info->si_addr - page);
    if (mprotect(page, PAGE, PROT_READ | PROT_WRITE) != 0)
        mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void skip(int number, siginfo_t *info, void *context) {
    ucontext_t *saved = context;
    unsigned long *registers = saved->uc_mcontext.__gregs;
    uint16_t bits = *(uint16_t *)registers[REG_PC];
    int is_at_pc = (unsigned long)info->si_addr == registers[REG_PC];
    report(info, is_at_pc ? -1 : (long)info->si_addr);
    sigset_t now;
    sigprocmask(SIG_SETMASK, NULL, &now);
    printf("length %d, blocked %d, before %d, a0 is %ld\n", (bits & 3) == 3 ? 4 : 2, sigismember(&now, number),
           sigismember(&saved->uc_sigmask, number), (long)registers[REG_A0]);
    registers[REG_PC] += (bits & 3) == 3 ? 4 : 2;
    registers[REG_A0] += 1;
}

static void back_to_caller(int number, siginfo_t *info, void *context) {
    unsigned long *registers = ((ucontext_t *)context)->uc_mcontext.__gregs;
    int is_data = info->si_addr == data;
    report(info, is_data ? -1 : (long)info->si_addr);
    printf("at the pc: %d\n", registers[REG_PC] == (unsigned long)info->si_addr);
    registers[REG_PC] = registers[1];
}

static void on_alternate(int number, siginfo_t *info, void *context) {
    char here;
    unsigned long sp = ((ucontext_t *)context)->uc_mcontext.__gregs[REG_SP];
    printf("on the alternate stack: %d, fault near sp: %d\n", &here >= alternate && &here < alternate + sizeof alternate,
           (unsigned long)info->si_addr - (sp - PAGE) < 4 * PAGE);
    siglongjmp(escape, 1);
}

__attribute__((noinline, noipa)) static int recurse(int n) {
    volatile char block[1024];
    block[n & 1023] = 1;
    return recurse(n + 1) + block[n & 1023];
}

static void nested(int number, siginfo_t *info, void *context) {
    int before = ++depth;
    if (before < 4) poke((char *)(long)before, 0);
    printf("depth %d at %ld, left with %d\n", before, (long)info->si_addr, depth);
    unsigned long *registers = ((ucontext_t *)context)->uc_mcontext.__gregs;
    registers[REG_PC] += (*(uint16_t *)registers[REG_PC] & 3) == 3 ? 4 : 2;
}

static void again(int number, siginfo_t *info, void *context) {
    puts("handler");
    poke((char *)24, 0);
}

static void downwards(int number, siginfo_t *info, void *context) {
    poke((char *)24, 0);
}

static void learn(int number, siginfo_t *info, void *context) {
    return_address = (unsigned long)__builtin_return_address(0);
}

static void to_itself(int number, siginfo_t *info, void *context) {
    unsigned long *registers = ((ucontext_t *)context)->uc_mcontext.__gregs;
    registers[REG_PC] = (unsigned long)__builtin_return_address(0);
    registers[REG_SP] = (unsigned long)info;
}

// A fault of its own in a thread, on the thread's alternate stack; the main thread has none.
static void *thread(void *unused) {
    static __thread char own[16384];
    stack_t stack = {.ss_sp = own, .ss_size = sizeof own};
    sigaltstack(&stack, NULL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    sigjmp_buf *place = malloc(sizeof *place);
    for (volatile int i = 0; i < 3; i++) {
        if (sigsetjmp(escape, 1) == 0) recurse(0);
    }
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    printf("thread goes on, %d %d\n", sigismember(&set, SIGUSR1), sigismember(&set, SIGSEGV));
    free(place);
    return NULL;
}

#define INSTRUCTION(text)                                                \
    ({                                                                   \
        register long a0 asm("a0") = 41;                                 \
        register long a1 asm("a1") = 16;                                 \
        asm volatile(".option push\n.option arch, +c\n" text "\n.option pop" : "+r"(a0) : "r"(a1) : "memory"); \
        printf("%s: %ld\n", text, a0);                                   \
    })

static void go_on(void) {
    install(SIGSEGV, leap, 0);
    for (volatile int i = 0; i < 300; i++) {
        int value = sigsetjmp(escape, 1);
        if (value == 0) poke(NULL, i);
        if (value != 1000 * SEGV_MAPERR + SIGSEGV) printf("%d\n", value);
    }
    puts("escaped from 300 handlers");
    int value = sigsetjmp(escape, 1);
    if (value == 0) poke((char *)constant, 0);
    printf("constant %d: %d\n", constant[0], value);

    install(SIGSEGV, open_page, 0);
    page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("closed: %d\n", *(volatile char *)(page + 40));
    munmap(page, PAGE);
    poke(page + 41, 7);
    printf("unmapped: %d\n", page[41]);
    mprotect(page, PAGE, PROT_READ);
    poke(page + 42, 8);
    printf("read-only: %d\n", page[42]);
    munmap(page, PAGE);
    __atomic_fetch_add((int *)(page + 44), 3, __ATOMIC_SEQ_CST);
    printf("atomic: %d\n", *(int *)(page + 44));

    install(SIGSEGV, skip, 0);
    install(SIGILL, skip, 0);
    install(SIGTRAP, skip, 0);
    install(SIGBUS, skip, 0);
    volatile double number = 2.5;
    register double kept asm("fs11") = number;
    asm volatile("" : "+f"(kept));
    INSTRUCTION(".option norvc\nlw a0, 0(zero)");
    INSTRUCTION("c.lw a0, 4(a1)");
    INSTRUCTION("c.sd a0, 8(a1)");
    INSTRUCTION("fld ft0, 24(zero)");
    INSTRUCTION(".4byte 0xffffffff");
    INSTRUCTION(".2byte 0");
    INSTRUCTION("ebreak\nebreak");
    INSTRUCTION(".option norvc\nebreak");
    INSTRUCTION("addi a1, a1, 1\namoadd.w a0, a0, (a1)\naddi a1, a1, -1");
    asm volatile("" : "+f"(kept));
    printf("%g\n", kept);

    install(SIGSEGV, back_to_caller, 0);
    ((void (*)(void))0)();
    ((void (*)(void))8)();
    ((void (*)(void))data)();

    install(SIGSEGV, nested, SA_NODEFER);
    poke((char *)100, 0);

    install(SIGSEGV, leap, SA_RESETHAND);
    if (sigsetjmp(escape, 1) == 0) poke(NULL, 0);
    struct sigaction old;
    sigaction(SIGSEGV, NULL, &old);
    printf("reset: %d\n", old.sa_handler == SIG_DFL);

    install(SIGSEGV, on_alternate, SA_ONSTACK);
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    SHOW(sigaltstack(&stack, NULL));
    for (volatile int i = 0; i < 3; i++) {
        if (sigsetjmp(escape, 1) == 0) recurse(0);
    }
    puts("escaped from the end of the stack");
    install(SIGSEGV, leap, SA_ONSTACK);
    pthread_t other;
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, NULL);
}

static void end(const char *how) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    if (strcmp(how, "blocked") == 0) {
        install(SIGSEGV, leap, 0);
        sigprocmask(SIG_BLOCK, &set, NULL);
    } else if (strcmp(how, "ignored") == 0) {
        signal(SIGSEGV, SIG_IGN);
    } else if (strcmp(how, "default") == 0) {
        install(SIGSEGV, leap, 0);
        signal(SIGSEGV, SIG_DFL);
    } else if (strcmp(how, "another") == 0) {
        install(SIGILL, leap, 0);
        install(SIGBUS, leap, 0);
    } else if (strcmp(how, "reset") == 0) {
        install(SIGSEGV, leap, SA_RESETHAND);
        if (sigsetjmp(escape, 1) == 0) poke((char *)16, 0);
        puts("once");
    } else if (strcmp(how, "twice") == 0) {
        install(SIGSEGV, again, 0);
        poke((char *)16, 0);
    } else if (strcmp(how, "no stack") == 0) {
        install(SIGSEGV, again, 0);
        recurse(0);
    } else if (strcmp(how, "full stack") == 0) {
        sigaltstack(&stack, NULL);
        install(SIGSEGV, downwards, SA_NODEFER | SA_ONSTACK);
    } else if (strcmp(how, "endless faults") == 0) {
        install(SIGUSR1, learn, 0);
        raise(SIGUSR1);
        install(SIGSEGV, (handler *)return_address, SA_NODEFER);
    } else if (strcmp(how, "endless returns") == 0) {
        install(SIGUSR1, to_itself, 0);
        raise(SIGUSR1);
    } else if (strcmp(how, "endless fetches") == 0) {
        // In the middle of memory, so that what is below an alternate stack can be written.
        char *middle = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        stack.ss_sp = middle + 32 * PAGE;
        sigaltstack(&stack, NULL);
        install(SIGSEGV, (handler *)64, SA_NODEFER | SA_ONSTACK);
    }
    fflush(stdout);
    poke((char *)24, 0);
}

int main(int count, char **args) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count > 1)
        end(args[1]);
    else
        go_on();
    return 0;
}
