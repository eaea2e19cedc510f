// A load that fails, below functions of two libraries.
#include <stdlib.h>

int call(int (*function)(int *), int *value);

static int compare(const void *a, const void *b) {
    return *(volatile int *)8 + (a < b);
}

static int sort(int *values) {
    qsort(values, 2, sizeof *values, compare);
    return values[0];
}

int main(void) {
    int values[2] = {2, 1};
    return call(sort, values) + 1;
}
