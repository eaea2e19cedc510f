// Types that cross the boundary: how they are named in signatures, and how guest registers hold them. Part of
// riverrun.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../riverrun.h"

#if defined(__cpp_lib_span) || (__cplusplus >= 202002L && __has_include(<span>))
#include <span>
#endif

namespace riverrun {

/// A guest address, of a T.
template <class T> struct Ptr {
    std::uint64_t address;
    explicit operator bool() const noexcept { return address != 0; }
};

/// An array of the guest's: a pointer and the number of elements, two parameters of the guest's function.
template <class T> struct Slice {
    Ptr<T> start;
    std::uint64_t length;
};

/// A guest address, of a text that ends with a zero.
struct Str {
    std::uint64_t address;
};

/// Some elements in a row, as std::span.
template <class T> class Span {
  public:
    Span() = default;
    Span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

    T *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    T *begin() const noexcept { return data_; }
    T *end() const noexcept { return data_ + size_; }
    T &operator[](std::size_t index) const noexcept { return data_[index]; }
#if defined(__cpp_lib_span)
    operator std::span<T>() const noexcept { return {data_, size_}; }
#endif

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/// A struct that host functions take or return by value is a specialisation of this: `Scalars` are its fields,
/// those of nested structs and arrays one by one, `offsets` where they are in it.
///
///     template <> struct riverrun::Layout<Point> {
///         using Scalars = riverrun::Types<float, float>;
///         static constexpr std::size_t offsets[] = {0, 4};
///     };
template <class T> struct Layout;

/// A list of types.
template <class... T> struct Types {
    static constexpr std::size_t size = sizeof...(T);
};

namespace detail {

template <class T> struct Always {
    static constexpr bool no = false;
};

template <class T, class = void> struct HasLayout : std::false_type {};
template <class T> struct HasLayout<T, std::void_t<typename Layout<T>::Scalars>> : std::true_type {};

template <class T> constexpr const char *integer_name()
{
    if constexpr (std::is_same_v<T, bool>)
        return "bool";
    else if constexpr (std::is_same_v<T, char>) // of guests: it has no sign there
        return "u8";
    else if constexpr (sizeof(T) == 1)
        return std::is_signed_v<T> ? "i8" : "u8";
    else if constexpr (sizeof(T) == 2)
        return std::is_signed_v<T> ? "i16" : "u16";
    else if constexpr (sizeof(T) == 4)
        return std::is_signed_v<T> ? "i32" : "u32";
    else
        return std::is_signed_v<T> ? "i64" : "u64";
}

/// A value that one register holds.
template <class T, class = void> struct Scalar {
    static_assert(Always<T>::no, "a type that cannot cross the boundary: numbers, enums, riverrun::Ptr, Slice and Str "
                                 "can, and for host functions structs that have a riverrun::Layout");
};

template <class T> struct Scalar<T, std::enable_if_t<std::is_integral_v<T>>> {
    static_assert(sizeof(T) <= 8, "integers of more than 64 bits cannot cross the boundary");
    static constexpr bool is_float = false;
    static constexpr const char *name = integer_name<T>();
    static std::uint64_t to_slot(T value) noexcept
    {
        // 32 bits by their sign, whether they have one or not.
        if constexpr (sizeof(T) == 4)
            return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(value)));
        else if constexpr (std::is_same_v<T, char>)
            return static_cast<unsigned char>(value);
        else
            return static_cast<std::uint64_t>(value);
    }
    static T from_slot(std::uint64_t slot) noexcept
    {
        if constexpr (std::is_same_v<T, bool>)
            return (slot & 0xff) != 0;
        else
            return static_cast<T>(slot);
    }
};

/// Whether every number of an enum's underlying type is one of its values: `enum class`, and `enum E : int`.
template <class T, class = void> inline constexpr bool takes_any_number = false;
template <class T> inline constexpr bool takes_any_number<T, std::void_t<decltype(T{std::underlying_type_t<T>{}})>> = true;

template <class T> struct Scalar<T, std::enable_if_t<std::is_enum_v<T>>> {
    using Number = Scalar<std::underlying_type_t<T>>;
    static constexpr bool is_float = false;
    static constexpr const char *name = Number::name;
    static std::uint64_t to_slot(T value) noexcept
    {
        return Number::to_slot(static_cast<std::underlying_type_t<T>>(value));
    }
    static T from_slot(std::uint64_t slot) noexcept
    {
        static_assert(takes_any_number<T>, "a guest may give any number: say the enum's type, as in `enum E : int`");
        return static_cast<T>(Number::from_slot(slot));
    }
};

template <> struct Scalar<float> {
    static constexpr bool is_float = true;
    static constexpr const char *name = "f32";
    static std::uint64_t to_slot(float value) noexcept { return riverrun_slot_f32(value); }
    static float from_slot(std::uint64_t slot) noexcept { return riverrun_slot_as_f32(slot); }
};

template <> struct Scalar<double> {
    static constexpr bool is_float = true;
    static constexpr const char *name = "f64";
    static std::uint64_t to_slot(double value) noexcept { return riverrun_slot_f64(value); }
    static double from_slot(std::uint64_t slot) noexcept { return riverrun_slot_as_f64(slot); }
};

template <class T> struct Scalar<Ptr<T>> {
    static constexpr bool is_float = false;
    static constexpr const char *name = "ptr";
    static std::uint64_t to_slot(Ptr<T> value) noexcept { return value.address; }
    static Ptr<T> from_slot(std::uint64_t slot) noexcept { return {slot}; }
};

template <> struct Scalar<Str> {
    static constexpr bool is_float = false;
    static constexpr const char *name = "ptr";
    static std::uint64_t to_slot(Str value) noexcept { return value.address; }
    static Str from_slot(std::uint64_t slot) noexcept { return {slot}; }
};

template <class T> inline constexpr bool is_pointer = false;
template <class T> inline constexpr bool is_pointer<Ptr<T>> = true;
template <> inline constexpr bool is_pointer<Str> = true;

/// Whether any bytes of its size are a value of this number, enum or pointer: a pointer would be one of the host's.
template <class T> constexpr bool is_any_scalar()
{
    if constexpr (std::is_enum_v<T>)
        return takes_any_number<T> && is_any_scalar<std::underlying_type_t<T>>();
    else
        return std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
}

/// Where the initialiser of a struct has one of these without inner braces, it is for a scalar, also of an array or a
/// struct in it.
struct AnyInitializer {
    template <class T, class = std::enable_if_t<std::is_scalar_v<T>>> operator T() const noexcept;
};
/// .. for one of which not any bytes are a value.
struct StrictInitializer {
    template <class T, class = std::enable_if_t<std::is_scalar_v<T> && !is_any_scalar<T>()>>
    operator T() const noexcept;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-braces"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
template <class T, class... Fields> constexpr auto is_made_of(int) -> decltype((void)T{Fields{}...}, true)
{
    return true;
}
template <class T, class... Fields> constexpr bool is_made_of(long) { return false; }
#pragma GCC diagnostic pop

/// Whether a struct has a scalar of which not any bytes are a value, behind these and among the first 64.
template <class T, class... Before> constexpr bool has_strict_field()
{
    if constexpr (is_made_of<T, Before..., StrictInitializer>(0))
        return true;
    else if constexpr (sizeof...(Before) < 64 && is_made_of<T, Before..., AnyInitializer>(0))
        return has_strict_field<T, Before..., AnyInitializer>();
    else
        return false;
}

template <class... Fields> constexpr bool are_any_scalars(Types<Fields...>)
{
    return ((is_any_scalar<Fields>() || is_pointer<Fields>) && ...);
}

/// Whether any bytes that a guest writes are a value of this type, as far as the compiler can tell: it knows the fields
/// of structs that have a Layout or are aggregates.
template <class T> constexpr bool takes_any_bytes()
{
    using Element = std::remove_cv_t<std::remove_all_extents_t<T>>;
    if constexpr (std::is_scalar_v<Element>)
        return is_any_scalar<Element>();
    else if constexpr (HasLayout<Element>::value)
        return are_any_scalars(typename Layout<Element>::Scalars{});
    else if constexpr (std::is_aggregate_v<Element>)
        return !has_strict_field<Element>();
    else
        return true;
}

/// Whether the fields of a struct have a register each: one or two numbers with a float among them.
template <class... Fields>
inline constexpr bool are_apart = sizeof...(Fields) <= 2 && (Scalar<Fields>::is_float || ...) &&
                                  !(is_pointer<Fields> || ...);

/// A text that is put together by the compiler.
template <std::size_t capacity> struct Text {
    char bytes[capacity]{};
    std::size_t length = 0;

    constexpr void add(const char *text)
    {
        while (*text)
            bytes[length++] = *text++;
    }
};

/// The pieces of a parameter in a signature, each with what separates it from the one before.
template <class T> struct Pieces {
    template <class Text> static constexpr void write(Text &text) { text.add(Scalar<T>::name); }
};
template <class T> struct Pieces<Slice<T>> {
    template <class Text> static constexpr void write(Text &text) { text.add("ptr, u64"); }
};
template <> struct Pieces<void> {
    template <class Text> static constexpr void write(Text &text) { text.add("void"); }
};

/// `i32 (f32, ptr)`.
template <class R, class... Args> struct Signature {
    static constexpr auto write()
    {
        Text<24 + 16 * sizeof...(Args)> written;
        Pieces<R>::write(written);
        written.add(" (");
        const char *separator = "";
        ((written.add(separator), Pieces<Args>::write(written), separator = ", "), ...);
        (void)separator;
        written.add(")");
        return written;
    }
    static constexpr auto text = write();
};

} // namespace detail
} // namespace riverrun
