//! What a guest of riverrun needs in Rust: functions that it offers to its host ([`export!`]), the heap that its
//! host keeps (what `alloc` allocates by), panics that come to the host as errors with their words, and start
//! code. There is no `std`, unless the feature `std` is on.
//!
//! With `std`, a guest is a static executable for `riscv64gc-unknown-linux-gnu`, linked with `--wrap=main`. It allocates by its
//! C library, a panic writes to its standard error and aborts, and its functions can be called once its `main` has returned.
//! Otherwise:
//!
//! A guest is an executable for `riscv64gc-unknown-none-elf`, which `rustup target add` installs:
//!
//! ```ignore
#![doc = include_str!("../examples/tally.rs")]
//! ```
//!
//! `main` is optional; what it has made stays, as the host calls exported functions afterwards. A panic ends what the
//! host has called and drops nothing: what is borrowed then, in a `RefCell` say, stays so.
//!
//! A guest that allocates is for hosts that have a heap for it (`riverrun::Linker::heap`).
//!
//! What the host offers is called by the module that `riverrun bindgen --guest-rust` makes.
#![no_std]
#![allow(named_asm_labels, reason = "`.ifndef` guards the records of imports: there is one for all uses")]

#[cfg(not(target_arch = "riscv64"))]
compile_error!(
    "this is for guests of riverrun: compile for riscv64gc-unknown-none-elf, or riscv64gc-unknown-linux-gnu"
);
#[cfg(all(feature = "std", not(target_os = "linux")))]
compile_error!("std is for riscv64gc-unknown-linux-gnu");

mod export;
#[cfg(not(feature = "std"))]
mod heap;
#[cfg(not(feature = "std"))]
mod import;
#[cfg(not(feature = "std"))]
mod panic;
#[cfg(feature = "std")]
mod ready;

pub use export::{Returned, Value};
#[doc(hidden)]
pub use export::{Scalar, Type, join, length, scalar, structure, terminated};

#[cfg(not(feature = "std"))]
core::arch::global_asm!(include_str!("start.S"));
