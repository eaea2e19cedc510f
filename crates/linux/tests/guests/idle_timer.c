// Reads a pipe that no thread writes, while a timer that no thread reads ends again and again.
#include <sys/timerfd.h>
#include <unistd.h>

int main(void) {
    int ends[2], timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec spec = {.it_interval = {0, 1}, .it_value = {0, 1}};
    char byte;
    timerfd_settime(timer, 0, &spec, NULL);
    return pipe(ends) != 0 || read(ends[0], &byte, 1) != 1;
}
