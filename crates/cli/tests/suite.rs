//! The tests of this crate in one program: linking one for each file would take longer than running them.

#[macro_use]
mod common;

mod bench;
mod files;
mod host_heap;
mod inspect;
mod network;
mod new;
mod readme;
mod run;
mod snapshot;
mod streams;
mod tier_up;
mod toolchain;
mod traps;
mod usage;
