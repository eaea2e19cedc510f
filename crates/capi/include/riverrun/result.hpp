// Errors, and what may be one. Part of riverrun.hpp.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../riverrun.h"

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define RIVERRUN_EXCEPTIONS 1
#else
#define RIVERRUN_EXCEPTIONS 0
#endif

namespace riverrun {

/// A call of the guest that had not returned when it stopped.
struct Frame {
    std::uint64_t pc;
    std::string function;
    std::uint64_t offset;
    std::string file;
    std::uint32_t line;
};

/// What went wrong, in words and in detail.
class Error {
  public:
    Error() = default;
    explicit Error(riverrun_error_t *error) noexcept : error_(error) {}
    /// An error of the host's own, for host functions to return.
    explicit Error(const char *message) noexcept : error_(riverrun_error_new(message)) {}
    explicit Error(const std::string &message) noexcept : Error(message.c_str()) {}
    Error(Error &&other) noexcept : error_(other.release()) {}
    Error &operator=(Error &&other) noexcept
    {
        std::swap(error_, other.error_);
        return *this;
    }
    ~Error()
    {
        if (error_)
            riverrun_error_delete(error_);
    }

    /// Whether there is one.
    explicit operator bool() const noexcept { return error_ != nullptr; }
    riverrun_error_kind_t kind() const noexcept { return riverrun_error_kind(error_); }
    /// What went wrong, in words.
    const char *what() const noexcept { return riverrun_error_message(error_); }
    std::string_view message() const noexcept { return what(); }
    /// The guest's trap; null if it is another kind of error.
    const riverrun_trap_t *trap() const noexcept { return riverrun_error_trap(error_); }
    /// The guest's exit status, if it has ended while one of its functions was called.
    int exit_status() const noexcept { return riverrun_error_exit_status(error_); }

    /// The guest's calls, innermost first.
    std::vector<Frame> frames() const
    {
        std::vector<Frame> frames;
        riverrun_frame_t one;
        while (riverrun_error_frame(error_, frames.size(), &one))
            frames.push_back({one.pc, one.function ? one.function : "", one.offset, one.file ? one.file : "", one.line});
        return frames;
    }

    /// Another one that says the same.
    Error copy() const noexcept { return Error(riverrun_error_copy(error_)); }

    /// The C API's error, given up.
    riverrun_error_t *release() noexcept { return std::exchange(error_, nullptr); }

  private:
    riverrun_error_t *error_ = nullptr;
};

#if RIVERRUN_EXCEPTIONS
/// An error that is thrown.
class Exception : public std::exception {
  public:
    explicit Exception(Error error) noexcept : error_(std::move(error)) {}
    const char *what() const noexcept override
    {
        return error_ ? error_.what() : "the error has been taken from the exception before";
    }
    Error &error() noexcept { return error_; }
    const Error &error() const noexcept { return error_; }

  private:
    Error error_;
};
#endif

namespace detail {

/// What happens to an error that was not checked.
[[noreturn]] inline void raise(Error &&error)
{
#if RIVERRUN_EXCEPTIONS
    throw Exception(std::move(error));
#else
    std::fprintf(stderr, "riverrun: %s\n", error.what());
    std::abort();
#endif
}

/// Whether there is a value, or else the error. An error that was not checked is reported by the destructor: see Result.
class Outcome {
  public:
    Outcome() = default;
    explicit Outcome(Error error) noexcept : error_(std::move(error)), state_(error_ ? State::failed : State::value) {}
    Outcome(Outcome &&other) noexcept
        : error_(std::move(other.error_)), state_(std::exchange(other.state_, State::looked_at))
    {
    }
    Outcome &operator=(Outcome &&other) noexcept(false)
    {
        Outcome before(std::move(*this));
        error_ = std::move(other.error_);
        state_ = std::exchange(other.state_, State::looked_at);
        return *this;
    }
    ~Outcome() noexcept(false)
    {
        if (__builtin_expect(state_ == State::failed, 0))
            report();
    }

    bool has_value() const noexcept
    {
        look();
        return state_ == State::value;
    }
    Error &error() const noexcept
    {
        look();
        return error_;
    }
    /// Raises the error, if there is no value.
    void check() const
    {
        if (__builtin_expect(state_ == State::value, 1))
            return;
        look();
        raise(error_ ? std::move(error_) : Error("there is no value: the error has been taken from the result before"));
    }
    void look() const noexcept
    {
        if (state_ == State::failed)
            state_ = State::looked_at;
    }

  private:
    enum class State : unsigned char { value, failed, looked_at };

    __attribute__((noinline, cold)) void report() noexcept(false)
    {
        state_ = State::looked_at;
#if RIVERRUN_EXCEPTIONS
        // While another exception is on its way, a second one would end the program.
        if (std::uncaught_exceptions() == 0)
            throw Exception(std::move(error_));
#endif
        std::fprintf(stderr, "riverrun: a result that was not looked at: %s\n", error_.what());
    }

    mutable Error error_;
    mutable State state_ = State::value;
};

/// Lets a result be taken for its value; not for one of `bool`, where that would be mistaken for success.
template <class Result, class T> struct TakenForValue {
    operator T() && { return std::move(static_cast<Result &>(*this)).value(); }
};
template <class Result> struct TakenForValue<Result, bool> {};

} // namespace detail

/// A value, or why there is none.
///
///     if (auto result = update(0.5f, 3)) use(*result); else log(result.error().message());
///     int next = update(0.5f, 3);   // throws an Exception; without exceptions, ends the program
///     update(0.5f, 3);              // the compiler warns of it; throws; without exceptions, prints the error
///     update(0.5f, 3).ignore();
///
/// An error is looked at by asking for it, for the value, or whether there is one. A result that goes out of scope
/// before throws its error. While another exception is on its way, or without exceptions, it prints the error on
/// standard error.
///
/// What a result holds can be called by way of it, with the same errors: `auto update = machine.func<int(float)>("update")`.
template <class T> class [[nodiscard]] Result : public detail::TakenForValue<Result<T>, T> {
  public:
    Result(T value) : value_(std::move(value)) {}
    /// No value, also if the error has been moved away.
    Result(Error error) noexcept
        : outcome_(error ? std::move(error) : Error("there is no value, and the error was taken before"))
    {
    }

    /// Whether there is a value.
    explicit operator bool() const & noexcept { return outcome_.has_value(); }
    explicit operator bool() && noexcept { return outcome_.has_value(); }
    Error &error() noexcept { return outcome_.error(); }
    /// Lets an error be lost.
    void ignore() noexcept { outcome_.look(); }

    /// The value. If there is none, throws the error; without exceptions, ends the program with its words.
    T &value() &
    {
        outcome_.check();
        return value_;
    }
    const T &value() const &
    {
        outcome_.check();
        return value_;
    }
    /// A copy of its own, so that it may be looked at for longer than the result lives.
    T value() &&
    {
        outcome_.check();
        return std::move(value_);
    }
    T &operator*() & { return value(); }
    const T &operator*() const & { return value(); }
    T operator*() && { return std::move(*this).value(); }
    T *operator->() { return &value(); }
    const T *operator->() const { return &value(); }

    /// Calls the value, if that is something to call.
    template <class... Args> std::invoke_result_t<const T &, Args...> operator()(Args &&...args) const
    {
        return value()(std::forward<Args>(args)...);
    }

  private:
    T value_{};
    detail::Outcome outcome_;
};

template <> class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) noexcept : outcome_(std::move(error)) {}

    explicit operator bool() const noexcept { return outcome_.has_value(); }
    Error &error() noexcept { return outcome_.error(); }
    /// Lets an error be lost.
    void ignore() noexcept { outcome_.look(); }

    /// Throws the error, if there is one; without exceptions, ends the program with its words.
    void value() { outcome_.check(); }

  private:
    detail::Outcome outcome_;
};

namespace detail {

inline Result<void> result_of(riverrun_error_t *error) { return Error(error); }

template <auto function> struct Delete {
    template <class T> void operator()(T *handle) const noexcept { function(handle); }
};

/// Frees what the library has been given. The library calls it, and no exception may pass through that.
template <class T> void destroy(void *data) noexcept { delete static_cast<T *>(data); }

} // namespace detail
} // namespace riverrun
