//! SIGSEGV and SIGBUS on x86-64 Linux.
//!
//! The handler redirects the instruction pointer where the function it was installed with says, and does nothing else. All
//! other signals go to the handler that was installed before.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

use super::previous::{call, is_function};
use super::redirect::Redirect;

/// Says where code continues that has faulted: by its instruction pointer, its register for the state, and the address.
/// It is called in a signal handler.
pub(crate) type FindFault = fn(usize, usize, usize) -> Option<Redirect>;

static FIND: OnceLock<FindFault> = OnceLock::new();

/// What handled SIGSEGV and SIGBUS before.
static PREVIOUS: OnceLock<[libc::sigaction; 2]> = OnceLock::new();
const SIGNALS: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Installs the process's handler, if it is not there yet.
pub(crate) fn install_fault_handler(find: FindFault) {
    FIND.get_or_init(|| find);
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

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel hands over a valid siginfo and ucontext, ours alone
    // while the handler runs.
    let (registers, address) = unsafe {
        let context = &mut *context.cast::<libc::ucontext_t>();
        (&mut context.uc_mcontext.gregs, (*info).si_addr() as usize)
    };
    let rip = registers[libc::REG_RIP as usize] as usize;
    let rsi = registers[libc::REG_RSI as usize] as usize;
    match FIND.get().and_then(|find| find(rip, rsi, address)) {
        Some(redirect) => redirect.apply(registers),
        None => pass_on(signal, info, context),
    }
}

fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let previous = PREVIOUS.get().map(|all| &all[usize::from(signal == libc::SIGBUS)]);
    match previous {
        // SAFETY: the kernel would have called it with these arguments.
        Some(action) if is_function(action) => unsafe { call(action, signal, info, context) },
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
