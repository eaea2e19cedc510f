//! Which faults are a guest's.
//!
//! A fault belongs to a guest if the instruction pointer is in the interpreter's registered code range and the address is
//! in the window of the state that this code works on, or if both belong to the thread's current activation of compiled
//! code ([`Activation`]). All others are the host's.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::activation::Activation;
use crate::context::{VmContext, WINDOW_OFFSET, window_size};
use crate::memory::{AddressSpace, resolve_write};
use crate::sys::{self, Redirect};

/// Host code that accesses guest memory and may fault there.
///
/// Such code must hold the address of the [`crate::VmContext`] in rsi at every instruction that may fault, and the code at
/// `fault_entry` must be able to continue with the registers unchanged.
#[derive(Clone, Copy, Debug)]
pub struct CodeRange {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The fault handler entry.
    pub fault_entry: usize,
}

struct Slot {
    start: AtomicUsize,
    end: AtomicUsize,
    fault_entry: AtomicUsize,
}

static RANGES: [Slot; 16] =
    [const { Slot { start: AtomicUsize::new(0), end: AtomicUsize::new(0), fault_entry: AtomicUsize::new(0) } }; 16];

/// Registers `range`, and installs the process's fault handler if this is the first one.
/// Registering a range twice has no effect. A host that installs a handler of its own later has
/// to pass on to this one what it does not know.
///
/// # Panics
/// If more than 16 ranges are registered, or the host refuses the handler.
///
/// # Safety
/// The code in the range keeps [`CodeRange`]'s contract as long as the process lives.
pub unsafe fn install_fault_handler(range: CodeRange) {
    let slot = RANGES.iter().find(|slot| {
        match slot.start.compare_exchange(0, range.start, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(start) => start == range.start,
        }
    });
    let slot = slot.expect("no more than 16 ranges of guest code can be registered");
    slot.fault_entry.store(range.fault_entry, Ordering::Release);
    slot.end.store(range.end, Ordering::Release);
    sys::install_fault_handler(find);
}

/// Installs the process's handlers, if they are not there yet.
pub(crate) fn install_handlers() {
    sys::install_fault_handler(find);
    sys::install_interrupt_handler(Activation::interrupt);
}

/// Where the code at `pc` continues after a fault at `address`; `None` if the fault is the host's. `state` is the register
/// in which the interpreter has the address of its state.
fn find(pc: usize, state: usize, address: usize) -> Option<Redirect> {
    Activation::redirect(pc, address).or_else(|| Some(Redirect { pc: fault_entry(pc, state, address)?, state: None }))
}

fn fault_entry(pc: usize, state: usize, address: usize) -> Option<usize> {
    // Accesses may begin below the window's end and reach beyond it, into the guard.
    const BEYOND: usize = 16;
    let window = state.checked_add(WINDOW_OFFSET)?;
    let offset = address.wrapping_sub(window);
    if offset >= AddressSpace::LARGEST.size() as usize + BEYOND {
        return None;
    }
    let slot =
        RANGES.iter().find(|slot| pc >= slot.start.load(Ordering::Acquire) && pc < slot.end.load(Ordering::Acquire))?;
    let state = state as *mut VmContext;
    // SAFETY: registered code holds the address of its state there.
    if offset >= unsafe { window_size(state) } + BEYOND {
        return None;
    }
    // SAFETY: likewise.
    if unsafe { resolve_write(state, address) } {
        return Some(pc);
    }
    Some(slot.fault_entry.load(Ordering::Acquire))
}
