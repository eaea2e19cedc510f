// The interface in C++ does what it says, with exceptions and without. Argument: the guest.
#include "check.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>

namespace {

struct Mixed {
    double x;
    int n;
};

enum class Count : int { none };

int destroyed;

#if RIVERRUN_EXCEPTIONS
/// An exception that a host function throws again and again.
const std::exception_ptr kept = [] {
    try {
        throw riverrun::Exception(riverrun::Error("the data base is away"));
    } catch (...) {
        return std::current_exception();
    }
}();
#endif

struct Flags {
    unsigned char number;
    bool is_odd, is_even, is_any;
};

struct Score {
    int points = 40;
    Score() = default;
    Score(const Score &) = delete;
    ~Score() { destroyed++; }
};

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

} // namespace

template <> struct riverrun::Layout<Flags> {
    using Scalars = Types<unsigned char, bool, bool, bool>;
    static constexpr std::size_t offsets[] = {0, 1, 2, 3};
};

namespace {

int length(riverrun::Memory &memory, riverrun::Str text)
{
    static volatile double third = 1, three = 3;
    third = third / three;
    auto found = memory.get(text);
    return found && *found == "hello from the guest" ? static_cast<int>(found->size()) : -1;
}

std::int64_t stack(int a, int b, int c, int d, int e, int f, int g, int h, Count i, float x, std::int64_t y)
{
    CHECK(x == 10.5f && y == -11);
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * static_cast<int>(i);
}

void link_but_many(riverrun::Linker &linker)
{
    linker.func("Game::add", [](int a, int b) { return a + b; });
    linker.func("Game::score", [](riverrun::Caller &caller, int points) {
        auto &score = *caller.data<Score>();
        return score.points += points;
    });
    linker.func("Test::floats", [](float a, double b, int c) { return static_cast<double>(a) + b * c; });
    linker.func("Test::stack", stack);
    linker.func("Test::fail", [](riverrun::Caller &caller, int n) -> riverrun::Result<void> {
        std::string destroyed_too(100, 'x');
        if (n == 1)
            return riverrun::Error("told to fail by " + std::to_string(n));
#if RIVERRUN_EXCEPTIONS
        if (n == 2)
            throw std::runtime_error("thrown");
        if (n == 3)
            throw 3;
#endif
        if (n == 4) {
            destroyed_too = std::string(); // without exceptions, it would not be
            caller.fail("failed at once");
        }
        if (n == 5)
            caller.only_while_initializing();
        if (n == 6) {
            riverrun::Result<void> result = riverrun::Error("told to fail, and moved");
            riverrun::Error moved = std::move(result.error());
            return result;
        }
#if RIVERRUN_EXCEPTIONS
        if (n == 7)
            std::rethrow_exception(kept);
        if (n == 8) {
            riverrun::Exception thrown{riverrun::Error("thrown, and moved")};
            riverrun::Error moved = std::move(thrown.error());
            throw std::move(thrown);
        }
#endif
        return {};
    });
    linker.func("Test::again", [](riverrun::Caller &caller, int n) -> riverrun::Result<int> {
        if (n == 0)
            return 0;
        auto again = caller.func<int(int)>("again");
        if (!again)
            return std::move(again.error());
        return (*again)(n - 1);
    });
    linker.func("Test::text", length);
}

void link(riverrun::Linker &linker)
{
    link_but_many(linker);
    linker.func("Test::many", [](int a, int b, int c, int d, int e) -> std::int64_t {
        return (((a * 10 + b) * 10 + c) * 10 + d) * 10 + e;
    });
}

riverrun::Machine machine_of(const char *path)
{
    riverrun::Engine engine(riverrun::Config().address_bits(28).memory_limit(64 << 20).stack_size(256 << 10));
    riverrun::Program program = riverrun::Program::from_file(engine, path);
    riverrun::Linker linker(engine);
    link(linker);
    linker.add_heap();
    return linker.instantiate(program);
}

void calls(riverrun::Machine &machine)
{
    auto add = machine.func<int(int, int)>("add").value();
    int sum = add(40, 2);
    CHECK(sum == 42);
    riverrun::Func<Count(Count, int)> add_counts = machine.func<Count(Count, int)>("add");
    CHECK(add_counts(Count::none, -5).value() == static_cast<Count>(-5));
    CHECK(machine.func_at<int(int, int)>(add.address()).value()(1, 2).value() == 3);
    CHECK(*machine.func<float(float, int)>("half").value()(10, 2) == 2.5f);
    CHECK(*machine.func<bool(unsigned char)>("is_odd").value()(255));
    auto stack = machine.func<double(int, int, int, int, int, int, int, int, int, float, double)>("stack").value();
    CHECK(*stack(0, 1, 2, 3, 4, 5, 6, 7, 8, 0.5f, -0.25) == 240.25);
    CHECK(*machine.func<int(int)>("play").value()(2) == 42 && machine.data<Score>()->points == 42);
    CHECK(*machine.func<double(float, double, int)>("floats").value()(0.5f, 4, -2) == -7.5);
    CHECK(*machine.func<long()>("many").value()() == 8345);
    CHECK(*machine.func<long()>("stacked").value()() == 285);
    CHECK(*machine.func<int()>("say").value()() == 20);
    CHECK(*machine.func<int(int)>("again").value()(10) == 11);
    machine.func<void()>("nop").value()().value();
    // Guests that look do not see what the host does with floats.
    if (auto flags = machine.func<int()>("flags"))
        CHECK(*(*flags)() == 0);

    auto wrong = machine.func<int(long)>("add");
    CHECK(!wrong && wrong.error().kind() == RIVERRUN_ERROR_LINK && has(wrong.error().message(), "`i32 (i64)`"));
}

void failures(riverrun::Machine &machine)
{
    auto fail = machine.func<int(int)>("fail").value();
    CHECK(*fail(0) == 0);
    auto failed = fail(1);
    CHECK(!failed && failed.error().kind() == RIVERRUN_ERROR_HOST);
    CHECK(has(failed.error().message(), "Test::fail") && has(failed.error().message(), "told to fail by 1"));
    CHECK(failed.error().frames().at(0).function == "fail");
    CHECK(has(fail(4).error().message(), "failed at once"));
    CHECK(has(fail(5).error().message(), "during initialization only"));
    CHECK(has(fail(6).error().message(), "its error was taken"));
    auto trapped = machine.func<void()>("trap").value()();
    CHECK(!trapped && trapped.error().trap() && trapped.error().trap()->kind == RIVERRUN_TRAP_STORE_FAULT);
    CHECK(machine.func<void(int)>("leave").value()(3).error().exit_status() == 3);
#if RIVERRUN_EXCEPTIONS
    CHECK(has(fail(2).error().message(), "thrown"));
    CHECK(has(fail(3).error().message(), "no std::exception"));
    for (int times = 0; times < 3; times++)
        CHECK(has(fail(7).error().message(), "the data base is away"));
    CHECK(has(fail(8).error().message(), "the error has been taken"));
    bool caught = false;
    try {
        int value = fail(1);
        (void)value;
    } catch (const std::exception &error) {
        caught = has(error.what(), "told to fail");
    }
    CHECK(caught);
#endif
}

void results(riverrun::Machine &machine)
{
    // A function is called by way of the result that has brought it.
    auto add = machine.func<int(int, int)>("add");
    CHECK(add(1, 2).value() == 3 && add(3, 4).value() == 7);
    const auto fail = machine.func<int(int)>("fail");
    CHECK(*fail(0) == 0 && !fail(1));
    fail(1).ignore();
    auto failed = fail(1);
    auto moved = std::move(failed);
    CHECK(has(moved.error().message(), "told to fail"));
    moved = fail(0);
    CHECK(moved && *moved == 0);
    riverrun::Error error("it is moved away");
    riverrun::Error other = std::move(error);
    CHECK(!riverrun::Result<int>(std::move(error)) && other);
#if RIVERRUN_EXCEPTIONS
    auto thrown = [](auto run) -> std::string {
        try {
            run();
        } catch (const riverrun::Exception &exception) {
            return exception.what();
        }
        return {};
    };
    CHECK(has(thrown([&] { (void)fail(1); }), "told to fail by 1"));
    CHECK(has(thrown([&] { (void)machine.func<void()>("trap").value()(); }), "store"));
    CHECK(has(thrown([&] { (void)machine.memory().write(0, "", 1); }), "0x0"));
    CHECK(has(thrown([&] { auto kept = fail(1); }), "told to fail by 1"));
    CHECK(has(thrown([&] { auto kept = fail(1); kept = fail(0); }), "told to fail by 1"));
    CHECK(thrown([&] { auto kept = fail(1); if (!kept) return; }).empty());
    CHECK(thrown([&] { fail(1).ignore(); (void)fail(0); }).empty());
    // Beside another exception the error is printed: two would end the program.
    bool is_other = false;
    try {
        auto kept = fail(1);
        throw 7;
    } catch (int) {
        is_other = true;
    }
    CHECK(is_other);
    // What has no value never has one, however often it is asked for.
    auto none = machine.func<int()>("none");
    CHECK(has(thrown([&] { (void)none(); }), "none"));
    CHECK(has(thrown([&] { (void)none(); }), "taken from the result before"));
    CHECK(!none);
#else
    (void)fail(1); // it is printed
#endif
}

void memory(riverrun::Machine &machine)
{
    auto numbers = machine.heap().allocate<int>(4).value();
    auto view = machine.memory().get(riverrun::Slice<int>{numbers, 4}).value();
    std::iota(view.begin(), view.end(), -1);
    using Ints = riverrun::Slice<int>;
    machine.func<void(Ints)>("twice").value()(Ints{numbers, 4}).value();
    CHECK(view.size() == 4 && view[0] == -2 && view[3] == 4);
    riverrun::Ptr<const int> first = {numbers.address};
    CHECK(**machine.memory().get(first) == -2);
    machine.heap().free(numbers).value();

    riverrun::Str text = machine.heap().copy("a guest's text");
    CHECK(*machine.func<int(riverrun::Str)>("length").value()(text) == 14);
    CHECK(*machine.memory().get(text) == "a guest's text");
    machine.heap().free(text).value();
    riverrun::Str empty = machine.heap().copy(std::string_view());
    CHECK(machine.memory().get(empty).value().empty());
    machine.heap().free(empty).value();
    CHECK(machine.heap().free(text).error().kind() == RIVERRUN_ERROR_HEAP);
    CHECK(!machine.memory().get(riverrun::Ptr<int>{1}) && !machine.memory().get(riverrun::Str{0}));
    for (std::uint64_t anywhere : {UINT64_C(0), UINT64_C(1), UINT64_MAX}) {
        using Numbers = riverrun::Slice<const double>;
        CHECK(machine.memory().get(Numbers{{anywhere}, 0}).value().empty());
        CHECK(!machine.memory().get(Numbers{{anywhere}, 1}) && !machine.memory().get(Numbers{{anywhere}, UINT64_MAX / 4}));
    }
    int number = 5;
    CHECK(machine.memory().write(0, &number, 4).error().kind() == RIVERRUN_ERROR_MEMORY);
}

void traps(const char *path)
{
    riverrun::Engine engine;
    riverrun::Linker linker(engine);
    link(linker);
    linker.add_heap();
    enum class Does { nothing, skip, exit, fail } does = Does::nothing;
    auto kept = std::make_unique<int>(0);
    linker.trap_handler([&does, times = std::move(kept)](riverrun::TrapCaller &caller, const riverrun_trap_t &trap) {
        CHECK(caller.pc() == trap.pc && trap.kind == RIVERRUN_TRAP_STORE_FAULT && trap.detail == 16);
        switch (++*times, does) {
        case Does::skip: return riverrun::Flow::jump(trap.pc + 4);
        case Does::exit: return riverrun::Flow::exit(*times);
#if RIVERRUN_EXCEPTIONS
        case Does::fail: throw std::runtime_error("not here");
#endif
        default: return riverrun::Flow::trap();
        }
    });
    riverrun::Machine machine = linker.instantiate(riverrun::Program::from_file(engine, path).value());
    machine.set_data(std::make_unique<Score>()).value();
    CHECK(machine.run().value() == 7);
    auto trap = machine.func<void()>("trap").value();
    CHECK(trap().error().kind() == RIVERRUN_ERROR_TRAP);
    does = Does::skip;
    trap().value();
    does = Does::exit;
    CHECK(trap().error().exit_status() == 3);
    does = Does::fail;
#if RIVERRUN_EXCEPTIONS
    CHECK(has(trap().error().message(), "not here"));
#else
    CHECK(trap().error().kind() == RIVERRUN_ERROR_TRAP);
#endif
}

void structures(const char *path)
{
    riverrun::Engine engine;
    riverrun::Linker linker(engine);
    link_but_many(linker);
    Flags flags;
    // The guest's first number, by its bytes.
    linker.func<std::int64_t(Flags, int, int, int, int)>(
        "Test::many", "i64 (i32, i32, i32, i32, i32)", [&flags](riverrun::Caller &, Flags first, int, int, int, int) {
            flags = first;
            return std::int64_t{0};
        });
    riverrun::Machine machine = linker.instantiate(riverrun::Program::from_file(engine, path).value());
    machine.func<long(int)>("kept").value()(0x02000307 - 1).value();
    // A bool is one of two bytes, whatever the guest has there.
    unsigned char bytes[sizeof flags];
    std::memcpy(bytes, &flags, sizeof flags);
    CHECK(bytes[0] == 7 && bytes[1] == 1 && bytes[2] == 0 && bytes[3] == 1);
}

void limits(riverrun::Machine &machine)
{
    auto spin = machine.func<void()>("spin").value();
    riverrun::Limits limits;
    limits.fuel = 1000;
    CHECK(spin.within(limits).error().trap()->kind == RIVERRUN_TRAP_OUT_OF_FUEL);
    limits = {};
    limits.timeout = std::chrono::milliseconds(20);
    CHECK(spin.within(limits).error().trap()->kind == RIVERRUN_TRAP_DEADLINE);
    // What is left until a deadline that is over is no time.
    limits.timeout = std::chrono::nanoseconds(-1);
    CHECK(spin.within(limits).error().trap()->kind == RIVERRUN_TRAP_DEADLINE);
    machine.set_timeout(limits.timeout).value();
    CHECK(spin().error().trap()->kind == RIVERRUN_TRAP_DEADLINE);
    machine.set_timeout(std::chrono::nanoseconds::max()).value();
    machine.interrupt_handle().interrupt();
    CHECK(spin().error().trap()->kind == RIVERRUN_TRAP_INTERRUPTED);
    machine.set_fuel(500).value();
    CHECK(!spin() && machine.fuel() == 0);
    machine.set_fuel(RIVERRUN_UNLIMITED).value();
}

// A compiler that is not there leaves programs interpreted; a cache keeps what is known of them for the next start.
void tiers_up(const char *path)
{
    char folder[] = "/tmp/riverrun-api-XXXXXX";
    CHECK(mkdtemp(folder));
    riverrun::Engine engine(riverrun::Config().cache(folder).tier_up("/nonexistent/riverrun-compile"));
    auto load = [&] { return riverrun::Program::from_file(engine, path).value(); };
    auto program = load();
    CHECK(!program.is_compiled() && program.keep_profile());
    auto none = program.tier_up().value();
    CHECK(none.samples == 0 && none.compilations == 0 && !none.is_compiling && !none.failure);

    riverrun::Linker linker(engine);
    link(linker);
    riverrun::Machine machine = linker.instantiate(program);
    machine.set_data(std::make_unique<Score>()).value();
    machine.run().value();
    auto spin = machine.func<void()>("spin").value();
    riverrun::Limits limits;
    limits.timeout = std::chrono::milliseconds(1200);
    riverrun::TierUpStatistics all{};
    // It is worthwhile after a second, on a machine that has nothing else to do.
    for (int tries = 0; tries < 50 && !all.failure; tries++) {
        CHECK(!spin.within(limits));
        all = program.tier_up().value();
    }
    CHECK(all.samples > 0 && all.failure && has(all.failure, "/nonexistent/riverrun-compile"));
    CHECK(program.keep_profile() && load().tier_up()->samples >= all.samples);
    CHECK(!riverrun::Program::from_file(riverrun::Engine(), path).value().tier_up());
    std::filesystem::remove_all(folder);
}

} // namespace

int main(int, char **argv)
{
    {
        riverrun::Machine machine = machine_of(argv[1]);
        machine.set_data(std::make_unique<Score>()).value();
        riverrun::Limits slice;
        slice.fuel = 3;
        CHECK(machine.is_initializing() && !machine.run_for(slice).value().has_value());
        slice = {};
        slice.timeout = std::chrono::minutes(1);
        CHECK(machine.run_for(slice).value() == 7 && !machine.is_initializing());
        calls(machine);
        failures(machine);
        results(machine);
        memory(machine);
        limits(machine);
        riverrun::Machine moved = std::move(machine);
        CHECK(*moved.func<int(int, int)>("add").value()(1, 1) == 2);
        // What was moved from has no machine, nor has what has released it.
        int number = 0;
        riverrun::Memory &memory = machine.memory();
        CHECK(!machine.get() && !machine.set_fuel(1) && !memory.write(0, &number, 0));
        machine = std::move(moved);
        CHECK(!moved.get() && !moved.memory().write(0, &number, 0) && !moved.func<int(int, int)>("add"));
        CHECK(*machine.func<int(int, int)>("add").value()(1, 1) == 2);
        riverrun::Machine released = std::move(machine);
        machine = riverrun::Machine(released.release());
        CHECK(!released.get() && machine.fuel() == RIVERRUN_UNLIMITED);
    }
    CHECK(destroyed == 1);
    traps(argv[1]);
    structures(argv[1]);

    tiers_up(argv[1]);

    riverrun::Engine engine;
    riverrun::Linker linker(engine);
    linker.func("a", [] {}).func("a", [] {});
    auto none = riverrun::Program::from_bytes(engine, "no ELF", 6);
    CHECK(!none && none.error().kind() == RIVERRUN_ERROR_LOAD);
    const riverrun::Linker &faulty = linker;
    auto program = riverrun::Program::from_file(engine, argv[1]).value();
    for (int times = 0; times < 2; times++) {
        auto refused = faulty.instantiate(program);
        CHECK(!refused && has(refused.error().message(), "already has a function a"));
        CHECK(has(faulty.instantiate_from(riverrun::Snapshot()).error().message(), "already has a function a"));
        CHECK(has(faulty.pool(riverrun::Snapshot(), 1).error().message(), "already has a function a"));
    }
}
