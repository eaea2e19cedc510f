//! MXCSR: rounding mode and accrued exceptions of SSE arithmetic.

use std::arch::asm;
use std::marker::PhantomData;

use crate::context::VmContext;

const ALL_MASKED: u32 = 0x1f80;
const ACCRUED: u32 = 0x3f;

#[inline(always)]
fn read(into: &mut u32) {
    // SAFETY: stores the register where the address says.
    unsafe { asm!("stmxcsr [{}]", in(reg) into, options(nostack, preserves_flags)) };
}

/// # Safety
/// Rust code assumes the default rounding mode and masked exceptions: only guest code may run
/// until the host's value is back.
#[inline(always)]
unsafe fn write(value: &u32) {
    // SAFETY: reserved bits are clear, as `value` is either what was read or made by `enter`.
    unsafe { asm!("ldmxcsr [{}]", in(reg) value, options(nostack, readonly, preserves_flags)) };
}

/// The guest's floating-point environment in force on this thread, from [`FloatEnv::enter`] to
/// [`FloatEnv::leave`].
#[must_use]
#[derive(Debug)]
pub struct FloatEnv {
    host: u32,
    on_this_thread: PhantomData<*const ()>,
}

impl FloatEnv {
    /// Whether the host's hardware has the rounding mode `frm`; it lacks ties-to-away (4), and
    /// 5 and 6 are reserved.
    pub fn supports(frm: u64) -> bool {
        frm < 4
    }

    /// Sets the guest's rounding mode and clears the accrued exceptions.
    ///
    /// # Safety
    /// `supports(state.frm)` holds, and nothing but guest code runs until [`FloatEnv::leave`].
    #[inline(always)]
    pub unsafe fn enter(state: &VmContext) -> FloatEnv {
        // RISC-V orders RNE, RTZ, RDN, RUP; MXCSR's field RNE, RDN, RUP, RTZ.
        let rounding = [0, 3, 1, 2][state.hart.frm as usize & 3];
        let mut host = 0;
        read(&mut host);
        let guest = ALL_MASKED | rounding << 13;
        // Writing takes the processor a while, and mostly changes nothing.
        if guest != host {
            // SAFETY: the caller runs nothing but guest code before `leave`.
            unsafe { write(&guest) };
        }
        FloatEnv { host, on_this_thread: PhantomData }
    }

    /// Adds the accrued exceptions to the guest's `fflags` and restores the host's environment.
    #[inline(always)]
    pub fn leave(self, state: &mut VmContext) {
        let mut guest = 0;
        read(&mut guest);
        state.hart.fflags |= flags(guest);
        if guest != self.host {
            // SAFETY: this is the value that the host had.
            unsafe { write(&self.host) };
        }
    }

    /// [`FloatEnv::enter`] in the default rounding mode, for hosts whose environment is Rust's default: reading it would
    /// take longer than the rest of a call. Exceptions accrued before are lost.
    ///
    /// # Safety
    /// As [`FloatEnv::enter`].
    #[inline(always)]
    pub unsafe fn enter_default() {
        // SAFETY: as the caller promises.
        unsafe { write(&ALL_MASKED) };
    }

    /// [`FloatEnv::leave`] after [`FloatEnv::enter_default`].
    #[inline(always)]
    pub fn leave_default(state: &mut VmContext) {
        let mut guest = 0;
        read(&mut guest);
        state.hart.fflags |= flags(guest);
    }

    /// Moves the accrued exceptions to the guest's `fflags`, while its environment is in force.
    ///
    /// It uses [`crate::EngineContext::float_env`] as memory: a local variable whose address escapes would cost the calling
    /// handler its tail call.
    #[inline(always)]
    pub fn drain(state: &mut VmContext) {
        let environment = &mut state.exit.float_env;
        read(environment);
        if *environment & ACCRUED != 0 {
            state.hart.fflags |= flags(*environment);
            *environment &= !ACCRUED;
            // SAFETY: only what has accrued changes, which host code does not look at.
            unsafe { write(environment) };
        }
    }
}

/// The guest's floating-point environment, saved while a host function runs: the function gets Rust's default
/// environment, and exceptions that it raises are not added to the guest's.
#[must_use]
#[derive(Debug)]
pub struct GuestFloats {
    guest: u32,
    on_this_thread: PhantomData<*const ()>,
}

impl GuestFloats {
    /// Sets the host's environment, but keeps accrued exceptions.
    #[inline(always)]
    pub fn set_aside() -> GuestFloats {
        let mut guest = 0;
        read(&mut guest);
        let host = guest & ACCRUED | ALL_MASKED;
        if guest != host {
            // SAFETY: this is Rust's default environment.
            unsafe { write(&host) };
        }
        GuestFloats { guest, on_this_thread: PhantomData }
    }

    /// Restores the guest's environment. Writing it takes less time than testing whether host code has changed it.
    ///
    /// # Safety
    /// Only guest code runs until [`FloatEnv::leave`] or [`FloatEnv::leave_default`] of the enclosing run.
    #[inline(always)]
    pub unsafe fn put_back(self) {
        // SAFETY: as the caller promises.
        unsafe { write(&self.guest) };
    }
}

/// MXCSR: invalid, denormal, zero-divide, overflow, underflow, precision from bit 0 up; RISC-V:
/// NX, UF, OF, DZ, NV.
#[inline(always)]
fn flags(environment: u32) -> u64 {
    let e = u64::from(environment);
    (e >> 5 & 1) | (e >> 3 & 2) | (e >> 1 & 4) | (e << 1 & 8) | (e << 4 & 16)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_environment_comes_back() {
        let (mut before, mut after) = (0, 0);
        super::read(&mut before);
        // SAFETY: rounding and masks stay the host's.
        unsafe { super::write(&before) };
        super::read(&mut after);
        assert_eq!(after, before);
    }
}
