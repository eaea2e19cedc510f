//! The limit on the host frames of compiled functions.
//!
//! A function that calls others compares its stack pointer with the stack's limit after it has allocated its frame; a leaf
//! function compares nothing. Both are safe if no frame exceeds [`riverrun_vm::artifact::MAX_FRAME`]: two such frames
//! fit between the limit and the guard. Host-ABI entry points run on their caller's stack and may use as much as small
//! functions of the host. LLVM reports larger frames when it has laid them out. The unit is then compiled again without
//! the function, which the interpreter executes.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{CStr, c_void};

use inkwell::context::Context;
use inkwell::llvm_sys::LLVMDiagnosticSeverity;
use inkwell::llvm_sys::core::{
    LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity,
};
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;

use crate::error::CompileError;

/// The functions of a context whose frames exceed their limit, and LLVM's errors.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    oversized: RefCell<BTreeSet<String>>,
    errors: RefCell<Vec<String>>,
}

impl Diagnostics {
    /// A context that reports its diagnostics here.
    pub(crate) fn context(&self) -> Reporting<'_> {
        let context = Context::create();
        // SAFETY: the context, which alone has the pointer, does not outlive what it points to: `Reporting` borrows it.
        unsafe {
            let data = std::ptr::from_ref(self).cast_mut().cast();
            LLVMContextSetDiagnosticHandler(context.raw(), Some(report), data);
        }
        Reporting { context, _diagnostics: self }
    }

    /// The symbols of the functions whose frames are too large.
    ///
    /// # Errors
    /// [`CompileError::Llvm`] with the errors that LLVM has reported.
    pub(crate) fn oversized(&self) -> Result<BTreeSet<String>, CompileError> {
        match self.errors.borrow() {
            errors if errors.is_empty() => Ok(self.oversized.borrow().clone()),
            errors => Err(CompileError::Llvm(errors.join("; "))),
        }
    }

    fn hear(&self, severity: LLVMDiagnosticSeverity, text: &str) {
        // `guest-text:66004:0: stack frame size (31856) exceeds limit (24576) in function 'guest::big'`
        let function = text
            .split_once("stack frame size (")
            .and_then(|(_, rest)| rest.split_once("in function '"))
            .and_then(|(_, name)| name.strip_suffix('\''));
        match (severity, function) {
            (LLVMDiagnosticSeverity::LLVMDSError, _) => self.errors.borrow_mut().push(text.to_owned()),
            (_, Some(function)) => drop(self.oversized.borrow_mut().insert(function.to_owned())),
            _ => {}
        }
    }
}

/// A context that reports to [`Diagnostics`].
pub(crate) struct Reporting<'d> {
    pub(crate) context: Context,
    _diagnostics: &'d Diagnostics,
}

/// The diagnostic handler that LLVM calls.
extern "C" fn report(info: LLVMDiagnosticInfoRef, data: *mut c_void) {
    // SAFETY: LLVM calls this with a diagnostic that lives as long as the call, in the thread that uses the context, and
    // with the pointer of `Diagnostics::context`; the description is a string of its own, given back once.
    unsafe {
        let diagnostics = &*data.cast::<Diagnostics>();
        let text = LLVMGetDiagInfoDescription(info);
        diagnostics.hear(LLVMGetDiagInfoSeverity(info), &CStr::from_ptr(text).to_string_lossy());
        LLVMDisposeMessage(text);
    }
}
