// A thread-local variable. Linkers say that a position-independent program with one has relocations in its text.
#include <pthread.h>
#include <stdio.h>

static __thread int value = 3;

static void *change(void *argument) {
    value += 4;
    printf("%d\n", value);
    return argument;
}

int main(void) {
    pthread_t thread;
    value++;
    pthread_create(&thread, NULL, change, NULL);
    pthread_join(thread, NULL);
    printf("%d\n", value);
    return 0;
}
