//! The tests of this crate in one program: linking one for each file would take longer than running them.

mod common;

mod aborts;
mod dynamic;
mod go;
mod locks;
mod lying;
mod network;
mod own_faults;
mod programs;
mod sandbox;
mod saved;
mod snapshots;
mod stray;
mod system_calls;
mod threads;
mod virtual_fs;
mod wild;
