// The Mandelbrot set on a square grid: double precision, a loop whose end depends on the data.
#include "bench.h"

enum { DEEPEST = 200 };

static uint32_t depth(double x, double y) {
    double re = 0.0, im = 0.0;
    uint32_t steps = 0;
    while (steps < DEEPEST && re * re + im * im <= 4.0) {
        double next = re * re - im * im + x;
        im = 2.0 * re * im + y;
        re = next;
        steps++;
    }
    return steps;
}

int main(int argc, char **argv) {
    uint64_t side = bench_size(argc, argv);
    uint64_t checksum = BENCH_CHECKSUM_START;
    for (uint64_t row = 0; row < side; row++) {
        uint64_t sum = 0;
        for (uint64_t column = 0; column < side; column++)
            sum = sum * 31 + depth(-2.0 + 2.5 * (double)column / (double)side, -1.25 + 2.5 * (double)row / (double)side);
        checksum = bench_checksum(checksum, &sum, sizeof sum);
    }
    return bench_report(checksum);
}
