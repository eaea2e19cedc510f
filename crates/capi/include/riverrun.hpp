// riverrun for hosts in C++17 or newer, with exceptions and RTTI or without. It is all in headers, over riverrun.h.
//
//     riverrun::Engine engine;
//     riverrun::Program program = riverrun::Program::from_file(engine, "script.elf");
//     riverrun::Linker linker(engine);
//     linker.func("Game::add", [](int a, int b) { return a + b; });
//     riverrun::Machine machine = linker.instantiate(program);
//     auto update = machine.func<int(float, int)>("update").value();
//     int next = update(0.5f, 3);
//
// What can fail gives a riverrun::Result. Taken for its value, it throws a riverrun::Exception, or, where there are no
// exceptions, ends the program with the error's words; asked before, it does neither.
#pragma once

#if __cplusplus < 201703L
#error "riverrun.hpp takes C++17"
#endif

#include "riverrun/future.hpp"
#include "riverrun/linker.hpp"
#include "riverrun/machine.hpp"
#include "riverrun/program.hpp"
#include "riverrun/result.hpp"
#include "riverrun/snapshot.hpp"
#include "riverrun/value.hpp"
