// Ends of pipes that are closed: the other end finds that out, wherever the guest was saved before.
#include <signal.h>
#include <unistd.h>

#include "show.h"

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    for (int round = 0; round < 10; round++) {
        int ends[2];
        char buffer[8];
        SHOW(pipe(ends));
        int copy = dup(ends[1]);
        SHOW(write(ends[1], "abc", 3));
        SHOW(close(ends[1]));
        SHOW(read(ends[0], buffer, sizeof buffer));
        SHOW(close(copy));
        SHOW(read(ends[0], buffer, sizeof buffer));
        SHOW(close(ends[0]));
        SHOW(pipe(ends));
        SHOW(close(ends[0]));
        SHOW(write(ends[1], "abc", 3));
        SHOW(close(ends[1]));
    }
    return 0;
}
