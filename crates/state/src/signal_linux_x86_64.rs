//! SIGSEGV and SIGBUS on x86-64 Linux.
//!
//! A fault belongs to a guest if the instruction pointer is in the interpreter's registered code range and the address is
//! in the window of the state that this code works on, or if both belong to the thread's current activation of compiled
//! code ([`Running`]). The handler then redirects the instruction pointer to the fault handler entry and does nothing
//! else. All other signals go to the handler that was installed before.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::context::WINDOW_OFFSET;
use crate::running::{Landing, Running};
use crate::window::WINDOW_SIZE;

/// Host code that accesses guest memory and may fault there.
///
/// Such code must hold the address of the [`crate::VmContext`] in rsi at every instruction that may fault, and the code at
/// `landing` must be able to continue with the registers unchanged.
#[derive(Clone, Copy, Debug)]
pub struct CodeRange {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The fault handler entry.
    pub landing: usize,
}

impl Landing {
    /// Redirects the interrupted code, whose registers these are.
    pub(crate) fn take(self, registers: &mut [libc::greg_t]) {
        registers[libc::REG_RIP as usize] = self.rip as i64;
        if let Some(rax) = self.rax {
            registers[libc::REG_RAX as usize] = rax as i64;
        }
    }
}

struct Slot {
    start: AtomicUsize,
    end: AtomicUsize,
    landing: AtomicUsize,
}

static RANGES: [Slot; 16] =
    [const { Slot { start: AtomicUsize::new(0), end: AtomicUsize::new(0), landing: AtomicUsize::new(0) } }; 16];

/// What handled SIGSEGV and SIGBUS before.
static PREVIOUS: OnceLock<[libc::sigaction; 2]> = OnceLock::new();
const SIGNALS: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

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
    slot.landing.store(range.landing, Ordering::Release);
    slot.end.store(range.end, Ordering::Release);
    install_handlers();
}

pub(crate) fn install_handlers() {
    PREVIOUS.get_or_init(|| SIGNALS.map(install));
}

fn install(signal: libc::c_int) -> libc::sigaction {
    // SAFETY: all zeros is a valid sigaction; `on_fault` has the signature that SA_SIGINFO asks
    // for and calls async-signal-safe functions only.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = on_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigemptyset(&mut action.sa_mask);
        let mut previous = MaybeUninit::<libc::sigaction>::zeroed();
        let failed = libc::sigaction(signal, &action, previous.as_mut_ptr());
        assert_eq!(failed, 0, "the host refuses a handler for signal {signal}");
        previous.assume_init()
    }
}

fn landing(rip: usize, rsi: usize, address: usize) -> Option<usize> {
    let window = rsi.checked_add(WINDOW_OFFSET)?;
    // Accesses may begin below the window's end and reach beyond it, into the guard.
    if address.wrapping_sub(window) >= WINDOW_SIZE + 16 {
        return None;
    }
    let slot = RANGES
        .iter()
        .find(|slot| rip >= slot.start.load(Ordering::Acquire) && rip < slot.end.load(Ordering::Acquire))?;
    Some(slot.landing.load(Ordering::Acquire))
}

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel hands over a valid siginfo and ucontext, ours alone
    // while the handler runs.
    let (registers, address) = unsafe {
        let context = &mut *context.cast::<libc::ucontext_t>();
        (&mut context.uc_mcontext.gregs, (*info).si_addr() as usize)
    };
    let rip = registers[libc::REG_RIP as usize] as usize;
    let rsi = registers[libc::REG_RSI as usize] as usize;
    if let Some(landing) = Running::redirect(rip, address) {
        landing.take(registers);
        return;
    }
    match landing(rip, rsi, address) {
        Some(landing) => registers[libc::REG_RIP as usize] = landing as i64,
        None => pass_on(signal, info, context),
    }
}

fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let previous = PREVIOUS.get().map(|all| &all[usize::from(signal == libc::SIGBUS)]);
    match previous {
        Some(action) if action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN => {
            // SAFETY: the kernel would have called this function with these arguments; which of
            // the two signatures it has, its flags say.
            unsafe {
                if action.sa_flags & libc::SA_SIGINFO != 0 {
                    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                        std::mem::transmute(action.sa_sigaction);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(libc::c_int) = std::mem::transmute(action.sa_sigaction);
                    handler(signal);
                }
            }
        }
        _ => {
            // No handler before ours: with the default action, the faulting instruction runs again and ends the process.
            // SAFETY: sigaction is async-signal-safe, and all zeros is the default action.
            unsafe {
                let default: libc::sigaction = MaybeUninit::zeroed().assume_init();
                libc::sigaction(signal, &default, ptr::null_mut());
            }
        }
    }
}
