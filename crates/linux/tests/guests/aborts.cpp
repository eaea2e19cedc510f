// Ends by abort in several ways, from main or from functions that the host calls.

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <unistd.h>

struct Level {};

extern "C" __attribute__((noinline)) void end(int how)
{
    switch (how) {
    case 0:
        throw std::runtime_error("no such level");
    case 1:
        throw Level();
    case 2:
        assert(how == 0 && "zero");
        break;
    case 3: {
        char *block = static_cast<char *>(malloc(100));
        asm volatile("" : "+r"(block));
        free(block + 8);
        break;
    }
    case 4:
        fputs("a line of the log\n", stderr);
        write(1, "", 0);
        abort();
    case 5:
        fprintf(stderr, "%s", "out of \x1b[31mcheese");
        abort();
    }
}

extern "C" int called(int how)
{
    try {
        end(how);
    } catch (const std::logic_error &) {
        return -1;
    }
    return how;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        end(atoi(argv[1]));
    // Nothing is torn down: functions can be called.
    _exit(0);
}
