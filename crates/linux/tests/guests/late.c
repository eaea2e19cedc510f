// The library that dynamic.cpp loads while it runs.
static int calls;

__attribute__((constructor)) static void begin(void) { calls = 100; }

int late_twice(int value) { return ++calls == 101 ? 2 * value : -1; }
