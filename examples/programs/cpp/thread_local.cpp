// Objects of threads: made when first used, destroyed when their thread ends.
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

static std::mutex lock;
static int made, destroyed;

struct Counter {
    std::string name = "unnamed, and long enough that its text is allocated";
    int uses = 0;
    Counter() {
        std::lock_guard guard(lock);
        ++made;
    }
    ~Counter() {
        std::lock_guard guard(lock);
        ++destroyed;
        std::printf("%s was used %d times\n", name.c_str(), uses);
    }
};

static thread_local Counter counter;
static thread_local int plain = 7;

static void use(const char* name, int times) {
    counter.name = name;
    for (int i = 0; i < times; ++i) counter.uses += plain - 6;
}

int main() {
    use("main", 1);
    for (int n = 2; n < 6; ++n) {
        std::thread([n] {
            thread_local Counter own;
            own.name = "own of " + std::to_string(n);
            own.uses = 100 * n;
            use("global", n);
            plain = 100;
        }).join();
        std::thread([] { ++plain; }).join();
    }
    std::printf("made %d destroyed %d plain %d\n", made, destroyed, plain);
    struct Last {
        ~Last() { std::puts("last"); }
    };
    static Last last;
}
