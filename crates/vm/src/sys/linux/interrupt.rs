//! SIGURG on x86-64 Linux: by it the watchdog interrupts a thread that runs compiled code.
//!
//! The default action of SIGURG is to be ignored, so a late signal does no harm. The watchdog's signals carry a mark; all
//! others go to the handler that was installed before. A host that installs a handler later should call ours for signals
//! that it does not know. If it does not, the watchdog notices and installs ours in front of it.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::previous::{call, is_function};
use super::redirect::Redirect;
use super::signal_stack::ensure_signal_stack;

const SIGNAL: libc::c_int = libc::SIGURG;

/// The address of this marks the watchdog's signals.
static MARK: u8 = 0;

/// What handled the signal before, if anything; never freed, as a handler may be using it.
static PREVIOUS: AtomicPtr<libc::sigaction> = AtomicPtr::new(ptr::null_mut());

/// The layout of the kernel's `siginfo_t` for a queued signal.
#[repr(C)]
struct Info {
    signal: libc::c_int,
    error: libc::c_int,
    code: libc::c_int,
    _padding: libc::c_int,
    process: libc::pid_t,
    user: libc::uid_t,
    value: *const u8,
    _rest: [u64; 12],
}

const _: () = assert!(size_of::<Info>() == size_of::<libc::siginfo_t>());

/// The kernel's ID of this thread, after preparing it for signals in compiled code.
#[inline(always)]
pub(crate) fn current_thread() -> libc::pid_t {
    match THREAD_ID.get() {
        0 => prepare_thread(),
        id => id,
    }
}

thread_local! {
    static THREAD_ID: Cell<libc::pid_t> = const { Cell::new(0) };
}

#[cold]
#[inline(never)]
fn prepare_thread() -> libc::pid_t {
    // SAFETY: asks only.
    let id = unsafe { libc::gettid() };
    THREAD_ID.set(id);
    unblock();
    ensure_signal_stack();
    id
}

/// Lets the signal reach this thread.
fn unblock() {
    // SAFETY: the set is initialised before it is used, and is this frame's own.
    unsafe {
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed().assume_init();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, SIGNAL);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, ptr::null_mut());
    }
}

/// Called by the signal handler with the interrupted instruction pointer. It may have compiled code stop at its next poll;
/// for code that has ignored that many times, it returns where the thread continues instead.
pub(crate) type FindInterrupted = fn(usize) -> Option<Redirect>;

static FIND: OnceLock<FindInterrupted> = OnceLock::new();

/// Installs the process's handler if it is not there yet.
pub(crate) fn install_interrupt_handler(find: FindInterrupted) {
    FIND.get_or_init(|| {
        renew_interrupt_handler();
        find
    });
}

/// Installs the handler, in front of the present one if that is another.
pub(crate) fn renew_interrupt_handler() {
    // SAFETY: all zeros is a valid sigaction; `on_interrupt` has the signature that SA_SIGINFO asks
    // for and calls async-signal-safe functions only.
    unsafe {
        let mut present = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        if libc::sigaction(SIGNAL, ptr::null(), &mut present) != 0 || present.sa_sigaction == handler() {
            return;
        }
        PREVIOUS.store(Box::into_raw(Box::new(present)), Ordering::SeqCst);
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = handler();
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(SIGNAL, &action, ptr::null_mut());
    }
}

fn handler() -> usize {
    on_interrupt as *const () as usize
}

/// Signals a thread of this process; one that has ended, or never was, is no error.
pub(crate) fn interrupt(thread: libc::pid_t) {
    // SAFETY: `info` has the kernel's layout and outlives the call. If the thread has ended and another one has its ID,
    // that one is in this process as well, and its handler ignores the signal.
    unsafe {
        let process = libc::getpid();
        let info = Info {
            signal: SIGNAL,
            error: 0,
            code: libc::SI_QUEUE,
            _padding: 0,
            process,
            user: libc::getuid(),
            value: &raw const MARK,
            _rest: [0; 12],
        };
        libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, SIGNAL, &raw const info);
    }
}

extern "C" fn on_interrupt(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel hands over a valid siginfo and ucontext, ours alone while
    // the handler runs.
    let (registers, value, code) = unsafe {
        let context = &mut *context.cast::<libc::ucontext_t>();
        (&mut context.uc_mcontext.gregs, (*info).si_value().sival_ptr, (*info).si_code)
    };
    if code != libc::SI_QUEUE || value.cast_const().cast() != &raw const MARK {
        return pass_on(signal, info, context);
    }
    let rip = registers[libc::REG_RIP as usize] as usize;
    if let Some(redirect) = FIND.get().and_then(|find| find(rip)) {
        redirect.apply(registers);
    }
}

fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    thread_local! {
        static PASSING: Cell<bool> = const { Cell::new(false) };
    }
    // SAFETY: what it points to is never freed.
    let Some(action) = (unsafe { PREVIOUS.load(Ordering::SeqCst).as_ref() }) else { return };
    // A handler that was installed behind ours, and that ours has been put in front of since, passes
    // on to ours.
    if !is_function(action) || PASSING.replace(true) {
        return;
    }
    // SAFETY: the kernel would have called it with these arguments.
    unsafe { call(action, signal, info, context) };
    PASSING.set(false);
}
