//! Checks of arguments from C: a missing or invalid one becomes an error that names it.
//!
//! The head of `riverrun.h` demands that a pointer is `NULL` or valid for its documented use.

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::slice;

use crate::error::{Error, ErrorKind};

/// Where a result is to be written.
pub(crate) type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

pub(crate) type Result<T> = std::result::Result<T, Box<Error>>;

/// The error of a call that the header forbids.
#[cold]
pub(crate) fn misuse(message: impl Into<String>) -> Box<Error> {
    Error::new(ErrorKind::Misuse, message)
}

#[cold]
fn missing(name: &str) -> Box<Error> {
    misuse(format!("`{name}` is NULL"))
}

/// The handle or place of this name.
#[inline(always)]
pub(crate) fn given<T>(argument: Option<T>, name: &str) -> Result<T> {
    match argument {
        Some(argument) => Ok(argument),
        None => Err(missing(name)),
    }
}

/// A text that may be missing.
pub(crate) fn text_if_given<'a>(text: *const c_char, name: &str) -> Result<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the header demands that texts end with a zero, and stay as long as the call.
    let bytes = unsafe { CStr::from_ptr(text) };
    match bytes.to_str() {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(misuse(format!("`{name}` is not UTF-8"))),
    }
}

pub(crate) fn text<'a>(text: *const c_char, name: &str) -> Result<&'a str> {
    text_if_given(text, name)?.ok_or_else(|| missing(name))
}

/// Whether an array is there; one of no elements may be `NULL`.
#[inline(always)]
pub(crate) fn check_array<T>(first: *const T, len: usize, name: &str) -> Result<()> {
    if first.is_null() && len != 0 { Err(missing(name)) } else { Ok(()) }
}

/// An array; one of no elements may be `NULL`.
#[inline(always)]
pub(crate) fn array<'a, T>(first: *const T, len: usize, name: &str) -> Result<&'a [T]> {
    match (first.is_null(), len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(missing(name)),
        // SAFETY: the header demands that there are so many elements.
        (false, _) => Ok(unsafe { slice::from_raw_parts(first, len) }),
    }
}

/// An array to be written.
#[inline(always)]
pub(crate) fn array_mut<'a, T>(first: *mut T, len: usize, name: &str) -> Result<&'a mut [T]> {
    match (first.is_null(), len) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(missing(name)),
        // SAFETY: the header demands that there are so many elements, which nothing else uses during the call.
        (false, _) => Ok(unsafe { slice::from_raw_parts_mut(first, len) }),
    }
}
