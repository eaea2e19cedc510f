//! The index with which a jump by register selects an entry of a jump table.
//!
//! An index is a hint: code that switches on it compares the target afterwards.

use riverrun_isa::ops::Mem;
use riverrun_isa::{Inst, Op};

use crate::analysis::block::Block;
use crate::analysis::registers;

/// The register and instruction with the index of a block's jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Index {
    /// The place in the block of the instruction that reads it.
    pub(crate) at: usize,
    /// The register that holds it before that instruction.
    pub(crate) register: usize,
    /// Whether it is the register's low 32 bits, without sign.
    pub(crate) is_low: bool,
}

/// The index of the jump that ends a block, if the block computes the target from it.
pub(crate) fn index(block: &Block) -> Option<Index> {
    let (at, mem) = load(block)?;
    let block = Insts(&block.insts);
    let shift = mem.bytes().trailing_zeros() as i32;
    let at = block.definition(at, block.inst(at).rs1)?;
    let inst = block.inst(at);
    match (inst.op, shift) {
        (Op::sh1add, 1) | (Op::sh2add, 2) | (Op::sh3add, 3) => Index::new(at, inst, false),
        (Op::sh1add_uw, 1) | (Op::sh2add_uw, 2) | (Op::sh3add_uw, 3) => Index::new(at, inst, true),
        (Op::add, _) => block.shifted(at, inst.rs1, shift).or_else(|| block.shifted(at, inst.rs2, shift)),
        _ => None,
    }
}

/// The place in the block of the load of the entry that it ends in a jump by, and what is loaded, if it may be one:
/// something may be added to what is in the table.
pub(crate) fn load(block: &Block) -> Option<(usize, Mem)> {
    let (_, jump) = block.insts.last().filter(|(_, jump)| jump.op == Op::jalr && jump.imm == 0)?;
    Insts(&block.insts).entry(block.insts.len() - 1, jump.rs1)
}

impl Index {
    fn new(at: usize, inst: &Inst, is_low: bool) -> Option<Index> {
        let register = registers::sources(inst)[0]?;
        Some(Index { at, register, is_low })
    }
}

struct Insts<'a>(&'a [(u64, Inst)]);

impl<'a> Insts<'a> {
    fn inst(&self, at: usize) -> &'a Inst {
        &self.0[at].1
    }

    /// The last instruction in front of a place that writes a register.
    fn definition(&self, before: usize, register: u8) -> Option<usize> {
        self.0[..before].iter().rposition(|(_, inst)| registers::written(inst) == Some(usize::from(register)))
    }

    /// The load of an entry that, with something added or not, is in a register, and what is loaded.
    fn entry(&self, before: usize, register: u8) -> Option<(usize, Mem)> {
        let at = self.definition(before, register)?;
        let inst = self.inst(at);
        match inst.op {
            Op::lh => Some((at, Mem::I16)),
            Op::lhu => Some((at, Mem::U16)),
            Op::lw => Some((at, Mem::I32)),
            Op::lwu => Some((at, Mem::U32)),
            Op::ld => Some((at, Mem::U64)),
            Op::add => self.entry(at, inst.rs1).or_else(|| self.entry(at, inst.rs2)),
            _ => None,
        }
    }

    /// What is shifted to the left in a register.
    fn shifted(&self, before: usize, register: u8, shift: i32) -> Option<Index> {
        let at = self.definition(before, register)?;
        let inst = self.inst(at);
        match inst.op {
            Op::slli if inst.imm == shift => Index::new(at, inst, false),
            Op::slli_uw if inst.imm == shift => Index::new(at, inst, true),
            Op::srli if inst.imm == 32 - shift => {
                let at = self.definition(at, inst.rs1)?;
                let inst = self.inst(at);
                if inst.op == Op::slli && inst.imm == 32 { Index::new(at, inst, true) } else { None }
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::analysis::Terminator;
    use crate::analysis::sample;

    /// How the indices of the jumps by table in the function `run` are read, with options of the compiler.
    fn indices(options: &[&str]) -> Vec<(Op, bool)> {
        let source = "__attribute__((noinline)) long run(unsigned x, long y) {
            switch (x - (unsigned)y) {
                case 0: return y + 3; case 1: return y ^ y >> 3; case 2: return y * 7; case 3: return y - 9;
                case 4: return y << 2 | 1; case 5: return y & 0x7fffff; case 6: return -y; case 7: return ~y >> 1;
                default: return y;
            }
        }
        long _start(unsigned x, long y) { return run(x, y); }";
        let image = sample::image(source, &[&["-O2", "-xc"], options].concat());
        let run =
            sample::functions_of(&image).into_iter().find(|function| function.name.as_deref() == Some("run")).unwrap();
        let jumps =
            |block: &&Block| matches!(&block.end, Terminator::JumpIndirect(targets) if targets.table.len() == 8);
        let found = |block: &Block| {
            let index = index(block).expect("the jump goes by an index");
            (block.insts[index.at].1.op, index.is_low)
        };
        run.blocks.values().filter(jumps).map(found).collect()
    }

    #[test]
    fn an_index_is_found_that_is_extended_by_shifts() {
        assert_eq!(indices(&[]), [(Op::slli, true)]);
    }

    #[test]
    fn an_index_is_found_that_is_added_by_its_own_instruction() {
        assert_eq!(indices(&["-march=rv64gc_zba"]), [(Op::sh2add_uw, true)]);
    }
}
