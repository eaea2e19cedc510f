// A library that calls the program back.
int call(int (*function)(int *), int *value) {
    return function(value) + 1;
}
