// Leaves seven functions, every third time by longjmp, or WITHOUT it by returning.
#include "bench.h"

#include <setjmp.h>

static jmp_buf landing;

__attribute__((noinline)) static int64_t bottom(int64_t n) {
    if (n % 3 != 0)
        return n * 7;
    int code = (int)(n & 0xff) + 1;
#ifndef WITHOUT
    longjmp(landing, code);
#endif
    return -code;
}

__attribute__((noinline)) static int64_t descend(int depth, int64_t n) {
    int64_t result = depth == 0 ? bottom(n) : descend(depth - 1, n + 1);
    return result < 0 ? result : result + depth;
}

__attribute__((noinline)) static int64_t guarded(int64_t n) {
#ifndef WITHOUT
    int code = setjmp(landing);
    if (code != 0)
        return code;
#endif
    int64_t result = descend(6, n);
    return result < 0 ? -result : result;
}

int main(int argc, char **argv) {
    uint64_t size = bench_size(argc, argv), sum = 0;
    for (uint64_t i = 0; i < size; i++)
        sum = sum * 31 + (uint64_t)guarded((int64_t)i);
    return bench_report(sum);
}
