// Host functions, and what takes them. Part of riverrun.hpp.
#pragma once

#include <functional>
#include <tuple>

#include "machine.hpp"
#include "program.hpp"

namespace riverrun {
namespace detail {

/// The arguments of a guest's call, taken one after another. Everything here is resolved by the optimiser: which
/// register an argument is in follows from the types.
class Arguments {
  public:
    Arguments(const riverrun_import_t *entry, const std::uint64_t (&first)[5]) noexcept : entry_(entry)
    {
        std::memcpy(first_, first, sizeof first_);
    }

    template <class T> T take()
    {
        if constexpr (HasLayout<T>::value)
            return structure<T>();
        else
            return Scalar<T>::from_slot(Scalar<T>::is_float ? real() : integer());
    }
    template <class T> void take(Slice<T> &slice)
    {
        slice.start.address = integer();
        slice.length = integer();
    }
    template <class T> void take(T &value) { value = take<T>(); }

    /// Whether one was to be on the stack, but the stack is not there.
    bool is_lost() const noexcept { return is_lost_; }

  private:
    static constexpr unsigned registers = 8;

    std::uint64_t integer()
    {
        if (integers_ == registers)
            return stacked();
        unsigned n = integers_++;
        return n < 5 ? first_[n] : riverrun_machine_head(entry_->machine)->registers[RIVERRUN_REGISTER_A0 + n];
    }

    std::uint64_t real()
    {
        if (reals_ == registers)
            return integer();
        return riverrun_machine_head(entry_->machine)->registers[RIVERRUN_REGISTER_FA0 + reals_++];
    }

    std::uint64_t stacked()
    {
        std::uint64_t sp = riverrun_machine_head(entry_->machine)->registers[RIVERRUN_REGISTER_SP];
        std::uint64_t slot = 0;
        if (auto *error = riverrun_memory_read(entry_->machine, sp + 8 * stacked_++, &slot, sizeof slot)) {
            riverrun_error_delete(error);
            is_lost_ = true;
        }
        return slot;
    }

    /// Fields that are passed apart have a register each, if there is one for each; otherwise it is the struct's
    /// bytes that do.
    template <class T> T structure()
    {
        T value{};
        structure_in(value, typename Layout<T>::Scalars{});
        return value;
    }
    template <class T, class... Fields> void structure_in(T &value, Types<Fields...>)
    {
        static_assert(sizeof(T) <= 16 && std::is_trivially_copyable_v<T>, "larger structs go by a pointer");
        static_assert(alignof(T) <= 8, "structs that are aligned to more than 8 bytes go by a pointer");
        constexpr unsigned reals = (0u + ... + unsigned{Scalar<Fields>::is_float});
        constexpr unsigned others = sizeof...(Fields) - reals;
        auto *bytes = reinterpret_cast<unsigned char *>(&value);
        if (are_apart<Fields...> && reals_ + reals <= registers && integers_ + others <= registers) {
            std::size_t field = 0;
            auto one = [&](auto scalar) { std::memcpy(bytes + Layout<T>::offsets[field++], &scalar, sizeof scalar); };
            (one(take<Fields>()), ...);
            return;
        }
        for (std::size_t offset = 0; offset < sizeof(T); offset += 8) {
            std::uint64_t word = integer();
            std::memcpy(bytes + offset, &word, sizeof(T) - offset < 8 ? sizeof(T) - offset : 8);
        }
        // Guests give any bytes, which are not all values of a bool.
        std::size_t field = 0;
        (make_valid<Fields>(bytes + Layout<T>::offsets[field++]), ...);
    }
    template <class Field> static void make_valid(unsigned char *bytes)
    {
        if constexpr (!Scalar<Field>::is_float) {
            std::uint64_t slot = 0;
            std::memcpy(&slot, bytes, sizeof(Field));
            Field value = Scalar<Field>::from_slot(slot);
            std::memcpy(bytes, &value, sizeof(Field));
        }
    }

    const riverrun_import_t *entry_;
    std::uint64_t first_[5];
    unsigned integers_ = 0, reals_ = 0, stacked_ = 0;
    bool is_lost_ = false;
};

/// Puts a result where the guest looks for it.
template <class R>
inline void put_result(const riverrun_import_t *entry, riverrun_host_results_t &results, const R &value);

template <class R, class... Fields>
inline void put_structure(const riverrun_import_t *entry, riverrun_host_results_t &results, const R &value,
                          Types<Fields...>)
{
    static_assert(sizeof(R) <= 16 && std::is_trivially_copyable_v<R>, "larger structs cannot be returned");
    static_assert(alignof(R) <= 8, "structs that are aligned to more than 8 bytes cannot be returned");
    auto *bytes = reinterpret_cast<const unsigned char *>(&value);
    if constexpr (are_apart<Fields...>) {
        std::uint64_t *real = riverrun_machine_head(entry->machine)->registers + RIVERRUN_REGISTER_FA0;
        std::size_t field = 0;
        auto one = [&](auto scalar) {
            std::memcpy(&scalar, bytes + Layout<R>::offsets[field++], sizeof scalar);
            std::uint64_t slot = Scalar<decltype(scalar)>::to_slot(scalar);
            if constexpr (Scalar<decltype(scalar)>::is_float)
                *real++ = slot;
            else
                results.a0 = slot;
        };
        (one(Fields{}), ...);
    } else {
        std::uint64_t words[2] = {results.a0, results.a1};
        for (std::size_t offset = 0; offset < sizeof(R); offset += 8) {
            words[offset / 8] = 0;
            std::memcpy(&words[offset / 8], bytes + offset, sizeof(R) - offset < 8 ? sizeof(R) - offset : 8);
        }
        results = {words[0], words[1]};
    }
}

template <class R>
inline void put_result(const riverrun_import_t *entry, riverrun_host_results_t &results, const R &value)
{
    if constexpr (HasLayout<R>::value)
        put_structure(entry, results, value, typename Layout<R>::Scalars{});
    else if constexpr (Scalar<R>::is_float)
        riverrun_machine_head(entry->machine)->registers[RIVERRUN_REGISTER_FA0] = Scalar<R>::to_slot(value);
    else
        results.a0 = Scalar<R>::to_slot(value);
}

/// The error of a function that has failed. Null would be success, but the function may have moved its error away.
inline riverrun_error_t *failed(Error &error) noexcept
{
    return error ? error.release() : riverrun_error_new("it has failed, and its error was taken from its result");
}

template <class T> struct IsResult : std::false_type {};
template <class T> struct IsResult<Result<T>> : std::true_type {};

/// Calls something of the host's, which returns an error or null; what it throws is an error, too. The exception stays
/// as it is, because the host may keep it and throw it again.
template <class Call> inline riverrun_error_t *caught(Call &&call) noexcept
{
#if RIVERRUN_EXCEPTIONS
    try {
        return call();
    } catch (const Exception &thrown) {
        // Who holds the exception may throw it again.
        return thrown.error() ? thrown.error().copy().release() : riverrun_error_new(thrown.what());
    } catch (const std::exception &thrown) {
        return riverrun_error_new(thrown.what());
    } catch (...) {
        return riverrun_error_new("it has thrown something that is no std::exception");
    }
#else
    return call();
#endif
}

/// A host function: what it is registered with, and the code that guests call for it.
template <class Function, class Context, class R, class... Args> struct HostFunction {
    /// Calls the function. An error that it returns or throws is for the guest's caller.
    static riverrun_error_t *call(const riverrun_import_t *entry, Arguments &arguments,
                                  riverrun_host_results_t &results)
    {
        auto &function = *static_cast<Function *>(entry->environment->data);
        std::tuple<std::decay_t<Args>...> values;
        std::apply([&](auto &...value) { (arguments.take(value), ...); }, values);
        if (__builtin_expect(arguments.is_lost(), 0))
            return riverrun_error_new("its arguments were to be on the guest's stack, which cannot be read");
        auto invoke = [&](auto &...value) -> decltype(auto) {
            if constexpr (std::is_void_v<Context>) {
                return function(value...);
            } else {
                Caller caller(entry);
                if constexpr (std::is_same_v<Context, Memory>)
                    return function(caller.memory(), value...);
                else
                    return function(caller, value...);
            }
        };
        using Returned = decltype(std::apply(invoke, values));
        if constexpr (std::is_void_v<Returned>) {
            std::apply(invoke, values);
        } else if constexpr (IsResult<Returned>::value) {
            auto result = std::apply(invoke, values);
            if (!result)
                return failed(result.error());
            if constexpr (!std::is_void_v<R>)
                put_result<R>(entry, results, *result);
        } else {
            put_result<R>(entry, results, std::apply(invoke, values));
        }
        return nullptr;
    }

    /// The same in the host's float environment, where that is not the guest's.
    struct Guarded {
        const riverrun_import_t *entry;
        Arguments arguments;
        riverrun_host_results_t results;
        riverrun_error_t *error;

        static void run(void *data) noexcept
        {
            auto &self = *static_cast<Guarded *>(data);
            self.error = caught([&self] { return call(self.entry, self.arguments, self.results); });
        }
    };
    __attribute__((noinline)) static riverrun_error_t *guarded(const riverrun_import_t *entry,
                                                               const Arguments &arguments,
                                                               riverrun_host_results_t &results) noexcept
    {
        Guarded all = {entry, arguments, results, nullptr};
        riverrun_with_host_floats(Guarded::run, &all);
        results = all.results;
        return all.error;
    }

    template <bool IsGuarded>
    static riverrun_host_results_t code(const riverrun_import_t *entry, std::uint64_t a0, std::uint64_t a1,
                                        std::uint64_t a2, std::uint64_t a3, std::uint64_t a4) noexcept
    {
        riverrun_host_results_t results = {a0, a1};
        riverrun_error_t *error;
        {
            Arguments arguments(entry, {a0, a1, a2, a3, a4});
            if constexpr (IsGuarded) {
                riverrun_host_results_t apart = results;
                error = guarded(entry, arguments, apart);
                results = apart;
            } else {
                error = caught([&] { return call(entry, arguments, results); });
            }
        }
        // This drops the frame, which has nothing left to be destroyed.
        if (__builtin_expect(error != nullptr, 0))
            riverrun_import_fail(entry, error);
        return results;
    }

};

/// A host function that answers later.
template <class Function, class Call> struct AsyncFunction;
template <class Function, class R, class... Args> struct AsyncFunction<Function, R(Args...)> {
    static riverrun_error_t *call(void *data, riverrun_machine_t *machine, const riverrun_value_t *arguments,
                                  std::size_t, riverrun_token_t *token) noexcept
    {
        // Before anything can fail, because it is this function's.
        Token<R> owned(token);
        AsyncCaller caller(machine);
        std::tuple<std::decay_t<Args>...> values;
        std::apply([&](auto &...value) { (take_value(arguments, value), ...); }, values);
        auto invoke = [&](auto &...value) -> riverrun_error_t * {
            (*static_cast<Function *>(data))(caller, value..., std::move(owned));
            return nullptr;
        };
        return caught([&] { return std::apply(invoke, values); });
    }
    using Types = Signature<R, Args...>;
};

/// A handler of traps.
template <class Function> struct TrapHandler {
    static riverrun_error_t *call(void *data, riverrun_machine_t *machine, const riverrun_trap_t *trap,
                                  riverrun_flow_t *flow) noexcept
    {
        TrapCaller caller(machine);
        return caught([&]() -> riverrun_error_t * {
            *flow = (*static_cast<Function *>(data))(caller, *trap).get();
            return nullptr;
        });
    }
};

/// What a callable takes and returns.
template <class Call> struct Callable;
template <class R, class... Args> struct Callable<R(Args...)> {
    template <class Function> using Host = HostFunction<Function, void, R, Args...>;
    using Types = Signature<R, Args...>;
};
template <class R, class... Args> struct Callable<R(Caller &, Args...)> {
    template <class Function> using Host = HostFunction<Function, Caller, R, Args...>;
    using Types = Signature<R, Args...>;
};
template <class R, class... Args> struct Callable<R(Memory &, Args...)> {
    template <class Function> using Host = HostFunction<Function, Memory, R, Args...>;
    using Types = Signature<R, Args...>;
};
template <class R, class... Args> struct Callable<Result<R>(Args...)> : Callable<R(Args...)> {};
template <class R, class... Args> struct Callable<Result<R>(Caller &, Args...)> : Callable<R(Caller &, Args...)> {};
template <class R, class... Args> struct Callable<Result<R>(Memory &, Args...)> : Callable<R(Memory &, Args...)> {};

template <class Function, class = void> struct CallOf;
template <class R, class... Args> struct CallOf<R (*)(Args...)> { using Type = R(Args...); };
template <class Member> struct CallOfMember;
template <class Class, class R, class... Args> struct CallOfMember<R (Class::*)(Args...)> { using Type = R(Args...); };
template <class Class, class R, class... Args> struct CallOfMember<R (Class::*)(Args...) const> {
    using Type = R(Args...);
};
template <class Class, class R, class... Args> struct CallOfMember<R (Class::*)(Args...) noexcept> {
    using Type = R(Args...);
};
template <class Class, class R, class... Args> struct CallOfMember<R (Class::*)(Args...) const noexcept> {
    using Type = R(Args...);
};
template <class Function>
struct CallOf<Function, std::void_t<decltype(&Function::operator())>> : CallOfMember<decltype(&Function::operator())> {};

template <class Call> struct WithCaller;
template <class R, class... Args> struct WithCaller<R(Args...)> {
    using Type = R(Caller &, Args...);
};

} // namespace detail

/// A machine of a pool, to which it returns when this is destroyed. The pool must live longer.
class PooledMachine {
  public:
    PooledMachine() = default;
    PooledMachine(riverrun_pool_t *pool, riverrun_machine_t *machine) noexcept : pool_(pool), machine_(machine) {}
    PooledMachine(PooledMachine &&) = default;
    PooledMachine &operator=(PooledMachine &&other) noexcept
    {
        std::swap(pool_, other.pool_);
        std::swap(machine_, other.machine_);
        return *this;
    }
    ~PooledMachine()
    {
        if (!machine_.get())
            return;
        // The pool refuses a machine with a future that is not over, which is then deleted as others are.
        if (auto *error = riverrun_pool_put(pool_, machine_.get()))
            riverrun_error_delete(error);
        else
            machine_.release();
    }

    Machine &operator*() noexcept { return machine_; }
    Machine *operator->() noexcept { return &machine_; }

  private:
    riverrun_pool_t *pool_ = nullptr;
    Machine machine_;
};

/// Machines that start from one snapshot, used again and again, by any number of threads. Linker::pool makes one.
class Pool {
  public:
    Pool() = default;
    explicit Pool(riverrun_pool_t *pool) noexcept : pool_(pool) {}

    /// A machine at the pool's snapshot.
    Result<PooledMachine> get()
    {
        riverrun_machine_t *machine;
        if (auto *error = riverrun_pool_get(pool_.get(), &machine))
            return Error(error);
        return PooledMachine(pool_.get(), machine);
    }

    /// How many machines are idle.
    std::size_t idle() const noexcept { return riverrun_pool_idle(pool_.get()); }

  private:
    std::unique_ptr<riverrun_pool_t, detail::Delete<riverrun_pool_delete>> pool_;
};

/// The host functions that guests get. Machines keep what it had when they were made.
///
/// What goes wrong with a function, such as a name that is taken, comes out of Linker::instantiate, instantiate_from
/// and pool, each time. Threads may call these at once, but not while functions are added.
class Linker {
  public:
    explicit Linker(const Engine &engine)
    {
        riverrun_linker_t *linker;
        detail::result_of(riverrun_linker_new(engine.get(), &linker)).value();
        linker_.reset(linker);
    }

    /// Adds a host function: anything that can be called with types that cross the boundary, with a `Caller &` or a
    /// `Memory &` in front of them or not. It may return a Result, and throw.
    ///
    ///     linker.func("Game::add", [](int a, int b) { return a + b; });
    ///
    /// Threads that run machines may call it at once.
    template <class Function> Linker &func(const char *name, Function function)
    {
        using Call = detail::Callable<typename detail::CallOf<Function>::Type>;
        return add<Call>(name, Call::Types::text.bytes, std::move(function));
    }

    /// The same with the signature in words, for types that are more to C++ than to guests: the function takes a
    /// `Caller &` and the arguments.
    template <class Call, class Function> Linker &func(const char *name, const char *signature, Function function)
    {
        return add<detail::Callable<typename detail::WithCaller<Call>::Type>>(name, signature, std::move(function));
    }

    /// Adds a host function that answers later, by its token: guests that are run or called by `run_async` and `call_async`
    /// wait for it. It may throw.
    ///
    ///     linker.func_async<int(int)>("Game::score", [&](AsyncCaller &, int points, Token<int> token) {
    ///         queue.push({points, std::move(token)});
    ///     });
    template <class Call, class Function> Linker &func_async(const char *name, Function function)
    {
        using Host = detail::AsyncFunction<Function, Call>;
        auto *data = new Function(std::move(function));
        keep(riverrun_linker_func_async(linker_.get(), name, Host::Types::text.bytes, Host::call, data,
                                        detail::destroy<Function>));
        return *this;
    }

    /// Lets guests use Linux's system calls, as riverrun::Linux grants them.
    Linker &add_linux()
    {
        keep(riverrun_linker_add_linux(linker_.get()));
        return *this;
    }

    /// Sets the handler of what guests do wrong by themselves, such as accesses to unmapped memory. It takes the place of
    /// add_linux's, which gives faults to the guest's own signal handlers. It may throw.
    ///
    ///     linker.trap_handler([](TrapCaller &, const riverrun_trap_t &trap) {
    ///         return trap.kind == RIVERRUN_TRAP_BREAKPOINT ? Flow::exit(1) : Flow::trap();
    ///     });
    template <class Function> Linker &trap_handler(Function handler)
    {
        using Handler = detail::TrapHandler<Function>;
        auto *data = new Function(std::move(handler));
        keep(riverrun_linker_set_trap_handler(linker_.get(), Handler::call, data, detail::destroy<Function>));
        return *this;
    }

    /// Lets guests use the heap that their host keeps.
    Linker &add_heap(std::uint64_t limit = RIVERRUN_UNLIMITED)
    {
        keep(riverrun_linker_add_heap(linker_.get(), limit));
        return *this;
    }

    /// A machine with the program in it, at its first instruction.
    Result<Machine> instantiate(const Program &program) const { return instantiate(program, nullptr); }
    Result<Machine> instantiate(const Program &program, const Linux &linux_) const
    {
        return instantiate(program, linux_.get());
    }

    /// A machine that goes on where the snapshot was taken. Files that the guest had open are opened again by the grants.
    Result<Machine> instantiate_from(const Snapshot &snapshot) const { return instantiate_from(snapshot, nullptr); }
    Result<Machine> instantiate_from(const Snapshot &snapshot, const Linux &linux_) const
    {
        return instantiate_from(snapshot, linux_.get());
    }

    /// A pool that keeps at most `idle` machines for later, with the host functions that there are now.
    Result<Pool> pool(const Snapshot &snapshot, std::size_t idle) const { return pool(snapshot, nullptr, idle); }
    Result<Pool> pool(const Snapshot &snapshot, const Linux &linux_, std::size_t idle) const
    {
        return pool(snapshot, linux_.get(), idle);
    }

    /// The C API's handle.
    riverrun_linker_t *get() const noexcept { return linker_.get(); }

  private:
    template <class Call, class Function> Linker &add(const char *name, const char *signature, Function function)
    {
        using Host = typename Call::template Host<Function>;
        auto *data = new Function(std::move(function));
        keep(riverrun_linker_func_code(linker_.get(), name, signature, Host::template code<false>,
                                       Host::template code<true>, data, detail::destroy<Function>));
        return *this;
    }

    void keep(riverrun_error_t *error)
    {
        Error other(error);
        if (!error_)
            error_ = std::move(other);
    }

    Result<Machine> instantiate(const Program &program, const riverrun_linux_t *granted) const
    {
        if (error_)
            return error_.copy();
        riverrun_machine_t *machine;
        if (auto *error = riverrun_machine_new(linker_.get(), program.get(), granted, &machine))
            return Error(error);
        return Machine(machine);
    }

    Result<Machine> instantiate_from(const Snapshot &snapshot, const riverrun_linux_t *granted) const
    {
        if (error_)
            return error_.copy();
        riverrun_machine_t *machine;
        if (auto *error = riverrun_machine_from_snapshot(linker_.get(), snapshot.get(), granted, &machine))
            return Error(error);
        return Machine(machine);
    }

    Result<Pool> pool(const Snapshot &snapshot, const riverrun_linux_t *granted, std::size_t idle) const
    {
        if (error_)
            return error_.copy();
        riverrun_pool_t *pool;
        if (auto *error = riverrun_pool_new(linker_.get(), snapshot.get(), granted, idle, &pool))
            return Error(error);
        return Pool(pool);
    }

    std::unique_ptr<riverrun_linker_t, detail::Delete<riverrun_linker_delete>> linker_;
    Error error_;
};

} // namespace riverrun
