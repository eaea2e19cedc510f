// A dynamically linked program: its libraries' functions, data, threads and exceptions, and one that it loads while it runs.
#include <cmath>
#include <cstdio>
#include <dlfcn.h>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

extern "C" int library_value;
extern "C" int library_add(int amount);
void library_throw(const std::string& text);

int main(int argc, char** argv) {
    std::printf("%d %d %d\n", library_add(5), library_value, library_add(2));
    std::printf("%.10f\n", std::cos(argc * 0.5));
    try {
        library_throw("over the border");
    } catch (const std::runtime_error& error) {
        std::printf("caught %s\n", error.what());
    }
    std::map<std::string, int> counts;
    std::thread([&] { ++counts["thread"]; }).join();
    std::printf("%zu\n", counts.size());
    if (argc > 1) {
        void* late = dlopen(argv[1], RTLD_NOW);
        if (!late) return std::printf("%s\n", dlerror()), 1;
        auto* twice = reinterpret_cast<int (*)(int)>(dlsym(late, "late_twice"));
        std::printf("late %d\n", twice(21));
        std::printf("closed %d\n", dlclose(late));
        late = dlopen(argv[1], RTLD_LAZY);
        twice = reinterpret_cast<int (*)(int)>(dlsym(late, "late_twice"));
        std::printf("again %d\n", twice(4));
    }
    return 3;
}
