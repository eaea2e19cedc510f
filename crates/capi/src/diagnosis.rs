//! Errors: making, reading and deleting them.

use std::ffi::{c_char, c_void};
use std::ptr;

use crate::arguments::{Out, text};
use crate::error::{Error, delete, guard_value};
use crate::failure::{ErrorKind, Frame, FrameText, Trap};
use crate::owned::{Destructor, Owned};

/// An error of the host's own, for host functions to return: it ends the guest's run, and comes out of the
/// call that has begun it, with where the guest was. `message` is UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_new(message: *const c_char) -> Option<Box<Error>> {
    let message = text(message, "message");
    guard_value(None, || Some(Some(message.map_or_else(|wrong| wrong, |text| Error::new(ErrorKind::Host, text)))))
}

/// Another error that says the same, but has no data of the host; NULL of NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_copy(error: Option<&Error>) -> Option<Box<Error>> {
    guard_value(None, || Some(Some(error?.copy())))
}

/// Frees the error. NULL is allowed, as for all functions whose names end in `_delete`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_delete(error: Option<Box<Error>>) {
    delete(error);
}

/// What kind of error it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_kind(error: Option<&Error>) -> ErrorKind {
    error.map_or(ErrorKind::Misuse, |error| error.kind)
}

/// The error's message: UTF-8, usually one line. It lives as long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_message(error: Option<&Error>) -> *const c_char {
    error.map_or(c"`error` is NULL", |error| &error.message).as_ptr()
}

/// The trap, of errors of the kinds `RIVERRUN_ERROR_TRAP` and `RIVERRUN_ERROR_LOST`; otherwise NULL. It lives as
/// long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_trap(error: Option<&Error>) -> Option<&Trap> {
    error.and_then(|error| error.trap.as_ref())
}

/// The guest's exit status, of errors of the kind `RIVERRUN_ERROR_EXITED`; otherwise 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_exit_status(error: Option<&Error>) -> i32 {
    error.map_or(0, |error| error.status)
}

/// How many calls of the guest had not returned when it trapped, or its host function failed; 0 where that is
/// not known, and 1 where only the innermost is: an access has faulted in compiled code that is not precise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_frames(error: Option<&Error>) -> usize {
    error.map_or(0, |error| error.frames.len())
}

/// One of these calls; 0 is the innermost. False if there is no such call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_frame(error: Option<&Error>, index: usize, frame: Out<'_, Frame>) -> bool {
    let (Some(text), Some(frame)) = (error.and_then(|error| error.frames.get(index)), frame) else { return false };
    let pointer = |text: &Option<std::ffi::CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
    let FrameText { pc, function, offset, file, line } = text;
    let (function, file) = (pointer(function), pointer(file));
    frame.write(Frame { pc: *pc, function, offset: *offset, file, line: *line });
    true
}

/// Puts data of the host's into an error that a host function is about to return. The error that comes out of
/// the guest has it. `destructor` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_set_data(
    error: Option<&mut Error>,
    data: *mut c_void,
    destructor: Option<Destructor>,
) {
    let owned = Owned::new(data, destructor);
    guard_value((), || {
        // Without an error the data is freed.
        error?.data = owned;
        Some(())
    });
}

/// The data that `riverrun_error_set_data` has set, or NULL. It lives as long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_error_data(error: Option<&Error>) -> *mut c_void {
    error.map_or(ptr::null_mut(), |error| error.data.data)
}
