// Snapshots, forks and pools in C++. Arguments: the guest, a folder of files that it reads, a file to write.
#include "check.hpp"

#include <new>
#include <string>

static std::string output;

#if RIVERRUN_EXCEPTIONS
static bool is_out_of_memory = false;

void *operator new(std::size_t size)
{
    void *block = is_out_of_memory && size > 1000 ? nullptr : std::malloc(size);
    if (!block)
        throw std::bad_alloc();
    return block;
}
void operator delete(void *block) noexcept { std::free(block); }
void operator delete(void *block, std::size_t) noexcept { std::free(block); }
#endif

static void finish(riverrun::Machine &machine)
{
    CHECK(machine.run().value() == 3);
    CHECK(output == "apple pear\n4 one\n6 three\n0.333 done\n");
    output.clear();
}

int main(int, char **argv)
{
    riverrun::Engine engine;
    riverrun::Program program = riverrun::Program::from_file(engine, argv[1]).value();
    riverrun::Linker linker(engine);
    linker.add_linux();
    riverrun::Linux granted;
    for (const char *argument : {"libc", "pear", "apple"})
        granted.argument(argument).value();
    granted.variable("NUMBER", "1").value();
    granted.output([](std::string_view text) { output += text; }).value();
    granted.directory(argv[2], "/data", true).value();

    riverrun::Machine machine = linker.instantiate(program, granted).value();
    machine.set_fuel(1000).value();
    CHECK(machine.run().error().trap()->kind == RIVERRUN_TRAP_OUT_OF_FUEL);
    machine.set_fuel(RIVERRUN_UNLIMITED).value();
    riverrun::Snapshot taken = machine.snapshot().value();
    taken.set_section("level", "three").value();
    taken.write_to(argv[3]).value();
    std::string bytes = taken.to_bytes().value();

    auto damaged = riverrun::Snapshot::from_bytes(program, std::string_view(bytes).substr(1));
    CHECK(!damaged && damaged.error().kind() == RIVERRUN_ERROR_SNAPSHOT);
    CHECK(riverrun::Snapshot::from_bytes(program, bytes).value().to_bytes().value() == bytes);
    riverrun::Snapshot snapshot = riverrun::Snapshot::read(program, argv[3]).value();
    CHECK(snapshot.section("level") == "three" && !snapshot.section("lives"));

    riverrun::Machine fork = machine.fork(granted).value();
    finish(fork);
    finish(machine);
    machine.reset(snapshot).value();
    finish(machine);
    riverrun::Machine other = linker.instantiate_from(snapshot, granted).value();
    finish(other);

    riverrun::Pool pool = linker.pool(snapshot, granted, 4).value();
    for (int round = 0; round < 3; round++) {
        riverrun::PooledMachine first = pool.get().value();
        riverrun::PooledMachine second = pool.get().value();
        finish(*first);
        finish(*second);
        first = pool.get().value();
        finish(*first);
    }
    CHECK(pool.idle() == 3);

    // The pool does not take a machine whose run is not over: it is deleted, and its run given up.
    riverrun::Future<int> run;
    {
        riverrun::PooledMachine used = pool.get().value();
        run = used->run_async();
    }
    CHECK(pool.idle() == 2 && !run.poll());

#if RIVERRUN_EXCEPTIONS
    bool is_thrown = false;
    try {
        is_out_of_memory = true;
        (void)taken.to_bytes().value();
    } catch (const std::bad_alloc &) {
        is_thrown = true;
    }
    is_out_of_memory = false;
    CHECK(is_thrown);
#endif
}
