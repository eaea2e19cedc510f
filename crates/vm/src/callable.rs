//! A compiled function as the host calls it: the layout that call code in assembly reads.

use std::mem::offset_of;

/// A function of an artifact that does not count fuel, for [`crate::artifact::call`].
#[derive(Clone, Copy, Debug)]
pub struct Callable {
    /// The code that the host calls: the function's host-ABI entry point, or `enter_function`.
    pub(crate) entry: usize,
    /// The compiled function, for `enter_function`.
    pub(crate) function: usize,
}

impl Callable {
    /// Offset of the code to call, with the address of this in rdi.
    pub const ENTRY: usize = offset_of!(Callable, entry);
    /// Offset of the function that `enter_function` calls.
    pub(crate) const FUNCTION: usize = offset_of!(Callable, function);

    /// No function.
    pub const NONE: Callable = Callable { entry: 0, function: 0 };
}
