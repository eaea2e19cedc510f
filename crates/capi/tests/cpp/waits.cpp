// Host functions that answer later, with and without coroutines. Argument: the guest, whose `play` calls Game::add and
// Game::score.
#include "check.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

using riverrun::AsyncCaller;
using riverrun::Future;
using riverrun::Token;

namespace {

struct Call {
    int points;
    Token<int> token;
};

/// What the host knows of the calls of Game::score.
std::vector<Call> calls;
bool at_once = false;
/// Done by Game::score, while the guest runs.
std::function<void()> meanwhile;

Call next_call()
{
    CHECK(!calls.empty());
    Call call = std::move(calls.back());
    calls.pop_back();
    return call;
}

/// Polls until the guest waits for Game::score: its turn may end before.
bool waits(Future<int> &future)
{
    do
        CHECK(!future.poll().value());
    while (calls.empty());
    return true;
}

bool ends(Future<int> &future)
{
    while (!future.poll().value())
        continue;
    return true;
}

void by_hand(riverrun::Func<int(int)> &play)
{
    Future<int> future = play.call_async(3);
    int wakes = 0;
    future.on_wake([&wakes] { wakes++; }).value();
    CHECK(waits(future) && !future.get());
    wakes = 0;
    Call call = next_call();
    CHECK(call.points == 3 && call.token.is_awaited());
    call.token.complete(42).value();
    CHECK(wakes == 1 && ends(future) && future.get().value() == 42);
    CHECK(!call.token.complete(42));
    CHECK(!future.poll());

    at_once = true;
    future = play.call_async(4);
    CHECK(ends(future) && future.get().value() == 5);
    at_once = false;

    future = play.call_async(5);
    CHECK(waits(future));
    next_call().token.fail("the data base is away").value();
    auto failed = future.poll();
    CHECK(!failed && std::string(failed.error().what()).find("the data base is away") != std::string::npos);

    // One at a time.
    future = play.call_async(6);
    Future<int> refused = play.call_async(7);
    std::string words = refused.poll().error().what();
    CHECK(!words.empty() && refused.poll().error().what() == words && refused.get().error().what() == words);
    CHECK(!play(7));
    future = Future<int>();
    CHECK(!Future<int>().poll());
}

#if RIVERRUN_COROUTINES

/// A coroutine that no other one awaits.
struct Task {
    struct promise_type {
        Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::abort(); }
    };
    std::coroutine_handle<promise_type> handle;
};

struct Players {
    int sum = 0, left = 0;
    riverrun::EventLoop loop;
};

Task play_twice(riverrun::Func<int(int)> &play, int points, Players &players)
{
    int first = (co_await play.call_async(points)).value();
    int second = (co_await play.call_async(first).on(players.loop)).value();
    players.sum += second;
    if (--players.left == 0)
        players.loop.stop();
}

void on_a_loop(std::vector<riverrun::Func<int(int)>> &plays)
{
    Players players;
    players.left = static_cast<int>(plays.size());
    std::vector<Task> tasks;
    std::vector<std::thread> threads;
    players.loop.post([&] {
        for (std::size_t n = 0; n < plays.size(); n++)
            tasks.push_back(play_twice(plays[n], static_cast<int>(n), players));
    });
    // Answers on other threads, as calls come.
    std::function<void()> answer = [&] {
        while (!calls.empty()) {
            threads.emplace_back([call = std::make_shared<Call>(next_call())] {
                call->token.complete(call->points + 1).value();
            });
        }
        if (players.left)
            players.loop.post(answer);
    };
    players.loop.post(answer);
    players.loop.run();
    for (auto &thread : threads)
        thread.join();
    int expected = 0;
    for (int n = 0; n < static_cast<int>(plays.size()); n++)
        expected += n + 2;
    CHECK(players.sum == expected && !riverrun::EventLoop::current());
    for (auto &task : tasks) {
        CHECK(task.handle.done());
        task.handle.destroy();
    }
}

Task fails(riverrun::Func<int(int)> &play, std::string &words)
{
    auto result = co_await play.call_async(1);
    CHECK(!result);
    words = result.error().what();
}

void failures(riverrun::Func<int(int)> &play)
{
    std::string words;
    Task task = fails(play, words);
    CHECK(task.handle.done() && words.find("EventLoop") != std::string::npos);
    task.handle.destroy();

    riverrun::EventLoop loop;
    loop.post([&] { task = fails(play, words); });
    loop.post([&] { next_call(); });
    loop.post([&] { loop.stop(); });
    loop.run();
    loop.post([&] { loop.stop(); });
    loop.run();
    CHECK(task.handle.done() && words.find("its token was deleted") != std::string::npos);
    task.handle.destroy();

    // A coroutine that is destroyed while it waits: its answer has no effect.
    loop.post([&] { task = fails(play, words); });
    loop.post([&] { loop.stop(); });
    loop.run();
    task.handle.destroy();
    Call call = next_call();
    CHECK(!call.token.is_awaited());
    call.token.complete(1).value();
}

Task reaches(riverrun::Func<int(int)> &play, int &reached)
{
    (co_await play.call_async(1)).value();
    reached++;
    (co_await play.call_async(2)).value();
    reached++;
}

/// A coroutine that is destroyed while its guest runs, which answers at once or waits, does not go on.
void destroyed_meanwhile(riverrun::Func<int(int)> &play)
{
    for (bool is_answered : {true, false}) {
        riverrun::EventLoop loop;
        int reached = 0;
        Task task;
        loop.post([&] { task = reaches(play, reached); });
        loop.post([&] {
            at_once = is_answered;
            meanwhile = [&] { task.handle.destroy(); };
            next_call().token.complete(1).value();
        });
        loop.post([&] { loop.post([&] { loop.stop(); }); });
        loop.run();
        CHECK(reached == 1);
        meanwhile = nullptr;
        at_once = false;
        if (!is_answered)
            CHECK(!next_call().token.is_awaited());
    }
}

struct Counter {
    int posts = 0;
    void post(std::function<void()>) { posts++; }
};

/// A waker that comes while a coroutine begins to wait, or while another waker wakes it, is not lost.
void wakes_are_kept()
{
    using Waiting = riverrun::detail::Waiting<int, Counter>;
    for (int round = 0; round < 500; round++) {
        Counter counter;
        auto waiting = std::make_shared<Waiting>(Future<int>(), &counter);
        std::atomic<bool> has_begun = false, is_over = false;
        std::thread waker([&] {
            has_begun = true;
            waiting->wake();
            is_over = true;
        });
        while (!has_begun)
            std::this_thread::yield();
        while (!is_over) {
            auto expected = Waiting::polled;
            waiting->state.compare_exchange_strong(expected, Waiting::waits);
            expected = Waiting::waits;
            waiting->state.compare_exchange_strong(expected, Waiting::polled);
        }
        waker.join();
        CHECK(counter.posts == 1 || waiting->state == Waiting::woken);
    }
}

#endif

} // namespace

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    riverrun::Engine engine;
    riverrun::Program program = riverrun::Program::from_file(engine, argv[1]);
    riverrun::Linker linker(engine);
    linker.func("Game::add", [](int a, int b) { return a + b; });
    linker.func_async<int(int)>("Game::score", [](AsyncCaller &caller, int points, Token<int> token) {
        CHECK(caller.get() && token.is_awaited());
        if (meanwhile)
            meanwhile();
        if (at_once)
            token.complete(points + 1).value();
        else
            calls.push_back({points, std::move(token)});
    });
    std::vector<riverrun::Machine> machines;
    std::vector<riverrun::Func<int(int)>> plays;
    for (int n = 0; n < 20; n++) {
        machines.push_back(linker.instantiate(program).value());
        plays.push_back(machines.back().func<int(int)>("play").value());
    }
    by_hand(plays[0]);
#if RIVERRUN_COROUTINES
    on_a_loop(plays);
    failures(plays[0]);
    destroyed_meanwhile(plays[0]);
    wakes_are_kept();
#endif
    // The machine is gone before its future.
    Future<int> future = plays[0].call_async(1);
    CHECK(waits(future));
    machines.erase(machines.begin());
    CHECK(!future.poll());
    next_call().token.complete(1).value();
    return 0;
}
