/* What a guest says about itself to its host, in C (C11 or newer) and C++ (C++17 or newer), with GCC or Clang.
 *
 *     RIVERRUN_EXPORT(int, update, (float, int));     // C and C++: declares the function and offers it
 *     int update(float seconds, int frame) { .. }
 *
 *     RIVERRUN_EXPORT(Game::update);                  // C++: offers a function that is declared already
 *     RIVERRUN_EXPORT_AS("tick", Game::update);       // .. by another name
 *
 *     RIVERRUN_EXPORT_SIGNATURE("f32 (f32, f32)", length);    // C: .. by a signature, where structs go by value
 *
 * The host finds the function by its name, and is told if it calls it by other types. A function without
 * parameters has `(void)`.
 *
 * Structs of numbers and pointers, 16 bytes and aligned to 8 at most, can go by value, in C++ if they are aggregates
 * without unions.
 * Signatures have the registers that they take: one for each of one or two numbers with a float among them, where
 * there is one for each, and otherwise as many `u64` as hold their bytes. For larger ones pass pointers.
 */
#pragma once

#if !defined(__riscv) || __riscv_xlen != 64
#error "this is for guests of riverrun: compile for riscv64"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A record that the host reads in the program's file; nothing in the program refers to it. */
#if defined(__has_attribute) && __has_attribute(retain)
#define RIVERRUN_RECORD __attribute__((used, retain, section(".riverrun.exports"), aligned(8)))
#else
#define RIVERRUN_RECORD __attribute__((used, section(".riverrun.exports"), aligned(8)))
#endif

#define RIVERRUN_JOIN_(a, b) a##b
#define RIVERRUN_JOIN(a, b) RIVERRUN_JOIN_(a, b)

#ifdef __cplusplus

namespace riverrun {
namespace detail {

template <class T> struct Always { static constexpr bool no = false; };

/* The name of a type in signatures. */
template <class T> constexpr const char *type_name()
{
    if constexpr (__is_enum(T)) {
        return type_name<__underlying_type(T)>();
    } else {
        static_assert(Always<T>::no, "a type that cannot cross the boundary: numbers, enums and pointers can");
        return "";
    }
}
template <> constexpr const char *type_name<void>() { return "void"; }
template <> constexpr const char *type_name<bool>() { return "bool"; }
template <> constexpr const char *type_name<char>() { return "u8"; }
template <> constexpr const char *type_name<signed char>() { return "i8"; }
template <> constexpr const char *type_name<unsigned char>() { return "u8"; }
template <> constexpr const char *type_name<short>() { return "i16"; }
template <> constexpr const char *type_name<unsigned short>() { return "u16"; }
template <> constexpr const char *type_name<int>() { return "i32"; }
template <> constexpr const char *type_name<unsigned>() { return "u32"; }
template <> constexpr const char *type_name<long>() { return "i64"; }
template <> constexpr const char *type_name<unsigned long>() { return "u64"; }
template <> constexpr const char *type_name<long long>() { return "i64"; }
template <> constexpr const char *type_name<unsigned long long>() { return "u64"; }
template <> constexpr const char *type_name<float>() { return "f32"; }
template <> constexpr const char *type_name<double>() { return "f64"; }

template <class T> struct Name { static constexpr const char *text = type_name<T>(); };
template <class T> struct Name<T *> { static constexpr const char *text = "ptr"; };
template <class T> struct Name<T &> { static constexpr const char *text = "ptr"; };
template <class T> struct Name<T &&> { static constexpr const char *text = "ptr"; };
template <class T> struct Name<const T> : Name<T> {};

template <bool> struct If {};
template <> struct If<true> { using Type = int; };
template <class A, class B> constexpr bool same = false;
template <class A> constexpr bool same<A, A> = true;
template <class T> T make() noexcept;

/* What any number or pointer can be initialised by, and nothing else; by number `F`; any pointer. Where a struct's
   initialiser has these without inner braces, they are for its fields one by one, those of arrays and structs in it
   too. */
struct Any {
    template <class T, class = typename If<!__is_class(T) && !__is_union(T)>::Type> operator T() const noexcept;
};
template <class F> struct Only {
    template <class T, class = typename If<same<F, T>>::Type> operator T() const noexcept;
};
struct Pointer {
    template <class T> operator T *() const noexcept;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-braces"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
template <class T, class... Fields> constexpr auto is_made_of(int) -> decltype((void)T{make<Fields>()...}, true)
{
    return true;
}
template <class T, class... Fields> constexpr bool is_made_of(long) { return false; }
#pragma GCC diagnostic pop

/* The pieces that the calling convention makes of a struct (RISC-V ELF psABI, "Hardware Floating-point Calling
   Convention"). */
template <class T> struct Pieces {
    static_assert(__is_aggregate(T) && __is_trivially_copyable(T) && !__is_union(T),
                  "a type that cannot cross the boundary by value: numbers, pointers and plain structs of them can");
    static_assert(sizeof(T) <= 16, "a struct of more than 16 bytes goes by reference: pass a pointer");
    static_assert(alignof(T) <= 8, "a struct that is aligned to more than 8 bytes cannot go by value: pass a pointer");

    static constexpr int fields = is_made_of<T, Any, Any, Any>(0) ? 3 : is_made_of<T, Any, Any>(0) ? 2 : 1;
    static constexpr int words = sizeof(T) > 8 ? 2 : 1;

    template <class F> static constexpr bool is(int field)
    {
        if constexpr (fields == 1)
            return is_made_of<T, F>(0);
        else if constexpr (fields == 2)
            return field == 0 ? is_made_of<T, F, Any>(0) : is_made_of<T, Any, F>(0);
        else
            return false;
    }

    static constexpr bool is_float(int field) { return is<Only<float>>(field) || is<Only<double>>(field); }

    /* No pointer is passed apart. */
    static constexpr bool has_pointer = is<Pointer>(0) || (fields == 2 && is<Pointer>(1));
    static constexpr int floats = has_pointer ? 0 : is_float(0) + (fields == 2 && is_float(1));

    template <class F, class... Others> static constexpr const char *name_among(int field)
    {
        if (is<Only<F>>(field))
            return type_name<F>();
        if constexpr (sizeof...(Others) > 0)
            return name_among<Others...>(field);
        return nullptr;
    }

    static constexpr const char *name(int field)
    {
        return name_among<float, double, bool, char, signed char, unsigned char, short, unsigned short, int, unsigned,
                          long, unsigned long, long long, unsigned long long>(field);
    }
};

template <size_t size> struct Text {
    char bytes[size];
    size_t length;

    constexpr void add(const char *text)
    {
        while (*text)
            bytes[length++] = *text++;
    }
};

/* Writes `i32 (f32, ptr)`. */
template <class Result, class... Parameters> struct Writer {
    Text<32 + 16 * sizeof...(Parameters)> text{};
    /* Registers that are taken, 8 of each kind at most: what is behind them is on the stack. */
    int integers = 0, floats = 0;
    const char *separator = "";

    constexpr void add(const char *name)
    {
        text.add(separator);
        text.add(name);
        separator = ", ";
    }

    constexpr void take_integer() { integers += integers < 8; }

    template <class T> constexpr void add_type()
    {
        if constexpr (__is_class(T) || __is_union(T)) {
            using P = Pieces<T>;
            constexpr int others = P::fields - P::floats;
            if (P::floats > 0 && floats + P::floats <= 8 && integers + others <= 8) {
                if constexpr (P::floats > 0) {
                    static_assert(P::name(0) && (P::fields == 1 || P::name(1)),
                                  "a field of an enum beside a float: make it a number");
                    add(P::name(0));
                    if constexpr (P::fields == 2)
                        add(P::name(1));
                }
                floats += P::floats;
                integers += others;
            } else {
                for (int word = 0; word < P::words; word++, take_integer())
                    add("u64");
            }
        } else {
            if constexpr (same<T, float> || same<T, double>)
                floats < 8 ? (void)floats++ : take_integer();
            else if constexpr (!same<T, void>)
                take_integer();
            add(Name<T>::text);
        }
    }

    static constexpr auto write()
    {
        Writer result{}, parameters{};
        result.template add_type<Result>();
        if (__is_class(Result) && result.integers + result.floats == 2) {
            parameters.text.add("{");
            parameters.text.add(result.text.bytes);
            parameters.text.add("}");
        } else {
            parameters.text.add(result.text.bytes);
        }
        parameters.text.add(" (");
        (parameters.template add_type<Parameters>(), ...);
        parameters.text.add(")");
        return parameters.text;
    }
};

template <class Function> struct Signature;
template <class Result, class... Parameters> struct Signature<Result(Parameters...)> {
    static constexpr auto text = Writer<Result, Parameters...>::write();
};
template <class Result, class... Parameters>
struct Signature<Result(Parameters...) noexcept> : Signature<Result(Parameters...)> {};

template <class Function> struct Export {
    Function *function;
    const char *name;
    const char *signature;
};

} // namespace detail
} // namespace riverrun

#define RIVERRUN_EXPORT_AT(record, name, function)                                     \
    RIVERRUN_RECORD static const ::riverrun::detail::Export<decltype(function)> record = { \
        &function, name, ::riverrun::detail::Signature<decltype(function)>::text.bytes}
#define RIVERRUN_EXPORT_AS(name, function) \
    RIVERRUN_EXPORT_AT(RIVERRUN_JOIN(riverrun_export_, __COUNTER__), name, function)

#define RIVERRUN_EXPORT_1(function) RIVERRUN_EXPORT_AS(#function, function)
#define RIVERRUN_EXPORT_3(result, name, parameters) \
    extern "C" result name parameters;              \
    RIVERRUN_EXPORT_AT(riverrun_export_##name, #name, name)
#define RIVERRUN_PICK(a, b, c, macro, ...) macro
#define RIVERRUN_EXPORT(...) \
    RIVERRUN_PICK(__VA_ARGS__, RIVERRUN_EXPORT_3, RIVERRUN_WRONG, RIVERRUN_EXPORT_1, )(__VA_ARGS__)

#else /* C */

struct riverrun_export {
    void (*function)(void);
    const char *name;
    const char *signature;
};

/* Signatures are made of words of four characters: C can choose among numbers where types are known, but
   not join strings. */
#define RIVERRUN_WORD(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

/* The name of a type; the cast refuses structs. */
#define RIVERRUN_NAME(type, nothing)                                                                  \
    (_Generic((__typeof__(type) *)0,                                                                  \
         void *: nothing,                                                                             \
         bool *: RIVERRUN_WORD('b', 'o', 'o', 'l'),                                                   \
         char *: RIVERRUN_WORD('u', '8', ' ', ' '),                                                   \
         signed char *: RIVERRUN_WORD('i', '8', ' ', ' '),                                            \
         unsigned char *: RIVERRUN_WORD('u', '8', ' ', ' '),                                          \
         short *: RIVERRUN_WORD('i', '1', '6', ' '),                                                  \
         unsigned short *: RIVERRUN_WORD('u', '1', '6', ' '),                                         \
         int *: RIVERRUN_WORD('i', '3', '2', ' '),                                                    \
         unsigned *: RIVERRUN_WORD('u', '3', '2', ' '),                                               \
         long *: RIVERRUN_WORD('i', '6', '4', ' '),                                                   \
         unsigned long *: RIVERRUN_WORD('u', '6', '4', ' '),                                          \
         long long *: RIVERRUN_WORD('i', '6', '4', ' '),                                              \
         unsigned long long *: RIVERRUN_WORD('u', '6', '4', ' '),                                     \
         float *: RIVERRUN_WORD('f', '3', '2', ' '),                                                  \
         double *: RIVERRUN_WORD('f', '6', '4', ' '),                                                 \
         default: RIVERRUN_WORD('p', 't', 'r', ' ')) +                                                \
     0 * (uint32_t)sizeof(((void)(__typeof__(type))0, 0)))

#define RIVERRUN_COMMA RIVERRUN_WORD(',', ' ', ' ', ' ')
#define RIVERRUN_PARAMETER(type) RIVERRUN_NAME(type, RIVERRUN_WORD(' ', ' ', ' ', ' '))
#define RIVERRUN_LIST_1(a) RIVERRUN_PARAMETER(a)
#define RIVERRUN_LIST_2(a, ...) RIVERRUN_PARAMETER(a), RIVERRUN_COMMA, RIVERRUN_LIST_1(__VA_ARGS__)
#define RIVERRUN_LIST_3(a, ...) RIVERRUN_PARAMETER(a), RIVERRUN_COMMA, RIVERRUN_LIST_2(__VA_ARGS__)
#define RIVERRUN_LIST_4(a, ...) RIVERRUN_PARAMETER(a), RIVERRUN_COMMA, RIVERRUN_LIST_3(__VA_ARGS__)
#define RIVERRUN_LIST_5(a, ...) RIVERRUN_PARAMETER(a), RIVERRUN_COMMA, RIVERRUN_LIST_4(__VA_ARGS__)
#define RIVERRUN_LIST_6(a, ...) RIVERRUN_PARAMETER(a), RIVERRUN_COMMA, RIVERRUN_LIST_5(__VA_ARGS__)
#define RIVERRUN_LIST_7(a, ...) RIVERRUN_PARAMETER(a), RIVERRUN_COMMA, RIVERRUN_LIST_6(__VA_ARGS__)
#define RIVERRUN_LIST_8(a, ...) RIVERRUN_PARAMETER(a), RIVERRUN_COMMA, RIVERRUN_LIST_7(__VA_ARGS__)
#define RIVERRUN_LIST_9(a, ...) RIVERRUN_PARAMETER(a), RIVERRUN_COMMA, RIVERRUN_LIST_8(__VA_ARGS__)
#define RIVERRUN_LIST_10(a, ...) RIVERRUN_PARAMETER(a), RIVERRUN_COMMA, RIVERRUN_LIST_9(__VA_ARGS__)
#define RIVERRUN_LIST_11(a, ...) RIVERRUN_PARAMETER(a), RIVERRUN_COMMA, RIVERRUN_LIST_10(__VA_ARGS__)
#define RIVERRUN_LIST_12(a, ...) RIVERRUN_PARAMETER(a), RIVERRUN_COMMA, RIVERRUN_LIST_11(__VA_ARGS__)
#define RIVERRUN_NTH(a, b, c, d, e, f, g, h, i, j, k, l, list, ...) list
#define RIVERRUN_LIST(...)                                                                                  \
    RIVERRUN_NTH(__VA_ARGS__, RIVERRUN_LIST_12, RIVERRUN_LIST_11, RIVERRUN_LIST_10, RIVERRUN_LIST_9,        \
                 RIVERRUN_LIST_8, RIVERRUN_LIST_7, RIVERRUN_LIST_6, RIVERRUN_LIST_5, RIVERRUN_LIST_4,       \
                 RIVERRUN_LIST_3, RIVERRUN_LIST_2, RIVERRUN_LIST_1, )                                       \
    (__VA_ARGS__)

#define RIVERRUN_EXPORT(result, name, parameters)                                                       \
    result name parameters;                                                                             \
    static const uint32_t riverrun_signature_##name[] = {                                               \
        RIVERRUN_NAME(result, RIVERRUN_WORD('v', 'o', 'i', 'd')), RIVERRUN_WORD(' ', '(', ' ', ' '),    \
        RIVERRUN_LIST parameters, RIVERRUN_WORD(')', ' ', ' ', ' '), 0};                                \
    RIVERRUN_RECORD static const struct riverrun_export riverrun_export_##name = {                      \
        (void (*)(void))name, #name, (const char *)riverrun_signature_##name}

#define RIVERRUN_EXPORT_SIGNATURE(signature, name)                                 \
    RIVERRUN_RECORD static const struct riverrun_export riverrun_export_##name = { \
        (void (*)(void))name, #name, signature}

#endif
