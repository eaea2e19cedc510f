// A bounded queue between producers and consumers; barriers, latches and semaphores.
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <latch>
#include <mutex>
#include <queue>
#include <semaphore>
#include <thread>
#include <vector>

template <class T> class Channel {
    std::mutex lock;
    std::condition_variable_any room, items;
    std::queue<T> queue;
    bool closed = false;

  public:
    void send(T value) {
        std::unique_lock guard(lock);
        room.wait(guard, [&] { return queue.size() < 4; });
        queue.push(value);
        items.notify_one();
    }
    bool receive(T& value) {
        std::unique_lock guard(lock);
        items.wait(guard, [&] { return closed || !queue.empty(); });
        if (queue.empty()) return false;
        value = queue.front();
        queue.pop();
        room.notify_one();
        return true;
    }
    void close() {
        std::lock_guard guard(lock);
        closed = true;
        items.notify_all();
    }
};

int main() {
    Channel<int> numbers, squares;
    std::vector<std::thread> producers, consumers;
    for (int p = 0; p < 3; ++p)
        producers.emplace_back([&numbers, p] { for (int i = p; i < 300; i += 3) numbers.send(i); });
    for (int c = 0; c < 4; ++c)
        consumers.emplace_back([&] { for (int n; numbers.receive(n);) squares.send(n * n); });
    long total = 0;
    std::thread collector([&] { for (int n; squares.receive(n);) total += n; });
    for (auto& producer : producers) producer.join();
    numbers.close();
    for (auto& consumer : consumers) consumer.join();
    squares.close();
    collector.join();
    std::printf("total %ld\n", total);

    std::mutex lock;
    std::condition_variable never;
    std::unique_lock guard(lock);
    std::printf("timeout %d\n", never.wait_for(guard, std::chrono::milliseconds(3)) == std::cv_status::timeout);

    int phases = 0;
    auto next = [&phases]() noexcept { ++phases; };
    std::barrier barrier(4, next);
    std::latch ready(4);
    std::counting_semaphore<3> slots(3);
    std::vector<std::jthread> team;
    for (int member = 0; member < 4; ++member)
        team.emplace_back([&] {
            ready.arrive_and_wait();
            for (int phase = 0; phase < 25; ++phase) {
                slots.acquire();
                slots.release();
                barrier.arrive_and_wait();
            }
        });
    team.clear();
    std::printf("phases %d\n", phases);
}
