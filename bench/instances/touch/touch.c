// A function that leaves its mark on two pages. It needs no start code, so that what is measured is the engine's.

#include <stdint.h>
#include <stdio.h>

enum { PAGE = 4096 };

static _Alignas(PAGE) volatile int64_t first[PAGE / sizeof(int64_t)];
static _Alignas(PAGE) volatile int64_t second[PAGE / sizeof(int64_t)];

#ifdef __wasm__
__attribute__((export_name("touch")))
#endif
__attribute__((used, noinline)) int64_t touch(int64_t x)
{
    first[0] += x;
    second[0] += first[0];
    return first[0] + second[0];
}

int main(void)
{
    printf("%lld\n", (long long)touch(1));
    return 0;
}
