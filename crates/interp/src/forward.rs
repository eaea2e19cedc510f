//! Which operand a fused operation can take from the one before it instead of from its register.

use riverrun_isa::{Destination, Format, RegisterFile};

/// The operand that a fused operation takes from the one before instead of from its register.
pub(crate) const NO_FORWARD: u8 = 0;
pub(crate) const FORWARD_RS1: u8 = 1;
pub(crate) const FORWARD_RS2: u8 = 2;
/// Its `rs1` is that of the one before, which has not changed it.
pub(crate) const SAME_RS1: u8 = 3;

/// Register files, a bit each.
type Files = u8;
const X: Files = 1;
const F: Files = 2;

/// The files in which an operation has its first two sources and its result; 0 if it has none.
#[derive(Clone, Copy)]
pub(crate) struct Registers {
    rs1: Files,
    rs2: Files,
    rd: Files,
}

impl Registers {
    pub(crate) const NONE: Registers = Registers { rs1: 0, rs2: 0, rd: 0 };
    pub(crate) const CONSTANT: Registers = Registers { rd: X, ..Registers::NONE };
    pub(crate) const MOVE: Registers = Registers { rs1: X | F, rs2: 0, rd: X | F };

    /// Those of a row with this format.
    pub(crate) const fn of(format: Format) -> Registers {
        let [rs1, rs2, _] = format.sources();
        let rd = match format.destination() {
            Destination::X => X,
            Destination::F => F,
            Destination::None | Destination::Branch | Destination::Jump => 0,
        };
        let registers = Registers { rs1: files(rs1), rs2: files(rs2), rd };
        match format {
            // Rows of integers also load and store floats: `Decoded::simplify`.
            Format::Load => Registers { rd: X | F, ..registers },
            Format::Store => Registers { rs2: X | F, ..registers },
            _ => registers,
        }
    }

    /// Whether an operation with these can take the operand `forward` from one with `before`.
    pub(crate) const fn can_take(self, forward: u8, before: Registers) -> bool {
        match forward {
            FORWARD_RS1 => self.rs1 & before.rd != 0,
            FORWARD_RS2 => self.rs2 & before.rd != 0,
            SAME_RS1 => self.rs1 & before.rs1 != 0,
            _ => true,
        }
    }
}

const fn files(source: Option<RegisterFile>) -> Files {
    match source {
        Some(RegisterFile::X) => X,
        Some(RegisterFile::F) => F,
        None => 0,
    }
}
