// A host of the API in crates/bindgen/tests/apis/game.json, whose guest (guests/values.c there) checks every call.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "game_host.hpp"

using namespace game_api;
using riverrun::Caller, riverrun::Memory, riverrun::Ptr, riverrun::Slice, riverrun::Str;

static void expect(bool condition, int line)
{
    if (!condition) {
        std::fprintf(stderr, "%s:%d\n", __FILE__, line);
        std::exit(1);
    }
}
#define CHECK(condition) expect(condition, __LINE__)

struct Common {
    std::vector<std::string> titles;
    int calls = 0;

    void set_title(Caller &caller, Str title) { titles.emplace_back(*caller.memory().get(title)); }
    void game_exit(Caller &caller) { caller.fail("the game is over"); }
    void timer_stop(Caller &, std::int32_t id) { CHECK(id == -7); }
    std::int32_t timer_periodic(Caller &caller, float first, float period, Ptr<void> callback, Ptr<void> data,
                                std::uint64_t size)
    {
        CHECK(first == 0.5f && period == -1 && size == 3);
        auto call = caller.func_at<void(int, Ptr<void>)>(callback.address).value();
        call(40, data).value();
        call(2, data).value();
        return 30;
    }
    void breakpoint(Caller &caller, std::uint16_t line, Str text)
    {
        CHECK(line == 65535 && *caller.memory().get(text) == "here");
    }
    std::int32_t is_debug(Caller &) { return -2; }
    Ptr<Texture> texture(Caller &caller, Ptr<node> from, Ptr<void> done)
    {
        if (!from) {
            CHECK(!done);
            return {0};
        }
        const node &first = **caller.memory().get(from);
        const node &last = **caller.memory().get(Ptr<node>{first.next});
        float sum = 0;
        for (int i = 0; i < 3; i++)
            sum += first.at[i] + last.at[i];
        return {static_cast<std::uint64_t>(sum)};
    }
    float point_length(Memory &, Point p) { return p.x + p.y; }
    Point point_add(Caller &, Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
    Handle handle_next(Caller &, Handle handle)
    {
        handle.kind--;
        handle.id++;
        return handle;
    }
    Mixed mixed_scale(Caller &, Mixed m, double by) { return {m.weight * by, static_cast<std::int16_t>(m.count * 2)}; }
    void matrix_multiply(Memory &memory, Ptr<float[4][4]> into, Ptr<const float[4][4]> times)
    {
        auto &m = **memory.get(into);
        auto &by = **memory.get(times);
        for (auto &row : m) {
            float made[4] = {};
            for (int column = 0; column < 4; column++)
                for (int i = 0; i < 4; i++)
                    made[column] += row[i] * by[i][column];
            for (int column = 0; column < 4; column++)
                row[column] = made[column];
        }
    }
    bool matrix_is_identity(Memory &memory, Ptr<const float[16]> pointer)
    {
        auto &m = **memory.get(pointer);
        for (int at = 0; at < 16; at++)
            if (m[at] != (at % 5 == 0 ? 1.0f : 0.0f))
                return false;
        return true;
    }
    float sum(Caller &caller, Slice<const float> values)
    {
        float sum = 0;
        for (float value : caller.memory().get(values).value())
            sum += value;
        return sum;
    }
    std::int64_t many(Caller &, std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d, std::int32_t e)
    {
        CHECK(a == 1 && b == -1 && c == 3 && d == -2 && e == 5);
        return -5000000000;
    }
    std::int64_t stack(Caller &, std::uint8_t a, std::int16_t b, std::int64_t c, std::int64_t d, std::int64_t e,
                       std::int64_t f, std::int64_t g, std::int64_t h, std::int64_t i, std::int32_t j)
    {
        CHECK(a == 255 && b == -1 && i == -1 && j == -2);
        return a + b + c + d + e + f + g + h + i + j + 1;
    }
    std::int32_t eight(Caller &, std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d, std::int32_t e,
                       std::int32_t f, std::int32_t g, std::int32_t h)
    {
        return a + b + c + d + e + f + g + h;
    }
    double floats(Caller &, float a, double b, float c, float d, float e, float f, float g, float h, float i, Point p)
    {
        CHECK(i == -1 && p.x == 1.5f && p.y == -1);
        return b + static_cast<double>(a + c + d + e + f + g + h + p.x);
    }
    float narrowed(Caller &, double value) { return static_cast<float>(value) / 2; }
    std::int8_t narrow(Caller &, std::int8_t a, std::uint8_t b, std::int16_t c, bool d, std::uint8_t e)
    {
        CHECK(a == -100 && b == 200 && c == -30000 && d && e == 'x');
        return -128;
    }
    void odd(Caller &) { calls += 1; }
    void empty(Caller &) { calls += 10; }
};

struct Client : Common {
    // Wrong on purpose if this is defined: one type is another, or there is no such function.
#if defined(WRONG_TYPE)
    std::uint32_t gui_label(Caller &, std::int32_t, Str) { return 0; }
#elif !defined(MISSING)
    std::uint32_t gui_label(Caller &caller, std::uint32_t parent, Str text)
    {
        CHECK(parent == UINT32_MAX && *caller.memory().get(text) == "label");
        return parent - 1;
    }
#endif
};

struct Server : Common {
    bool world_save(Caller &caller, std::uint32_t size, Ptr<const TestData> data)
    {
        const TestData &found = **caller.memory().get(data);
        CHECK(size == 1 && found.c == 3 && found.z == 6);
        return true;
    }
};

static bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

/// The guest after main.
static riverrun::Machine started(riverrun::Linker &linker, const riverrun::Program &program, Common &host)
{
    riverrun::Machine machine = linker.instantiate(program);
    CHECK(*machine.run() == 0 && host.titles == std::vector<std::string>{"a game"});
    return machine;
}

int main(int, char **argv)
{
    riverrun::Engine engine;
    riverrun::Program program = riverrun::Program::from_file(engine, argv[1]);
    riverrun::Linker of_clients(engine);
    Client client;
    link_client(of_clients, client);
    riverrun::Machine machine = started(of_clients, program, client);
    int line = machine.func<int(int)>("values").value()(-1);
    if (line)
        std::fprintf(stderr, "line %d of values.c\n", line);
    CHECK(line == 0 && client.calls == 11);
    auto retitled = machine.func<void()>("retitle").value()();
    CHECK(!retitled && has(retitled.error().message(), "it can be called during initialization only"));
    CHECK(client.titles.size() == 1);
    auto saved = machine.func<bool()>("save").value()();
    CHECK(!saved && has(saved.error().message(), "World::save is a call that only servers have"));

    riverrun::Linker of_servers(engine);
    Server server;
    link_server(of_servers, server);
    riverrun::Machine other = started(of_servers, program, server);
    CHECK(*other.func<bool()>("save").value()());
}
