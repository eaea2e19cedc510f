// Rows of riverrun.hpp: calls whose types the compiler knows, and lambdas.
#include "rows.h"

#include <riverrun.hpp>

struct cpp_row {
    riverrun::Machine machine;
    riverrun::Func<void()> nop;
    riverrun::Func<std::int64_t()> number;
    riverrun::Func<std::int64_t(std::int64_t)> loop;
};

cpp_row *cpp_row_new(const char *guest, const char *artifact, const char *name, row_kind kind)
{
    riverrun::Engine engine;
    riverrun::Program program = riverrun::Program::from_file(engine, guest);
    if (*artifact)
        program = program.with_artifact(artifact);
    riverrun::Linker linker(engine);
    linker.func("empty", [] {});
    linker.func("three", [](int a, int b, int c) { return a ^ b ^ c; });
    linker.func("i64", [] { return std::int64_t{42}; });
    linker.func("many", [](int a, int b, int c, int d, int e) { return a + std::int64_t{b ^ c ^ d ^ e}; });
    auto *row = new cpp_row{linker.instantiate(program), {}, {}, {}};
    switch (kind) {
    case ROW_NOP: row->nop = row->machine.func<void()>(name); break;
    case ROW_NUMBER: row->number = row->machine.func<std::int64_t()>(name); break;
    case ROW_LOOP: row->loop = row->machine.func<std::int64_t(std::int64_t)>(name); break;
    }
    return row;
}

std::int64_t cpp_row_run(cpp_row *row, row_kind kind, std::uint64_t times)
{
    std::int64_t total = 0;
    switch (kind) {
    case ROW_NOP:
        while (times--)
            row->nop().value();
        break;
    case ROW_NUMBER:
        while (times--)
            total += *row->number();
        break;
    case ROW_LOOP: total = row->loop(static_cast<std::int64_t>(times)); break;
    }
    return total;
}

void cpp_row_delete(cpp_row *row) { delete row; }
