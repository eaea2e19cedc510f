// What C++ has of threads: each case prints the same under every scheduler.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

static std::atomic<int> destroyed;

struct Local {
    int value = 1;
    ~Local() { destroyed += value; }
};

static thread_local Local local;

template <class T> struct Channel {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<T> items;
    bool closed = false;

    void put(T item) {
        std::lock_guard lock(mutex);
        items.push_back(item);
        changed.notify_one();
    }
    void close() {
        std::lock_guard lock(mutex);
        closed = true;
        changed.notify_all();
    }
    bool take(T &item) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return closed || !items.empty(); });
        if (items.empty()) return false;
        item = items.back();
        items.pop_back();
        return true;
    }
};

static long fibonacci(int n) {
    if (n < 2) return n;
    if (n < 10) return fibonacci(n - 1) + fibonacci(n - 2);
    auto left = std::async(std::launch::async, fibonacci, n - 1);
    return fibonacci(n - 2) + left.get();
}

int main() {
    std::vector<std::thread> threads;
    std::atomic<long> counter;
    long sum = 0;
    std::mutex mutex;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&, i] {
            local.value += i;
            for (int n = 0; n < 2000; n++) {
                counter++;
                std::lock_guard lock(mutex);
                sum += local.value;
            }
        });
    }
    for (auto &thread : threads) thread.join();
    std::printf("%ld %ld, own %d, destroyed %d\n", sum, counter.load(), local.value, destroyed.load());

    Channel<int> channel;
    std::atomic<long> taken;
    threads.clear();
    for (int i = 0; i < 3; i++) {
        threads.emplace_back([&] {
            for (int item; channel.take(item);) taken += item;
        });
    }
    for (int item = 1; item <= 500; item++) channel.put(item);
    channel.close();
    for (auto &thread : threads) thread.join();
    std::printf("taken %ld\n", taken.load());

    std::printf("fibonacci %ld\n", fibonacci(13));

    auto failing = std::async(std::launch::async, []() -> int { throw std::runtime_error("thrown elsewhere"); });
    try {
        failing.get();
    } catch (const std::exception &error) {
        std::printf("%s\n", error.what());
    }

    std::promise<int> promise;
    auto future = promise.get_future();
    std::printf("%s\n", future.wait_for(3ms) == std::future_status::timeout ? "timeout" : "ready");
    std::thread giver([&] { promise.set_value(42); });
    std::printf("%d\n", future.get());
    giver.join();

    std::shared_mutex shared;
    std::once_flag once;
    std::atomic<int> called, waiting;
    threads.clear();
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&] {
            std::call_once(once, [&] { std::this_thread::sleep_for(1ms); called++; });
            std::shared_lock lock(shared);
            waiting++;
            while (waiting < 4) std::this_thread::yield();
        });
    }
    for (auto &thread : threads) thread.join();
    std::printf("called %d\n", called.load());

    std::atomic<int> flag;
    std::thread waiter([&] { flag.wait(0); });
    flag = 1;
    flag.notify_all();
    waiter.join();
    std::jthread stopping([](std::stop_token token) { while (!token.stop_requested()) std::this_thread::sleep_for(1ms); });
    stopping.request_stop();
    stopping.join();
    std::printf("stopped\n");
}
