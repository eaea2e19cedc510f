// Waits for what cannot come, as the first argument says.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
    static char bytes[1 << 17];
    int ends[2], word = 0;
    sigset_t none;
    sigemptyset(&none);
    if (argc < 2 || pipe(ends)) return 1;
    struct pollfd entry = {ends[0], POLLIN, 0};
    switch (atoi(argv[1])) {
    case 0: syscall(SYS_futex, &word, 128, 0, NULL); break;
    case 1: read(ends[0], bytes, 1); break;
    case 2: while (write(ends[1], bytes, sizeof bytes) > 0) {} break;
    case 3: sigsuspend(&none); break;
    case 4: pause(); break;
    case 5: sigfillset(&none); sigwaitinfo(&none, NULL); break;
    case 6: poll(&entry, 1, -1); break;
    case 7: poll(NULL, 0, -1); break;
    case 8: select(0, NULL, NULL, NULL, NULL); break;
    // With an end to the wait.
    case 9: return poll(&entry, 1, 1) + 10;
    }
    return 1;
}
