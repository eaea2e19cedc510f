//! Numbers and sets of registers, and the registers that instructions name.

use std::ops::RangeInclusive;

use riverrun_isa::ops::Float;
use riverrun_isa::{Destination, Format, Inst, Op, RegisterFile};
use riverrun_vm::F_SLOT;

/// Numbers of registers here: those of [`riverrun_vm::Hart::slots`], and the fuel.
pub(crate) const FUEL: usize = 65;
/// One past the last number.
pub(crate) const COUNT: usize = 66;

/// A set of registers, a bit each.
pub(crate) type Set = u128;

/// The registers of these numbers.
pub(crate) const fn range(registers: RangeInclusive<usize>) -> Set {
    (1 << (*registers.end() + 1)) - (1 << *registers.start())
}

/// The float registers of these numbers.
const fn floats(registers: RangeInclusive<usize>) -> Set {
    range(*registers.start() + F_SLOT as usize..=*registers.end() + F_SLOT as usize)
}

/// Registers that functions preserve, with ra, sp, gp and tp.
pub(crate) const PRESERVED: Set =
    range(1..=4) | range(8..=9) | range(18..=27) | floats(8..=9) | floats(18..=27) | 1 << FUEL;
/// Registers that may pass arguments: argument registers, and the static chain in t2.
pub(crate) const ARGUMENTS: Set = PRESERVED | range(10..=17) | floats(10..=17) | 1 << 7;
/// Registers that may return results.
pub(crate) const RESULTS: Set = PRESERVED | range(10..=11) | floats(10..=11);
/// Registers that a host may read: arguments, and t0 and t1 of dynamic calls.
pub(crate) const HOST: Set = ARGUMENTS | range(5..=6);

/// The registers of a set.
pub(crate) fn members(set: Set) -> impl Iterator<Item = usize> {
    (0..COUNT).filter(move |register| set >> register & 1 != 0)
}

fn number(file: RegisterFile, n: u8) -> usize {
    match file {
        RegisterFile::X => n as usize,
        RegisterFile::F => (F_SLOT + n) as usize,
    }
}

/// The register that an instruction writes; none for x0.
pub(crate) fn written(inst: &Inst) -> Option<usize> {
    match inst.op.info().format.destination() {
        Destination::X | Destination::Jump => Some(inst.rd as usize).filter(|&rd| rd != 0),
        Destination::F => Some(number(RegisterFile::F, inst.rd)),
        Destination::None | Destination::Branch => None,
    }
}

/// The registers of an instruction's sources, `None` where it has none or reads x0.
pub(crate) fn sources(inst: &Inst) -> [Option<usize>; 3] {
    let files = inst.op.info().format.sources();
    let registers = [inst.rs1, inst.rs2, inst.rs3];
    std::array::from_fn(|i| files[i].map(|file| number(file, registers[i])).filter(|&register| register != 0))
}

/// Whether the instruction has a float register among its operands.
pub(crate) fn names_float(inst: &Inst) -> bool {
    let floats = F_SLOT as usize..FUEL;
    sources(inst).into_iter().flatten().chain(written(inst)).any(|register| floats.contains(&register))
}

/// The format of the instruction's float sources, if it reads them as floats.
pub(crate) fn float_sources(inst: &Inst) -> Option<Float> {
    use Format::{FCmp, FR, FR1, FR4, FRx, FToX};
    if !matches!(inst.op.info().format, FR | FR1 | FR4 | FRx | FCmp | FToX) {
        return None;
    }
    match (inst.op, inst.op.info().bits >> 25 & 3) {
        (Op::fcvt_d_s, _) => Some(Float::S),
        (Op::fcvt_s_d, _) => Some(Float::D),
        (_, 0) => Some(Float::S),
        _ => Some(Float::D),
    }
}
