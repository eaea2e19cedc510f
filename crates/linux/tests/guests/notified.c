// Signal handlers that make no system call, in a program that calls a function of its host in and between them.
#include "boundary.h"

#include <signal.h>

IMPORT(0, 0x1d8f9346, "where", where, "u64 (i32)", uint64_t where(int));

static volatile int count;
static volatile uint64_t answer;

static void counts(int number) {
    (void)number;
    count = count + 1;
}

static void asks(int number) { answer = answer + where(number); }

// How many signals have been counted in all, `times` of them in this call.
EXPORT(notified, "i32 (i32)");
int notified(int times) {
    signal(SIGUSR1, counts);
    signal(SIGUSR2, asks);
    for (int n = 0; n < times; n++) {
        if (where(n) != 3 * (uint64_t)n || raise(SIGUSR1) != 0 || where(-n) != -3 * (uint64_t)n || raise(SIGUSR2) != 0)
            return -1;
    }
    return count;
}

EXPORT(answers, "u64 ()");
uint64_t answers(void) { return answer; }

int main(void) { return notified(10); }
