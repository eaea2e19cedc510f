// Five bodies under gravity in double precision, stepped by symplectic Euler.
#include "bench.h"

#include <math.h>

enum { BODIES = 5 };

struct body {
    double position[3], velocity[3], mass;
};

// Made-up masses and orbits, in units where the gravitational constant is 1.
static struct body bodies[BODIES] = {
    {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}, 40.0},
    {{5.0, 0.5, -0.1}, {-0.3, 2.8, 0.1}, 0.04},
    {{-8.0, 4.0, 0.3}, {-1.0, -1.9, 0.05}, 0.012},
    {{12.0, -15.0, -0.2}, {1.1, 0.9, -0.02}, 0.0017},
    {{-15.0, -26.0, 0.6}, {1.0, -0.6, -0.03}, 0.002},
};

static void step(double dt) {
    for (int i = 0; i < BODIES; i++) {
        struct body *a = &bodies[i];
        for (int j = i + 1; j < BODIES; j++) {
            struct body *b = &bodies[j];
            double delta[3], squared = 0.0;
            for (int k = 0; k < 3; k++) {
                delta[k] = a->position[k] - b->position[k];
                squared += delta[k] * delta[k];
            }
            double pull = dt / (squared * sqrt(squared));
            for (int k = 0; k < 3; k++) {
                a->velocity[k] -= delta[k] * b->mass * pull;
                b->velocity[k] += delta[k] * a->mass * pull;
            }
        }
    }
    for (int i = 0; i < BODIES; i++)
        for (int k = 0; k < 3; k++)
            bodies[i].position[k] += dt * bodies[i].velocity[k];
}

int main(int argc, char **argv) {
    uint64_t steps = bench_size(argc, argv);
    for (uint64_t i = 0; i < steps; i++)
        step(0.001);
    return bench_report(bench_checksum(BENCH_CHECKSUM_START, bodies, sizeof bodies));
}
