//! 32-bit value tracking: which registers hold sign-extended 32-bit numbers (are *narrow*) at the beginning of each block.
//!
//! Between blocks, LLVM sees 64-bit values. If a register is narrow all around a loop, its lower half is passed instead, and
//! LLVM need not extend each result.

use std::collections::BTreeMap;

use riverrun_isa::{Format, Inst, Op};

use crate::analysis::functions::Function;
use crate::analysis::registers::{Set, sources, written};

/// All registers that can be.
const INTEGERS: Set = (1 << 32) - 2;

/// For each block of a function, the registers that are narrow at its beginning on every path.
pub(crate) fn narrow(function: &Function) -> BTreeMap<u64, Set> {
    let mut narrow: BTreeMap<u64, Set> = function.blocks.keys().map(|&start| (start, INTEGERS)).collect();
    narrow.insert(function.start, 0);
    for point in function.reentry_points() {
        narrow.insert(point, 0);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for (start, block) in &function.blocks {
            let behind = if block.end.goes_on() {
                block.insts.iter().fold(narrow[start], |set, (_, inst)| behind(inst, set))
            } else {
                // Who goes on there finds words.
                0
            };
            for to in block.end.successors() {
                if let Some(front) = narrow.get_mut(&to) {
                    changed |= *front & !behind != 0;
                    *front &= behind;
                }
            }
        }
    }
    narrow
}

/// The registers that are narrow after an instruction, if those of `front` are before it.
fn behind(inst: &Inst, front: Set) -> Set {
    if inst.op.info().format == Format::Import {
        return 0;
    }
    match written(inst) {
        Some(register) if is_narrow(inst, front) => front | 1 << register,
        Some(register) => front & !(1 << register),
        None => front,
    }
}

/// Whether an instruction's result is narrow, if registers of `narrow` are in front of it.
fn is_narrow(inst: &Inst, narrow: Set) -> bool {
    use Op::*;
    let sources = || sources(inst).into_iter().flatten().all(|register| narrow >> register & 1 != 0);
    match inst.op {
        lb | lbu | lh | lhu | lw | lui | slt | slti | sltu | sltiu | addw | addiw | subw | sllw | slliw | srlw
        | srliw | sraw | sraiw | mulw | divw | divuw | remw | remuw | rolw | rorw | roriw | clz | clzw | ctz | ctzw
        | cpop | cpopw | sext_b | sext_h | zext_h | bext | bexti => true,
        addi => inst.imm == 0 && sources() || inst.rs1 == 0,
        andi => inst.imm >= 0 || sources(),
        and | or | xor | andn | orn | xnor | ori | xori | srai | min | minu | max | maxu => sources(),
        srli => inst.imm > 32,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::sample;

    const A0: Set = 1 << 10;
    const A1: Set = 1 << 11;

    /// Which of a0 and a1 are narrow where the only loop of a function begins.
    fn in_loop(before: &str, body: &str) -> Set {
        let source = format!(
            ".globl _start\n.type _start, @function\n_start:\n{before}\nmv s2, sp\nagain: {body}\n\
             addi s2, s2, -1\nbnez s2, again\nret\n.size _start, .-_start\n"
        );
        let function = sample::first_function(&source);
        let blocks = narrow(&function);
        assert_eq!(blocks[&function.start] & (A0 | A1), 0, "callers may pass 64-bit values");
        let (again, _) = function.blocks.iter().nth(1).unwrap();
        blocks[again] & (A0 | A1)
    }

    #[test]
    fn what_is_narrow_all_around_a_loop_is_so_where_it_begins() {
        assert_eq!(in_loop("li a0, -1\nlw a1, 0(sp)", "srliw a0, a0, 8\nxor a0, a0, a1"), A0 | A1);
        assert_eq!(in_loop("li a0, -1\nld a1, 0(sp)", "srliw a0, a0, 8\nxor a0, a0, a1"), 0);
        assert_eq!(in_loop("li a0, -1\nli a1, 1", "add a0, a0, a1"), A1);
        assert_eq!(in_loop("li a0, -1\nli a1, 1", "addw a0, a0, a1"), A0 | A1);
    }

    #[test]
    fn calls_may_leave_words() {
        assert_eq!(in_loop("li a0, 1\nli a1, 1", "jalr a2"), 0);
        assert_eq!(in_loop("li a0, 1\nli a1, 1", "ecall"), 0);
    }
}
