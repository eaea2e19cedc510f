//! Registers of interrupted code, as the kernel's signal frame has them.

/// Where a signal handler makes guest code continue.
pub(crate) struct Redirect {
    /// The host address.
    pub(crate) pc: usize,
    /// The address of the state, for code that expects it in rax; `None` leaves rax as it is.
    pub(crate) state: Option<usize>,
}

impl Redirect {
    /// Redirects the interrupted code, whose registers these are.
    pub(super) fn apply(self, registers: &mut [libc::greg_t]) {
        registers[libc::REG_RIP as usize] = self.pc as i64;
        if let Some(rax) = self.state {
            registers[libc::REG_RAX as usize] = rax as i64;
        }
    }
}
