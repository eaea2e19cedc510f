//! The engines that can be measured, one file each.

mod ckb_vm;
mod libriscv;
mod native;
mod polkavm;
mod qemu;
pub(crate) mod riverrun;
mod wasmi;
mod wasmtime;

use anyhow::{Result, bail};

use crate::engine::{Engine, Kind};

/// All engines, in the order of the report.
pub(crate) fn all() -> Vec<Box<dyn Engine>> {
    let mut engines: Vec<Box<dyn Engine>> = vec![Box::new(native::Native::PLAIN), Box::new(native::Native::TUNED)];
    for compiled in riverrun::COMPILED {
        engines.push(Box::new(compiled));
    }
    engines.push(Box::new(wasmtime::Wasmtime::WIDE));
    engines.push(Box::new(wasmtime::Wasmtime::PLAIN));
    engines.push(Box::new(polkavm::PolkaVm::COMPILER));
    engines.push(Box::new(libriscv::Libriscv::TRANSLATED));
    engines.push(Box::new(qemu::Qemu));
    for interpreter in riverrun::INTERPRETERS {
        engines.push(Box::new(interpreter));
    }
    engines.push(Box::new(libriscv::Libriscv::AS_IT_COMES));
    engines.push(Box::new(libriscv::Libriscv::ARENA));
    engines.push(Box::new(ckb_vm::CkbVm));
    engines.push(Box::new(polkavm::PolkaVm::INTERPRETER));
    engines.push(Box::new(wasmi::Wasmi));
    engines
}

/// The compilers of the table of compile times.
pub(crate) fn ahead_of_time() -> Vec<Box<dyn Engine>> {
    let mut engines: Vec<Box<dyn Engine>> = vec![Box::new(riverrun::COMPILED[0])];
    for level in riverrun::LEVELS {
        engines.push(Box::new(level));
    }
    engines.push(Box::new(wasmtime::Wasmtime::WIDE));
    engines.push(Box::new(wasmtime::Wasmtime::PLAIN));
    engines
}

/// All ways to start a program.
pub(crate) fn starters() -> Vec<Box<dyn Engine>> {
    vec![
        Box::new(native::Native::PLAIN),
        Box::new(riverrun::INTERPRETERS[0]),
        Box::new(riverrun::COMPILED[0]),
        Box::new(riverrun::Cached),
        Box::new(wasmtime::Wasmtime::WIDE),
        Box::new(wasmtime::AtOnce),
        Box::new(polkavm::PolkaVm::COMPILER),
        Box::new(polkavm::PolkaVm::INTERPRETER),
        Box::new(libriscv::Libriscv::AS_IT_COMES),
        Box::new(ckb_vm::CkbVm),
        Box::new(qemu::Qemu),
        Box::new(wasmi::Wasmi),
    ]
}

/// Those of the table of allocations.
pub(crate) fn allocating() -> Vec<Box<dyn Engine>> {
    vec![
        Box::new(native::Native::PLAIN),
        Box::new(wasmtime::Wasmtime::WIDE),
        Box::new(riverrun::COMPILED[0]),
        Box::new(riverrun::INTERPRETERS[0]),
    ]
}

/// What guests leave functions on otherwise than by returning.
pub(crate) fn unwinding() -> Vec<Box<dyn Engine>> {
    vec![
        Box::new(native::Native::PLAIN),
        Box::new(riverrun::COMPILED[0]),
        Box::new(riverrun::INTERPRETERS[0]),
        Box::new(qemu::Qemu),
    ]
}

/// Those of the table of instances.
pub(crate) fn hosting() -> Vec<Box<dyn Engine>> {
    vec![
        Box::new(riverrun::HOSTING[0]),
        Box::new(riverrun::HOSTING[1]),
        Box::new(riverrun::HOSTING_SMALL[0]),
        Box::new(riverrun::HOSTING_SMALL[1]),
        Box::new(wasmtime::Hosting::ON_DEMAND),
        Box::new(wasmtime::Hosting::POOLING),
        Box::new(libriscv::Hosting),
    ]
}

/// What compilers, and everything else, are compared with.
pub(crate) const REFERENCE: &str = "native";

/// Whether the command fails if the engine of this name does: a report without it has little to say.
pub(crate) fn must_work(name: &str) -> bool {
    name.starts_with("riverrun") && !has_small_spaces(name) || name == REFERENCE
}

/// Whether it is riverrun with small address spaces, which is measured with many more instances.
pub(crate) fn has_small_spaces(name: &str) -> bool {
    name.ends_with("-26-bits")
}

/// The engine of each kind that its peers are compared with.
pub(crate) const SUBJECTS: [(Kind, &str); 2] = [(Kind::Compiler, "riverrun"), (Kind::Interpreter, "riverrun-interp")];

/// Those of `engines` that are `wanted`, by name or by kind (`compilers`, `interpreters`), or all.
pub(crate) fn choose(mut engines: Vec<Box<dyn Engine>>, wanted: Option<&[String]>) -> Result<Vec<Box<dyn Engine>>> {
    let Some(wanted) = wanted else { return Ok(engines) };
    let means = |name: &str, engine: &dyn Engine| match name {
        "compilers" => engine.kind() == Kind::Compiler,
        "interpreters" => engine.kind() == Kind::Interpreter,
        name => engine.name() == name,
    };
    if let Some(unknown) = wanted.iter().find(|name| !engines.iter().any(|engine| means(name, &**engine))) {
        let names: Vec<&str> = engines.iter().map(|engine| engine.name()).collect();
        bail!("no engine is called {unknown:?}; there are {}, compilers and interpreters", names.join(", "));
    }
    engines.retain(|engine| wanted.iter().any(|name| means(name, &**engine)));
    Ok(engines)
}
