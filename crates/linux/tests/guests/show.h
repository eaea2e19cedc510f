// Prints what a call gives, and the error if it fails: `close(99) = -1 Bad file descriptor`.
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void show_value(const char *call, long value, int error) {
    if (value == -1)
        printf("%s = -1 %s\n", call, strerror(error));
    else
        printf("%s = %ld\n", call, value);
}

#define SHOW(call)                              \
    do {                                        \
        errno = 0;                              \
        long show_result = (long)(call);        \
        show_value(#call, show_result, errno);  \
    } while (0)
