// Does what glibc loads a library for: a thread that ends, and a backtrace.
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>

static void *ends(void *argument) {
    pthread_exit(argument);
}

int main(void) {
    void *frames[8], *result = NULL;
    if (backtrace(frames, 8) > 0) puts("frames");
    pthread_t thread;
    pthread_create(&thread, NULL, ends, frames);
    pthread_join(thread, &result);
    if (result == frames) puts("ended");
    return 0;
}
