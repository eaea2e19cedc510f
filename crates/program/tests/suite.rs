//! The tests of this crate in one program: linking one for each file would take longer than running them.

mod common;

mod bad_input;
mod boundary;
mod budget;
mod debug_info;
mod image;
mod unwind;
