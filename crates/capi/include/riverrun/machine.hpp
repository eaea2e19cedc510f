// Machines and callers, their memory, heap and functions. Part of riverrun.hpp.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "future.hpp"
#include "result.hpp"
#include "snapshot.hpp"
#include "value.hpp"

namespace riverrun {

/// A guest's memory: views of it are good until the guest runs or its memory is mapped otherwise.
class Memory {
  public:
    explicit Memory(riverrun_machine_t *machine) noexcept : machine_(machine) {}

    /// Copies guest memory to `buffer`.
    Result<void> read(std::uint64_t address, void *buffer, std::size_t length) const
    {
        return Error(riverrun_memory_read(machine_, address, buffer, length));
    }
    /// Copies bytes to guest memory.
    Result<void> write(std::uint64_t address, const void *bytes, std::size_t length)
    {
        return Error(riverrun_memory_write(machine_, address, bytes, length));
    }

    /// What a pointer of the guest's leads to: readable, and writable unless it is const. Guests can write any bytes
    /// there, so T is of numbers, riverrun::Ptr, and enums that say their type: neither `bool` nor pointers of the
    /// host's.
    template <class T> Result<T *> get(Ptr<T> pointer) const { return elements<T>(pointer.address, 1); }

    /// The elements of an array; one of none may be anywhere.
    template <class T> Result<Span<T>> get(Slice<T> slice) const
    {
        auto first = elements<T>(slice.start.address, slice.length);
        if (!first)
            return std::move(first.error());
        return Span<T>(*first, static_cast<std::size_t>(slice.length));
    }

    /// A text, without its final zero.
    Result<std::string_view> get(Str text) const
    {
        const char *bytes;
        std::size_t length;
        if (auto *error = riverrun_memory_string(machine_, text.address, string_max, &bytes, &length))
            return Error(error);
        return std::string_view(bytes, length);
    }

    /// Bytes of a text at most.
    static constexpr std::uint64_t string_max = std::uint64_t{1} << 24;

  private:
    template <class T> Result<T *> elements(std::uint64_t address, std::uint64_t count) const
    {
        static_assert(std::is_trivially_copyable_v<T>, "guest memory holds plain data");
        static_assert(detail::takes_any_bytes<T>(),
                      "a guest may write any bytes: take std::uint8_t for a bool, riverrun::Ptr for a pointer, and say "
                      "the type of an enum, as in `enum E : int`");
        static_assert(alignof(T) <= 4096, "guest memory is aligned as the guest has it up to a page");
        if (count == 0)
            return static_cast<T *>(nullptr);
        if (address % alignof(T) != 0 || count > UINT64_MAX / sizeof(T))
            return Error("a guest pointer is not aligned for its type, or its array longer than memory");
        if constexpr (std::is_const_v<T>) {
            const std::uint8_t *bytes;
            if (auto *error = riverrun_memory_view(machine_, address, count * sizeof(T), &bytes))
                return Error(error);
            return reinterpret_cast<T *>(bytes);
        } else {
            std::uint8_t *bytes;
            if (auto *error = riverrun_memory_view_mut(machine_, address, count * sizeof(T), &bytes))
                return Error(error);
            return reinterpret_cast<T *>(bytes);
        }
    }

    riverrun_machine_t *machine_;
};

/// A guest's heap.
class Heap {
  public:
    explicit Heap(riverrun_machine_t *machine) noexcept : machine_(machine) {}

    /// Room for so many elements, which the guest cannot free until it is given to it.
    template <class T = std::byte> Result<Ptr<T>> allocate(std::uint64_t count = 1)
    {
        std::uint64_t address;
        if (count > UINT64_MAX / sizeof(T))
            return Error("more elements than an address space has");
        if (auto *error = riverrun_heap_allocate(machine_, count * sizeof(T), alignof(T), &address))
            return Error(error);
        return Ptr<T>{address};
    }

    /// A copy of the text, with a final zero.
    Result<Str> copy(std::string_view text)
    {
        auto block = allocate<char>(text.size() + 1);
        if (!block)
            return std::move(block.error());
        Memory memory(machine_);
        auto room = memory.get(Slice<char>{*block, text.size() + 1});
        if (!room) {
            free(*block).ignore();
            return std::move(room.error());
        }
        text.copy(room->data(), text.size());
        (*room)[text.size()] = 0;
        return Str{block->address};
    }

    Result<void> free(std::uint64_t address) { return Error(riverrun_heap_free(machine_, address)); }
    template <class T> Result<void> free(Ptr<T> block) { return free(block.address); }
    Result<void> free(Str text) { return free(text.address); }
    /// Makes a block the guest's, which may now free it.
    Result<void> give_to_guest(std::uint64_t address)
    {
        return Error(riverrun_heap_give_to_guest(machine_, address));
    }

  private:
    riverrun_machine_t *machine_;
};

/// The limits of a call: none where they are the greatest number. A timeout below zero is one of zero.
struct Limits {
    std::uint64_t fuel = RIVERRUN_UNLIMITED;
    std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();
};

namespace detail {

inline std::uint64_t timeout_ns(std::chrono::nanoseconds timeout)
{
    if (timeout == std::chrono::nanoseconds::max())
        return RIVERRUN_UNLIMITED;
    // The time to a deadline that is over is below zero.
    return timeout.count() < 0 ? 0 : static_cast<std::uint64_t>(timeout.count());
}

/// Writes a parameter to the next slots.
template <class T> inline void put(std::uint64_t *&next, T value) { *next++ = Scalar<T>::to_slot(value); }
template <class T> inline void put(std::uint64_t *&next, Slice<T> value)
{
    *next++ = value.start.address;
    *next++ = value.length;
}

template <class T> struct SlotsOf : std::integral_constant<std::size_t, 1> {};
template <class T> struct SlotsOf<Slice<T>> : std::integral_constant<std::size_t, 2> {};

} // namespace detail

template <class Signature> class Func;

/// A function of the guest, of the machine that was asked for it. The machine outlives it.
template <class R, class... Args> class Func<R(Args...)> {
  public:
    Func() = default;
    Func(riverrun_func_t *func, riverrun_machine_t *machine) noexcept : func_(func), machine_(machine) {}

    /// Calls it.
    Result<R> operator()(Args... args) const
    {
        if constexpr (arguments <= few) {
            std::uint64_t slots[few] = {}, first;
            riverrun_error_t *error;
            fill(slots, args...);
            // A function that there is has a machine.
            if (__builtin_expect(func_ && riverrun_func_enter(func_.get(), machine_, slots[0], slots[1], slots[2],
                                                              &first, &error), 1)) {
                if (__builtin_expect(error != nullptr, 0))
                    return Error(error);
                return result(first);
            }
        }
        auto [error, first] = call_raw(args...);
        if (__builtin_expect(error != nullptr, 0))
            return Error(error);
        return result(first);
    }

    /// Calls it within limits of its own.
    Result<R> within(const Limits &limits, Args... args) const
    {
        std::uint64_t slots[arguments + 1] = {};
        fill(slots, args...);
        riverrun_limits_t both = {limits.fuel, detail::timeout_ns(limits.timeout)};
        if (auto *error = riverrun_func_call_raw_within(func_.get(), machine_, &both, slots, arguments + 1))
            return Error(error);
        return result(slots[0]);
    }

    /// Begins a call that can wait for host functions: nothing is executed before it is polled or awaited.
    Future<R> call_async(Args... args) const
    {
        riverrun_value_t values[arguments + 1] = {}, *next = values;
        (detail::add_value(next, args), ...);
        riverrun_future_t *future;
        if (auto *error = riverrun_func_call_async(func_.get(), machine_, values, arguments, &future))
            return Future<R>(Error(error));
        return Future<R>(future);
    }

    std::uint64_t address() const noexcept { return riverrun_func_address(func_.get()); }

  private:
    /// Parameters of riverrun_func_enter.
    static constexpr std::size_t few = 3;
    static constexpr std::size_t arguments = (std::size_t{0} + ... + detail::SlotsOf<Args>::value);

    struct Called {
        riverrun_error_t *error;
        std::uint64_t first;
    };

    /// Calls it by the library, in a function of its own: its array of slots keeps nothing of others in memory.
    __attribute__((noinline)) Called call_raw(Args... args) const
    {
        std::uint64_t slots[arguments + 1] = {};
        fill(slots, args...);
        auto *error = riverrun_func_call_raw(func_.get(), machine_, slots, arguments + 1);
        return {error, slots[0]};
    }

    static void fill([[maybe_unused]] std::uint64_t *slots, Args... args)
    {
        (detail::put(slots, args), ...);
    }

    static Result<R> result([[maybe_unused]] std::uint64_t slot)
    {
        if constexpr (std::is_void_v<R>)
            return {};
        else
            return detail::Scalar<R>::from_slot(slot);
    }

    std::unique_ptr<riverrun_func_t, detail::Delete<riverrun_func_delete>> func_;
    riverrun_machine_t *machine_ = nullptr;
};

/// What a machine and a host function's caller have in common.
class Guest {
  public:
    /// The function that the guest exports by this name, or that has a symbol of this name. Types are checked
    /// here and by the compiler, and not when it is called.
    ///
    ///     auto update = machine.func<int(float, int)>("update");
    ///     int score = update(0.5f, 37);
    template <class Signature> Result<Func<Signature>> func(const char *name)
    {
        riverrun_func_t *func;
        if (auto *error = riverrun_func_new(machine_, name, text(static_cast<Signature *>(nullptr)), &func))
            return Error(error);
        return Func<Signature>(func, machine_);
    }

    /// The function at a guest address.
    template <class Signature> Result<Func<Signature>> func_at(std::uint64_t address)
    {
        riverrun_func_t *func;
        if (auto *error = riverrun_func_at(machine_, address, text(static_cast<Signature *>(nullptr)), &func))
            return Error(error);
        return Func<Signature>(func, machine_);
    }

    Memory &memory() noexcept { return memory_; }
    Heap heap() noexcept { return Heap(machine_); }
    /// What riverrun::Machine::set_data has given the machine.
    template <class T> T *data() const noexcept { return static_cast<T *>(riverrun_machine_data(machine_)); }
    std::uint64_t instructions() const noexcept { return riverrun_machine_instructions(machine_); }
    std::uint64_t pc() const noexcept { return riverrun_machine_pc(machine_); }
    /// Whether the guest still initializes: it has not exited, and the host has not ended its initialization.
    bool is_initializing() const noexcept { return riverrun_machine_is_initializing(machine_); }
    /// The C API's handle.
    riverrun_machine_t *get() const noexcept { return machine_; }

  protected:
    explicit Guest(riverrun_machine_t *machine) noexcept : machine_(machine), memory_(machine) {}

    /// Makes this the guest of another machine, or of none.
    void set(riverrun_machine_t *machine) noexcept
    {
        machine_ = machine;
        memory_ = Memory(machine);
    }

    riverrun_machine_t *machine_;

  private:
    template <class R, class... Args> static const char *text(R (*)(Args...))
    {
        return detail::Signature<R, Args...>::text.bytes;
    }

    Memory memory_;
};

/// The guest that has called a host function.
class Caller : public Guest {
  public:
    explicit Caller(const riverrun_import_t *entry) noexcept : Guest(entry->machine), entry_(entry) {}
    Caller(const Caller &) = delete;
    Caller &operator=(const Caller &) = delete;

    /// Ends the guest's run with this message. Without exceptions, what stands on the stack between here and the
    /// guest is not destroyed.
    [[noreturn]] void fail(const char *message)
    {
#if RIVERRUN_EXCEPTIONS
        throw Exception(Error(message));
#else
        riverrun_import_fail(entry_, riverrun_error_new(message));
#endif
    }

    /// Ends the guest's run if it does not initialize itself any more.
    void only_while_initializing()
    {
        if (!is_initializing())
            fail("it can be called during initialization only, which is over: main has returned, or the host has "
                 "ended it");
    }

  private:
    [[maybe_unused]] const riverrun_import_t *entry_;
};

/// The guest that has called a host function which answers later, while that runs.
class AsyncCaller : public Guest {
  public:
    explicit AsyncCaller(riverrun_machine_t *machine) noexcept : Guest(machine) {}
    AsyncCaller(const AsyncCaller &) = delete;
    AsyncCaller &operator=(const AsyncCaller &) = delete;
};

/// The guest that has trapped, while its host's handler runs.
class TrapCaller : public Guest {
  public:
    explicit TrapCaller(riverrun_machine_t *machine) noexcept : Guest(machine) {}
    TrapCaller(const TrapCaller &) = delete;
    TrapCaller &operator=(const TrapCaller &) = delete;
};

/// How a guest goes on after its trap.
class Flow {
  public:
    /// Its run or call ends with the trap, as without a handler.
    static Flow trap() noexcept { return Flow(RIVERRUN_FLOW_TRAP, 0, 0); }
    /// It executes the instruction again.
    static Flow resume() noexcept { return Flow(RIVERRUN_FLOW_CONTINUE, 0, 0); }
    /// It goes on at this address.
    static Flow jump(std::uint64_t address) noexcept { return Flow(RIVERRUN_FLOW_JUMP, 0, address); }
    /// It has exited with this status.
    static Flow exit(std::int32_t status) noexcept { return Flow(RIVERRUN_FLOW_EXIT, status, 0); }
    /// The C API's value.
    riverrun_flow_t get() const noexcept { return flow_; }

  private:
    Flow(riverrun_flow_kind_t kind, std::int32_t status, std::uint64_t address) noexcept : flow_{kind, status, address}
    {
    }

    riverrun_flow_t flow_;
};

/// What stops a machine from another thread, also when it is gone.
class InterruptHandle {
  public:
    InterruptHandle() = default;
    explicit InterruptHandle(riverrun_interrupt_handle_t *handle) noexcept : handle_(handle) {}
    void interrupt() const noexcept { riverrun_interrupt_handle_interrupt(handle_.get()); }

  private:
    std::unique_ptr<riverrun_interrupt_handle_t, detail::Delete<riverrun_interrupt_handle_delete>> handle_;
};

/// A guest, alone in its memory. One thread at a time may use it.
class Machine : public Guest {
  public:
    Machine() noexcept : Guest(nullptr) {}
    explicit Machine(riverrun_machine_t *machine) noexcept : Guest(machine), owned_(machine) {}
    Machine(Machine &&other) noexcept : Machine(other.release()) {}
    Machine &operator=(Machine &&other) noexcept
    {
        auto *machine = other.release();
        owned_.reset(machine);
        set(machine);
        return *this;
    }

    /// Runs the guest from where it stands until it exits, and gives its exit status.
    Result<int> run()
    {
        std::int32_t status = 0;
        if (auto *error = riverrun_machine_run(machine_, &status))
            return Error(error);
        return static_cast<int>(status);
    }

    /// Runs the guest for a slice at most: its exit status, or nothing if the slice has ended first. Then the next slice or
    /// run continues it.
    Result<std::optional<int>> run_for(const Limits &slice)
    {
        riverrun_limits_t both = {slice.fuel, detail::timeout_ns(slice.timeout)};
        bool is_over = false;
        std::int32_t status = 0;
        if (auto *error = riverrun_machine_run_for(machine_, &both, &is_over, &status))
            return Error(error);
        return is_over ? std::optional<int>(status) : std::nullopt;
    }

    /// Begins a run that can wait for host functions, which gives the guest's exit status: nothing is executed before it is
    /// polled or awaited.
    Future<int> run_async()
    {
        riverrun_future_t *future;
        if (auto *error = riverrun_machine_run_async(machine_, &future))
            return Future<int>(Error(error));
        return Future<int>(future);
    }

    /// Limits the instructions that the guest may still execute.
    Result<void> set_fuel(std::uint64_t instructions)
    {
        return Error(riverrun_machine_set_fuel(machine_, instructions));
    }
    std::uint64_t fuel() const noexcept { return riverrun_machine_fuel(machine_); }

    /// Ends every run that begins or goes on in this time from now.
    Result<void> set_timeout(std::chrono::nanoseconds timeout)
    {
        return Error(riverrun_machine_set_timeout(machine_, detail::timeout_ns(timeout)));
    }

    /// The guest as it is now; not the host's data, nor the limits.
    Result<Snapshot> snapshot()
    {
        riverrun_snapshot_t *snapshot;
        if (auto *error = riverrun_snapshot_new(machine_, &snapshot))
            return Error(error);
        return Snapshot(snapshot);
    }

    /// Puts the guest back to a snapshot of its program. If this fails, the machine is only good for being destroyed.
    Result<void> reset(const Snapshot &snapshot) { return Error(riverrun_machine_reset(machine_, snapshot.get())); }

    /// Another machine whose guest is as this one's now, with the same host functions, and grants of its own.
    Result<Machine> fork() { return fork(nullptr); }
    Result<Machine> fork(const Linux &granted) { return fork(granted.get()); }

    /// Gives up the C API's handle, for riverrun_machine_delete or riverrun_pool_put.
    riverrun_machine_t *release() noexcept
    {
        set(nullptr);
        return owned_.release();
    }

    Result<void> end_initialization() { return Error(riverrun_machine_end_initialization(machine_)); }

    InterruptHandle interrupt_handle() const
    {
        return InterruptHandle(riverrun_interrupt_handle_new(machine_));
    }

    /// Gives the machine data of the host's, which it owns.
    template <class T> Result<void> set_data(std::unique_ptr<T> data)
    {
        return Error(riverrun_machine_set_data(machine_, data.release(), detail::destroy<T>));
    }
    /// .. or that outlives it.
    template <class T> Result<void> set_data(T *data)
    {
        return Error(riverrun_machine_set_data(machine_, data, nullptr));
    }

  private:
    Result<Machine> fork(const riverrun_linux_t *granted)
    {
        riverrun_machine_t *forked;
        if (auto *error = riverrun_machine_fork(machine_, granted, &forked))
            return Error(error);
        return Machine(forked);
    }

    std::unique_ptr<riverrun_machine_t, detail::Delete<riverrun_machine_delete>> owned_;
};

} // namespace riverrun
