//! Jump tables: where jumps by register lead.

use std::collections::BTreeMap;
use std::ops::Range;

use riverrun_isa::ops::Mem;
use riverrun_isa::{File, Operands, Result as Destination, eval};

use crate::analysis::blocks::{Block, Terminator};
use crate::analysis::constants::{Constants, Known};
use crate::analysis::text::Text;

/// Entries of a table at most.
const LIMIT: u64 = 4096;

/// The targets of those jumps by register that take them from tables: by the jump's address,
/// sorted.
pub(crate) fn find(text: &Text<'_>, addresses: &Range<u64>, blocks: &BTreeMap<u64, Block>) -> BTreeMap<u64, Vec<u64>> {
    let jumps = |block: &Block| matches!(block.end, Terminator::JumpIndirect(_));
    if !blocks.values().any(jumps) {
        return BTreeMap::new();
    }
    let fixed = fixed_registers(blocks);
    let mut tables = BTreeMap::new();
    for block in blocks.values().filter(|block| jumps(block)) {
        let (target, _) = evaluate(block, &fixed);
        let targets = match target {
            Known::Entry { table, mem, plus } => read(text, addresses, table, mem, plus),
            _ => Vec::new(),
        };
        if let Some((pc, _)) = block.insts.last().filter(|_| !targets.is_empty()) {
            tables.insert(*pc, targets);
        }
    }
    tables
}

type Registers = [Known; 32];

/// Registers that every write in the function gives the same constant: such as a table's address
/// that was computed in front of a loop.
fn fixed_registers(blocks: &BTreeMap<u64, Block>) -> Registers {
    let unknown = [Known::Unknown; 32];
    let mut fixed: [Option<Known>; 32] = [None; 32];
    for block in blocks.values() {
        let (_, writes) = evaluate(block, &unknown);
        for (rd, value) in writes {
            let register = &mut fixed[rd as usize];
            *register = match register {
                None => Some(value),
                Some(known) if *known == value => Some(value),
                Some(_) => Some(Known::Unknown),
            };
        }
    }
    fixed.map(|known| known.filter(|known| matches!(known, Known::Constant(_))).unwrap_or(Known::Unknown))
}

/// What is known of the last instruction's value, and all writes to integer registers.
fn evaluate(block: &Block, fixed: &Registers) -> (Known, Vec<(u8, Known)>) {
    let mut registers = *fixed;
    registers[0] = Known::Constant(0);
    let mut last = Known::Unknown;
    let mut writes = Vec::new();
    for &(pc, ref inst) in &block.insts {
        let format = inst.op.info().format;
        let read = |file: Option<File>, n: u8| match file {
            Some(File::X) => registers[n as usize],
            _ => Known::Unknown,
        };
        let [rs1, rs2, rs3] = format.sources();
        let operands = Operands {
            rs1: read(rs1, inst.rs1),
            rs2: read(rs2, inst.rs2),
            rs3: read(rs3, inst.rs3),
            imm: Known::Constant(inst.immediate()),
            pc: Known::Constant(pc),
            csr: inst.imm as u16,
            rm: inst.rm,
            index: inst.rs1,
        };
        last = eval(inst.op, &Constants, &operands);
        let result = match format.result() {
            Destination::X => last,
            Destination::Jump => Known::Constant(pc + u64::from(inst.len)),
            _ => continue,
        };
        if inst.rd != 0 {
            registers[inst.rd as usize] = result;
            writes.push((inst.rd, result));
        }
    }
    (last, writes)
}

/// The entries that lead to instructions of the function, up to the first that does not.
fn read(text: &Text<'_>, addresses: &Range<u64>, table: u64, mem: Mem, plus: u64) -> Vec<u64> {
    let size = u64::from(mem.bytes());
    let entry = |index: u64| {
        let at = table.wrapping_add(index * size);
        let segment = text.image.segments().iter().find(|segment| segment.filled().contains(&at))?;
        if segment.permissions.write {
            return None;
        }
        let from = (at - segment.address) as usize;
        let bytes = text.image.data(segment).get(from..from + size as usize)?;
        let mut word = [0; 8];
        word[..size as usize].copy_from_slice(bytes);
        let value = u64::from_le_bytes(word);
        let value = match mem {
            Mem::I8 => value as i8 as u64,
            Mem::I16 => value as i16 as u64,
            Mem::I32 => value as i32 as u64,
            Mem::U8 | Mem::U16 | Mem::U32 | Mem::U64 => value,
        };
        let target = value.wrapping_add(plus) & !1;
        (addresses.contains(&target) && text.fetch(target).is_some()).then_some(target)
    };
    let mut targets: Vec<u64> = (0..LIMIT).map_while(entry).collect();
    targets.sort_unstable();
    targets.dedup();
    targets
}
