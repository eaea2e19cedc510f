// Made by `riverrun bindgen` from game.json: change that instead.
#pragma once

#include <cstddef>
#include <cstdint>

#include <riverrun.hpp>

namespace game_api {

/// The guest's `struct Texture`.
struct Texture;

/// The guest's `TestData`.
struct TestData {
    std::int32_t a;
    std::int32_t b;
    std::int32_t c;
    float x;
    float y;
    float z;
};
static_assert(sizeof(TestData) == 24, "TestData lies in memory as the guest has it");

/// The guest's `Point`.
struct Point {
    float x;
    float y;
};
static_assert(sizeof(Point) == 8, "Point lies in memory as the guest has it");

/// The guest's `Handle`.
struct Handle {
    std::int8_t kind;
    std::int64_t id;
};
static_assert(sizeof(Handle) == 16, "Handle lies in memory as the guest has it");

/// The guest's `Mixed`.
struct Mixed {
    double weight;
    std::int16_t count;
};
static_assert(sizeof(Mixed) == 16, "Mixed lies in memory as the guest has it");

/// The guest's `struct node`.
struct node {
    std::uint64_t next;
    float at[3];
};
static_assert(sizeof(node) == 24, "node lies in memory as the guest has it");

}

template <> struct riverrun::Layout<game_api::Point> {
    using Scalars = riverrun::Types<float, float>;
    static constexpr std::size_t offsets[] = {0, 4};
};

template <> struct riverrun::Layout<game_api::Handle> {
    using Scalars = riverrun::Types<std::int8_t, std::int64_t>;
    static constexpr std::size_t offsets[] = {0, 8};
};

template <> struct riverrun::Layout<game_api::Mixed> {
    using Scalars = riverrun::Types<double, std::int16_t>;
    static constexpr std::size_t offsets[] = {0, 8};
};

namespace game_api {

/// Registers the calls as member functions of `api`, which outlives the linker and its machines:
///     void set_title(riverrun::Caller &caller, riverrun::Str title);
///     void game_exit(riverrun::Caller &caller);
///     void timer_stop(riverrun::Caller &caller, std::int32_t arg0);
///     std::int32_t timer_periodic(riverrun::Caller &caller, float arg0, float arg1, riverrun::Ptr<void> arg2, riverrun::Ptr<void> arg3, std::uint64_t arg4);
///     void breakpoint(riverrun::Caller &caller, std::uint16_t arg0, riverrun::Str arg1);
///     std::int32_t is_debug(riverrun::Caller &caller);
///     std::uint32_t gui_label(riverrun::Caller &caller, std::uint32_t arg0, riverrun::Str arg1);
///     riverrun::Ptr<Texture> texture(riverrun::Caller &caller, riverrun::Ptr<node> arg0, riverrun::Ptr<void> done);
///     float point_length(riverrun::Memory &memory, Point arg0);
///     Point point_add(riverrun::Caller &caller, Point arg0, Point arg1);
///     Handle handle_next(riverrun::Caller &caller, Handle arg0);
///     Mixed mixed_scale(riverrun::Caller &caller, Mixed m, double by);
///     void matrix_multiply(riverrun::Memory &memory, riverrun::Ptr<float[4][4]> m, riverrun::Ptr<const float[4][4]> by);
///     bool matrix_is_identity(riverrun::Memory &memory, riverrun::Ptr<const float[16]> m);
///     float sum(riverrun::Caller &caller, riverrun::Slice<const float> values);
///     std::int64_t many(riverrun::Caller &caller, std::int32_t arg0, std::int32_t arg1, std::int32_t arg2, std::int32_t arg3, std::int32_t arg4);
///     std::int64_t stack(riverrun::Caller &caller, std::uint8_t a, std::int16_t b, std::int64_t c, std::int64_t d, std::int64_t e, std::int64_t f, std::int64_t g, std::int64_t h, std::int64_t i, std::int32_t j);
///     std::int32_t eight(riverrun::Caller &caller, std::int32_t arg0, std::int32_t arg1, std::int32_t arg2, std::int32_t arg3, std::int32_t arg4, std::int32_t arg5, std::int32_t arg6, std::int32_t arg7);
///     double floats(riverrun::Caller &caller, float arg0, double arg1, float arg2, float arg3, float arg4, float arg5, float arg6, float arg7, float arg8, Point arg9);
///     std::int8_t narrow(riverrun::Caller &caller, std::int8_t arg0, std::uint8_t arg1, std::int16_t arg2, bool arg3, std::uint8_t arg4);
///     float narrowed(riverrun::Caller &caller, double arg0);
///     void odd(riverrun::Caller &caller);
///     void empty(riverrun::Caller &caller);
template <class Linker, class Class>
void link_client(Linker &linker, Class &api)
{
    // void sys_set_title(const char *title)
    void (Class::*riverrun_set_title)(riverrun::Caller &, riverrun::Str) = &Class::set_title;
    linker.template func<void(riverrun::Str)>("Game::set_title", "void (ptr)",
        [&api, riverrun_set_title](riverrun::Caller &caller, riverrun::Str a0) -> void {
            caller.only_while_initializing();
            return (api.*riverrun_set_title)(caller, a0);
        });
    // void sys_game_exit(void)
    void (Class::*riverrun_game_exit)(riverrun::Caller &) = &Class::game_exit;
    linker.template func<void()>("Game::exit", "void ()",
        [&api, riverrun_game_exit](riverrun::Caller &caller) -> void {
            return (api.*riverrun_game_exit)(caller);
        });
    // void sys_timer_stop(int arg0)
    void (Class::*riverrun_timer_stop)(riverrun::Caller &, std::int32_t) = &Class::timer_stop;
    linker.template func<void(std::int32_t)>("Timer::stop", "void (i32)",
        [&api, riverrun_timer_stop](riverrun::Caller &caller, std::int32_t a0) -> void {
            return (api.*riverrun_timer_stop)(caller, a0);
        });
    // int sys_timer_periodic(float arg0, float arg1, timer_callback arg2, void *arg3, size_t arg4)
    std::int32_t (Class::*riverrun_timer_periodic)(riverrun::Caller &, float, float, riverrun::Ptr<void>, riverrun::Ptr<void>, std::uint64_t) = &Class::timer_periodic;
    linker.template func<std::int32_t(float, float, riverrun::Ptr<void>, riverrun::Ptr<void>, std::uint64_t)>("Timer::periodic", "i32 (f32, f32, ptr, ptr, u64)",
        [&api, riverrun_timer_periodic](riverrun::Caller &caller, float a0, float a1, riverrun::Ptr<void> a2, riverrun::Ptr<void> a3, std::uint64_t a4) -> std::int32_t {
            return (api.*riverrun_timer_periodic)(caller, a0, a1, a2, a3, a4);
        });
    // void sys_breakpoint(uint16_t arg0, const char *arg1)
    void (Class::*riverrun_breakpoint)(riverrun::Caller &, std::uint16_t, riverrun::Str) = &Class::breakpoint;
    linker.template func<void(std::uint16_t, riverrun::Str)>("Debug::breakpoint", "void (u16, ptr)",
        [&api, riverrun_breakpoint](riverrun::Caller &caller, std::uint16_t a0, riverrun::Str a1) -> void {
            return (api.*riverrun_breakpoint)(caller, a0, a1);
        });
    // int sys_is_debug(void)
    std::int32_t (Class::*riverrun_is_debug)(riverrun::Caller &) = &Class::is_debug;
    linker.template func<std::int32_t()>("Debug::is_debug", "i32 ()",
        [&api, riverrun_is_debug](riverrun::Caller &caller) -> std::int32_t {
            return (api.*riverrun_is_debug)(caller);
        });
    // unsigned sys_gui_label(unsigned arg0, const char *arg1)
    std::uint32_t (Class::*riverrun_gui_label)(riverrun::Caller &, std::uint32_t, riverrun::Str) = &Class::gui_label;
    linker.template func<std::uint32_t(std::uint32_t, riverrun::Str)>("GUI::label", "u32 (u32, ptr)",
        [&api, riverrun_gui_label](riverrun::Caller &caller, std::uint32_t a0, riverrun::Str a1) -> std::uint32_t {
            return (api.*riverrun_gui_label)(caller, a0, a1);
        });
    // bool sys_world_save(Size class_, const TestData *arg1)
    linker.template func<bool(std::uint32_t, riverrun::Ptr<const TestData>)>("World::save", "bool (u32, ptr)",
        [](riverrun::Caller &caller, std::uint32_t, riverrun::Ptr<const TestData>) -> bool {
            caller.fail("World::save is a call that only servers have");
        });
    // Texture *sys_texture(struct node *arg0, void (*done)(Texture *, int))
    riverrun::Ptr<Texture> (Class::*riverrun_texture)(riverrun::Caller &, riverrun::Ptr<node>, riverrun::Ptr<void>) = &Class::texture;
    linker.template func<riverrun::Ptr<Texture>(riverrun::Ptr<node>, riverrun::Ptr<void>)>("World::texture", "ptr (ptr, ptr)",
        [&api, riverrun_texture](riverrun::Caller &caller, riverrun::Ptr<node> a0, riverrun::Ptr<void> a1) -> riverrun::Ptr<Texture> {
            return (api.*riverrun_texture)(caller, a0, a1);
        });
    // float sys_point_length(Point arg0)
    float (Class::*riverrun_point_length)(riverrun::Memory &, Point) = &Class::point_length;
    linker.template func<float(Point)>("Point::length", "f32 (f32, f32)",
        [&api, riverrun_point_length](riverrun::Caller &caller, Point a0) -> float {
            return (api.*riverrun_point_length)(caller.memory(), a0);
        });
    // Point sys_point_add(Point arg0, Point arg1)
    Point (Class::*riverrun_point_add)(riverrun::Caller &, Point, Point) = &Class::point_add;
    linker.template func<Point(Point, Point)>("Point::add", "\173f32, f32\175 (f32, f32, f32, f32)",
        [&api, riverrun_point_add](riverrun::Caller &caller, Point a0, Point a1) -> Point {
            return (api.*riverrun_point_add)(caller, a0, a1);
        });
    // Handle sys_handle_next(Handle arg0)
    Handle (Class::*riverrun_handle_next)(riverrun::Caller &, Handle) = &Class::handle_next;
    linker.template func<Handle(Handle)>("Handle::next", "\173u64, u64\175 (u64, u64)",
        [&api, riverrun_handle_next](riverrun::Caller &caller, Handle a0) -> Handle {
            return (api.*riverrun_handle_next)(caller, a0);
        });
    // Mixed sys_mixed_scale(Mixed m, double by)
    Mixed (Class::*riverrun_mixed_scale)(riverrun::Caller &, Mixed, double) = &Class::mixed_scale;
    linker.template func<Mixed(Mixed, double)>("Mixed::scale", "\173f64, i16\175 (f64, i16, f64)",
        [&api, riverrun_mixed_scale](riverrun::Caller &caller, Mixed a0, double a1) -> Mixed {
            return (api.*riverrun_mixed_scale)(caller, a0, a1);
        });
    // void sys_matrix_multiply(float (*m)[4], const float (*by)[4])
    void (Class::*riverrun_matrix_multiply)(riverrun::Memory &, riverrun::Ptr<float[4][4]>, riverrun::Ptr<const float[4][4]>) = &Class::matrix_multiply;
    linker.template func<void(riverrun::Ptr<float[4][4]>, riverrun::Ptr<const float[4][4]>)>("Matrix::multiply", "void (ptr, ptr)",
        [&api, riverrun_matrix_multiply](riverrun::Caller &caller, riverrun::Ptr<float[4][4]> a0, riverrun::Ptr<const float[4][4]> a1) -> void {
            return (api.*riverrun_matrix_multiply)(caller.memory(), a0, a1);
        });
    // bool sys_matrix_is_identity(const float *m)
    bool (Class::*riverrun_matrix_is_identity)(riverrun::Memory &, riverrun::Ptr<const float[16]>) = &Class::matrix_is_identity;
    linker.template func<bool(riverrun::Ptr<const float[16]>)>("Matrix::is_identity", "bool (ptr)",
        [&api, riverrun_matrix_is_identity](riverrun::Caller &caller, riverrun::Ptr<const float[16]> a0) -> bool {
            return (api.*riverrun_matrix_is_identity)(caller.memory(), a0);
        });
    // float sys_sum(const float *values, size_t count)
    float (Class::*riverrun_sum)(riverrun::Caller &, riverrun::Slice<const float>) = &Class::sum;
    linker.template func<float(riverrun::Slice<const float>)>("sum", "f32 (ptr, u64)",
        [&api, riverrun_sum](riverrun::Caller &caller, riverrun::Slice<const float> a0) -> float {
            return (api.*riverrun_sum)(caller, a0);
        });
    // int64_t sys_many(int arg0, int arg1, int arg2, int arg3, int arg4)
    std::int64_t (Class::*riverrun_many)(riverrun::Caller &, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t) = &Class::many;
    linker.template func<std::int64_t(std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t)>("many", "i64 (i32, i32, i32, i32, i32)",
        [&api, riverrun_many](riverrun::Caller &caller, std::int32_t a0, std::int32_t a1, std::int32_t a2, std::int32_t a3, std::int32_t a4) -> std::int64_t {
            return (api.*riverrun_many)(caller, a0, a1, a2, a3, a4);
        });
    // long sys_stack(char a, short b, long c, long d, long e, long f, long g, long h, long i, int j)
    std::int64_t (Class::*riverrun_stack)(riverrun::Caller &, std::uint8_t, std::int16_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int32_t) = &Class::stack;
    linker.template func<std::int64_t(std::uint8_t, std::int16_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int32_t)>("stack", "i64 (u8, i16, i64, i64, i64, i64, i64, i64, i64, i32)",
        [&api, riverrun_stack](riverrun::Caller &caller, std::uint8_t a0, std::int16_t a1, std::int64_t a2, std::int64_t a3, std::int64_t a4, std::int64_t a5, std::int64_t a6, std::int64_t a7, std::int64_t a8, std::int32_t a9) -> std::int64_t {
            return (api.*riverrun_stack)(caller, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9);
        });
    // int sys_eight(int arg0, int arg1, int arg2, int arg3, int arg4, int arg5, int arg6, int arg7)
    std::int32_t (Class::*riverrun_eight)(riverrun::Caller &, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t) = &Class::eight;
    linker.template func<std::int32_t(std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t)>("eight", "i32 (i32, i32, i32, i32, i32, i32, i32, i32)",
        [&api, riverrun_eight](riverrun::Caller &caller, std::int32_t a0, std::int32_t a1, std::int32_t a2, std::int32_t a3, std::int32_t a4, std::int32_t a5, std::int32_t a6, std::int32_t a7) -> std::int32_t {
            return (api.*riverrun_eight)(caller, a0, a1, a2, a3, a4, a5, a6, a7);
        });
    // double sys_floats(float arg0, double arg1, float arg2, float arg3, float arg4, float arg5, float arg6, float arg7, float arg8, Point arg9)
    double (Class::*riverrun_floats)(riverrun::Caller &, float, double, float, float, float, float, float, float, float, Point) = &Class::floats;
    linker.template func<double(float, double, float, float, float, float, float, float, float, Point)>("floats", "f64 (f32, f64, f32, f32, f32, f32, f32, f32, f32, u64)",
        [&api, riverrun_floats](riverrun::Caller &caller, float a0, double a1, float a2, float a3, float a4, float a5, float a6, float a7, float a8, Point a9) -> double {
            return (api.*riverrun_floats)(caller, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9);
        });
    // int8_t sys_narrow(int8_t arg0, uint8_t arg1, int16_t arg2, bool arg3, char arg4)
    std::int8_t (Class::*riverrun_narrow)(riverrun::Caller &, std::int8_t, std::uint8_t, std::int16_t, bool, std::uint8_t) = &Class::narrow;
    linker.template func<std::int8_t(std::int8_t, std::uint8_t, std::int16_t, bool, std::uint8_t)>("narrow", "i8 (i8, u8, i16, bool, u8)",
        [&api, riverrun_narrow](riverrun::Caller &caller, std::int8_t a0, std::uint8_t a1, std::int16_t a2, bool a3, std::uint8_t a4) -> std::int8_t {
            return (api.*riverrun_narrow)(caller, a0, a1, a2, a3, a4);
        });
    // float sys_narrowed(double arg0)
    float (Class::*riverrun_narrowed)(riverrun::Caller &, double) = &Class::narrowed;
    linker.template func<float(double)>("narrowed", "f32 (f64)",
        [&api, riverrun_narrowed](riverrun::Caller &caller, double a0) -> float {
            return (api.*riverrun_narrowed)(caller, a0);
        });
    // void sys_odd(void)
    void (Class::*riverrun_odd)(riverrun::Caller &) = &Class::odd;
    linker.template func<void()>("odd \173name\175 100\045\174\044x", "void ()",
        [&api, riverrun_odd](riverrun::Caller &caller) -> void {
            return (api.*riverrun_odd)(caller);
        });
    // void sys_empty(void)
    void (Class::*riverrun_empty)(riverrun::Caller &) = &Class::empty;
    linker.template func<void()>("empty", "void ()",
        [&api, riverrun_empty](riverrun::Caller &caller) -> void {
            return (api.*riverrun_empty)(caller);
        });
}

/// Registers the calls as member functions of `api`, which outlives the linker and its machines:
///     void set_title(riverrun::Caller &caller, riverrun::Str title);
///     void game_exit(riverrun::Caller &caller);
///     void timer_stop(riverrun::Caller &caller, std::int32_t arg0);
///     std::int32_t timer_periodic(riverrun::Caller &caller, float arg0, float arg1, riverrun::Ptr<void> arg2, riverrun::Ptr<void> arg3, std::uint64_t arg4);
///     void breakpoint(riverrun::Caller &caller, std::uint16_t arg0, riverrun::Str arg1);
///     std::int32_t is_debug(riverrun::Caller &caller);
///     bool world_save(riverrun::Caller &caller, std::uint32_t class_, riverrun::Ptr<const TestData> arg1);
///     riverrun::Ptr<Texture> texture(riverrun::Caller &caller, riverrun::Ptr<node> arg0, riverrun::Ptr<void> done);
///     float point_length(riverrun::Memory &memory, Point arg0);
///     Point point_add(riverrun::Caller &caller, Point arg0, Point arg1);
///     Handle handle_next(riverrun::Caller &caller, Handle arg0);
///     Mixed mixed_scale(riverrun::Caller &caller, Mixed m, double by);
///     void matrix_multiply(riverrun::Memory &memory, riverrun::Ptr<float[4][4]> m, riverrun::Ptr<const float[4][4]> by);
///     bool matrix_is_identity(riverrun::Memory &memory, riverrun::Ptr<const float[16]> m);
///     float sum(riverrun::Caller &caller, riverrun::Slice<const float> values);
///     std::int64_t many(riverrun::Caller &caller, std::int32_t arg0, std::int32_t arg1, std::int32_t arg2, std::int32_t arg3, std::int32_t arg4);
///     std::int64_t stack(riverrun::Caller &caller, std::uint8_t a, std::int16_t b, std::int64_t c, std::int64_t d, std::int64_t e, std::int64_t f, std::int64_t g, std::int64_t h, std::int64_t i, std::int32_t j);
///     std::int32_t eight(riverrun::Caller &caller, std::int32_t arg0, std::int32_t arg1, std::int32_t arg2, std::int32_t arg3, std::int32_t arg4, std::int32_t arg5, std::int32_t arg6, std::int32_t arg7);
///     double floats(riverrun::Caller &caller, float arg0, double arg1, float arg2, float arg3, float arg4, float arg5, float arg6, float arg7, float arg8, Point arg9);
///     std::int8_t narrow(riverrun::Caller &caller, std::int8_t arg0, std::uint8_t arg1, std::int16_t arg2, bool arg3, std::uint8_t arg4);
///     float narrowed(riverrun::Caller &caller, double arg0);
///     void odd(riverrun::Caller &caller);
///     void empty(riverrun::Caller &caller);
template <class Linker, class Class>
void link_server(Linker &linker, Class &api)
{
    // void sys_set_title(const char *title)
    void (Class::*riverrun_set_title)(riverrun::Caller &, riverrun::Str) = &Class::set_title;
    linker.template func<void(riverrun::Str)>("Game::set_title", "void (ptr)",
        [&api, riverrun_set_title](riverrun::Caller &caller, riverrun::Str a0) -> void {
            caller.only_while_initializing();
            return (api.*riverrun_set_title)(caller, a0);
        });
    // void sys_game_exit(void)
    void (Class::*riverrun_game_exit)(riverrun::Caller &) = &Class::game_exit;
    linker.template func<void()>("Game::exit", "void ()",
        [&api, riverrun_game_exit](riverrun::Caller &caller) -> void {
            return (api.*riverrun_game_exit)(caller);
        });
    // void sys_timer_stop(int arg0)
    void (Class::*riverrun_timer_stop)(riverrun::Caller &, std::int32_t) = &Class::timer_stop;
    linker.template func<void(std::int32_t)>("Timer::stop", "void (i32)",
        [&api, riverrun_timer_stop](riverrun::Caller &caller, std::int32_t a0) -> void {
            return (api.*riverrun_timer_stop)(caller, a0);
        });
    // int sys_timer_periodic(float arg0, float arg1, timer_callback arg2, void *arg3, size_t arg4)
    std::int32_t (Class::*riverrun_timer_periodic)(riverrun::Caller &, float, float, riverrun::Ptr<void>, riverrun::Ptr<void>, std::uint64_t) = &Class::timer_periodic;
    linker.template func<std::int32_t(float, float, riverrun::Ptr<void>, riverrun::Ptr<void>, std::uint64_t)>("Timer::periodic", "i32 (f32, f32, ptr, ptr, u64)",
        [&api, riverrun_timer_periodic](riverrun::Caller &caller, float a0, float a1, riverrun::Ptr<void> a2, riverrun::Ptr<void> a3, std::uint64_t a4) -> std::int32_t {
            return (api.*riverrun_timer_periodic)(caller, a0, a1, a2, a3, a4);
        });
    // void sys_breakpoint(uint16_t arg0, const char *arg1)
    void (Class::*riverrun_breakpoint)(riverrun::Caller &, std::uint16_t, riverrun::Str) = &Class::breakpoint;
    linker.template func<void(std::uint16_t, riverrun::Str)>("Debug::breakpoint", "void (u16, ptr)",
        [&api, riverrun_breakpoint](riverrun::Caller &caller, std::uint16_t a0, riverrun::Str a1) -> void {
            return (api.*riverrun_breakpoint)(caller, a0, a1);
        });
    // int sys_is_debug(void)
    std::int32_t (Class::*riverrun_is_debug)(riverrun::Caller &) = &Class::is_debug;
    linker.template func<std::int32_t()>("Debug::is_debug", "i32 ()",
        [&api, riverrun_is_debug](riverrun::Caller &caller) -> std::int32_t {
            return (api.*riverrun_is_debug)(caller);
        });
    // unsigned sys_gui_label(unsigned arg0, const char *arg1)
    linker.template func<std::uint32_t(std::uint32_t, riverrun::Str)>("GUI::label", "u32 (u32, ptr)",
        [](riverrun::Caller &caller, std::uint32_t, riverrun::Str) -> std::uint32_t {
            caller.fail("GUI::label is a call that only clients have");
        });
    // bool sys_world_save(Size class_, const TestData *arg1)
    bool (Class::*riverrun_world_save)(riverrun::Caller &, std::uint32_t, riverrun::Ptr<const TestData>) = &Class::world_save;
    linker.template func<bool(std::uint32_t, riverrun::Ptr<const TestData>)>("World::save", "bool (u32, ptr)",
        [&api, riverrun_world_save](riverrun::Caller &caller, std::uint32_t a0, riverrun::Ptr<const TestData> a1) -> bool {
            return (api.*riverrun_world_save)(caller, a0, a1);
        });
    // Texture *sys_texture(struct node *arg0, void (*done)(Texture *, int))
    riverrun::Ptr<Texture> (Class::*riverrun_texture)(riverrun::Caller &, riverrun::Ptr<node>, riverrun::Ptr<void>) = &Class::texture;
    linker.template func<riverrun::Ptr<Texture>(riverrun::Ptr<node>, riverrun::Ptr<void>)>("World::texture", "ptr (ptr, ptr)",
        [&api, riverrun_texture](riverrun::Caller &caller, riverrun::Ptr<node> a0, riverrun::Ptr<void> a1) -> riverrun::Ptr<Texture> {
            return (api.*riverrun_texture)(caller, a0, a1);
        });
    // float sys_point_length(Point arg0)
    float (Class::*riverrun_point_length)(riverrun::Memory &, Point) = &Class::point_length;
    linker.template func<float(Point)>("Point::length", "f32 (f32, f32)",
        [&api, riverrun_point_length](riverrun::Caller &caller, Point a0) -> float {
            return (api.*riverrun_point_length)(caller.memory(), a0);
        });
    // Point sys_point_add(Point arg0, Point arg1)
    Point (Class::*riverrun_point_add)(riverrun::Caller &, Point, Point) = &Class::point_add;
    linker.template func<Point(Point, Point)>("Point::add", "\173f32, f32\175 (f32, f32, f32, f32)",
        [&api, riverrun_point_add](riverrun::Caller &caller, Point a0, Point a1) -> Point {
            return (api.*riverrun_point_add)(caller, a0, a1);
        });
    // Handle sys_handle_next(Handle arg0)
    Handle (Class::*riverrun_handle_next)(riverrun::Caller &, Handle) = &Class::handle_next;
    linker.template func<Handle(Handle)>("Handle::next", "\173u64, u64\175 (u64, u64)",
        [&api, riverrun_handle_next](riverrun::Caller &caller, Handle a0) -> Handle {
            return (api.*riverrun_handle_next)(caller, a0);
        });
    // Mixed sys_mixed_scale(Mixed m, double by)
    Mixed (Class::*riverrun_mixed_scale)(riverrun::Caller &, Mixed, double) = &Class::mixed_scale;
    linker.template func<Mixed(Mixed, double)>("Mixed::scale", "\173f64, i16\175 (f64, i16, f64)",
        [&api, riverrun_mixed_scale](riverrun::Caller &caller, Mixed a0, double a1) -> Mixed {
            return (api.*riverrun_mixed_scale)(caller, a0, a1);
        });
    // void sys_matrix_multiply(float (*m)[4], const float (*by)[4])
    void (Class::*riverrun_matrix_multiply)(riverrun::Memory &, riverrun::Ptr<float[4][4]>, riverrun::Ptr<const float[4][4]>) = &Class::matrix_multiply;
    linker.template func<void(riverrun::Ptr<float[4][4]>, riverrun::Ptr<const float[4][4]>)>("Matrix::multiply", "void (ptr, ptr)",
        [&api, riverrun_matrix_multiply](riverrun::Caller &caller, riverrun::Ptr<float[4][4]> a0, riverrun::Ptr<const float[4][4]> a1) -> void {
            return (api.*riverrun_matrix_multiply)(caller.memory(), a0, a1);
        });
    // bool sys_matrix_is_identity(const float *m)
    bool (Class::*riverrun_matrix_is_identity)(riverrun::Memory &, riverrun::Ptr<const float[16]>) = &Class::matrix_is_identity;
    linker.template func<bool(riverrun::Ptr<const float[16]>)>("Matrix::is_identity", "bool (ptr)",
        [&api, riverrun_matrix_is_identity](riverrun::Caller &caller, riverrun::Ptr<const float[16]> a0) -> bool {
            return (api.*riverrun_matrix_is_identity)(caller.memory(), a0);
        });
    // float sys_sum(const float *values, size_t count)
    float (Class::*riverrun_sum)(riverrun::Caller &, riverrun::Slice<const float>) = &Class::sum;
    linker.template func<float(riverrun::Slice<const float>)>("sum", "f32 (ptr, u64)",
        [&api, riverrun_sum](riverrun::Caller &caller, riverrun::Slice<const float> a0) -> float {
            return (api.*riverrun_sum)(caller, a0);
        });
    // int64_t sys_many(int arg0, int arg1, int arg2, int arg3, int arg4)
    std::int64_t (Class::*riverrun_many)(riverrun::Caller &, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t) = &Class::many;
    linker.template func<std::int64_t(std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t)>("many", "i64 (i32, i32, i32, i32, i32)",
        [&api, riverrun_many](riverrun::Caller &caller, std::int32_t a0, std::int32_t a1, std::int32_t a2, std::int32_t a3, std::int32_t a4) -> std::int64_t {
            return (api.*riverrun_many)(caller, a0, a1, a2, a3, a4);
        });
    // long sys_stack(char a, short b, long c, long d, long e, long f, long g, long h, long i, int j)
    std::int64_t (Class::*riverrun_stack)(riverrun::Caller &, std::uint8_t, std::int16_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int32_t) = &Class::stack;
    linker.template func<std::int64_t(std::uint8_t, std::int16_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int32_t)>("stack", "i64 (u8, i16, i64, i64, i64, i64, i64, i64, i64, i32)",
        [&api, riverrun_stack](riverrun::Caller &caller, std::uint8_t a0, std::int16_t a1, std::int64_t a2, std::int64_t a3, std::int64_t a4, std::int64_t a5, std::int64_t a6, std::int64_t a7, std::int64_t a8, std::int32_t a9) -> std::int64_t {
            return (api.*riverrun_stack)(caller, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9);
        });
    // int sys_eight(int arg0, int arg1, int arg2, int arg3, int arg4, int arg5, int arg6, int arg7)
    std::int32_t (Class::*riverrun_eight)(riverrun::Caller &, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t) = &Class::eight;
    linker.template func<std::int32_t(std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t)>("eight", "i32 (i32, i32, i32, i32, i32, i32, i32, i32)",
        [&api, riverrun_eight](riverrun::Caller &caller, std::int32_t a0, std::int32_t a1, std::int32_t a2, std::int32_t a3, std::int32_t a4, std::int32_t a5, std::int32_t a6, std::int32_t a7) -> std::int32_t {
            return (api.*riverrun_eight)(caller, a0, a1, a2, a3, a4, a5, a6, a7);
        });
    // double sys_floats(float arg0, double arg1, float arg2, float arg3, float arg4, float arg5, float arg6, float arg7, float arg8, Point arg9)
    double (Class::*riverrun_floats)(riverrun::Caller &, float, double, float, float, float, float, float, float, float, Point) = &Class::floats;
    linker.template func<double(float, double, float, float, float, float, float, float, float, Point)>("floats", "f64 (f32, f64, f32, f32, f32, f32, f32, f32, f32, u64)",
        [&api, riverrun_floats](riverrun::Caller &caller, float a0, double a1, float a2, float a3, float a4, float a5, float a6, float a7, float a8, Point a9) -> double {
            return (api.*riverrun_floats)(caller, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9);
        });
    // int8_t sys_narrow(int8_t arg0, uint8_t arg1, int16_t arg2, bool arg3, char arg4)
    std::int8_t (Class::*riverrun_narrow)(riverrun::Caller &, std::int8_t, std::uint8_t, std::int16_t, bool, std::uint8_t) = &Class::narrow;
    linker.template func<std::int8_t(std::int8_t, std::uint8_t, std::int16_t, bool, std::uint8_t)>("narrow", "i8 (i8, u8, i16, bool, u8)",
        [&api, riverrun_narrow](riverrun::Caller &caller, std::int8_t a0, std::uint8_t a1, std::int16_t a2, bool a3, std::uint8_t a4) -> std::int8_t {
            return (api.*riverrun_narrow)(caller, a0, a1, a2, a3, a4);
        });
    // float sys_narrowed(double arg0)
    float (Class::*riverrun_narrowed)(riverrun::Caller &, double) = &Class::narrowed;
    linker.template func<float(double)>("narrowed", "f32 (f64)",
        [&api, riverrun_narrowed](riverrun::Caller &caller, double a0) -> float {
            return (api.*riverrun_narrowed)(caller, a0);
        });
    // void sys_odd(void)
    void (Class::*riverrun_odd)(riverrun::Caller &) = &Class::odd;
    linker.template func<void()>("odd \173name\175 100\045\174\044x", "void ()",
        [&api, riverrun_odd](riverrun::Caller &caller) -> void {
            return (api.*riverrun_odd)(caller);
        });
    // void sys_empty(void)
    void (Class::*riverrun_empty)(riverrun::Caller &) = &Class::empty;
    linker.template func<void()>("empty", "void ()",
        [&api, riverrun_empty](riverrun::Caller &caller) -> void {
            return (api.*riverrun_empty)(caller);
        });
}

}
