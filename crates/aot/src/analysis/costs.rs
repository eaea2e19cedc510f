//! The fuel of libcalls: how many instructions the guest's own code would execute. Code that counts fuel copies and fills
//! memory with host vectors and subtracts that number.
//!
//! It is found by executing the guest's code on partly known arguments: the number of bytes, the addresses modulo eight, and
//! which range begins first. If a branch depends on anything else but the function's own frame and constants, the cost is
//! unknown, and the guest's own code runs.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use riverrun_isa::Destination;
use riverrun_isa::ops::{Float, FloatCompare, Int, Mem, Ops, Rounding, System};

use crate::analysis::execution::{execute, unknown, unknown_to_all};
use crate::analysis::text::{Text, Treatment};
use crate::budget::Budget;

/// The longest range in bytes whose cost is computed.
pub(crate) const LONGEST: u64 = 128;

/// Addresses are distinguished modulo this.
pub(crate) const ALIGNMENT: u64 = 8;

/// Instructions that one call may execute. A function that needs more is not what its name says.
const ENDLESS: u16 = 4096;

/// Instructions that are executed at most to learn what a function costs: several times what glibc's take.
const BUDGET: u32 = 8 << 20;

/// Where the function returns to: no place in a program.
const RETURN: u64 = !1;

/// The arguments of a function in a0 and a1; the number of bytes is in a2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arguments {
    /// Where to, and from where.
    Ranges,
    /// The same, and its way depends on which range begins first.
    OverlappingRanges,
    /// Where to, and a byte.
    Range,
}

impl Arguments {
    /// How many sources there are to be told apart, by alignment and side.
    pub(crate) fn sources(self) -> u64 {
        match self {
            Arguments::Ranges => ALIGNMENT,
            Arguments::OverlappingRanges => 2 * ALIGNMENT,
            Arguments::Range => 1,
        }
    }
}

/// The instructions that a function executes for each number of bytes up to [`LONGEST`]; for each of these, by how far
/// the destination is from a multiple of [`ALIGNMENT`]; for each of these, by the source: first where the destination is
/// behind the source's beginning, less than the number of bytes, where that is told apart. 0 where it is not known, as
/// is everything once the budget is used up.
pub(crate) fn costs(text: &Text<'_>, start: u64, arguments: Arguments, work: &Budget) -> Vec<u16> {
    let mut costs = Vec::new();
    let budget = Cell::new(BUDGET);
    for len in 0..=LONGEST {
        for to in 0..ALIGNMENT {
            for source in 0..arguments.sources() {
                let is_apart = (arguments == Arguments::OverlappingRanges).then_some(source >= ALIGNMENT);
                let memory = Memory {
                    text,
                    low: [to, source % ALIGNMENT],
                    len,
                    is_apart,
                    frame: RefCell::default(),
                    has_effects: Cell::new(false),
                };
                costs.push(memory.execute(start, arguments, &budget).unwrap_or(0));
            }
        }
    }
    // What is too much is refused as a whole.
    let _ = work.spend((BUDGET - budget.get()) as usize);
    costs
}

/// What an address is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    To,
    From,
    Stack,
}

/// The known facts about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Partial {
    /// The bits of a mask.
    Bits { value: u64, mask: u64 },
    /// Its distance from an address.
    Place(Base, u64),
    /// Its distance from that of the destination from the source.
    Distance(u64),
}

use Partial::{Bits, Distance, Place};

const UNKNOWN: Partial = Bits { value: 0, mask: 0 };

/// The lowest bits.
fn lowest(count: u32) -> u64 {
    1_u64.checked_shl(count).map_or(!0, |bit| bit - 1)
}

/// [`Ops`] on [`Partial`].
struct Memory<'a> {
    text: &'a Text<'a>,
    /// The lowest bits of both addresses.
    low: [u64; 2],
    len: u64,
    /// Whether the destination is at least `len` bytes behind the source, around the end of all addresses.
    is_apart: Option<bool>,
    /// The words that the function has stored in its frame, by their distances from sp.
    frame: RefCell<BTreeMap<i64, Partial>>,
    /// Whether it has done more than computing.
    has_effects: Cell<bool>,
}

impl Memory<'_> {
    /// Executes the function; gives the number of instructions, which it takes off the budget.
    fn execute(&self, start: u64, arguments: Arguments, budget: &Cell<u32>) -> Option<u16> {
        let mut registers = [UNKNOWN; 32];
        registers[0] = self.imm(0);
        registers[1] = self.imm(RETURN);
        registers[2] = Place(Base::Stack, 0);
        registers[10] = Place(Base::To, 0);
        registers[11] = if arguments == Arguments::Range { UNKNOWN } else { Place(Base::From, 0) };
        registers[12] = self.imm(self.len);
        let mut pc = start;
        for count in 0..ENDLESS {
            if pc == RETURN {
                return Some(count);
            }
            budget.set(budget.get().checked_sub(1)?);
            let inst = self.text.fetch(pc).filter(|inst| self.text.treatment(inst) == Treatment::Compiled)?;
            let value = execute(self, pc, &inst, &mut registers, UNKNOWN);
            if self.has_effects.get() {
                return None;
            }
            pc = match inst.op.info().format.destination() {
                Destination::Branch if self.whole(value)? != 0 => pc.wrapping_add(inst.imm as u64),
                Destination::Jump => self.whole(value)?,
                _ => pc + u64::from(inst.len),
            };
        }
        None
    }

    /// The value and the mask of the bits that are known.
    fn bits(&self, partial: Partial) -> (u64, u64) {
        let [to, from] = self.low;
        let (value, mask) = match partial {
            Bits { value, mask } => (value, mask),
            Place(Base::To, offset) => (to.wrapping_add(offset), ALIGNMENT - 1),
            Place(Base::From, offset) => (from.wrapping_add(offset), ALIGNMENT - 1),
            // The psABI's alignment.
            Place(Base::Stack, offset) => (offset, 15),
            Distance(offset) => (to.wrapping_sub(from).wrapping_add(offset), ALIGNMENT - 1),
        };
        (value & mask, mask)
    }

    /// The value, if all of it is known.
    fn whole(&self, partial: Partial) -> Option<u64> {
        let (value, mask) = self.bits(partial);
        (mask == !0).then_some(value)
    }

    fn flag(&self, flag: Option<bool>) -> Partial {
        flag.map_or(UNKNOWN, |flag| self.imm(flag.into()))
    }

    /// What is known where bits depend on those that are not higher.
    fn by_low(&self, a: Partial, b: Partial, f: impl Fn(u64, u64) -> u64) -> Partial {
        let ((a, a_mask), (b, b_mask)) = (self.bits(a), self.bits(b));
        let mask = lowest((a_mask & b_mask).trailing_ones());
        Bits { value: f(a, b) & mask, mask }
    }

    /// What is known of a value and its mask alike, shifted by a number that is known.
    fn shifted(&self, a: Partial, by: Partial, f: impl Fn(u64, u64, u32) -> (u64, u64)) -> Partial {
        let Some(by) = self.whole(by) else { return UNKNOWN };
        let (value, mask) = self.bits(a);
        let (value, mask) = f(value, mask, (by & 63) as u32);
        Bits { value: value & mask, mask }
    }

    /// The lowest `width` bits, extended with the sign, or not.
    fn extended(&self, a: Partial, width: u32, signed: bool) -> Partial {
        let (value, mask) = self.bits(a);
        let up = 64 - width;
        let (value, mask) = if signed {
            (((value << up) as i64 >> up) as u64, ((mask << up) as i64 >> up) as u64)
        } else {
            (value & lowest(width), mask | !lowest(width))
        };
        Bits { value: value & mask, mask }
    }

    fn equal(&self, a: Partial, b: Partial) -> Option<bool> {
        if let (Place(a, x), Place(b, y)) = (a, b)
            && a == b
        {
            return Some(x == y);
        }
        let ((a, a_mask), (b, b_mask)) = (self.bits(a), self.bits(b));
        let both = a_mask & b_mask;
        if (a ^ b) & both != 0 { Some(false) } else { (both == !0).then_some(true) }
    }

    fn less(&self, a: Partial, b: Partial, signed: bool) -> Option<bool> {
        match (a, b) {
            // No range goes around the end of all addresses.
            (Place(a, x), Place(b, y)) if a == b => return Some((x as i64) < y as i64),
            (Distance(0), len) if !signed && self.whole(len) == Some(self.len) => {
                return self.is_apart.map(|is_apart| !is_apart);
            }
            _ => {}
        }
        let (a, b) = (self.whole(a)?, self.whole(b)?);
        Some(if signed { (a as i64) < b as i64 } else { a < b })
    }
}

/// Operations with effects.
macro_rules! effects {
    ($($name:ident($($type:ty),*) -> $result:ty = $value:expr;)*) => {
        $(fn $name(&self, $(_: $type),*) -> $result {
            self.has_effects.set(true);
            $value
        })*
    };
}

impl Ops for Memory<'_> {
    type V = Partial;

    fn imm(&self, value: u64) -> Partial {
        Bits { value, mask: !0 }
    }

    fn add(&self, a: Partial, b: Partial) -> Partial {
        match (a, self.whole(a), b, self.whole(b)) {
            (Place(base, offset), _, _, Some(by)) | (_, Some(by), Place(base, offset), _) => {
                Place(base, offset.wrapping_add(by))
            }
            (Distance(offset), _, _, Some(by)) | (_, Some(by), Distance(offset), _) => {
                Distance(offset.wrapping_add(by))
            }
            _ => self.by_low(a, b, u64::wrapping_add),
        }
    }

    fn sub(&self, a: Partial, b: Partial) -> Partial {
        match (a, b) {
            (Place(a, x), Place(b, y)) if a == b => self.imm(x.wrapping_sub(y)),
            (Place(Base::To, x), Place(Base::From, y)) => Distance(x.wrapping_sub(y)),
            _ => match self.whole(b) {
                Some(by) => self.add(a, self.imm(by.wrapping_neg())),
                None => self.by_low(a, b, u64::wrapping_sub),
            },
        }
    }

    fn mul(&self, a: Partial, b: Partial) -> Partial {
        self.by_low(a, b, u64::wrapping_mul)
    }

    fn and(&self, a: Partial, b: Partial) -> Partial {
        let ((a, a_mask), (b, b_mask)) = (self.bits(a), self.bits(b));
        Bits { value: a & b, mask: a_mask & b_mask | a_mask & !a | b_mask & !b }
    }

    fn or(&self, a: Partial, b: Partial) -> Partial {
        // What is known of the value itself.
        let ((x, x_mask), (y, y_mask)) = (self.bits(a), self.bits(b));
        match (self.whole(a), self.whole(b)) {
            (_, Some(0)) => a,
            (Some(0), _) => b,
            _ => Bits { value: x | y, mask: x_mask & y_mask | x | y },
        }
    }

    fn xor(&self, a: Partial, b: Partial) -> Partial {
        let ((a, a_mask), (b, b_mask)) = (self.bits(a), self.bits(b));
        let mask = a_mask & b_mask;
        Bits { value: (a ^ b) & mask, mask }
    }

    fn shl(&self, a: Partial, by: Partial) -> Partial {
        self.shifted(a, by, |value, mask, by| (value << by, mask << by | lowest(by)))
    }

    fn shr(&self, a: Partial, by: Partial) -> Partial {
        self.shifted(a, by, |value, mask, by| (value >> by, mask >> by | !(!0 >> by)))
    }

    fn sar(&self, a: Partial, by: Partial) -> Partial {
        self.shifted(a, by, |value, mask, by| ((value as i64 >> by) as u64, (mask as i64 >> by) as u64))
    }

    fn sext8(&self, a: Partial) -> Partial {
        self.extended(a, 8, true)
    }

    fn sext16(&self, a: Partial) -> Partial {
        self.extended(a, 16, true)
    }

    fn sext32(&self, a: Partial) -> Partial {
        self.extended(a, 32, true)
    }

    fn zext8(&self, a: Partial) -> Partial {
        self.extended(a, 8, false)
    }

    fn zext16(&self, a: Partial) -> Partial {
        self.extended(a, 16, false)
    }

    fn zext32(&self, a: Partial) -> Partial {
        self.extended(a, 32, false)
    }

    fn eq(&self, a: Partial, b: Partial) -> Partial {
        self.flag(self.equal(a, b))
    }

    fn ne(&self, a: Partial, b: Partial) -> Partial {
        self.flag(self.equal(a, b).map(|equal| !equal))
    }

    fn lt_s(&self, a: Partial, b: Partial) -> Partial {
        self.flag(self.less(a, b, true))
    }

    fn lt_u(&self, a: Partial, b: Partial) -> Partial {
        self.flag(self.less(a, b, false))
    }

    fn ge_s(&self, a: Partial, b: Partial) -> Partial {
        self.flag(self.less(a, b, true).map(|less| !less))
    }

    fn ge_u(&self, a: Partial, b: Partial) -> Partial {
        self.flag(self.less(a, b, false).map(|less| !less))
    }

    fn select(&self, condition: Partial, a: Partial, b: Partial) -> Partial {
        match self.whole(condition) {
            Some(0) => b,
            Some(_) => a,
            None => UNKNOWN,
        }
    }

    fn load(&self, mem: Mem, address: Partial) -> Partial {
        if let Place(Base::Stack, offset) = address {
            let word = self.frame.borrow().get(&(offset as i64)).copied().filter(|_| mem == Mem::U64);
            return word.unwrap_or(UNKNOWN);
        }
        let size = u64::from(mem.bytes());
        let constant = self.whole(address).filter(|&at| self.text.is_constant(at, size));
        let Some(bytes) = constant.and_then(|at| self.text.data(at, size)) else { return UNKNOWN };
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let word = self.imm(u64::from_le_bytes(word));
        self.extended(word, 8 * mem.bytes(), matches!(mem, Mem::I8 | Mem::I16 | Mem::I32))
    }

    fn store(&self, mem: Mem, address: Partial, value: Partial) {
        // No pointer leads to the frame of a function that has got none to it.
        let Place(Base::Stack, offset) = address else { return };
        let (start, end) = (offset as i64, (offset as i64).saturating_add(mem.bytes().into()));
        let mut frame = self.frame.borrow_mut();
        frame.retain(|&word, _| word + 8 <= start || end <= word);
        if mem == Mem::U64 {
            frame.insert(start, value);
        }
    }

    fn amo(&self, _: Mem, _: Partial, _: impl Fn(Partial) -> Partial) -> Partial {
        self.has_effects.set(true);
        UNKNOWN
    }

    fn csr(&self, _: u16, _: impl Fn(Partial) -> Partial) -> Partial {
        self.has_effects.set(true);
        UNKNOWN
    }

    effects! {
        load_reserved(Mem, Partial) -> Partial = UNKNOWN;
        store_conditional(Mem, Partial, Partial) -> Partial = UNKNOWN;
        system(System) -> () = ();
        call_import(Partial) -> () = ();
        raise(u8, Partial) -> () = ();
    }

    unknown_to_all!(Partial = UNKNOWN);
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::analysis::sample;

    /// What is known of a function of a program in assembly.
    fn costs_of(name: &str, source: &str, options: &[&str], arguments: Arguments) -> Vec<u16> {
        let image = sample::image(source, &[sample::ASSEMBLY, options].concat());
        let text = sample::text(&image);
        let start = image.symbols().find(|symbol| symbol.name == name).unwrap().address;
        costs(&text, start, arguments, &Budget::default())
    }

    fn of(body: &str, arguments: Arguments) -> Vec<u16> {
        costs_of("_start", &format!(".globl _start\n_start:\n{body}\n"), &[], arguments)
    }

    /// The cost for some bytes, a destination and a source.
    fn at(costs: &[u16], arguments: Arguments, len: u64, to: u64, source: u64) -> u16 {
        costs[((len * ALIGNMENT + to) * arguments.sources() + source) as usize]
    }

    #[test]
    fn a_loop_takes_so_much_for_each_byte() {
        let body = "beqz a2, 2f\nadd a3, a0, a2\n1: lbu a4, 0(a1)\nsb a4, 0(a0)\naddi a0, a0, 1\naddi a1, a1, 1\n\
                    bne a0, a3, 1b\n2: ret";
        let costs = of(body, Arguments::Ranges);
        for (len, expected) in [(0, 2), (1, 8), (2, 13), (LONGEST, 643)] {
            assert_eq!(at(&costs, Arguments::Ranges, len, 3, 5), expected, "{len} bytes");
        }
    }

    #[test]
    fn it_may_depend_on_alignment_and_side() {
        let costs = of("andi a3, a1, 7\nbeqz a3, 1f\nnop\n1: ret", Arguments::Ranges);
        assert_eq!([0, 1, 7].map(|from| at(&costs, Arguments::Ranges, 5, 2, from)), [3, 4, 4]);
        let body = "sub a3, a0, a1\nbltu a3, a2, 1f\nnop\n1: ret";
        let costs = of(body, Arguments::OverlappingRanges);
        assert_eq!([1, 9].map(|source| at(&costs, Arguments::OverlappingRanges, 5, 2, source)), [3, 4]);
        assert!(of(body, Arguments::Ranges).iter().all(|&cost| cost == 0), "which side is not told apart");
    }

    #[test]
    fn what_depends_on_more_is_not_known() {
        for body in [
            "lbu a3, 0(a1)\nbeqz a3, 1f\nnop\n1: ret",
            "andi a3, a1, 8\nbeqz a3, 1f\nnop\n1: ret",
            "beqz a4, 1f\nnop\n1: ret",
            "jr a3",
            "ecall\nret",
            "1: j 1b",
        ] {
            assert!(of(body, Arguments::Ranges).iter().all(|&cost| cost == 0), "{body}");
        }
    }

    #[test]
    fn all_is_known_of_the_c_library() {
        let source = ".globl _start\n_start: ret\n";
        for (name, arguments) in
            [("memcpy", Arguments::Ranges), ("memmove", Arguments::OverlappingRanges), ("memset", Arguments::Range)]
        {
            let costs = costs_of(name, source, &[&format!("-Wl,-u,{name},-lc")], arguments);
            for (index, &cost) in (0..).zip(&costs) {
                let (len, source) = (index / (ALIGNMENT * arguments.sources()), index % arguments.sources());
                // No bytes do not overlap.
                let is_possible = arguments != Arguments::OverlappingRanges || len != 0 || source >= ALIGNMENT;
                assert!(cost != 0 || !is_possible, "{name} of {len} bytes");
            }
        }
    }
}
