// Threads that are started, joined, moved and detached.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <stop_token>
#include <thread>
#include <vector>

int main() {
    std::vector<long> sums(8);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < sums.size(); ++i)
        threads.emplace_back([&sums, i] {
            for (long n = 0; n < 20000; ++n) sums[i] += n * long(i + 1);
        });
    for (auto& thread : threads) thread.join();
    std::printf("sum %ld\n", std::accumulate(sums.begin(), sums.end(), 0L));

    std::atomic<int> turn{0};
    auto play = [&turn](int player) {
        for (int round = player; round < 1000; round += 2) {
            while (turn.load() != round) std::this_thread::yield();
            turn = round + 1;
        }
    };
    std::thread even(play, 0), odd(play, 1);
    std::thread moved = std::move(odd);
    even.join();
    moved.join();
    std::printf("turn %d joinable %d\n", turn.load(), odd.joinable());

    std::atomic<bool> done{false};
    std::thread([&done] { done = true; done.notify_all(); }).detach();
    done.wait(false);
    std::atomic<int> loops{0};
    {
        std::jthread worker([&loops](std::stop_token stop) {
            while (!stop.stop_requested()) {
                ++loops;
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        });
        while (loops == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::printf("stopped %d\n", loops > 0);
}
