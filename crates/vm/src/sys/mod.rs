//! What riverrun needs of an operating system: address space, mappings and the file of an image for [`crate::Window`]
//! and [`crate::Image`], which keep the list of what is mapped; the signals by which guest code ends; the stacks of
//! threads; locks on ranges of files. A port to another system begins with a folder beside `linux` that has all names of the list below.
//!
//! Under Miri, which has no mappings, a reservation is an allocation: an access outside of it, or beside a view of it, is
//! an error there. A model of loom has no signals: a flag stands for the one that interrupts.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(loom)]
mod loom;
#[cfg(miri)]
mod miri;
#[cfg(not(target_os = "linux"))]
compile_error!("riverrun has no `sys` folder for this system: see CONTRIBUTING.md");

#[cfg(not(miri))]
use linux::mapping;
#[cfg(miri)]
use miri as mapping;

#[cfg(not(loom))]
use linux::interrupt;
#[cfg(loom)]
use loom as interrupt;

pub(crate) use mapping::{
    FileView, HUGE_PAGE, ImageFile, discard, guard, map_file, map_zeros, move_pages, own_pages, protect, release,
    reserve, room_is_free, writable_room_is_free,
};

pub(crate) use interrupt::{
    current_thread, install_interrupt_handler, interrupt as interrupt_thread, renew_interrupt_handler,
};
#[cfg(not(loom))]
pub(crate) use linux::clock::monotonic;
pub(crate) use linux::code::{map_code, reserve_near};
pub(crate) use linux::fault::install_fault_handler;
pub use linux::host_stack::host_stack_left;
pub(crate) use linux::mapping::{PAGE_SIZE, memory_file};
pub use linux::range_lock::{LockKind, RangeLock, range_lock_in_the_way, set_range_lock};
pub(crate) use linux::redirect::Redirect;
#[cfg(all(loom, test))]
pub(crate) use loom::take as take_interrupt;
