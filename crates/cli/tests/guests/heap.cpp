// C++ with exceptions, whose `new` and `delete`, the library's own too, are the host's heap.
#include <riverrun/malloc.h>
#include <riverrun/new.h>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct alignas(64) Line {
    char bytes[64];
};

int main()
{
    std::map<std::string, std::vector<int>> lists;
    for (int i = 0; i < 1000; i++)
        lists["key " + std::to_string(i % 37) + std::string(i % 50, 'x')].push_back(i);
    auto lines = std::make_unique<Line[]>(3);
    if (reinterpret_cast<size_t>(lines.get()) % 64 || !riverrun_malloc_usable_size(lists.begin()->second.data()))
        return 1;
    try {
        throw std::runtime_error("thrown");
    } catch (const std::exception &error) {
        std::printf("%s, %zu lists\n", error.what(), lists.size());
    }
    try {
        std::vector<char> large(size_t{1} << 40);
        return 2;
    } catch (const std::bad_alloc &) {
        std::puts("no room");
    }
    if (new (std::nothrow) char[size_t{1} << 40])
        return 3;
    return 0;
}
