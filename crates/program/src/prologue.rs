//! Frames of functions without unwind tables, from their code.
//!
//! Compilers for RISC-V write tables for C only on request (`-g`,
//! `-fasynchronous-unwind-tables`), and Debian's static glibc has hardly any. But functions begin
//! alike: the stack pointer moves down, the registers to be preserved are stored at it.

use riverrun_isa::{Destination, Inst, Op, decode};

const RA: usize = 1;
const SP: usize = 2;
const FP: usize = 8;

/// Where a function's frame is, at some instruction of it.
///
/// CFA stands for the canonical frame address: the stack pointer that the function was called
/// with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrameLayout {
    /// CFA - sp; `None` where the stack pointer has moved by an unknown amount.
    pub(crate) size: Option<i64>,
    /// Whether s0 is the CFA.
    pub(crate) has_frame_pointer: bool,
    /// Where each integer register's value at the call was stored, relative to the CFA; `None`
    /// for those that hold it still.
    pub(crate) saved: [Option<i64>; 32],
}

/// Follows the code from a function's start.
struct Reader {
    layout: FrameLayout,
    /// The frame before the epilogue that the code is in; code after the epilogue's end has this frame again.
    before_epilogue: Option<FrameLayout>,
    /// Registers that were loaded with constants, for frames of more than 2 KiB.
    constants: [Option<i64>; 32],
}

impl FrameLayout {
    /// The frame after the instructions in `code`, which begins with the function.
    ///
    /// What is read is the text in its order, not as it is executed. Only the first 64 KiB
    /// matter.
    pub(crate) fn after(code: &[u8]) -> Self {
        const CODE_BYTES_MAX: usize = 64 << 10;

        let mut reader = Reader {
            layout: Self { size: Some(0), has_frame_pointer: false, saved: [None; 32] },
            before_epilogue: None,
            constants: [None; 32],
        };
        let mut rest = &code[..code.len().min(CODE_BYTES_MAX)];
        while let Some(&[low, high, ..]) = rest.first_chunk::<2>().map(|parcel| parcel.as_slice()) {
            let upper = rest.get(2..4).map_or([0, 0], |bytes| [bytes[0], bytes[1]]);
            let word = u32::from_le_bytes([low, high, upper[0], upper[1]]);
            let length = usize::from(riverrun_isa::length(word));
            if let Some(inst) = decode(word) {
                reader.follow(&inst);
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        reader.layout
    }
}

impl Reader {
    fn follow(&mut self, inst: &Inst) {
        let (rd, rs1, rs2) = (usize::from(inst.rd), usize::from(inst.rs1), usize::from(inst.rs2));
        let imm = i64::from(inst.imm);
        match inst.op {
            Op::addi if rd == SP && rs1 == SP => self.move_stack(Some(imm)),
            Op::add if rd == SP && rs1 == SP => self.move_stack(self.constants[rs2]),
            // The way back from a frame of unknown size.
            Op::addi if rd == SP && rs1 == FP && self.layout.has_frame_pointer => {
                self.layout.size = Some(-imm);
            }
            Op::addi if rd == FP && rs1 == SP && self.layout.size == Some(imm) && imm > 0 => {
                self.layout.has_frame_pointer = true;
            }
            Op::sd if rs1 == SP && is_preserved(rs2) => {
                if let Some(size) = self.layout.size {
                    self.layout.saved[rs2].get_or_insert(imm - size);
                }
            }
            Op::ld if rs1 == SP && self.restores(rd, imm) => {
                self.begin_epilogue();
                self.layout.saved[rd] = None;
                self.layout.has_frame_pointer &= rd != FP;
            }
            Op::jal | Op::jalr if rd == 0 => {
                if let Some(layout) = self.before_epilogue.take() {
                    self.layout = layout;
                }
            }
            // Calls preserve neither constants nor anything else that matters here.
            Op::jal | Op::jalr => self.constants = [None; 32],
            Op::lui => self.constants[rd] = Some(imm),
            Op::addi | Op::addiw if rs1 == 0 => self.constants[rd] = Some(imm),
            Op::addi | Op::addiw if rd == rs1 && rd != SP => {
                self.constants[rd] = self.constants[rd].map(|value| value + imm);
            }
            op if op.info().format.destination() == Destination::X => {
                self.constants[rd] = None;
                if rd == SP {
                    self.layout.size = None;
                }
            }
            _ => {}
        }
    }

    /// The stack pointer moves; up only where the frame is given back.
    fn move_stack(&mut self, by: Option<i64>) {
        if by.is_none_or(|by| by > 0) {
            self.begin_epilogue();
        }
        let size = self.layout.size.zip(by);
        self.layout.size = size.map(|(size, by)| size.saturating_sub(by));
    }

    fn restores(&self, register: usize, offset: i64) -> bool {
        let slot = self.layout.size.map(|size| offset - size);
        slot.is_some() && self.layout.saved[register] == slot
    }

    fn begin_epilogue(&mut self) {
        self.before_epilogue.get_or_insert_with(|| self.layout.clone());
    }
}

/// ra, s0 to s11: the registers that a function saves and restores.
fn is_preserved(register: usize) -> bool {
    matches!(register, RA | 8 | 9 | 18..=27)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(words: &[u32]) -> FrameLayout {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        FrameLayout::after(&code)
    }

    const ADDI_SP_MINUS_32: u32 = 0xfe01_0113;
    const ADDI_SP_PLUS_32: u32 = 0x0201_0113;
    const SD_RA_24: u32 = 0x0011_3c23;
    const LD_RA_24: u32 = 0x0181_3083;
    const RET: u32 = 0x0000_8067;

    #[test]
    fn before_and_after_the_prologue() {
        assert_eq!(after(&[]).size, Some(0));
        let layout = after(&[ADDI_SP_MINUS_32]);
        assert_eq!((layout.size, layout.saved[RA]), (Some(32), None));
        let layout = after(&[ADDI_SP_MINUS_32, SD_RA_24]);
        assert_eq!((layout.size, layout.saved[RA]), (Some(32), Some(-8)));
    }

    #[test]
    fn an_epilogue_ends_at_its_jump() {
        let whole = [ADDI_SP_MINUS_32, SD_RA_24, LD_RA_24, ADDI_SP_PLUS_32, RET];
        assert_eq!(after(&whole[..3]).saved[RA], None);
        assert_eq!(after(&whole[..4]).size, Some(0));
        let layout = after(&whole);
        assert_eq!((layout.size, layout.saved[RA]), (Some(32), Some(-8)));
    }

    #[test]
    fn an_incomplete_or_unknown_instruction_is_passed_over() {
        let mut code = ADDI_SP_MINUS_32.to_le_bytes().to_vec();
        code.extend([0x00, 0x00, 0xff, 0xff, 0x13]);
        assert_eq!(FrameLayout::after(&code).size, Some(32));
        assert_eq!(FrameLayout::after(&[0x13]).size, Some(0));
    }

    #[test]
    fn an_unknown_move_of_the_stack_leaves_the_frame_pointer() {
        const ADDI_S0_SP_32: u32 = 0x0201_0413;
        const SUB_SP_A0: u32 = 0x40a1_0133;
        const ADDI_SP_S0_MINUS_32: u32 = 0xfe04_0113;
        let code = [ADDI_SP_MINUS_32, SD_RA_24, ADDI_S0_SP_32, SUB_SP_A0, ADDI_SP_S0_MINUS_32];
        let layout = after(&code[..4]);
        assert_eq!((layout.size, layout.has_frame_pointer), (None, true));
        assert_eq!(after(&code).size, Some(32));
    }
}
