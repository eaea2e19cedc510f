// The same host in C++.
#include <riverrun.hpp>

#include <cstdio>

int main(int argc, char **argv)
{
    int calls = 0;
    riverrun::Engine engine;
    riverrun::Linker linker(engine);
    linker.func("Game::add", [&](int a, int b) { return calls++, a + b; });
    linker.func("Game::print", [](riverrun::Memory &memory, riverrun::Str text) {
        std::printf("guest: %s\n", memory.get(text).value().data());
    });
    riverrun::Program program = riverrun::Program::from_file(engine, argc > 1 ? argv[1] : "guest.elf");
    riverrun::Machine machine = linker.instantiate(program);
    riverrun::Func<int(float, int)> update = machine.func<int(float, int)>("update");
    int score = update(0.5f, 37);
    std::printf("host: %d after %d call\n", score, calls);
    auto failed = update(0.5f, -1);
    std::printf("host: %s\n", !failed && failed.error().trap() ? "the guest has trapped" : "no trap");
}
