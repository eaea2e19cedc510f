// The results of futex calls and of clone, one by one, as the kernel gives them.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int words[4];
static atomic_int woken[8];

static long futex(void *word, int operation, unsigned value, const void *timeout, void *other, unsigned third) {
    long result = syscall(SYS_futex, word, operation, value, timeout, other, third);
    return result == -1 ? -errno : result;
}

#define show(call) printf("%s: %ld\n", #call, (long)(call))

static void *wait_with_bit(void *argument) {
    long n = (long)argument;
    long result = futex(&words[0], FUTEX_WAIT_BITSET, 0, NULL, NULL, 1u << n);
    woken[n] = result == 0 ? 1 : -1;
    return NULL;
}

// Waits until as many threads wait at the futex: moving them to where they are counts them.
static void settle(int count) {
    while (futex(&words[0], FUTEX_REQUEUE, 0, (void *)99, &words[0], 0) < count) sched_yield();
}

static int awake(void) {
    int sum = 0;
    for (int n = 0; n < 8; n++) sum += woken[n] != 0;
    return sum;
}

// Prints which threads were woken, once as many are.
static void print_woken(const char *what, int count) {
    while (awake() < count) sched_yield();
    printf("%s:", what);
    for (int n = 0; n < 8; n++) printf(" %d", woken[n]);
    printf("\n");
}

static void *begin(pthread_t *threads, int count) {
    memset(woken, 0, sizeof woken);
    for (long n = 0; n < count; n++) pthread_create(&threads[n], NULL, wait_with_bit, (void *)n);
    settle(count);
    return threads;
}

static long raw_clone(unsigned long flags) {
    long result = syscall(SYS_clone, flags, 0, 0, 0, 0);
    return result == -1 ? -errno : result;
}

int main(void) {
    pthread_t threads[8];
    struct timespec none = {0, 0}, little = {0, 3000000}, wrong = {0, 1000000000}, negative = {-1, 0};
    struct timespec past = {0, 1};
    void *odd = (char *)words + 2;

    show(futex(&words[0], FUTEX_WAIT, 1, NULL, NULL, 0));
    show(futex(&words[0], FUTEX_WAIT, 0, &none, NULL, 0));
    show(futex(&words[0], FUTEX_WAIT, 0, &little, NULL, 0));
    show(futex(&words[0], FUTEX_WAIT, 0, &wrong, NULL, 0));
    show(futex(&words[0], FUTEX_WAIT, 0, &negative, NULL, 0));
    show(futex(&words[0], FUTEX_WAIT_BITSET, 0, &past, NULL, ~0u));
    show(futex(&words[0], FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &past, NULL, ~0u));
    show(futex(&words[0], FUTEX_WAIT_BITSET, 0, &past, NULL, 0));
    show(futex(&words[0], FUTEX_WAKE_BITSET, 1, NULL, NULL, 0));
    show(futex(odd, FUTEX_WAIT, 0, NULL, NULL, 0));
    show(futex(odd, FUTEX_WAKE, 1, NULL, NULL, 0));
    show(futex((void *)4096, FUTEX_WAKE, 1, NULL, NULL, 0));
    show(futex((void *)4096, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
    show(futex((void *)8, FUTEX_WAIT, 0, NULL, NULL, 0));
    show(futex(&words[0], FUTEX_WAKE, 1, NULL, NULL, 0));
    show(futex(&words[0], FUTEX_CMP_REQUEUE, 1, (void *)1, &words[1], 1));
    show(futex(&words[0], FUTEX_CMP_REQUEUE, 1, (void *)1, &words[1], 0));
    show(futex(&words[0], FUTEX_REQUEUE, -1, (void *)1, &words[1], 0));
    show(futex(&words[0], 99, 0, NULL, NULL, 0));

    begin(threads, 4);
    show(futex(&words[0], FUTEX_WAKE_BITSET, 9, NULL, NULL, 6));
    print_woken("bits 1 and 2", 2);
    show(futex(&words[0], FUTEX_WAKE, 1, NULL, NULL, 0));
    show(futex(&words[0], FUTEX_WAKE, 9, NULL, NULL, 0));
    print_woken("all", 4);
    for (int n = 0; n < 4; n++) pthread_join(threads[n], NULL);

    begin(threads, 6);
    show(futex(&words[0], FUTEX_CMP_REQUEUE, 1, (void *)3, &words[1], 0));
    usleep(20000);
    show(futex(&words[1], FUTEX_WAKE, 99, NULL, NULL, 0));
    show(futex(&words[0], FUTEX_WAKE, 99, NULL, NULL, 0));
    for (int n = 0; n < 6; n++) pthread_join(threads[n], NULL);

    begin(threads, 3);
    words[1] = 5;
    show(futex(&words[1], FUTEX_WAKE_OP, 1, (void *)2, &words[0], FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 0)));
    printf("word %d\n", words[0]);
    words[0] = 0;
    show(futex(&words[0], FUTEX_WAKE_OP, 1, (void *)2, &words[1], FUTEX_OP(FUTEX_OP_ADD, -1, FUTEX_OP_CMP_GT, 5)));
    show(futex(&words[1], FUTEX_WAKE_OP, 1, (void *)2, &words[1], FUTEX_OP((FUTEX_OP_OPARG_SHIFT | FUTEX_OP_OR), 6, FUTEX_OP_CMP_LT, 9)));
    show(futex(&words[1], FUTEX_WAKE_OP, 1, (void *)2, &words[1], FUTEX_OP(FUTEX_OP_ANDN, 4, FUTEX_OP_CMP_GE, 900)));
    show(futex(&words[1], FUTEX_WAKE_OP, 1, (void *)2, &words[1], FUTEX_OP(FUTEX_OP_XOR, 1, FUTEX_OP_CMP_NE, 1)));
    printf("word %d\n", words[1]);
    for (int n = 0; n < 3; n++) pthread_join(threads[n], NULL);

    show(raw_clone(CLONE_THREAD));
    show(raw_clone(CLONE_THREAD | CLONE_SIGHAND));
    show(raw_clone(CLONE_SIGHAND));
    show(syscall(SYS_tgkill, getpid(), gettid(), 0));
    show(syscall(SYS_tgkill, 0, gettid(), 0));
    show(syscall(SYS_tkill, -1, 0));
    show(syscall(SYS_tkill, gettid(), 65));
    return 0;
}
