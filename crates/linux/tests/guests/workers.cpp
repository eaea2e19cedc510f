// Functions for a host, which let threads work for them.
#include <riverrun.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex mutex;
static std::condition_variable changed;
static std::vector<int> items;
static std::atomic<long> sum;
static std::atomic<bool> spins;

static void work() {
    for (;;) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [] { return !items.empty(); });
        sum += items.back();
        items.pop_back();
        changed.notify_all();
        lock.unlock();
        while (spins) {}
    }
}

RIVERRUN_EXPORT(int, add, (int));
int add(int item) {
    std::unique_lock lock(mutex);
    items.push_back(item);
    changed.notify_all();
    changed.wait(lock, [] { return items.empty(); });
    return (int)sum;
}

RIVERRUN_EXPORT(void, spin, (int));
void spin(int on) { spins = on; }

RIVERRUN_EXPORT(void, never, (void));
void never() {
    for (;;) std::this_thread::yield();
}

int main() {
    for (int n = 0; n < 3; n++) std::thread(work).detach();
    return 3;
}
