// loads LIBRARY: loads it as it runs; 3 if that fails.
#include <dlfcn.h>

int main(int argc, char **argv) {
    return argc > 1 && dlopen(argv[1], RTLD_NOW) ? 0 : 3;
}
