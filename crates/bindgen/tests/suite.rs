//! The tests of this crate in one program: linking one for each file would take longer than running them.

mod common;

mod crowds;
mod enums;
mod errors;
mod goldens;
mod guests;
mod library;
mod memory;
mod names;
mod rust;
mod values;
