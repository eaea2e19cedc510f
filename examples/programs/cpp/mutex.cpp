// Locks of all kinds, and what is done once.
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

int main() {
    std::mutex plain;
    std::recursive_mutex recursive;
    std::timed_mutex timed;
    std::shared_mutex shared;
    std::once_flag once;
    std::map<int, int> counts;
    int made = 0, misses = 0;
    auto work = [&](int id) {
        std::call_once(once, [&] { ++made; });
        for (int i = 0; i < 500; ++i) {
            {
                std::scoped_lock both(plain, recursive);
                std::lock_guard again(recursive);
                ++counts[i % 10];
            }
            std::shared_lock reader(shared);
            if (counts.size() > 10) ++misses;
            reader.unlock();
            if (i % 100 == id) {
                std::unique_lock writer(shared);
                ++counts[id];
            }
        }
    };
    std::vector<std::thread> threads;
    for (int id = 0; id < 6; ++id) threads.emplace_back(work, id);
    for (auto& thread : threads) thread.join();
    for (auto [key, count] : counts) std::printf("%d:%d ", key, count);
    std::printf("\nmade %d misses %d\n", made, misses);

    timed.lock();
    std::thread([&] {
        std::printf("timed %d", timed.try_lock_for(std::chrono::milliseconds(2)));
        std::printf(" plain %d\n", plain.try_lock());
        plain.unlock();
    }).join();
    timed.unlock();
    try {
        std::unique_lock<std::mutex> empty;
        empty.lock();
    } catch (const std::system_error& error) {
        std::printf("%s\n", error.code().message().c_str());
    }
}
