//! From an instruction to the operation of its decoded op, with registers as slots of the state.

use riverrun_isa::{Destination, Extension, Format, Inst, Op, RegisterFile, Rounding, csr};
use riverrun_program::CallRegisters;
use riverrun_vm::{F_SLOT, SINK_SLOT};

/// The operation of a decoded op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A straight-line row. Rows that do the same on slots are one: float loads are integer loads.
    Row(Op),
    /// A conversion or rounding whose mode the instruction gives.
    Rounded(Op, Rounding),
    /// `rd = imm`
    Constant,
    /// `rd = rs1`
    Move,
    /// No effect.
    Nothing,
    /// A conditional branch.
    Branch(Op),
    /// `jal` without link.
    Jump,
    /// `jal` with link.
    Call,
    /// `jalr` without link, by other registers than [`Operation::Return`]'s.
    Indirect,
    /// `jalr` with link in ra or t0.
    IndirectCall,
    /// `jalr` with link elsewhere, as in entries of procedure linkage tables: a jump, as nothing returns there by the
    /// calling convention.
    IndirectLinking,
    /// `jalr` without link by ra or t0.
    Return,
    /// An atomic access.
    Atomic(Op),
    /// A call of a host function, with its argument and result registers; its number is the immediate.
    HostCall(CallRegisters),
    /// An `ecall`.
    SystemCall,
    /// An exit: the reference interpreter executes the instruction.
    Step,
    /// An exit: compiled code can be entered here.
    ReentryPoint,
}

/// An operation with its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoded {
    pub(crate) operation: Operation,
    pub(crate) rs1: u8,
    pub(crate) rs2: u8,
    pub(crate) rs3: u8,
    pub(crate) rd: u8,
    pub(crate) imm: i32,
    /// Bytes of the instruction.
    pub(crate) len: u8,
}

impl Decoded {
    /// The exit for an instruction that the reference interpreter executes.
    pub(crate) const STEP: Decoded =
        Decoded { operation: Operation::Step, rs1: 0, rs2: 0, rs3: 0, rd: SINK_SLOT, imm: 0, len: 0 };

    /// The exit at a re-entry point of compiled code.
    pub(crate) const REENTRY_POINT: Decoded = Decoded { operation: Operation::ReentryPoint, ..Decoded::STEP };

    /// Whether control may continue after it.
    pub(crate) fn falls_through(&self) -> bool {
        use Operation::*;
        !matches!(self.operation, Jump | Indirect | IndirectLinking | Return)
    }

    /// Whether control always continues directly after it.
    pub(crate) fn is_straight(&self) -> bool {
        use Operation::*;
        matches!(self.operation, Row(_) | Rounded(..) | Constant | Move | Nothing)
    }

    /// How many ops it takes: calls, and what links as they do, have a second one for the address after them.
    pub(crate) fn ops(&self) -> usize {
        use Operation::*;
        match self.operation {
            Call | IndirectCall | IndirectLinking | HostCall(_) | SystemCall => 2,
            _ => 1,
        }
    }

    /// The distance to the target of a branch or direct jump, in bytes of guest code.
    pub(crate) fn direct(&self) -> Option<i32> {
        matches!(self.operation, Operation::Branch(_) | Operation::Jump | Operation::Call).then_some(self.imm)
    }

    /// The operation of `inst` at `pc`. `hardware` says whether the host has all of
    /// [`crate::fast::has_hardware`].
    pub(crate) fn new(inst: &Inst, pc: u64, hardware: bool) -> Decoded {
        let format = inst.op.info().format;
        let [rs1, rs2, rs3] = format.sources();
        let source = |file, n| if file == Some(RegisterFile::F) { F_SLOT + n } else { n };
        let x_rd = if inst.rd == 0 { SINK_SLOT } else { inst.rd };
        let rd = if format.destination() == Destination::F { F_SLOT + inst.rd } else { x_rd };
        let decoded = Decoded {
            operation: Operation::Row(inst.op),
            rs1: source(rs1, inst.rs1),
            rs2: source(rs2, inst.rs2),
            rs3: source(rs3, inst.rs3),
            rd,
            imm: inst.imm,
            len: inst.len,
        };
        let operation = match format {
            Format::B => Operation::Branch(inst.op),
            Format::J if inst.rd == 0 => Operation::Jump,
            Format::J => Operation::Call,
            Format::Jr if has_return_address(inst.rd) => Operation::IndirectCall,
            Format::Jr if inst.rd != 0 => Operation::IndirectLinking,
            Format::Jr if has_return_address(inst.rs1) => Operation::Return,
            Format::Jr => Operation::Indirect,
            Format::Csr if is_float_csr(inst) => Operation::Row(inst.op),
            Format::Amo | Format::Lr => Operation::Atomic(inst.op),
            _ if inst.op == Op::ecall => Operation::SystemCall,
            Format::Csr | Format::CsrI | Format::Sys => Operation::Step,
            Format::Fence => Operation::Nothing,
            Format::Import => Operation::HostCall(CallRegisters::ANY),
            _ => return decoded.simplify(inst, pc, hardware),
        };
        // Jumps keep their link register where they read nothing: `rd` has room for a difference
        // in ordinals then.
        match operation {
            Operation::Call => Decoded { operation, rs1: rd, ..decoded },
            Operation::IndirectCall | Operation::IndirectLinking => Decoded { operation, rs2: rd, ..decoded },
            _ => Decoded { operation, ..decoded },
        }
    }

    fn simplify(self, inst: &Inst, pc: u64, hardware: bool) -> Decoded {
        let row = |op| Decoded { operation: Operation::Row(op), ..self };
        let constant = |value: i64| match i32::try_from(value) {
            Ok(imm) => Decoded { operation: Operation::Constant, imm, ..self },
            Err(_) => Decoded { operation: Operation::Step, ..self },
        };
        let moved = |rs1| Decoded { operation: Operation::Move, rs1, ..self };
        let nothing = Decoded { operation: Operation::Nothing, ..self };
        let format = inst.op.info().format;
        let integer = matches!(format, Format::R | Format::R1 | Format::I | Format::Sh | Format::ShW | Format::U);
        match inst.op {
            _ if integer && inst.rd == 0 => nothing,
            Op::lui => constant(i64::from(inst.imm)),
            Op::auipc => constant(pc as i64 + i64::from(inst.imm)),
            Op::addi if inst.rs1 == 0 => constant(i64::from(inst.imm)),
            Op::addi if inst.imm == 0 => moved(self.rs1),
            Op::add | Op::or | Op::xor if inst.rs1 == 0 => moved(self.rs2),
            Op::add | Op::or | Op::xor | Op::sub if inst.rs2 == 0 => moved(self.rs1),
            Op::fsgnj_d if inst.rs1 == inst.rs2 => moved(self.rs1),
            Op::fmv_x_d | Op::fmv_d_x => moved(self.rs1),
            Op::fld => row(Op::ld),
            Op::fsd => row(Op::sd),
            Op::fsw => row(Op::sw),
            // These never round.
            Op::fcvt_d_w | Op::fcvt_d_wu | Op::fcvt_d_s => self,
            op if format.rounds() => {
                let chosen = format == Format::FToX || op.info().extension == Extension::Zfa;
                let fused = format == Format::FR4;
                let converts_by_rounding = chosen && inst.rm != Rounding::Rtz;
                match inst.rm {
                    Rounding::Rmm => Decoded { operation: Operation::Step, ..self },
                    _ if !hardware && (fused || converts_by_rounding) => Decoded { operation: Operation::Step, ..self },
                    rm if chosen => Decoded { operation: Operation::Rounded(op, rm), ..self },
                    Rounding::Dyn => self,
                    _ => Decoded { operation: Operation::Step, ..self },
                }
            }
            _ => self,
        }
    }
}

/// Whether the calling convention has this register for return addresses: ra and t0 (RISC-V unprivileged specification,
/// section 2.5.1, "Unconditional Jumps").
fn has_return_address(register: u8) -> bool {
    register == 1 || register == 5
}

/// Whether the interpreter executes this access to a control and status register.
fn is_float_csr(inst: &Inst) -> bool {
    let number = inst.imm as u16;
    number == csr::FFLAGS || !inst.writes_csr() && matches!(number, csr::FRM | csr::FCSR)
}
