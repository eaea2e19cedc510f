//! A decoded instruction.

use crate::csr;
use crate::ops::Rounding;
use crate::table::Op;

/// A decoded instruction. A compressed one is the instruction that it expands to, with `len` 2.
///
/// Register numbers are 0 to 31; the format says in which register file
/// ([`crate::Format::sources`], [`crate::Format::destination`]). Fields that the format lacks are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inst {
    /// The instruction.
    pub op: Op,
    /// Destination register.
    pub rd: u8,
    /// First source register; the immediate of `csr*i`; the constant's number of `fli`.
    pub rs1: u8,
    /// Second source register.
    pub rs2: u8,
    /// Third source register.
    pub rs3: u8,
    /// Rounding mode; [`Rounding::Rne`] where the format has none.
    pub rm: Rounding,
    /// Length in bytes, 2 or 4.
    pub len: u8,
    /// The immediate, sign-extended and in bytes where it is an offset; `lui`'s and `auipc`'s
    /// already shifted; the number of the control and status register; the bits of a fence;
    /// bits 26 and 25 of atomics (`aq` is 2, `rl` is 1).
    pub imm: i32,
}

impl Inst {
    /// The value of [`crate::Operands::imm`]: the immediate, sign-extended; that of `csr*i`, which
    /// stands in the rs1 field, zero-extended.
    pub const fn immediate(&self) -> u64 {
        match self.op {
            Op::csrrwi | Op::csrrsi | Op::csrrci => self.rs1 as u64,
            _ => self.imm as u64,
        }
    }

    /// Whether a control and status instruction writes its register: `csrrs` and `csrrc` with
    /// x0, or with immediate 0, only read (Unprivileged ISA, section 7.1). False for all others.
    pub const fn writes_csr(&self) -> bool {
        match self.op {
            Op::csrrw | Op::csrrwi => true,
            Op::csrrs | Op::csrrc | Op::csrrsi | Op::csrrci => self.rs1 != 0,
            _ => false,
        }
    }

    /// Whether the control and status register named exists for user programs and may be
    /// accessed as the instruction does: `fflags`, `frm` and `fcsr` in every way, `cycle`, `time`
    /// and `instret` by reads. True for instructions that name none.
    pub const fn is_legal_csr(&self) -> bool {
        if !self.op.info().format.is_csr() {
            return true;
        }
        match self.imm as u16 {
            csr::FFLAGS | csr::FRM | csr::FCSR => true,
            csr::CYCLE | csr::TIME | csr::INSTRET => !self.writes_csr(),
            _ => false,
        }
    }
}
