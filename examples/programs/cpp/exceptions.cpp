// Exceptions: nested, rethrown, through destructors and across recursion.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <variant>

struct Trace {
    int depth;
    ~Trace() { if (depth % 25 == 0) std::printf("left %d with %d\n", depth, std::uncaught_exceptions()); }
};

static int descend(int depth) {
    Trace trace{depth};
    if (depth == 100) throw std::out_of_range("the bottom");
    return descend(depth + 1) + 1;
}

static void describe(const std::exception& error, int level = 0) {
    std::printf("%*s%s\n", level, "", error.what());
    try {
        std::rethrow_if_nested(error);
    } catch (const std::exception& inner) {
        describe(inner, level + 2);
    }
}

struct Base {
    virtual ~Base() = default;
};
struct Derived : Base {};

int main() {
    try {
        try {
            descend(0);
        } catch (const std::logic_error& error) {
            std::throw_with_nested(std::runtime_error("descended"));
        }
    } catch (const std::exception& error) {
        describe(error);
    }
    for (int kind = 0; kind < 5; ++kind) {
        try {
            Base base;
            switch (kind) {
            case 0: (void)dynamic_cast<Derived&>(base); break;
            case 1: (void)std::string("ab").at(5); break;
            case 2: (void)std::get<int>(std::variant<int, char>('c')); break;
            case 3: throw 42;
            default: (void)std::stoi("x");
            }
        } catch (int number) {
            std::printf("number %d\n", number);
        } catch (const std::exception& error) {
            std::printf("%s: %s\n", typeid(error).name(), error.what());
        }
    }
    std::set_terminate([] { std::puts("terminated"); std::fflush(stdout); std::_Exit(5); });
    []() noexcept { throw 1; }();
}
