//! riverrun for hosts in C and C++: the functions that `include/riverrun.h` declares and `include/riverrun.hpp` wraps.
//!
//! The exported functions and types here are the header, comments included: a test (`tests/header.rs`) writes
//! it from these sources, and fails if they differ. So documentation here is worded for C: `NULL`, not `None`.
//!
//! - Handles are boxes. Nullable ones are `Option<&T>`, `Option<&mut T>` or `Option<Box<T>>`, which are
//!   pointers to C. A handle keeps alive what it needs of others.
//! - Every function catches panics; those that can fail return an owned error, or `NULL`.
//! - A machine is its own address ([`riverrun::raw::RawMachine`]), so host functions get the handle that their host has.

#![allow(clippy::missing_safety_doc, reason = "the head of riverrun.h says once what pointers have to be")]

mod arguments;
mod error;
mod host_data;
mod host_words;
mod serving;

pub mod call;
pub mod config;
pub mod diagnosis;
pub mod failure;
pub mod file_system;
pub mod func;
pub mod future;
pub mod heap;
pub mod host;
#[cfg(all(target_arch = "x86_64", unix))]
#[path = "host_x86_64.rs"]
mod host_code;
pub mod linker;
pub mod linux;
pub mod machine;
pub mod memory;
pub mod owned;
pub mod program;
pub mod snapshot;
pub mod token;
pub mod trap;
pub mod value;

pub use error::Error;
