//! The interpreter's effects: each memory access is one host instruction, floats are computed in hardware.

use riverrun_isa::csr;
use riverrun_isa::ops::{CANONICAL_NAN_D, CANONICAL_NAN_S, Float, FloatCompare, Int, Mem, Rounding, System};
use riverrun_vm::{FloatEnv, VmContext};

use crate::decoded_op::DecodedOp;
use riverrun_isa::words::Effects;

/// Whether instructions are counted.
pub(crate) const COUNTED: bool = !cfg!(feature = "uncounted");

#[cfg(target_arch = "x86_64")]
#[path = "fast_x86_64.rs"]
mod host;

pub(crate) use host::has_hardware;

/// The hart while a handler runs: the handler's arguments ([`crate::decoded_op::Handler`]). A fault must find op, state
/// and fuel in their registers.
///
/// `MASKED` says how memory accesses take an address modulo the window's size: by the window's mask, or by zero-extending
/// 32 bits, which costs nothing and is right for the largest windows only.
#[derive(Clone, Copy)]
pub(crate) struct Fast<const MASKED: bool = false> {
    pub(crate) op: *const DecodedOp,
    pub(crate) state: *mut VmContext,
    pub(crate) returns: u64,
    pub(crate) fuel: i64,
    pub(crate) near: *const DecodedOp,
}

impl Fast {
    /// The same at `op`, for accesses to windows that are masked or not.
    #[inline(always)]
    pub(crate) fn at<const MASKED: bool>(&self, op: *const DecodedOp) -> Fast<MASKED> {
        let Fast { state, returns, fuel, near, .. } = *self;
        Fast { op, state, returns, fuel, near }
    }

    /// The fuel at an op whose ordinal is higher by `difference`.
    #[inline(always)]
    pub(crate) fn after(&self, difference: i64) -> i64 {
        if COUNTED { self.fuel.wrapping_add(difference) } else { self.fuel }
    }

    /// # Safety
    /// `slot` is below 65 and the state alive: the decoder and the engine's caller see to it.
    #[inline(always)]
    pub(crate) unsafe fn get(&self, slot: u8) -> u64 {
        // SAFETY: as the caller promises.
        unsafe { *(&raw const (*self.state).hart.slots).cast::<u64>().add(slot as usize) }
    }

    /// # Safety
    /// As [`Fast::get`]; and `slot` is not 0.
    #[inline(always)]
    pub(crate) unsafe fn set(&self, slot: u8, value: u64) {
        // SAFETY: as the caller promises.
        unsafe { *(&raw mut (*self.state).hart.slots).cast::<u64>().add(slot as usize) = value }
    }
}

impl<const MASKED: bool> Fast<MASKED> {
    /// The offset into the window that an address stands for.
    #[inline(always)]
    fn offset(&self, address: u64) -> u64 {
        if MASKED { host::masked(self, address) } else { u64::from(address as u32) }
    }
}

/// The canonical NaN for every NaN.
#[inline(always)]
fn canonical(f: Float, value: u64) -> u64 {
    // A branch that is hardly ever taken, since a selection would delay every result; and a float throughout, since an
    // integer would pass through an integer register.
    match f {
        Float::S => {
            let mut value = f32::from_bits(value as u32);
            if value.is_nan() {
                std::hint::cold_path();
                value = f32::from_bits(CANONICAL_NAN_S as u32);
            }
            u64::from(host::float_s(value).to_bits())
        }
        Float::D => {
            let mut value = f64::from_bits(value);
            if value.is_nan() {
                std::hint::cold_path();
                value = f64::from_bits(CANONICAL_NAN_D);
            }
            host::float_d(value).to_bits()
        }
    }
}

/// Rounding modes: handlers exist for the dynamic mode, which the host's environment holds, and
/// for those conversions whose mode the hardware takes as an operand.
impl<const MASKED: bool> Effects for Fast<MASKED> {
    #[inline(always)]
    fn load(&self, mem: Mem, address: u64) -> u64 {
        host::load(self, mem, self.offset(address))
    }

    #[inline(always)]
    fn store(&self, mem: Mem, address: u64, value: u64) {
        host::store(self, mem, self.offset(address), value);
    }

    #[inline(always)]
    fn load_reserved(&self, mem: Mem, address: u64) -> u64 {
        let offset = self.offset(address);
        let value = host::load(self, mem, offset);
        // SAFETY: the state is alive while its engine runs.
        unsafe {
            (*self.state).hart.reservation = offset;
            (*self.state).hart.reserved_value = value;
        }
        value
    }

    #[inline(always)]
    fn store_conditional(&self, mem: Mem, address: u64, value: u64) -> u64 {
        // The load comes first, so that a fault leaves the reservation unchanged.
        let offset = self.offset(address);
        let present = host::load(self, mem, offset);
        // SAFETY: as in `load_reserved`.
        let (reservation, reserved) = unsafe { ((*self.state).hart.reservation, (*self.state).hart.reserved_value) };
        let holds = reservation == offset && reserved == present;
        if holds {
            host::store(self, mem, offset, value);
        }
        // SAFETY: as in `load_reserved`.
        unsafe { (*self.state).hart.reservation = !0 };
        u64::from(!holds)
    }

    #[inline(always)]
    fn amo(&self, mem: Mem, address: u64, change: impl Fn(u64) -> u64) -> u64 {
        let offset = self.offset(address);
        let old = host::load(self, mem, offset);
        host::store(self, mem, offset, change(old));
        old
    }

    #[inline(always)]
    fn fadd(&self, f: Float, a: u64, b: u64, _rm: Rounding) -> u64 {
        canonical(f, host::fadd(f, a, b))
    }

    #[inline(always)]
    fn fsub(&self, f: Float, a: u64, b: u64, _rm: Rounding) -> u64 {
        canonical(f, host::fsub(f, a, b))
    }

    #[inline(always)]
    fn fmul(&self, f: Float, a: u64, b: u64, _rm: Rounding) -> u64 {
        canonical(f, host::fmul(f, a, b))
    }

    #[inline(always)]
    fn fdiv(&self, f: Float, a: u64, b: u64, _rm: Rounding) -> u64 {
        canonical(f, host::fdiv(f, a, b))
    }

    #[inline(always)]
    fn fsqrt(&self, f: Float, a: u64, _rm: Rounding) -> u64 {
        canonical(f, host::fsqrt(f, a))
    }

    #[inline(always)]
    fn fma(&self, f: Float, a: u64, b: u64, c: u64, _rm: Rounding) -> u64 {
        canonical(f, host::fma(self, f, a, b, c))
    }

    #[inline(always)]
    fn fcompare(&self, f: Float, compare: FloatCompare, a: u64, b: u64) -> u64 {
        host::fcompare(f, compare, a, b)
    }

    #[inline(always)]
    fn float_to_int(&self, f: Float, int: Int, a: u64, rm: Rounding) -> u64 {
        host::float_to_int(self, f, int, a, rm)
    }

    #[inline(always)]
    fn int_to_float(&self, f: Float, int: Int, a: u64, _rm: Rounding) -> u64 {
        host::int_to_float(f, int, a)
    }

    #[inline(always)]
    fn widen(&self, a: u64) -> u64 {
        canonical(Float::D, host::widen(a))
    }

    #[inline(always)]
    fn narrow(&self, a: u64, _rm: Rounding) -> u64 {
        canonical(Float::S, host::narrow(a))
    }

    #[inline(always)]
    fn fround(&self, f: Float, a: u64, rm: Rounding, inexact: bool) -> u64 {
        let rounded = canonical(f, host::round(f, a, rm));
        if inexact && rounded != a && !is_nan(f, a) {
            self.raise(riverrun_isa::ops::fflags::NX);
        }
        rounded
    }

    #[inline(always)]
    fn raise(&self, flags: u8) {
        // SAFETY: the state is alive while its engine runs.
        unsafe { (*self.state).hart.fflags |= u64::from(flags) };
    }

    /// Only registers of floating point: for all others, and for changes of the rounding mode, the decoder emits exits.
    #[inline(always)]
    fn csr(&self, number: u16, change: impl Fn(u64) -> u64) -> u64 {
        // SAFETY: the state is alive while its engine runs, and the guest's environment in force.
        let state = unsafe { &mut *self.state };
        FloatEnv::drain(state);
        match number {
            csr::FRM => state.hart.frm,
            csr::FCSR => state.hart.frm << 5 | state.hart.fflags,
            _ => {
                let old = state.hart.fflags;
                state.hart.fflags = change(old) & 0x1f;
                old
            }
        }
    }

    fn system(&self, _event: System) {
        unreachable!("the decoder leaves calls to the environment to the reference interpreter")
    }

    fn call_import(&self, _index: u64) {
        unreachable!("the decoder has a handler of its own for host calls")
    }
}

#[inline(always)]
fn is_nan(f: Float, a: u64) -> bool {
    match f {
        Float::S => f32::from_bits(a as u32).is_nan(),
        Float::D => f64::from_bits(a).is_nan(),
    }
}
