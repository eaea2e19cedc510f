//! Instruction formats: which operands an instruction has, where their bits are, and how the
//! assembler writes them.

/// A register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterFile {
    /// Integer registers.
    X,
    /// Floating-point registers.
    F,
}

/// What an instruction does with the value of its row's semantics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// Writes it to the integer register `rd`.
    X,
    /// Writes it to the float register `rd`.
    F,
    /// Discards it: the instruction has effects only.
    None,
    /// Branches to `pc + imm` if it is not 0.
    Branch,
    /// Jumps to it; `rd` receives the address of the next instruction.
    Jump,
}

/// The operands of an instruction: the second word of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// `rd, rs1, rs2`
    R,
    /// `rd, rs1`
    R1,
    /// `rd, rs1, imm`
    I,
    /// `rd, rs1, shamt` of 6 bits
    Sh,
    /// `rd, rs1, shamt` of 5 bits
    ShW,
    /// `rd, imm`: a 20-bit upper immediate; [`crate::Inst::imm`] holds it shifted
    U,
    /// `rd, imm(rs1)`
    Load,
    /// `rs2, imm(rs1)`
    Store,
    /// `rs1, rs2, target`
    B,
    /// `rd, target`
    J,
    /// `rd, imm(rs1)`, a jump
    Jr,
    /// `rd, rs2, (rs1)`, with `.aq` and `.rl`
    Amo,
    /// `rd, (rs1)`, with `.aq` and `.rl`
    Lr,
    /// `rd, csr, rs1`
    Csr,
    /// `rd, csr, uimm`: the immediate stands in the rs1 field
    CsrI,
    /// `pred, succ`; all bits are hints
    Fence,
    /// No operands.
    Sys,
    /// `imm`: a number of 20 bits, unsigned
    Import,
    /// `fd, imm(rs1)`
    FLoad,
    /// `fs2, imm(rs1)`
    FStore,
    /// `fd, fs1, fs2, rm`
    FR,
    /// `fd, fs1, fs2, fs3, rm`
    FR4,
    /// `fd, fs1, rm`
    FR1,
    /// `fd, fs1, fs2`, never rounded
    FRx,
    /// `rd, fs1, fs2`: a comparison
    FCmp,
    /// `rd, fs1, rm`: to an integer
    FToX,
    /// `fd, rs1, rm`: from an integer
    XToF,
    /// `rd, fs1`: bits of a float, never rounded
    FBits,
    /// `fd, rs1`: bits to a float, never rounded
    XBits,
    /// `fd, constant`: `fli`
    FLi,
}

impl Format {
    /// What the instruction does with the result.
    pub const fn destination(self) -> Destination {
        use Format::*;
        match self {
            R | R1 | I | Sh | ShW | U | Load | Amo | Lr | Csr | CsrI | FCmp | FToX | FBits => Destination::X,
            FLoad | FR | FR4 | FR1 | FRx | XToF | XBits | FLi => Destination::F,
            Store | FStore | Fence | Sys | Import => Destination::None,
            B => Destination::Branch,
            J | Jr => Destination::Jump,
        }
    }

    /// The register files of rs1, rs2 and rs3; `None` for a source that the format lacks.
    pub const fn sources(self) -> [Option<RegisterFile>; 3] {
        use Format as T;
        use RegisterFile::{F, X};
        match self {
            T::R | T::Store | T::B | T::Amo => [Some(X), Some(X), None],
            T::R1 | T::I | T::Sh | T::ShW | T::Load | T::Jr | T::Lr | T::Csr | T::FLoad | T::XToF | T::XBits => {
                [Some(X), None, None]
            }
            T::FStore => [Some(X), Some(F), None],
            T::FR | T::FRx | T::FCmp => [Some(F), Some(F), None],
            T::FR4 => [Some(F), Some(F), Some(F)],
            T::FR1 | T::FToX | T::FBits => [Some(F), None, None],
            T::U | T::J | T::CsrI | T::Fence | T::Sys | T::Import | T::FLi => [None, None, None],
        }
    }

    /// Whether the instruction has a destination register.
    pub const fn has_rd(self) -> bool {
        !matches!(self.destination(), Destination::None | Destination::Branch)
    }

    /// Whether the rs1 field holds a number instead of a register: the immediate of `csr*i`, the
    /// constant's number of `fli`.
    pub const fn has_rs1_number(self) -> bool {
        matches!(self, Format::CsrI | Format::FLi)
    }

    /// Whether the instruction names a control and status register.
    pub const fn is_csr(self) -> bool {
        matches!(self, Format::Csr | Format::CsrI)
    }

    /// Whether the instruction has a rounding-mode field.
    pub const fn rounds(self) -> bool {
        matches!(self, Format::FR | Format::FR4 | Format::FR1 | Format::FToX | Format::XToF)
    }
}
