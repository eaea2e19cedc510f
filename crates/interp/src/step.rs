//! The reference interpreter: it evaluates one row of the instruction table at a time, checks memory against the list of
//! regions, and computes floating point in software.
//!
//! It defines the right result, with which tests compare the other engines, and is the only place that makes traps: the
//! other engines exit before an instruction that they cannot complete, and this one executes or refuses it.

use std::cell::{Cell, RefCell};

use riverrun_isa::ops::{Float, FloatCompare, Int, Mem, Rounding, System};
use riverrun_isa::{Destination, Inst, Operands, RegisterFile, csr, decode, eval};
use riverrun_program::Image;
use riverrun_vm::{Fault, Perm, Trap, TrapCause, VmContext, Window};

use crate::soft_float::{self, Flagged};
use riverrun_isa::words::{Effects, Words};

/// The outcome of a step that did not trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The instruction is executed and counted in `instret`.
    Done,
    /// An `ecall`: counted; the pc is still its address.
    Ecall,
    /// A call of a bound import: counted; the pc is still its address.
    Import(u32),
}

/// The instruction at `pc`.
pub(crate) fn fetch(image: &Image, pc: u64) -> Result<Inst, TrapCause> {
    let bits = image.instruction_bits(pc).map_err(|address| TrapCause::FetchFault { address })?;
    match decode(bits) {
        Some(inst) if inst.is_legal_csr() => Ok(inst),
        _ => Err(TrapCause::IllegalInstruction { bits }),
    }
}

/// Executes the instruction at the pc. On a trap nothing has changed, but for the exceptions
/// that a faulting instruction cannot raise.
pub(crate) fn step(window: &mut Window, image: &Image) -> Result<Step, Trap> {
    let pc = window.state().hart.pc;
    let trap = |cause| Trap { cause, pc };
    let inst = fetch(image, pc).map_err(trap)?;
    let format = inst.op.info().format;
    let state = window.state();
    let reserved_mode = inst.rm == Rounding::Dyn && state.hart.frm > 4;
    if format.rounds() && reserved_mode {
        let bits = inst.encode();
        return Err(trap(TrapCause::IllegalInstruction { bits }));
    }
    let read = |file: Option<RegisterFile>, n: u8| match file {
        Some(RegisterFile::X) => state.hart.x(n),
        Some(RegisterFile::F) => state.hart.f(n),
        None => 0,
    };
    let [rs1, rs2, rs3] = format.sources();
    let operands = Operands {
        rs1: read(rs1, inst.rs1),
        rs2: read(rs2, inst.rs2),
        rs3: read(rs3, inst.rs3),
        imm: inst.immediate(),
        pc,
        csr: inst.imm as u16,
        rm: dynamic(inst.rm, state),
        index: inst.rs1,
    };
    let hart = Words(Stepper { window: RefCell::new(window), cause: Cell::new(None), call: Cell::new(None) });
    let value = eval(inst.op, &hart, &operands);
    let Stepper { cause, call, .. } = hart.0;
    if let Some(cause) = cause.into_inner() {
        return Err(trap(cause));
    }
    let state = window.state_mut();
    let next = pc.wrapping_add(u64::from(inst.len));
    let mut target = next;
    match format.destination() {
        Destination::X => state.hart.set_x(inst.rd, value),
        Destination::F => state.hart.set_f(inst.rd, value),
        Destination::None => {}
        Destination::Branch if value != 0 => target = pc.wrapping_add(inst.imm as u64),
        Destination::Branch => {}
        Destination::Jump => {
            target = value;
            state.hart.set_x(inst.rd, next);
        }
    }
    state.hart.instret += 1;
    if let Some(call) = call.into_inner() {
        return Ok(call);
    }
    state.hart.pc = target;
    Ok(Step::Done)
}

/// The mode in force. Reserved ones have been refused before.
fn dynamic(rm: Rounding, state: &VmContext) -> Rounding {
    match rm {
        Rounding::Dyn => Rounding::from_bits(state.hart.frm as u32).unwrap_or(Rounding::Rne),
        rm => rm,
    }
}

/// Effects on a window, with the first trap among them.
struct Stepper<'a> {
    window: RefCell<&'a mut Window>,
    /// The first trap; the instruction has no effects then.
    cause: Cell<Option<TrapCause>>,
    /// The instruction's request to the host.
    call: Cell<Option<Step>>,
}

impl Stepper<'_> {
    /// Guest addresses are taken modulo the window's size.
    fn wrap(&self, address: u64) -> u64 {
        self.window.borrow().space().wrap(address)
    }

    fn trap(&self, cause: TrapCause) {
        self.cause.set(self.cause.get().or(Some(cause)));
    }

    fn flagged(&self, (value, flags): Flagged) -> u64 {
        self.raise(flags);
        value
    }

    fn check_aligned(&self, mem: Mem, address: u64) {
        if !address.is_multiple_of(u64::from(mem.bytes())) {
            self.trap(TrapCause::MisalignedAtomic { address });
        }
    }
}

impl Effects for Stepper<'_> {
    fn load(&self, mem: Mem, address: u64) -> u64 {
        if self.cause.get().is_some() {
            return 0;
        }
        let len = mem.bytes() as usize;
        let mut bytes = [0; 8];
        match self.window.borrow().slice(self.wrap(address), len as u64) {
            Ok(memory) => bytes[..len].copy_from_slice(memory),
            Err(Fault { address }) => self.trap(TrapCause::LoadFault { address }),
        }
        mem.extend(u64::from_le_bytes(bytes))
    }

    fn store(&self, mem: Mem, address: u64, value: u64) {
        if self.cause.get().is_some() {
            return;
        }
        let len = mem.bytes() as usize;
        let address = self.wrap(address);
        let mut window = self.window.borrow_mut();
        match window.slice_mut(address, len as u64) {
            Ok(memory) => memory.copy_from_slice(&value.to_le_bytes()[..len]),
            Err(Fault { address }) => self.trap(TrapCause::StoreFault { address }),
        }
    }

    fn load_reserved(&self, mem: Mem, address: u64) -> u64 {
        self.check_aligned(mem, address);
        let value = self.load(mem, address);
        if self.cause.get().is_none() {
            let address = self.wrap(address);
            let mut window = self.window.borrow_mut();
            let state = window.state_mut();
            state.hart.reservation = address;
            state.hart.reserved_value = value;
        }
        value
    }

    fn store_conditional(&self, mem: Mem, address: u64, value: u64) -> u64 {
        self.check_aligned(mem, address);
        if self.cause.get().is_some() {
            return 1;
        }
        let (reservation, reserved) = {
            let mut window = self.window.borrow_mut();
            let state = window.state_mut();
            (std::mem::replace(&mut state.hart.reservation, !0), state.hart.reserved_value)
        };
        if reservation != self.wrap(address) || self.load(mem, address) != reserved {
            return 1;
        }
        self.store(mem, address, value);
        0
    }

    fn amo(&self, mem: Mem, address: u64, change: impl Fn(u64) -> u64) -> u64 {
        self.check_aligned(mem, address);
        // An atomic access faults as a store, whichever half of it fails.
        let writable = self.window.borrow().check(self.wrap(address), u64::from(mem.bytes()), Perm::WRITE);
        if let Err(Fault { address }) = writable {
            self.trap(TrapCause::StoreFault { address });
        }
        let old = self.load(mem, address);
        self.store(mem, address, change(old));
        old
    }

    fn fadd(&self, f: Float, a: u64, b: u64, rm: Rounding) -> u64 {
        self.flagged(soft_float::add(f, a, b, rm))
    }

    fn fsub(&self, f: Float, a: u64, b: u64, rm: Rounding) -> u64 {
        self.flagged(soft_float::sub(f, a, b, rm))
    }

    fn fmul(&self, f: Float, a: u64, b: u64, rm: Rounding) -> u64 {
        self.flagged(soft_float::mul(f, a, b, rm))
    }

    fn fdiv(&self, f: Float, a: u64, b: u64, rm: Rounding) -> u64 {
        self.flagged(soft_float::div(f, a, b, rm))
    }

    fn fsqrt(&self, f: Float, a: u64, rm: Rounding) -> u64 {
        self.flagged(soft_float::sqrt(f, a, rm))
    }

    fn fma(&self, f: Float, a: u64, b: u64, c: u64, rm: Rounding) -> u64 {
        self.flagged(soft_float::fma(f, a, b, c, rm))
    }

    fn fcompare(&self, f: Float, compare: FloatCompare, a: u64, b: u64) -> u64 {
        self.flagged(soft_float::compare(f, compare, a, b))
    }

    fn float_to_int(&self, f: Float, int: Int, a: u64, rm: Rounding) -> u64 {
        self.flagged(soft_float::to_int(f, int, a, rm))
    }

    fn int_to_float(&self, f: Float, int: Int, a: u64, rm: Rounding) -> u64 {
        self.flagged(soft_float::from_int(f, int, a, rm))
    }

    fn widen(&self, a: u64) -> u64 {
        self.flagged(soft_float::widen(a))
    }

    fn narrow(&self, a: u64, rm: Rounding) -> u64 {
        self.flagged(soft_float::narrow(a, rm))
    }

    fn fround(&self, f: Float, a: u64, rm: Rounding, inexact: bool) -> u64 {
        self.flagged(soft_float::integral(f, a, rm, inexact))
    }

    fn raise(&self, flags: u8) {
        self.window.borrow_mut().state_mut().hart.fflags |= u64::from(flags);
    }

    /// The counters all count instructions, so that programs that read them stay deterministic.
    fn csr(&self, number: u16, change: impl Fn(u64) -> u64) -> u64 {
        let mut window = self.window.borrow_mut();
        let state = window.state_mut();
        let old = match number {
            csr::FFLAGS => state.hart.fflags,
            csr::FRM => state.hart.frm,
            csr::FCSR => state.hart.frm << 5 | state.hart.fflags,
            _ => state.hart.instret,
        };
        let new = change(old);
        match number {
            csr::FFLAGS => state.hart.fflags = new & 0x1f,
            csr::FRM => state.hart.frm = new & 7,
            csr::FCSR => (state.hart.frm, state.hart.fflags) = (new >> 5 & 7, new & 0x1f),
            _ => {}
        }
        old
    }

    fn system(&self, event: System) {
        match event {
            System::Ecall => self.call.set(Some(Step::Ecall)),
            System::Ebreak => self.trap(TrapCause::Breakpoint),
            // One hart sees its own accesses in order, and its text never changes.
            System::Fence | System::FenceI => {}
        }
    }

    fn call_import(&self, index: u64) {
        let index = index as u32;
        // SAFETY: the machine that runs has set its table.
        match unsafe { self.window.borrow().state().import(index) } {
            Some(_) => self.call.set(Some(Step::Import(index))),
            None => self.trap(TrapCause::UnboundImport { index }),
        }
    }
}
