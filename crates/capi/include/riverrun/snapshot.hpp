// Snapshots of machines. Part of riverrun.hpp.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "program.hpp"
#include "result.hpp"

namespace riverrun {

/// A guest at one moment: memory, registers, heap, open files. Any number of machines are made from it, by
/// Linker::instantiate_from, a Pool, or Machine::reset.
class Snapshot {
  public:
    Snapshot() = default;
    explicit Snapshot(riverrun_snapshot_t *snapshot) noexcept : snapshot_(snapshot) {}

    /// Reads what Snapshot::to_bytes has given, of the same program. The bytes need not be trusted: their author
    /// chooses what the guest does, within its sandbox.
    static Result<Snapshot> from_bytes(const Program &program, std::string_view bytes)
    {
        riverrun_snapshot_t *snapshot;
        if (auto *error = riverrun_snapshot_from_bytes(program.get(), bytes.data(), bytes.size(), &snapshot))
            return Error(error);
        return Snapshot(snapshot);
    }

    /// Reads a file of Snapshot::write_to.
    static Result<Snapshot> read(const Program &program, const char *path)
    {
        riverrun_snapshot_t *snapshot;
        if (auto *error = riverrun_snapshot_read(program.get(), path, &snapshot))
            return Error(error);
        return Snapshot(snapshot);
    }

    /// The same on every host and of every engine.
    Result<std::string> to_bytes() const
    {
        // The library calls `write`, and no exception may pass through that.
        struct Copy {
            std::string bytes;
            std::exception_ptr thrown;
        } copy;
        auto write = [](void *data, const void *bytes, std::size_t length) noexcept {
            auto &into = *static_cast<Copy *>(data);
#if RIVERRUN_EXCEPTIONS
            try {
                into.bytes.assign(static_cast<const char *>(bytes), length);
            } catch (...) {
                into.thrown = std::current_exception();
            }
#else
            into.bytes.assign(static_cast<const char *>(bytes), length);
#endif
        };
        auto *error = riverrun_snapshot_to_bytes(get(), write, &copy);
        if (copy.thrown)
            std::rethrow_exception(copy.thrown);
        if (error)
            return Error(error);
        return std::move(copy.bytes);
    }
    Result<void> write_to(const char *path) const { return Error(riverrun_snapshot_write_to(get(), path)); }

    /// Adds bytes of the host's under a name, in place of those that had it before.
    Result<void> set_section(const char *name, std::string_view bytes)
    {
        return Error(riverrun_snapshot_set_section(get(), name, bytes.data(), bytes.size()));
    }
    /// They live as long as the snapshot, and until they are replaced.
    std::optional<std::string_view> section(const char *name) const noexcept
    {
        const void *bytes;
        std::size_t length;
        if (!riverrun_snapshot_section(get(), name, &bytes, &length))
            return std::nullopt;
        return std::string_view(static_cast<const char *>(bytes), length);
    }

    /// The C API's handle.
    riverrun_snapshot_t *get() const noexcept { return snapshot_.get(); }

  private:
    std::unique_ptr<riverrun_snapshot_t, detail::Delete<riverrun_snapshot_delete>> snapshot_;
};

} // namespace riverrun
