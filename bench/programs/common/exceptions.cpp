// Leaves ten functions with destructors, every third time by an exception, or WITHOUT it by returning.
extern "C" {
#include "bench.h"
}

namespace {

uint64_t destroyed;

struct Counted {
    ~Counted() { destroyed++; }
};

__attribute__((noinline)) int64_t bottom(int64_t n) {
    if (n % 3 != 0)
        return n * 7;
#ifndef WITHOUT
    throw n;
#endif
    return -n - 1;
}

__attribute__((noinline)) int64_t descend(int depth, int64_t n) {
    Counted counted;
    int64_t result = depth == 0 ? bottom(n) : descend(depth - 1, n + 1);
    return result < 0 ? result : result + depth;
}

__attribute__((noinline)) int64_t guarded(int64_t n) {
#ifndef WITHOUT
    try {
        return descend(9, n);
    } catch (int64_t thrown) {
        return thrown;
    }
#else
    int64_t result = descend(9, n);
    return result < 0 ? -(result + 1) : result;
#endif
}

}  // namespace

int main(int argc, char **argv) {
    uint64_t size = bench_size(argc, argv), sum = 0;
    for (uint64_t i = 0; i < size; i++)
        sum = sum * 31 + static_cast<uint64_t>(guarded(static_cast<int64_t>(i)));
    return bench_report(sum + destroyed);
}
