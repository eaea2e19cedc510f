//! The handlers that a host had installed before ours: they get the signals that are not a guest's.

/// Whether the action is a function, and not what the kernel does by itself.
pub(super) fn is_function(action: &libc::sigaction) -> bool {
    action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN
}

/// Calls the action's function.
///
/// # Safety
/// It is one, and the arguments are those with which the kernel has called the present handler.
pub(super) unsafe fn call(
    action: &libc::sigaction,
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: which of the two signatures the function has, the flags say.
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
