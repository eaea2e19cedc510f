// Parallel loops, reductions, tasks and sections of OpenMP.
#include <cstdio>
#include <omp.h>
#include <vector>

static long tasks(int n) {
    if (n < 2) return n;
    long a, b;
#pragma omp task shared(a) if (n > 10)
    a = tasks(n - 1);
#pragma omp task shared(b) if (n > 10)
    b = tasks(n - 2);
#pragma omp taskwait
    return a + b;
}

int main() {
    omp_set_num_threads(4);
    std::vector<double> values(10000);
#pragma omp parallel for schedule(dynamic, 64)
    for (size_t i = 0; i < values.size(); ++i) values[i] = double(i % 97) / 2;
    double sum = 0, most = 0;
#pragma omp parallel for reduction(+ : sum) reduction(max : most)
    for (size_t i = 0; i < values.size(); ++i) {
        sum += values[i];
        most = values[i] > most ? values[i] : most;
    }
    std::printf("sum %.1f most %.1f\n", sum, most);

    long result = 0;
#pragma omp parallel
#pragma omp single
    result = tasks(16);
    std::printf("tasks %ld\n", result);

    int count = 0, ordered = 0, members = 0;
    bool in_order = true;
#pragma omp parallel
    {
#pragma omp critical
        ++count;
#pragma omp barrier
#pragma omp for ordered
        for (int i = 0; i < 20; ++i) {
#pragma omp ordered
            in_order = in_order && ordered++ == i;
        }
#pragma omp atomic
        members += omp_get_num_threads();
    }
    std::printf("count %d members %d ordered %d\n", count, members, in_order);
}
