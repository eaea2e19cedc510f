//! Jump tables: the targets of jumps by register.
//!
//! Targets are hints: compiled code compares a jump's target with them, and exits for any other.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::ops::Range;

use riverrun_isa::ops::Mem;

use crate::analysis::block::{Block, Fixed, T0, Targets, Terminator};
use crate::analysis::constants::Known;
use crate::analysis::propagation::{NOTHING, Registers, agreed, evaluate, propagate};
use crate::analysis::text::Text;
use crate::budget::Budget;

/// The largest table.
const LIMIT: u64 = 4096;

/// Consecutive entries that may lead out of the function.
const OUTSIDE: u32 = 16;

/// The targets of jumps by register: by the jump's address, sorted. Some of them if the budget is spent.
pub(crate) fn find(
    text: &Text<'_>,
    addresses: &Range<u64>,
    blocks: &BTreeMap<u64, Block>,
    budget: &Budget,
) -> BTreeMap<u64, Targets> {
    let jumps = |block: &Block| matches!(block.end, Terminator::JumpIndirect(_));
    if !blocks.values().any(jumps) {
        return BTreeMap::new();
    }
    // Calls that never return look as if control continued with changed registers. So if the facts on which all paths agree
    // give no table, the facts of any path are tried.
    let known = propagate(addresses.start, blocks, jumps, agreed, budget);
    let any = |one, other| if one == Known::Unknown { other } else { one };
    let guessed = LazyCell::new(|| propagate(addresses.start, blocks, jumps, any, budget));
    let mut tables = BTreeMap::new();
    for (number, block) in blocks.values().enumerate().filter(|(_, block)| jumps(block)) {
        let targets_by = |known: &[Option<Box<Registers>>]| {
            let mut registers = known[number].as_deref().copied().unwrap_or(NOTHING);
            match evaluate(block, &mut registers) {
                Known::Entry { table, mem, plus, is_first } => {
                    let targets = read(text, addresses, table, mem, plus);
                    if is_first { Targets { table: Vec::new(), fixed: None, ..targets } } else { targets }
                }
                Known::Constant(target) if addresses.contains(&target) => Targets::new([target]),
                _ => Targets::default(),
            }
        };
        let mut targets = targets_by(&known);
        if !budget.spend(targets.table.len()) {
            return tables;
        }
        if targets.inside.is_empty() && block.insts.last().is_some_and(|(_, inst)| inst.rs1 == T0) {
            let calls = blocks.values().filter(|block| block.calls_millicode());
            targets = Targets::new(calls.map(Block::end_address).filter(|next| addresses.contains(next)));
        }
        if targets.inside.is_empty() {
            targets = targets_by(&guessed);
        }
        if targets.inside.is_empty() {
            targets = Targets { are_all: false, ..Targets::new(text.pointers_into(addresses)) };
        }
        // Twice: they may have been sought by another way, which has not been counted.
        if !budget.spend(2 * targets.inside.len()) {
            return tables;
        }
        if let Some((pc, _)) = block.insts.last().filter(|_| !targets.inside.is_empty()) {
            tables.insert(*pc, targets);
        }
    }
    tables
}

/// The entries that lead to instructions. Some may lead out of it, where a compiler
/// has moved what is rare; where too many do in a row, or one to no instruction, the table has ended.
fn read(text: &Text<'_>, addresses: &Range<u64>, start: u64, mem: Mem, plus: u64) -> Targets {
    let size = u64::from(mem.bytes());
    let entry = |index: u64| {
        let mut word = [0; 8];
        let bytes = text.data(start.wrapping_add(index * size), size)?;
        word[..size as usize].copy_from_slice(bytes);
        let value = mem.extend(u64::from_le_bytes(word));
        let target = value.wrapping_add(plus) & !1;
        text.fetch(target).map(|_| target)
    };
    let mut outside = 0;
    let entries = (0..LIMIT).map_while(entry).take_while(|target| {
        outside = if addresses.contains(target) { 0 } else { outside + 1 };
        outside <= OUTSIDE
    });
    let table: Vec<u64> = entries.collect();
    let (inside, outside) = table.iter().partition(|target| addresses.contains(target));
    let is_fixed = text.is_constant(start, table.len() as u64 * size);
    let fixed = is_fixed.then_some(Fixed { start, mem, plus });
    let mut targets = Targets { inside, outside, are_all: true, table, fixed };
    targets.tidy();
    targets
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::analysis::sample;

    /// How many targets are known of each jump by register in the function `run` of a guest.
    fn targets_in(source: &str) -> Vec<usize> {
        jumps_in(source, |targets| targets.inside.len())
    }

    /// What is known of each jump by register in the function `run` of a guest.
    fn jumps_in<T>(source: &str, of: impl Fn(&Targets) -> T) -> Vec<T> {
        let run = sample::functions_of(&sample::image(source, &["-O2", "-xc"]))
            .into_iter()
            .find(|function| function.name.as_deref() == Some("run"))
            .unwrap();
        let targets = |block: &Block| match &block.end {
            Terminator::JumpIndirect(targets) => Some(of(targets)),
            _ => None,
        };
        run.blocks.values().filter_map(targets).collect()
    }

    /// A switch's table is among the constants; one of labels may be changed.
    #[test]
    fn only_a_table_of_constants_is_fixed() {
        let is_fixed = |source: &str| jumps_in(source, |targets| (targets.table.len(), targets.fixed.is_some()));
        let switch = format!(
            "__attribute__((noinline)) long run(unsigned long op, long x) {{
                switch (op) {{ {CASES} }} return x;
            }}
            long _start(unsigned long op, long x) {{ return run(op, x); }}"
        );
        assert_eq!(is_fixed(&switch), [(10, true)]);
        let labels = "void **volatile kept;
            __attribute__((noinline)) long run(unsigned long op, long x) {
                static void *table[] = { &&a, &&b, &&c };
                kept = table;
                goto *table[op];
                a: return x + 3; b: return x ^ x >> 3; c: return x * 7;
            }
            long _start(unsigned long op, long x) { return run(op, x); }";
        assert_eq!(is_fixed(labels), [(3, false)]);
    }

    const CASES: &str = "case 0: x += 3; break; case 1: x ^= x >> 3; break; case 2: x *= 7; break;
        case 3: x -= 9; break; case 4: x = x << 2 | 1; break; case 5: x &= 0x7fffff; break;
        case 6: x = -x; break; case 7: x /= 3; break; case 8: x = ~x >> 1; break; case 9: x %= 11; break;";

    /// The index of the first round is a constant, which is not the index of all.
    #[test]
    fn a_table_is_found_whose_index_is_known_at_first() {
        let source = format!(
            "__attribute__((noinline)) long run(const unsigned char *code) {{
                long x = 1;
                for (unsigned op = 0;; op = *code++) switch (op) {{ {CASES} default: return x; }}
            }}
            long _start(const unsigned char *code) {{ return run(code); }}"
        );
        assert_eq!(targets_in(&source), [10]);
    }

    /// Behind the call nothing is known of the register that has the table's address.
    #[test]
    fn a_table_is_found_behind_a_call_that_does_not_return() {
        let source = format!(
            "__attribute__((noinline, noreturn)) void fail(long x) {{ for (;;) __asm__ volatile(\"\" : : \"r\"(x)); }}
            __attribute__((noinline)) long run(const unsigned char *code) {{
                long x = 1;
                for (;;) {{
                    if (x == 12345) fail(x);
                    switch (*code++) {{ {CASES} default: return x; }}
                }}
            }}
            long _start(const unsigned char *code) {{ return run(code); }}"
        );
        assert_eq!(targets_in(&source), [10]);
    }
}
