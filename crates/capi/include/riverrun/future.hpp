// Runs and calls that wait for host functions: futures, tokens, and co_await. Part of riverrun.hpp.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "result.hpp"
#include "value.hpp"

#if defined(__cpp_impl_coroutine) && __has_include(<coroutine>)
#define RIVERRUN_COROUTINES 1
#include <atomic>
#include <coroutine>
#else
#define RIVERRUN_COROUTINES 0
#endif

namespace riverrun {
namespace detail {

template <class T> constexpr riverrun_kind_t kind()
{
    if constexpr (is_pointer<T>)
        return RIVERRUN_KIND_PTR;
    else if constexpr (std::is_enum_v<T>)
        return kind<std::underlying_type_t<T>>();
    else if constexpr (std::is_floating_point_v<T>)
        return sizeof(T) == 4 ? RIVERRUN_KIND_F32 : RIVERRUN_KIND_F64;
    else if constexpr (std::is_same_v<T, bool>)
        return RIVERRUN_KIND_BOOL;
    else {
        constexpr bool is_signed = std::is_signed_v<T> && !std::is_same_v<T, char>;
        switch (sizeof(T)) {
        case 1: return is_signed ? RIVERRUN_KIND_I8 : RIVERRUN_KIND_U8;
        case 2: return is_signed ? RIVERRUN_KIND_I16 : RIVERRUN_KIND_U16;
        case 4: return is_signed ? RIVERRUN_KIND_I32 : RIVERRUN_KIND_U32;
        default: return is_signed ? RIVERRUN_KIND_I64 : RIVERRUN_KIND_U64;
        }
    }
}

template <class T> riverrun_value_t to_value(T value)
{
    riverrun_value_t boxed = {};
    boxed.kind = kind<T>();
    if constexpr (std::is_floating_point_v<T>) {
        std::memcpy(&boxed.of, &value, sizeof value);
    } else {
        std::uint64_t slot = Scalar<T>::to_slot(value);
        std::memcpy(&boxed.of, &slot, sizeof slot);
    }
    return boxed;
}

template <class T> T from_value(const riverrun_value_t &boxed)
{
    if constexpr (std::is_floating_point_v<T>) {
        T value;
        std::memcpy(&value, &boxed.of, sizeof value);
        return value;
    } else {
        std::uint64_t slot;
        std::memcpy(&slot, &boxed.of, sizeof slot);
        return Scalar<T>::from_slot(slot);
    }
}

/// Puts an argument behind others; a slice is two.
template <class T> void add_value(riverrun_value_t *&next, T value) { *next++ = to_value(value); }
template <class T> void add_value(riverrun_value_t *&next, Slice<T> slice)
{
    *next++ = to_value(slice.start);
    *next++ = to_value(slice.length);
}

/// Takes an argument; a slice is two.
template <class T> void take_value(const riverrun_value_t *&next, T &value) { value = from_value<T>(*next++); }
template <class T> void take_value(const riverrun_value_t *&next, Slice<T> &slice)
{
    slice.start = from_value<Ptr<T>>(*next++);
    slice.length = from_value<std::uint64_t>(*next++);
}

} // namespace detail

/// A guest's call of a host function that answers later (Linker::func_async): answer it once, on any thread. An answer to a
/// call that was given up, or whose machine is gone, has no effect. If the token is destroyed without an answer, the call
/// fails. R is what the function gives: a number, an enum, a pointer or nothing.
template <class R> class Token {
  public:
    Token() = default;
    explicit Token(riverrun_token_t *token) noexcept : token_(token) {}

    /// Answers with the result, if there is one. A second answer is an error.
    template <class... Value> Result<void> complete(Value... value)
    {
        static_assert(sizeof...(Value) == (std::is_void_v<R> ? 0 : 1), "as many results as the function has");
        if constexpr (std::is_void_v<R>) {
            return Error(riverrun_token_complete(token_.get(), nullptr, 0));
        } else {
            riverrun_value_t result = detail::to_value(static_cast<R>(value)...);
            return Error(riverrun_token_complete(token_.get(), &result, 1));
        }
    }
    /// Answers with an error, which ends the guest's run.
    Result<void> fail(const char *message)
    {
        return Error(riverrun_token_fail(token_.get(), riverrun_error_new(message)));
    }
    /// Whether a guest still waits for the answer.
    bool is_awaited() const noexcept { return riverrun_token_is_awaited(token_.get()); }

  private:
    std::unique_ptr<riverrun_token_t, detail::Delete<riverrun_token_delete>> token_;
};

/// Runs what other threads and wakers post, on the thread that calls `run`. It outlives the coroutines that wait on it.
class EventLoop {
  public:
    EventLoop() = default;
    EventLoop(const EventLoop &) = delete;
    EventLoop &operator=(const EventLoop &) = delete;

    /// Has this run, in turn. Any thread may call it.
    void post(std::function<void()> task)
    {
        // Notified with the lock held: a loop that ends by this task may be destroyed at once.
        std::lock_guard<std::mutex> lock(mutex_);
        tasks_.push_back(std::move(task));
        posted_.notify_one();
    }

    /// Runs what is posted, until `stop`.
    void run()
    {
        EventLoop *before = std::exchange(of_this_thread(), this);
        struct Restore {
            EventLoop *before;
            ~Restore() { of_this_thread() = before; }
        } restore{before};
        while (std::function<void()> task = next())
            task();
    }

    /// Ends `run` after the task that runs now. Any thread may call it.
    void stop()
    {
        std::lock_guard<std::mutex> lock(mutex_);
        is_stopped_ = true;
        posted_.notify_one();
    }

    /// The loop that runs on this thread, if one does.
    static EventLoop *current() noexcept { return of_this_thread(); }

  private:
    std::function<void()> next()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        posted_.wait(lock, [this] { return is_stopped_ || !tasks_.empty(); });
        if (std::exchange(is_stopped_, false))
            return nullptr;
        std::function<void()> task = std::move(tasks_.front());
        tasks_.pop_front();
        return task;
    }

    static EventLoop *&of_this_thread() noexcept
    {
        static thread_local EventLoop *loop = nullptr;
        return loop;
    }

    std::mutex mutex_;
    std::condition_variable posted_;
    std::deque<std::function<void()>> tasks_;
    bool is_stopped_ = false;
};

/// A run or a call that can wait for host functions: what gives R once it is done. A machine has one at a time. It is polled,
/// and destroyed, on the thread that uses its machine; if it is not done then, it is given up.
///
/// In a coroutine: `Result<int> next = co_await update.call_async(3);` on the EventLoop that runs on this thread, or
/// `co_await update.call_async(3).on(executor)` with any executor that has `post(std::function<void()>)`.
template <class R> class Future {
  public:
    Future() = default;
    explicit Future(riverrun_future_t *future) noexcept : future_(future) {}
    explicit Future(Error error) noexcept : error_(std::move(error)) {}

    /// Runs the guest until it is done or waits; gives whether it is done.
    Result<bool> poll()
    {
        if (error_)
            return error_.copy();
        bool is_ready = false;
        if (auto *error = riverrun_future_poll(future_.get(), &is_ready))
            return Error(error);
        return is_ready;
    }

    /// What it gives, once it is done.
    Result<R> get() const
    {
        if (error_)
            return error_.copy();
        riverrun_value_t value = {};
        if (auto *error = riverrun_future_results(future_.get(), &value, std::is_void_v<R> ? 0 : 1))
            return Error(error);
        if constexpr (std::is_void_v<R>)
            return {};
        else
            return detail::from_value<R>(value);
    }

    /// Sets what is called when it is to be polled again: by any thread, also within other functions of riverrun, so that it
    /// must neither wait nor poll. If it throws, the program ends.
    Result<void> on_wake(std::function<void()> wake)
    {
        auto *owned = new std::function<void()>(std::move(wake));
        auto call = [](void *data) noexcept { (*static_cast<std::function<void()> *>(data))(); };
        return Error(riverrun_future_set_waker(future_.get(), call, owned, detail::destroy<std::function<void()>>));
    }

#if RIVERRUN_COROUTINES
    /// To be awaited on an executor, which outlives the coroutine's wait.
    template <class Executor> auto on(Executor &executor) &&;
    /// To be awaited on the EventLoop that runs on this thread. Without one, the error says so.
    auto operator co_await() &&;
#endif

  private:
    std::unique_ptr<riverrun_future_t, detail::Delete<riverrun_future_delete>> future_;
    Error error_;
};

#if RIVERRUN_COROUTINES
namespace detail {

/// What a coroutine that waits for a future shares with wakers, which may come at any time from any thread.
///
/// Invariant: the thread that moves `state` from `waits` to `polled` has the executor poll the future; nothing else uses
/// `future` and `coroutine`.
template <class R, class Executor> struct Waiting : std::enable_shared_from_this<Waiting<R, Executor>> {
    enum State { polled, waits, woken, over };

    Waiting(Future<R> of, Executor *by) noexcept : future(std::move(of)), executor(by) {}

    /// Polls; gives whether the coroutine is to go on, which it is not if it is destroyed.
    bool poll()
    {
        Result<bool> is_ready = future.poll();
        if (!is_ready || *is_ready) {
            if (!is_ready)
                error = std::move(is_ready.error());
            // A host function may have destroyed the coroutine while the guest ran.
            return state.exchange(over) != over;
        }
        State expected = polled;
        if (!state.compare_exchange_strong(expected, waits) && expected == woken) {
            // Others of the executor have their turn first.
            state = polled;
            post();
        }
        return false;
    }

    void wake()
    {
        State seen = state;
        // The poller may begin to wait in between: then this is tried again with what is there now.
        while ((seen == waits || seen == polled) && !state.compare_exchange_weak(seen, seen == waits ? polled : woken))
            continue;
        if (seen == waits)
            post();
    }

    void post()
    {
        executor->post([self = this->shared_from_this()] {
            if (self->state != over && self->poll())
                self->coroutine.resume();
        });
    }

    Future<R> future;
    Executor *executor;
    Error error;
    std::coroutine_handle<> coroutine;
    std::atomic<State> state{polled};
};

/// Awaits a future. Destroyed with its coroutine, it gives the future up.
template <class R, class Executor> class Awaiter {
  public:
    Awaiter(Future<R> future, Executor *executor)
        : waiting_(std::make_shared<Waiting<R, Executor>>(std::move(future), executor))
    {
    }
    Awaiter(const Awaiter &) = delete;
    Awaiter &operator=(const Awaiter &) = delete;
    ~Awaiter()
    {
        waiting_->state = Waiting<R, Executor>::over;
        // A waker may keep the rest.
        waiting_->future = Future<R>();
    }

    bool await_ready() const noexcept
    {
        if (!waiting_->executor)
            waiting_->error = Error("no riverrun::EventLoop runs on this thread: co_await it within one, or "
                                    "`future.on(executor)`");
        return !waiting_->executor;
    }
    bool await_suspend(std::coroutine_handle<> coroutine)
    {
        // Once it waits, another thread may resume the coroutine and destroy this.
        auto waiting = waiting_;
        waiting->coroutine = coroutine;
        std::weak_ptr<Waiting<R, Executor>> weak = waiting;
        // Of a future that has not begun, the poll gives the error.
        waiting->future
            .on_wake([weak] {
                if (auto woken = weak.lock())
                    woken->wake();
            })
            .ignore();
        return !waiting->poll();
    }
    Result<R> await_resume()
    {
        if (waiting_->error)
            return std::move(waiting_->error);
        return waiting_->future.get();
    }

  private:
    std::shared_ptr<Waiting<R, Executor>> waiting_;
};

} // namespace detail

template <class R> template <class Executor> auto Future<R>::on(Executor &executor) &&
{
    return detail::Awaiter<R, Executor>(std::move(*this), &executor);
}

template <class R> auto Future<R>::operator co_await() &&
{
    return detail::Awaiter<R, EventLoop>(std::move(*this), EventLoop::current());
}
#endif

} // namespace riverrun
