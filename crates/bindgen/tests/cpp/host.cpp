// A host of the API in ../apis/game.json.
#include <cstdio>

#include "game_host.hpp"

using namespace game_api;
using riverrun::Caller, riverrun::Memory, riverrun::Ptr, riverrun::Slice, riverrun::Str;

struct Common {
    void set_title(Caller &, Str) {}
    void game_exit(Caller &) {}
    void timer_stop(Caller &, std::int32_t) {}
    std::int32_t timer_periodic(Caller &, float, float, Ptr<void>, Ptr<void>, std::uint64_t) { return 1; }
    void breakpoint(Caller &, std::uint16_t, Str) {}
    std::int32_t is_debug(Caller &) { return 1; }
    Ptr<Texture> texture(Caller &, Ptr<node>, Ptr<void>) { return {}; }
    float point_length(Memory &, Point p) { return p.x; }
    Point point_add(Caller &, Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
    Handle handle_next(Caller &, Handle handle) { return handle; }
    Mixed mixed_scale(Caller &, Mixed m, double by) { return {m.weight * by, m.count}; }
    void matrix_multiply(Memory &, Ptr<float[4][4]>, Ptr<const float[4][4]>) {}
    bool matrix_is_identity(Memory &, Ptr<const float[16]>) { return true; }
    float sum(Caller &, Slice<const float>) { return 0; }
    std::int64_t many(Caller &, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t) { return 0; }
    std::int64_t stack(Caller &, std::uint8_t, std::int16_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                       std::int64_t, std::int64_t, std::int64_t, std::int32_t) { return 0; }
    std::int32_t eight(Caller &, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t,
                       std::int32_t, std::int32_t) { return 0; }
    double floats(Caller &, float, double, float, float, float, float, float, float, float, Point) { return 0; }
    float narrowed(Caller &, double) { return 0; }
    std::int8_t narrow(Caller &, std::int8_t, std::uint8_t, std::int16_t, bool, std::uint8_t) { return 0; }
    void odd(Caller &) {}
    void empty(Caller &) {}
};

struct Client : Common {
    // Wrong on purpose if this is defined: one type is another, or there is no such function.
#if defined(WRONG_TYPE)
    std::uint32_t gui_label(Caller &, std::int32_t, Str) { return 0; }
#elif !defined(MISSING)
    std::uint32_t gui_label(Caller &, std::uint32_t, Str) { return 0; }
#endif
};

struct Server : Common {
    bool world_save(Caller &, std::uint32_t, Ptr<const TestData>) { return true; }
};

int main()
{
    riverrun::Linker linker;
    Client client;
    link_client(linker, client);
    Server server;
    link_server(linker, server);
    for (const auto &[name, signature] : linker.signatures)
        std::printf("%s: %s\n", name.c_str(), signature.c_str());
}
