//! The functions that a host grants with streams and file systems. While one serves a system call, the machine that makes
//! the call cannot be used: what its guest did then would happen behind the back of that call, whose memory and files it
//! could take away.

use std::cell::{Cell, RefCell};
use std::ptr;

use riverrun_linux::Linux;

use crate::host_data::Host;

thread_local! {
    /// The machine that has made this thread's last system call, by the address of its data.
    static CALLER: Cell<usize> = const { Cell::new(0) };
    /// How many calls are served on this thread, one within another.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// The machines that have made them.
    static CALLERS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The personality of a machine that makes a system call.
pub(crate) fn linux_of_caller(host: &mut Host) -> &mut Linux {
    CALLER.set(ptr::from_mut(host).addr());
    &mut host.linux
}

/// Calls a host's function, which serves the last system call.
pub(crate) fn serve<R>(function: impl FnOnce() -> R) -> R {
    let caller = CALLER.get();
    CALLERS.with_borrow_mut(|callers| callers.push(caller));
    DEPTH.set(DEPTH.get() + 1);
    let result = function();
    DEPTH.set(DEPTH.get() - 1);
    CALLERS.with_borrow_mut(Vec::pop);
    // It may have run other machines.
    CALLER.set(caller);
    result
}

/// Whether a system call of the machine with this data is being served.
pub(crate) fn is_served(host: *const Host) -> bool {
    DEPTH.get() != 0 && CALLERS.with_borrow(|callers| callers.contains(&host.addr()))
}
