// What the snippets of the guide's page use.
#include <coroutine>
#include <queue>
#include <riverrun.hpp>

struct Asked {
    int points;
    riverrun::Token<int> token;
};
std::queue<Asked> queue;

struct Task {
    struct promise_type {
        Task get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_value(int) {}
        void unhandled_exception() {}
    };
};

GUIDE 1

void add(riverrun::Linker &linker) { linker.func_async<int(int)>("Game::score", score); }
