//! Libcalls: functions of C that are recognised in a guest by their names and by trial executions.
//!
//! A symbol proves nothing: a static function may have the name of one of C's, and an indirect function (`STT_GNU_IFUNC`)
//! has its resolver's address. So the guest's own code is executed on many arguments, and its effects are compared with
//! those that C demands. It passes only if
//!
//! - it writes nothing but its destination and its frame;
//! - it does not depend on the program's variables, which hold something else each time, and jumps to nothing that it has
//!   read from them;
//! - each branch goes both ways at some time, unless it is plain why it cannot ([`Branch::is_explained`]).
//!
//! That is evidence, not a proof for all arguments: code that computes with an untried length, without a branch, or that
//! fails beyond the longest one tried, passes. Precise code takes no part in this: it executes the guest's own.

use std::cell::{Cell, RefCell};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use riverrun_isa::ops::{Float, FloatCompare, Int, Mem, Rounding, System};
use riverrun_isa::words::{Effects, Words};
use riverrun_isa::{Destination, Inst, Op};

use riverrun_program::{Binding, SymbolKind};
use serde::{Deserialize, Serialize};

use crate::analysis::costs::Arguments;
use crate::analysis::execution::execute;
use crate::analysis::text::{Text, Treatment};
use crate::budget::Budget;

/// A function whose calls compiled code may replace by host code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Libcall {
    /// `memcpy`.
    Copy,
    /// `memmove`.
    Move,
    /// `memset`.
    Fill,
    /// `memcmp`.
    Compare,
}

impl Libcall {
    /// The function of a name.
    fn named(name: &str) -> Option<Libcall> {
        match name {
            "memcpy" => Some(Libcall::Copy),
            "memmove" => Some(Libcall::Move),
            "memset" => Some(Libcall::Fill),
            "memcmp" => Some(Libcall::Compare),
            _ => None,
        }
    }

    /// What its arguments are, if what it executes depends on nothing else.
    pub(crate) fn arguments(self) -> Option<Arguments> {
        match self {
            Libcall::Copy => Some(Arguments::Ranges),
            Libcall::Move => Some(Arguments::OverlappingRanges),
            Libcall::Fill => Some(Arguments::Range),
            Libcall::Compare => None,
        }
    }

    /// What the guest's own code is often left with: a register and the constant that it is then.
    pub(crate) fn rest(self) -> Option<(usize, u64)> {
        const A2: usize = 12;
        // Two bytes that differ.
        (self == Libcall::Compare).then_some((A2, 1))
    }
}

/// The functions of a program that are recognised, by their addresses. Where one address has several names, the function
/// that promises most is meant: `memcpy` may be `memmove`. None if the budget is spent.
pub(crate) fn libcalls(text: &Text<'_>, budget: &Budget) -> BTreeMap<u64, Libcall> {
    let mut found = BTreeMap::new();
    let named =
        text.image.symbols().filter(|symbol| symbol.kind == SymbolKind::Function && symbol.binding != Binding::Local);
    let mut named: Vec<(u64, Libcall)> =
        named.filter_map(|symbol| Some((symbol.address, Libcall::named(symbol.name)?))).collect();
    named.sort_by_key(|&(_, libcall)| libcall != Libcall::Move);
    for (address, libcall) in named {
        if found.contains_key(&address) {
            continue;
        }
        let (holds, executed) = holds(text, address, libcall);
        if !budget.spend(executed + 1) {
            return BTreeMap::new();
        }
        if holds {
            found.insert(address, libcall);
        }
    }
    found
}

/// Instructions executed at most for one function.
const BUDGET: u32 = 4 << 20;

/// Bytes of the frame that a function may have.
const FRAME: u64 = 1 << 10;
/// Where the function returns to: no place in a program.
const RETURN: u64 = !1;

/// Whether the function at `start` does what its name says, and how many instructions were executed for it.
fn holds(text: &Text<'_>, start: u64, libcall: Libcall) -> (bool, usize) {
    let Some(base) = free_range(text) else { return (false, 0) };
    let trial = |arena: usize| {
        let pattern: Vec<u8> = (0..arena).map(pattern).collect();
        Trial {
            text,
            start,
            base,
            arena: RefCell::new(pattern.clone()),
            pattern,
            places: [4 << 10, (4 << 10) + arena as u64 / 2],
            budget: Cell::new(BUDGET),
            branches: RefCell::default(),
            insts: RefCell::default(),
        }
    };
    let passes = |trial: &Trial<'_>, shapes: &[Shape]| match libcall {
        Libcall::Copy => trial.copies(shapes),
        Libcall::Move => trial.copies(shapes) && trial.moves(),
        Libcall::Fill => trial.fills(shapes),
        Libcall::Compare => trial.compares(shapes),
    };
    let small = trial(32 << 10);
    let passes_small = passes(&small, &shapes());
    let executed = (BUDGET - small.budget.get()) as usize;
    if !passes_small {
        return (false, executed);
    }
    let large = Trial { branches: small.branches, ..trial(256 << 10) };
    let holds = passes(&large, &LARGE) && large.branches.borrow().values().all(Branch::is_explained);
    (holds, executed + (BUDGET - large.budget.get()) as usize)
}

/// An address where the program has nothing, of room for arena and frame.
fn free_range(text: &Text<'_>) -> Option<u64> {
    const ROOM: u64 = 1 << 20;
    let end = |address: u64| address.checked_add(ROOM);
    let is_free = |&address: &u64| {
        let segments = text.image.segments().iter();
        end(address).is_some_and(|end| {
            segments
                .map(|segment| segment.address..segment.address + segment.memory_size)
                .all(|taken| taken.end <= address || end <= taken.start)
        })
    };
    (1..15).map(|n| n << 28).find(is_free)
}

/// A length, and how far both addresses are from a multiple of 8.
type Shape = (usize, [u64; 2]);

/// All short lengths, those up to 17 at all alignments, and some that are longer.
fn shapes() -> Vec<Shape> {
    let short = (0..=17).flat_map(|len| (0..64).map(move |n| (len, [n / 8, n % 8])));
    let middle = (18..=136).flat_map(|len: u64| {
        let pairs = [[0, 0], [len % 8, len % 8], [len % 8, len / 8 % 8]];
        pairs.map(|pair| (len as usize, pair))
    });
    let long = [200, 256, 263, 511, 512, 1024, 1029, 2048, 4096, 4099, 8200];
    let long = long.into_iter().zip(0..).map(|(len, n)| (len, [n % 8, n * 3 % 8]));
    short.chain(middle).chain(long).collect()
}

/// What takes long.
const LARGE: [Shape; 3] = [(16_389, [0, 0]), (32_768, [3, 6]), (65_539, [5, 5])];

/// The initial value of a byte of the arena: different from its neighbours', and at the same offset of both ranges.
fn pattern(index: usize) -> u8 {
    (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[0]
}

/// A branch of a function under trial.
#[derive(Default)]
struct Branch {
    /// Whether it was not taken at some time, and taken.
    ways: [bool; 2],
    /// Whether it asks whether two numbers are equal.
    is_equality: bool,
    /// Whether the numbers were equal at some time, and unequal.
    was: [bool; 2],
    /// The differences up to 8, a bit each: where the first number is less, and where it is greater.
    near: [u16; 2],
    /// The greatest number that was compared, and the greatest that was the lesser of two.
    greatest: u64,
    greatest_lesser: u64,
    /// The first number, the last time.
    first: Option<u64>,
    /// Whether that was ever another one.
    varies: bool,
}

impl Branch {
    fn note(&mut self, [a, b]: [u64; 2], taken: bool) {
        self.ways[usize::from(taken)] = true;
        self.was[usize::from(a != b)] = true;
        let difference = a.abs_diff(b);
        if (1..=8).contains(&difference) {
            self.near[usize::from(a > b)] |= 1 << difference;
        }
        self.greatest = self.greatest.max(a).max(b);
        self.greatest_lesser = self.greatest_lesser.max(a.min(b));
        self.varies |= self.first.replace(a).is_some_and(|first| first != a);
    }

    /// Whether it was both taken and not taken, or plausibly cannot be:
    ///
    /// - numbers that were never equal, the lesser one small, that differed by nearly all small amounts, or all multiples
    ///   of 2, 4 or 8 among them: a count that is never 0;
    /// - two that were always equal, and less than 8: what is left of a length's remainders; or others each time: what
    ///   protects the stack;
    /// - numbers in an order, and as near to each other as can be: a remainder and its limit.
    fn is_explained(&self) -> bool {
        match (self.ways, self.is_equality, self.was) {
            ([true, true], ..) => true,
            (_, true, [false, true]) => self.greatest_lesser < 8 && self.near.iter().any(|&near| is_dense(near)),
            (_, true, _) => self.greatest < 8 || self.varies,
            (_, false, [is_equal, _]) => is_equal || self.near.iter().any(|near| near & 0b10 != 0),
        }
    }
}

/// Whether differences up to 8, a bit each, are all multiples of a power of 2; of 1, most.
fn is_dense(near: u16) -> bool {
    matches!(near, 0b1_0101_0100 | 0b1_0001_0000 | 0b1_0000_0000) || near.count_ones() >= 5 && near & 0b110 != 0
}

/// A function under trial.
struct Trial<'a> {
    text: &'a Text<'a>,
    start: u64,
    /// Where the arena is to the guest; the frame is behind it.
    base: u64,
    /// Bytes around the arguments; before each call as in `pattern`.
    arena: RefCell<Vec<u8>>,
    pattern: Vec<u8>,
    /// Where the two arguments are in the arena, if they are apart; whole lines of a cache.
    places: [u64; 2],
    budget: Cell<u32>,
    /// Its branches, by their addresses.
    branches: RefCell<HashMap<u64, Branch>>,
    /// Its instructions so far.
    insts: RefCell<HashMap<u64, Inst>>,
}

impl Trial<'_> {
    fn copies(&self, shapes: &[Shape]) -> bool {
        let [low, high] = self.places;
        shapes.iter().all(|&(len, [to, from])| self.copies_once(low + to, high + from, len))
            && shapes.iter().step_by(7).all(|&(len, [to, from])| self.copies_once(high + to, low + from, len))
    }

    fn moves(&self) -> bool {
        let lengths: Vec<usize> =
            (1..=40).chain((41..=140).step_by(3)).chain((48..=136).step_by(8)).chain([257]).collect();
        let distances = (0..20).chain([24, 31, 32, 33, 40, 48, 63, 64, 72, 96, 100, 128]);
        distances.flat_map(|distance| [(0, distance), (distance, 0)]).all(|(to, from)| {
            lengths.iter().enumerate().all(|(n, &len)| {
                let shift = self.places[0] + n as u64 % 8;
                self.copies_once(shift + to, shift + from, len)
            })
        })
    }

    fn copies_once(&self, to: u64, from: u64, len: usize) -> bool {
        let expected = &self.pattern[from as usize..from as usize + len];
        self.writes([self.base + to, self.base + from, len as u64], to, expected)
    }

    fn fills(&self, shapes: &[Shape]) -> bool {
        let bytes = [0_u64, 0x5a, 0xff, !0, 0x1_23a5];
        shapes.iter().enumerate().all(|(n, &(len, [to, _]))| {
            let (to, byte) = (self.places[0] + to, bytes[n % bytes.len()]);
            self.writes([self.base + to, byte, len as u64], to, &vec![byte as u8; len])
        })
    }

    /// Whether a call writes what is expected to a place in the arena, and nothing else, and returns its address.
    fn writes(&self, arguments: [u64; 3], to: u64, expected: &[u8]) -> bool {
        let range = to as usize..to as usize + expected.len();
        let result = self.call(arguments, to..range.end as u64);
        let is_expected = self.arena.borrow()[range.clone()] == *expected;
        self.restore(range);
        is_expected && result == Some(self.base + to)
    }

    fn compares(&self, shapes: &[Shape]) -> bool {
        shapes.iter().enumerate().all(|(n, &(len, [a, b]))| {
            let (a, b) = (self.places[0] + a, self.places[1] + b);
            // Equal, and with a difference at the beginning, in the middle, and at the end, of either sign.
            let differences = [None, Some(0), Some(len / 2), len.checked_sub(1), Some(len / 3)];
            let far = [(0_u8, 0x80_u8), (0xff, 1), (0x7f, 0x80), (0x41, 0x42), (0x10, 0)];
            let pairs: Vec<(u8, u8)> = far.into_iter().chain((1..=8).map(|less| (9, 9 - less))).collect();
            differences.iter().enumerate().filter(|(_, at)| at.is_none_or(|at| at < len)).all(|(k, at)| {
                let ranges = [a, b].map(|place| place as usize..place as usize + len);
                let mut expected = 0;
                {
                    let mut arena = self.arena.borrow_mut();
                    arena.copy_within(ranges[0].clone(), ranges[1].start);
                    if let &Some(at) = at {
                        let (x, y) = pairs[(n + k) % pairs.len()];
                        (arena[ranges[0].start + at], arena[ranges[1].start + at]) = (x, y);
                        expected = i32::from(x) - i32::from(y);
                    }
                }
                let result = self.call([self.base + a, self.base + b, len as u64], 0..0);
                ranges.into_iter().for_each(|range| self.restore(range));
                result.is_some_and(|result| (result as i32).signum() == expected.signum())
            })
        })
    }

    /// Makes bytes of the arena what they were at first.
    fn restore(&self, range: Range<usize>) {
        self.arena.borrow_mut()[range.clone()].copy_from_slice(&self.pattern[range]);
    }

    /// The instruction at `pc`, if it can be compiled.
    fn fetch(&self, pc: u64) -> Option<Inst> {
        match self.insts.borrow_mut().entry(pc) {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(place) => {
                let inst = self.text.fetch(pc).filter(|inst| self.text.treatment(inst) == Treatment::Compiled)?;
                Some(*place.insert(inst))
            }
        }
    }

    /// Executes the function, which may write to a part of the arena; gives a0. `None` if it does what it may not, or too
    /// much.
    fn call(&self, arguments: [u64; 3], writable: Range<u64>) -> Option<u64> {
        let sp = self.base + self.pattern.len() as u64 + FRAME;
        // What is not set for the call may be anything.
        let mut registers: [u64; 32] = std::array::from_fn(|n| 0x5555_0000_dead_0000 + n as u64);
        registers[0] = 0;
        registers[1] = RETURN;
        registers[2] = sp;
        registers[10..13].copy_from_slice(&arguments);
        let before = registers;
        // Anything, nothing, one, and all.
        let anything = u64::from(self.budget.get()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let variable = [anything, 0, 1, !0][(anything >> 60) as usize % 4];
        let ops = Words(Memory {
            text: self.text,
            variable,
            read: RefCell::default(),
            base: self.base,
            arena: &self.arena,
            writable,
            frame: RefCell::new(vec![0xee; FRAME as usize]),
            is_out_of_bounds: Cell::new(false),
        });
        let mut pc = self.start;
        while pc != RETURN {
            self.budget.set(self.budget.get().checked_sub(1)?);
            let inst = self.fetch(pc)?;
            let result = inst.op.info().format.destination();
            if matches!(result, Destination::F) {
                return None;
            }
            let compared = [inst.rs1, inst.rs2].map(|register| registers[usize::from(register & 31)]);
            let value = execute(&ops, pc, &inst, &mut registers, 0);
            if ops.0.is_out_of_bounds.get() {
                return None;
            }
            let next = pc + u64::from(inst.len);
            pc = match result {
                Destination::Branch => {
                    let taken = value != 0;
                    let mut branches = self.branches.borrow_mut();
                    let branch = branches.entry(pc).or_default();
                    branch.is_equality = matches!(inst.op, Op::beq | Op::bne);
                    branch.note(compared, taken);
                    if taken { pc.wrapping_add(inst.imm as u64) } else { next }
                }
                Destination::Jump if ops.0.read.borrow().contains(&(value & !1)) => return None,
                Destination::Jump => value,
                _ => next,
            };
        }
        // ra, sp, gp, tp, s0, s1, s2 to s11.
        let kept = (1..5).chain(8..10).chain(18..28);
        let is_kept = |n: usize| registers[n] == before[n];
        kept.into_iter().all(is_kept).then_some(registers[10])
    }
}

/// The memory of a function under trial.
struct Memory<'a> {
    text: &'a Text<'a>,
    /// What the program's variables hold this time, unless it is an address.
    variable: u64,
    base: u64,
    arena: &'a RefCell<Vec<u8>>,
    /// Where in the arena it may write.
    writable: Range<u64>,
    frame: RefCell<Vec<u8>>,
    is_out_of_bounds: Cell<bool>,
    /// The addresses that were read from variables.
    read: RefCell<Vec<u64>>,
}

impl Memory<'_> {
    fn refuse(&self) -> u64 {
        self.is_out_of_bounds.set(true);
        0
    }

    /// What the program has at an address: what its file says of constants, and of addresses in variables, as the global
    /// offset table has them; anything of other variables.
    fn datum(&self, address: u64, len: usize) -> Option<u64> {
        let image = self.text.image;
        let segment_of = |address: u64| {
            let mut segments = image.segments().iter();
            segments.find(|segment| (segment.address..segment.address + segment.memory_size).contains(&address))
        };
        let segment = segment_of(address)?;
        let offset = (address - segment.address) as usize;
        // What the file does not fill is zero at first.
        let value = image.data(segment).get(offset..offset.checked_add(len)?).map_or(0, number);
        match segment.permissions.write && segment_of(value).is_none() {
            true => Some(self.variable & u64::MAX >> (64 - 8 * len as u32)),
            false => {
                if segment.permissions.write {
                    self.read.borrow_mut().push(value & !1);
                }
                Some(value)
            }
        }
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

impl Effects for Memory<'_> {
    fn load(&self, mem: Mem, address: u64) -> u64 {
        let len = mem.bytes() as usize;
        let offset = address.wrapping_sub(self.base) as usize;
        let arena = self.arena.borrow();
        let value = match (offset < arena.len(), offset < arena.len() + FRAME as usize) {
            (true, _) => arena.get(offset..offset + len).map(number),
            (_, true) => self.frame.borrow().get(offset - arena.len()..offset - arena.len() + len).map(number),
            _ => self.datum(address, len),
        };
        let Some(value) = value else { return self.refuse() };
        mem.extend(value)
    }

    fn store(&self, mem: Mem, address: u64, value: u64) {
        let len = mem.bytes() as usize;
        let offset = address.wrapping_sub(self.base);
        let bytes = &value.to_le_bytes()[..len];
        let end = offset.wrapping_add(len as u64);
        let frame = self.arena.borrow().len();
        if self.writable.start <= offset && end <= self.writable.end && offset < end {
            self.arena.borrow_mut()[offset as usize..end as usize].copy_from_slice(bytes);
        } else if let Some(place) = (offset as usize).checked_sub(frame).and_then(|start| {
            self.frame.borrow_mut().get_mut(start..start.checked_add(len)?).map(|place| place.copy_from_slice(bytes))
        }) {
            place
        } else {
            self.refuse();
        }
    }

    fn load_reserved(&self, _: Mem, _: u64) -> u64 {
        self.refuse()
    }

    fn store_conditional(&self, _: Mem, _: u64, _: u64) -> u64 {
        self.refuse()
    }

    fn amo(&self, _: Mem, _: u64, _: impl Fn(u64) -> u64) -> u64 {
        self.refuse()
    }

    fn fadd(&self, _: Float, _: u64, _: u64, _: Rounding) -> u64 {
        self.refuse()
    }

    fn fsub(&self, _: Float, _: u64, _: u64, _: Rounding) -> u64 {
        self.refuse()
    }

    fn fmul(&self, _: Float, _: u64, _: u64, _: Rounding) -> u64 {
        self.refuse()
    }

    fn fdiv(&self, _: Float, _: u64, _: u64, _: Rounding) -> u64 {
        self.refuse()
    }

    fn fsqrt(&self, _: Float, _: u64, _: Rounding) -> u64 {
        self.refuse()
    }

    fn fma(&self, _: Float, _: u64, _: u64, _: u64, _: Rounding) -> u64 {
        self.refuse()
    }

    fn fcompare(&self, _: Float, _: FloatCompare, _: u64, _: u64) -> u64 {
        self.refuse()
    }

    fn float_to_int(&self, _: Float, _: Int, _: u64, _: Rounding) -> u64 {
        self.refuse()
    }

    fn int_to_float(&self, _: Float, _: Int, _: u64, _: Rounding) -> u64 {
        self.refuse()
    }

    fn widen(&self, _: u64) -> u64 {
        self.refuse()
    }

    fn narrow(&self, _: u64, _: Rounding) -> u64 {
        self.refuse()
    }

    fn fround(&self, _: Float, _: u64, _: Rounding, _: bool) -> u64 {
        self.refuse()
    }

    fn raise(&self, _: u8) {
        self.refuse();
    }

    fn csr(&self, _: u16, _: impl Fn(u64) -> u64) -> u64 {
        self.refuse()
    }

    fn system(&self, _: System) {
        self.refuse();
    }

    fn call_import(&self, _: u64) {
        self.refuse();
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::analysis::sample;

    /// What is recognised in a program, by names, with the instructions that it took.
    fn recognised(source: &str, options: &[&str]) -> Vec<String> {
        let image = sample::image(source, options);
        let text = sample::text(&image);
        let found = libcalls(&text, &Budget::default())
            .into_keys()
            .map(|start| image.symbol_at(start).unwrap().0.name.to_owned());
        let mut found: Vec<String> = found.collect();
        found.sort();
        found
    }

    fn in_c(body: &str) -> Vec<String> {
        let start = "typedef unsigned long size_t; __attribute__((used)) void _start(void) {}\n";
        recognised(
            &format!("{start}{body}"),
            &["-xc", "-O2", "-fno-builtin", "-fno-tree-loop-distribute-patterns", "-w"],
        )
    }

    #[test]
    fn those_of_the_c_library_are_recognised() {
        let undefined = "-Wl,-u,memcpy,-u,memmove,-u,memset,-u,memcmp,--start-group,-lc,-lgcc,-lgcc_eh,--end-group";
        let found = recognised(".globl _start\n_start: ret\n", &["-xassembler", undefined]);
        assert_eq!(found, ["memcmp", "memcpy", "memmove", "memset"]);
    }

    #[test]
    fn plain_loops_are_recognised() {
        let found = in_c(
            "void *memcpy(void *d, const void *s, size_t n)
            { for (size_t i = 0; i < n; i++) ((char *)d)[i] = ((char *)s)[i]; return d; }
            void *memset(void *d, int c, size_t n) { for (char *p = d; n; n--) *p++ = c; return d; }
            int memcmp(const void *a, const void *b, size_t n)
            { const unsigned char *x = a, *y = b; for (; n; n--, x++, y++) if (*x != *y) return *x - *y; return 0; }",
        );
        assert_eq!(found, ["memcmp", "memcpy", "memset"]);
    }

    #[test]
    fn names_alone_prove_nothing() {
        let copy = "{ for (size_t i = 0; i < n; i++) ((char *)d)[i] = ((char *)s)[i]; return d; }";
        let fill = "{ for (size_t i = 0; i < n; i++) ((char *)d)[i] = c; return d; }";
        for body in [
            // What has the name only in its own file may be anything, as here.
            "__attribute__((used, noinline)) static int memset(int *p, int a, long n)
            { for (long i = 0; i < n; i++) p[i] = a; return 7; }"
                .to_owned(),
            format!("__attribute__((used, noinline)) static void *memcpy(void *d, const void *s, size_t n) {copy}"),
            // A resolver.
            format!(
                "static void *plain(void *d, int c, size_t n) {fill}
            static void *resolve(void) {{ return plain; }}
            void *memset(void *, int, size_t) __attribute__((ifunc(\"resolve\")));"
            ),
            // Another result, another order, another length, another type.
            "void *memcpy(void *d, const void *s, size_t n)
            { for (size_t i = 0; i < n; i++) ((char *)d)[i] = ((char *)s)[i]; return d + n; }"
                .to_owned(),
            format!("void *memmove(void *d, const void *s, size_t n) {copy}"),
            "void *memset(void *d, int c, size_t n) { for (size_t i = 0; i <= n; i++) ((char *)d)[i] = c; return d; }"
                .to_owned(),
            "int memcmp(const void *a, const void *b, size_t n)
            { const signed char *x = a, *y = b; for (; n; n--, x++, y++) if (*x != *y) return *x - *y; return 0; }"
                .to_owned(),
            // What depends on memory, or counts its uses.
            format!("int off; void *memset(void *d, int c, size_t n) {{ if (off) return 0; {}", &fill[1..]),
            format!("long uses; void *memset(void *d, int c, size_t n) {{ uses++; {}", &fill[1..]),
            // A length that is not tried.
            format!("void *memset(void *d, int c, size_t n) {{ if (n == 12345) return 0; {}", &fill[1..]),
            format!("void *memset(void *d, int c, size_t n) {{ if (n >> 14) return 0; {}", &fill[1..]),
            format!("void *memset(void *d, int c, size_t n) {{ if (n - 2000 == 0) return 0; {}", &fill[1..]),
            format!("int on = 1; void *memset(void *d, int c, size_t n) {{ if (!on) return 0; {}", &fill[1..]),
            format!("int on = 1; void *memset(void *d, int c, size_t n) {{ if (on == 3) return 0; {}", &fill[1..]),
            format!(
                "static void *plain(void *d, int c, size_t n) {fill}
            void *(*hook)(void *, int, size_t) = plain;
            void *memset(void *d, int c, size_t n) {{ return hook(d, c, n); }}"
            ),
            "void *memset(void *d, int c, size_t n) { for (;;); }".to_owned(),
            "void *memset(void *d, int c, size_t n) { return memset(d, c, n); }".to_owned(),
        ] {
            assert_eq!(in_c(&body), [""; 0], "{body}");
        }
    }

    /// Copies a2 bytes from a1 to a3.
    const FORWARD: &str = "1: lbu a4, 0(a1)
        sb a4, 0(a3)
        addi a1, a1, 1
        addi a3, a3, 1
        addi a2, a2, -1
        bnez a2, 1b";

    /// Those of glibc are hidden, and LLD makes such symbols local.
    #[test]
    fn hidden_functions_are_recognised_though_a_linker_has_made_them_local() {
        let found = |visibility: &str| {
            let source = format!(
                ".globl _start
                .local memcpy
                {visibility}
                .type memcpy, @function
                _start: ret
                memcpy: mv a3, a0
                    beqz a2, 2f
                    {FORWARD}
                2:  ret
                .size memcpy, .-memcpy\n"
            );
            recognised(&source, sample::ASSEMBLY)
        };
        assert_eq!(found(".hidden memcpy"), ["memcpy"]);
        assert_eq!(found(""), [""; 0]);
    }

    /// Where `memcpy` is `memmove`, calls of either may overlap.
    #[test]
    fn of_two_names_the_stronger_one_is_meant() {
        let source = format!(
            ".globl _start, memcpy, memmove
            .type memcpy, @function
            .type memmove, @function
            _start: ret
            memcpy:
            memmove:
                mv a3, a0
                beqz a2, 3f
                bltu a1, a0, 2f
                {FORWARD}
                ret
            2:  add a3, a0, a2
                add a1, a1, a2
            4:  lbu a4, -1(a1)
                sb a4, -1(a3)
                addi a1, a1, -1
                addi a3, a3, -1
                bne a3, a0, 4b
            3:  ret\n"
        );
        let image = sample::image(&source, &["-xassembler"]);
        let text = sample::text(&image);
        assert_eq!(libcalls(&text, &Budget::default()).into_values().collect::<Vec<_>>(), [Libcall::Move]);
    }
}
