// Engines, programs, and what guests are granted of Linux. Part of riverrun.hpp.
#pragma once

#include <cerrno>
#include <memory>
#include <optional>

#include "result.hpp"
#include "value.hpp"

namespace riverrun {

/// How programs are run.
class Config {
  public:
    Config() : config_(riverrun_config_new()) {}
    /// Bits of a guest's addresses, 26 to 32: a machine takes 2 to the power of `bits` addresses of the process.
    Config &address_bits(std::uint32_t bits)
    {
        riverrun_config_set_address_bits(config_.get(), bits);
        return *this;
    }
    Config &memory_limit(std::uint64_t bytes)
    {
        riverrun_config_set_memory_limit(config_.get(), bytes);
        return *this;
    }
    Config &stack_size(std::uint64_t bytes)
    {
        riverrun_config_set_stack_size(config_.get(), bytes);
        return *this;
    }
    Config &code_limit(std::uint64_t bytes)
    {
        riverrun_config_set_code_limit(config_.get(), bytes);
        return *this;
    }
    Config &call_depth(std::uint32_t runs)
    {
        riverrun_config_set_call_depth(config_.get(), runs);
        return *this;
    }
    Config &single_step(bool on)
    {
        riverrun_config_set_single_step(config_.get(), on);
        return *this;
    }
    /// Keeps compiled code in a folder: only users who have all rights of this process may be able to write there.
    Config &cache(const char *folder)
    {
        Result<void>(Error(riverrun_config_set_cache(config_.get(), folder))).value();
        return *this;
    }
    /// Compiles programs while they run, by the program `riverrun-compile` at this path or of this name.
    Config &tier_up(const char *compiler, bool counts_fuel = false)
    {
        Result<void>(Error(riverrun_config_set_tier_up(config_.get(), compiler, counts_fuel))).value();
        return *this;
    }
    riverrun_config_t *get() const noexcept { return config_.get(); }

  private:
    std::unique_ptr<riverrun_config_t, detail::Delete<riverrun_config_delete>> config_;
};

/// What programs and machines have in common.
class Engine {
  public:
    /// With a configuration that is out of range, throws; without exceptions, ends the program.
    explicit Engine(const Config &config = Config())
    {
        riverrun_engine_t *engine;
        detail::result_of(riverrun_engine_new(config.get(), &engine)).value();
        engine_.reset(engine);
    }
    riverrun_engine_t *get() const noexcept { return engine_.get(); }

  private:
    std::unique_ptr<riverrun_engine_t, detail::Delete<riverrun_engine_delete>> engine_;
};

/// What was compiled of a program while it ran: see riverrun_tier_up_statistics_t.
using TierUpStatistics = riverrun_tier_up_statistics_t;

/// A program, loaded and checked once. May be used by any number of threads and machines.
class Program {
  public:
    Program() = default;

    /// Reads a static RISC-V executable.
    static Result<Program> from_bytes(const Engine &engine, const void *elf, std::size_t length)
    {
        riverrun_program_t *program;
        if (auto *error = riverrun_program_new(engine.get(), elf, length, &program))
            return Error(error);
        return Program(program);
    }

    /// Reads one from a file.
    static Result<Program> from_file(const Engine &engine, const char *path)
    {
        riverrun_program_t *program;
        if (auto *error = riverrun_program_from_file(engine.get(), path, &program))
            return Error(error);
        return Program(program);
    }

    /// The same executable with compiled code. Loading it is an act of trust: it runs with all rights of the host, and
    /// must come from riverrun's compiler.
    Result<Program> with_artifact(const char *path) const
    {
        riverrun_program_t *compiled;
        if (auto *error = riverrun_program_with_artifact(program_.get(), path, &compiled))
            return Error(error);
        return Program(compiled);
    }
    bool is_compiled() const noexcept { return riverrun_program_is_compiled(program_.get()); }

    /// What was compiled of it while it ran; nothing if it is not compiled so (Config::tier_up).
    std::optional<TierUpStatistics> tier_up() const noexcept
    {
        TierUpStatistics statistics;
        if (!riverrun_program_tier_up(program_.get(), &statistics))
            return std::nullopt;
        return statistics;
    }

    /// Keeps its profile in the cache, for its next start.
    Result<void> keep_profile() const { return Error(riverrun_program_keep_profile(program_.get())); }
    riverrun_program_t *get() const noexcept { return program_.get(); }

  private:
    explicit Program(riverrun_program_t *program) noexcept : program_(program) {}

    std::unique_ptr<riverrun_program_t, detail::Delete<riverrun_program_delete>> program_;
};

/// What there is of a path in a file system: see riverrun_file_status.
using FileStatus = riverrun_file_status_t;

/// Where a file system says what is in a directory.
class Entries {
  public:
    explicit Entries(riverrun_entries_t *entries) noexcept : entries_(entries) {}
    Result<void> add(const char *name, bool is_directory = false)
    {
        return Error(riverrun_entries_add(entries_, name, is_directory));
    }

  private:
    riverrun_entries_t *entries_;
};

/// A file system that the host implements, for Linux::file_system; riverrun_file_system says what its functions are given and
/// return. One that throws gives EIO. Without those that have a body here, it can only be read.
class FileSystem {
  public:
    virtual ~FileSystem() = default;
    virtual int look(const char *path, FileStatus &status) = 0;
    virtual int list(const char *path, Entries entries) = 0;
    virtual std::int64_t read(const char *path, void *buffer, std::size_t length, std::uint64_t at) = 0;
    virtual std::int64_t write(const char *, const void *, std::size_t, std::uint64_t) { return -EROFS; }
    virtual int resize(const char *, std::uint64_t) { return EROFS; }
    virtual int create(const char *, bool, std::uint32_t) { return EROFS; }
    virtual int remove(const char *, bool) { return EROFS; }
    virtual int rename(const char *, const char *) { return EROFS; }
};

namespace detail {

/// The function of a FileSystem as C calls it: its result, or that of one that has failed.
template <auto function, class R, class... A> struct FileSystemCall {
    static R call(void *data, A... arguments) noexcept
    {
        FileSystem &called = **static_cast<std::shared_ptr<FileSystem> *>(data);
#ifdef __cpp_exceptions
        try {
            return (called.*function)(pass(arguments)...);
        } catch (...) {
            return std::is_same_v<R, std::int64_t> ? R(-EIO) : R(EIO);
        }
#else
        return (called.*function)(pass(arguments)...);
#endif
    }

  private:
    template <class T> static T pass(T argument) noexcept { return argument; }
    static FileStatus &pass(FileStatus *status) noexcept { return *status; }
    static Entries pass(riverrun_entries_t *entries) noexcept { return Entries(entries); }
};

} // namespace detail

/// What guests are granted of Linux: nothing to begin with.
class Linux {
  public:
    Linux() : linux_(riverrun_linux_new()) {}

    Result<void> argument(const char *argument) { return Error(riverrun_linux_add_argument(get(), argument)); }
    Result<void> variable(const char *name, const char *value)
    {
        return Error(riverrun_linux_add_variable(get(), name, value));
    }
    Result<void> inherit_streams() { return Error(riverrun_linux_inherit_streams(get())); }
    Result<void> input(std::string_view bytes)
    {
        return Error(riverrun_linux_set_input(get(), bytes.data(), bytes.size()));
    }
    /// Calls `write` with what guests write to their standard output, as a std::string_view. It has no way to fail: if
    /// it throws, the program ends.
    template <class Function> Result<void> output(Function write)
    {
        auto *data = new Function(std::move(write));
        return Error(riverrun_linux_set_output(get(), call<Function>, data, detail::destroy<Function>));
    }
    /// The same for standard error.
    template <class Function> Result<void> errors(Function write)
    {
        auto *data = new Function(std::move(write));
        return Error(riverrun_linux_set_errors(get(), call<Function>, data, detail::destroy<Function>));
    }
    Result<void> directory(const char *host, const char *guest, bool read_only)
    {
        return Error(riverrun_linux_add_directory(get(), host, guest, read_only));
    }
    /// Gives guests a file with these bytes, which are copied, at an absolute path.
    Result<void> file(const char *guest, std::string_view contents)
    {
        return Error(riverrun_linux_add_file(get(), guest, contents.data(), contents.size()));
    }
    /// Grants a file system of the host under an absolute path of guests.
    Result<void> file_system(const char *guest, std::shared_ptr<FileSystem> file_system)
    {
        using detail::FileSystemCall;
        using std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, std::size_t;
        using Path = const char *;
        const riverrun_file_system_t functions = {
            FileSystemCall<&FileSystem::look, int32_t, Path, FileStatus *>::call,
            FileSystemCall<&FileSystem::list, int32_t, Path, riverrun_entries_t *>::call,
            FileSystemCall<&FileSystem::read, int64_t, Path, void *, size_t, uint64_t>::call,
            FileSystemCall<&FileSystem::write, int64_t, Path, const void *, size_t, uint64_t>::call,
            FileSystemCall<&FileSystem::resize, int32_t, Path, uint64_t>::call,
            FileSystemCall<&FileSystem::create, int32_t, Path, bool, uint32_t>::call,
            FileSystemCall<&FileSystem::remove, int32_t, Path, bool>::call,
            FileSystemCall<&FileSystem::rename, int32_t, Path, Path>::call,
        };
        auto *owner = new std::shared_ptr<FileSystem>(std::move(file_system));
        return Error(riverrun_linux_add_file_system(get(), guest, &functions, owner,
                                                    detail::destroy<std::shared_ptr<FileSystem>>));
    }
    /// Lets guests connect to HOST:PORT by TCP and UDP.
    Result<void> connect(const char *address) { return Error(riverrun_linux_add_connect(get(), address)); }
    /// Lets guests listen at PORT, for programs of the same host, or at ADDRESS:PORT.
    Result<void> listen(const char *address) { return Error(riverrun_linux_add_listen(get(), address)); }
    /// The directory that guests are in when they start.
    Result<void> current_directory(const char *guest)
    {
        return Error(riverrun_linux_set_current_directory(get(), guest));
    }
    /// 256 if this is not called.
    Result<void> max_descriptors(std::size_t count)
    {
        return Error(riverrun_linux_set_max_descriptors(get(), count));
    }
    /// In bytes.
    Result<void> max_file_size(std::uint64_t bytes)
    {
        return Error(riverrun_linux_set_max_file_size(get(), bytes));
    }
    /// Threads that a guest may have at a time: 1,024 if this is not called.
    Result<void> max_threads(std::size_t count) { return Error(riverrun_linux_set_max_threads(get(), count)); }
    /// Bytes of a guest's private files, such as those in /tmp: 64 MiB if this is not called.
    Result<void> max_private_files(std::uint64_t bytes)
    {
        return Error(riverrun_linux_set_max_private_files(get(), bytes));
    }
    Result<void> seed(std::uint64_t seed) { return Error(riverrun_linux_set_seed(get(), seed)); }
    Result<void> virtual_time(bool on) { return Error(riverrun_linux_set_virtual_time(get(), on)); }
    Result<void> exits(bool on) { return Error(riverrun_linux_set_exits(get(), on)); }
    riverrun_linux_t *get() const noexcept { return linux_.get(); }

  private:
    template <class Function> static void call(void *function, const void *bytes, std::size_t length) noexcept
    {
        (*static_cast<Function *>(function))(std::string_view(static_cast<const char *>(bytes), length));
    }

    std::unique_ptr<riverrun_linux_t, detail::Delete<riverrun_linux_delete>> linux_;
};

} // namespace riverrun
