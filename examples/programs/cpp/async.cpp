// Futures, promises and packaged tasks, with exceptions that cross threads.
#include <chrono>
#include <cstdio>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

int main() {
    std::vector<std::future<long>> all;
    for (int n = 10; n < 20; ++n) all.push_back(std::async(std::launch::async, fib, n));
    for (auto& one : all) std::printf("%ld ", one.get());
    auto lazy = std::async(std::launch::deferred, [] { return std::this_thread::get_id(); });
    std::printf("\ndeferred here %d\n", lazy.get() == std::this_thread::get_id());

    auto failing = std::async(std::launch::async, []() -> int { throw std::runtime_error("broken"); });
    try {
        failing.get();
    } catch (const std::runtime_error& error) {
        std::printf("caught %s\n", error.what());
    }
    std::promise<std::string> promise;
    std::shared_future<std::string> shared = promise.get_future().share();
    std::thread first([&] { std::printf("first %s\n", shared.get().c_str()); });
    std::printf("waits %d\n", shared.wait_for(std::chrono::milliseconds(2)) == std::future_status::timeout);
    promise.set_value("word");
    first.join();
    try {
        promise.set_value("again");
    } catch (const std::future_error& error) {
        std::printf("%s\n", error.code().message().c_str());
    }
    std::packaged_task<int(int)> task([](int x) { return x * x; });
    auto square = task.get_future();
    std::thread(std::move(task), 12).join();
    std::printf("square %d\n", square.get());
}
