// A program whose functions are called once its main has returned: nothing that they use has been torn down.
#include <riverrun.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

static std::vector<int> numbers = {1, 2, 3};
static std::map<std::string, int> uses;
static thread_local std::string own = "thread";

struct Global {
    std::string name = "global";
    ~Global() { std::puts("destroyed"); }
};
static Global global;

RIVERRUN_EXPORT(int, sum, (void));
int sum()
{
    static std::vector<int> more = {10, 20};
    int all = 0;
    for (int number : numbers)
        all += number;
    for (int number : more)
        all += number;
    return all + (global.name == "global" ? 0 : 1000) + (own == "thread" ? 0 : 1000);
}

RIVERRUN_EXPORT(int, add, (int));
int add(int number)
{
    numbers.push_back(number);
    return static_cast<int>(numbers.size());
}

RIVERRUN_EXPORT(int, caught, (int));
int caught(int number)
{
    try {
        if (number > 2)
            throw std::runtime_error("too large: " + std::to_string(number));
        return number;
    } catch (const std::exception &error) {
        std::cout << error.what() << std::endl;
        return ++uses["caught"] - 100;
    }
}

RIVERRUN_EXPORT(void, thrown, (void));
void thrown() { throw std::logic_error("nobody catches this"); }

int main(int argc, char **)
{
    std::atexit([] { std::puts("at exit"); });
    numbers.push_back(4);
    // Stays in the buffer, unless it is flushed.
    std::printf("main\n");
    return argc + 4;
}
