//! Random programs that keep to the psABI's calling convention, as programs of compilers do and as compiled code in the
//! default mode assumes. Functions read their arguments and registers that they have written themselves, preserve the
//! registers that they must, and never read other registers after a call.
//!
//! The generator tracks in `defined` the set of registers that the next instruction may read.

mod control;
mod function;

use riverrun_isa::{Destination, Format, Inst, Op, RegisterFile, csr};

use super::{RA, SP, blank, random_inst};
use crate::case::Case;
use crate::elf::{self, CONSTANTS, DATA, TEXT};
use crate::random::Random;
use crate::values;

/// Registers by number, floats behind the integers.
type Set = u64;

const fn range(first: u32, last: u32) -> Set {
    (1 << (last + 1)) - (1 << first)
}

const A0: u8 = 10;
const FA0: u8 = 32 + 10;
/// Saved by functions that use them; s0 may point to the frame.
const S0: u8 = 8;
const INTEGERS: Set = 0xffff_ffff;
const SAVED: Set = range(8, 9) | range(18, 27) | range(32 + 8, 32 + 9) | range(32 + 18, 32 + 27);
const PRESERVED: Set = SAVED | range(2, 4);
/// Neither arguments nor preserved: for addresses that are about to be used.
const TEMPORARIES: Set = range(5, 7) | range(28, 31);
/// Registers that functions may write without saving them.
const SCRATCH: Set = !PRESERVED & !0b11;

/// The data: what programs compute with, tables of places to go to, what `setjmp` has saved and whether it has,
/// what has come out; the stack grows down from the end. The second half is reached from [`HIGH`]. Some programs read
/// the tables from a copy in memory without write permission.
const VARIABLES: i32 = 0x800;
const TABLES: usize = 0x800;
const TABLES_END: usize = 0xc00;
const JUMP_BACK: i32 = 0xc00;
const MAY_JUMP: i32 = 0xd00;
const RESULTS: i32 = 0xe00;
const DATA_LEN: usize = 0x1000;
const STACK_LEN: u64 = 0x8000;
const HIGH: u64 = DATA + 0x1000;

/// The argument and result registers of a function.
#[derive(Clone, Copy)]
struct Signature {
    parameters: Set,
    results: Set,
}

/// A function that has been made.
struct Made {
    text: std::ops::Range<usize>,
    /// What is something else behind it.
    clobbers: Set,
}

/// The target of a jump, call or pointer.
#[derive(Clone, Copy)]
enum Place {
    At(usize),
    Function(usize),
    SetJmp,
    LongJmp,
}

/// An entry of a table in the data.
struct Entry {
    at: usize,
    place: Place,
    /// A distance of 32 bits from this place in the data.
    from: Option<usize>,
}

/// Of the function that is being made.
#[derive(Clone, Default)]
struct Body {
    /// The functions below this one may be called.
    index: usize,
    /// Where it begins.
    start: usize,
    /// Registers that may be read.
    defined: Set,
    /// Registers that may be written.
    free: Set,
    written: Set,
    results: Set,
    /// Bytes of its frame, of which the first ones are variables; none without frame.
    frame: i32,
    variables: i32,
    /// Registers and where they are in the frame.
    saved: Vec<(u8, i32)>,
    has_frame_pointer: bool,
    /// Whether it may call, here.
    calls: bool,
    /// Whether it may return from the middle.
    returns: bool,
    /// Holds how deep it may still call itself.
    depth: Option<u8>,
    /// Whether it is one that accesses accrued exceptions.
    accesses_exceptions: bool,
}

struct Program<'a> {
    random: &'a mut Random,
    text: Vec<u8>,
    /// Jumps and where they stand.
    jumps: Vec<(usize, Inst, Place)>,
    /// Pairs of instructions that put an address into a register: where they stand, and which.
    addresses: Vec<(usize, u8, Place)>,
    entries: Vec<Entry>,
    tables: usize,
    /// Behind the page from which the tables are read.
    tables_high: u64,
    signatures: Vec<Signature>,
    /// Of the functions, made or not.
    shapes: Vec<usize>,
    made: Vec<Made>,
    /// Where `setjmp` and `longjmp` are.
    library: [usize; 2],
    /// The function that calls `setjmp`: those below it may come back by `longjmp`.
    catcher: usize,
    /// Whether callers know what is left alone by the functions they call.
    knows_clobbers: bool,
    traps: bool,
    /// Whether some functions access the accrued exceptions of floats, and not only to restore them.
    accesses_exceptions: bool,
    body: Body,
}

/// Initial states of one random program.
pub fn cases(random: &mut Random) -> Vec<Case> {
    let count = 1 + random.below(8);
    let signatures: Vec<Signature> = (0..1 + random.below(4)).map(|_| signature(random)).collect();
    let shapes = (0..count).map(|_| random.below(signatures.len())).collect();
    let tables_high = random.pick(&[HIGH, CONSTANTS + DATA_LEN as u64]);
    let (catcher, knows_clobbers, traps) = (random.below(2 * count), random.one_in(2), random.one_in(8));
    let accesses_exceptions = random.one_in(3);
    let mut program = Program {
        random,
        text: Vec::new(),
        jumps: Vec::new(),
        addresses: Vec::new(),
        entries: Vec::new(),
        tables: TABLES,
        tables_high,
        signatures,
        shapes,
        made: Vec::new(),
        library: [0; 2],
        catcher,
        knows_clobbers,
        traps,
        accesses_exceptions,
        body: Body::default(),
    };
    let mut functions = vec![program.entry(count)];
    functions.extend(program.library());
    for index in 0..count {
        let made = program.function(index);
        program.made.push(made);
    }
    functions.extend(program.made.iter().map(|made| made.text.clone()));
    let data = program.link();
    let Program { random, text, .. } = program;
    // Most compilers say where functions are.
    let (all, some) = (!random.one_in(6), random.one_in(6));
    functions.retain(|_| all && !(some && random.one_in(4)));
    let constants = if tables_high == HIGH { &[] } else { data.as_slice() };
    let elf = elf::with_functions(elf::with_constants(&text, constants, &data, STACK_LEN), &functions);
    (0..1 + random.below(3)).map(|_| state(random, elf.clone())).collect()
}

fn signature(random: &mut Random) -> Signature {
    let (integers, floats) = (random.below(5) as u32, random.below(3) as u32);
    let integers = if random.one_in(6) { 8 } else { integers };
    let first = |from: u8, count: u32| (1_u64 << (u32::from(from) + count)) - (1 << from);
    let results = random.pick(&[(1, 0), (1, 0), (1, 0), (2, 0), (0, 1), (1, 1), (0, 0)]);
    Signature {
        parameters: first(A0, integers) | first(FA0, floats),
        results: first(A0, results.0) | first(FA0, results.1),
    }
}

fn state(random: &mut Random, elf: Vec<u8>) -> Case {
    let mut x = std::array::from_fn(|_| values::integer(random));
    (x[0], x[usize::from(SP)]) = (0, DATA + DATA_LEN as u64 + STACK_LEN - 16);
    let f = std::array::from_fn(|_| values::float(random));
    Case { elf, x, f, fcsr: 0, fuel: 100_000 }
}

impl Program<'_> {
    fn one_in(&mut self, n: usize) -> bool {
        self.random.one_in(n)
    }

    fn below(&mut self, n: usize) -> usize {
        self.random.below(n)
    }

    fn here(&self) -> usize {
        self.text.len()
    }

    fn put_inst(&mut self, inst: Inst) {
        self.text.extend(inst.encode().to_le_bytes());
    }

    fn put(&mut self, op: Op, rd: u8, rs1: u8, rs2: u8, imm: i32) {
        self.put_inst(Inst { rd, rs1, rs2, imm, ..blank(op) });
    }

    fn put_jump(&mut self, inst: Inst, to: Place) {
        self.jumps.push((self.here(), inst, to));
        self.put_inst(inst);
    }

    /// A jump to what is not there yet; [`Program::arrive`] says that it is.
    fn put_forward(&mut self, inst: Inst) -> usize {
        self.put_jump(inst, Place::At(0));
        self.jumps.len() - 1
    }

    fn arrive(&mut self, jump: usize) {
        self.jumps[jump].2 = Place::At(self.here());
    }

    /// One of a set, which is not empty.
    fn any(&mut self, set: Set) -> u8 {
        let mut rest = set;
        for _ in 0..self.below(set.count_ones() as usize) {
            rest &= rest - 1;
        }
        rest.trailing_zeros() as u8
    }

    fn define(&mut self, register: u8) {
        self.body.defined |= 1 << register;
        self.body.written |= 1 << register;
    }

    /// A register to write to, of these.
    fn fresh(&mut self, of: Set) -> u8 {
        let register = self.any(self.body.free & of);
        self.define(register);
        register
    }

    fn source(&mut self, file: RegisterFile) -> u8 {
        let ours = match file {
            RegisterFile::X => INTEGERS & !0b11110,
            RegisterFile::F => !INTEGERS,
        };
        if file == RegisterFile::F && self.body.defined & ours == 0 {
            let from = self.source(RegisterFile::X);
            let to = self.fresh(ours & SCRATCH);
            self.put(Op::fmv_d_x, to - 32, from, 0, 0);
            return to - 32;
        }
        self.any((self.body.defined | 1) & ours) % 32
    }

    fn operations(&mut self) {
        for _ in 0..1 + self.below(6) {
            self.operation();
        }
    }

    fn operation(&mut self) {
        match self.below(24) {
            0 => return self.quiet_comparison(),
            1..3 if self.body.accesses_exceptions => return self.exceptions(),
            _ => {}
        }
        const COMMON: &[Op] =
            &[Op::addi, Op::add, Op::addiw, Op::sub, Op::xor, Op::sltu, Op::mul, Op::slli, Op::fadd_d, Op::fmul_d];
        let op = if self.one_in(2) { self.random.pick(COMMON) } else { self.random.pick(Op::ALL) };
        let format = op.info().format;
        let is_other = matches!(
            format,
            Format::B | Format::J | Format::Jr | Format::Csr | Format::CsrI | Format::Sys | Format::Import | Format::Lr
        );
        if is_other || [Op::sc_w, Op::sc_d].contains(&op) {
            return;
        }
        let is_memory = matches!(format, Format::Load | Format::Store | Format::FLoad | Format::FStore | Format::Amo);
        let mut inst = random_inst(op, self.random);
        if is_memory {
            let (base, imm) = if format == Format::Amo { (self.aligned(), 0) } else { self.address() };
            (inst.rs1, inst.imm) = (base, imm);
        }
        let [rs1, rs2, rs3] = format.sources();
        for (field, file) in [(&mut inst.rs1, rs1.filter(|_| !is_memory)), (&mut inst.rs2, rs2), (&mut inst.rs3, rs3)] {
            if let Some(file) = file {
                *field = self.source(file);
            }
        }
        match format.destination() {
            Destination::X => inst.rd = self.fresh(INTEGERS),
            Destination::F => inst.rd = self.fresh(!INTEGERS) - 32,
            _ => {}
        }
        self.put_inst(inst);
    }

    /// A comparison behind which the exceptions from before it are restored, as compilers do for C's quiet ones.
    fn quiet_comparison(&mut self) {
        let (a, b) = (self.source(RegisterFile::F), self.source(RegisterFile::F));
        let before = self.fresh(TEMPORARIES);
        self.put(Op::csrrs, before, 0, 0, csr::FFLAGS.into());
        let result = self.fresh(TEMPORARIES & !(1 << before));
        let op = self.random.pick(&[Op::flt_d, Op::fle_d, Op::flt_s, Op::fle_s]);
        self.put(op, result, a, b, 0);
        self.put(Op::csrrw, 0, before, 0, csr::FFLAGS.into());
        // Nothing else reads them, but in a loop what comes before in its next iteration.
        self.body.defined &= !(1 << before);
    }

    /// Reads, writes, sets or clears exceptions. The rounding mode stays the one to the nearest.
    fn exceptions(&mut self) {
        let number = self.random.pick(&[csr::FFLAGS, csr::FFLAGS, csr::FCSR]);
        let op = self.random.pick(&[Op::csrrw, Op::csrrc, Op::csrrwi, Op::csrrsi, Op::csrrci]);
        let rs1 = match op {
            Op::csrrw | Op::csrrc if number == csr::FFLAGS => self.source(RegisterFile::X),
            Op::csrrw | Op::csrrc => 0,
            _ => self.below(32) as u8,
        };
        let rd = if self.one_in(4) { 0 } else { self.fresh(INTEGERS) };
        self.put(op, rd, rs1, 0, number.into());
    }

    fn clear_exceptions(&mut self) {
        self.put(Op::csrrwi, 0, 0, 0, csr::FFLAGS.into());
    }

    /// Stores the exceptions that have accrued to a variable.
    fn store_exceptions(&mut self) {
        let value = self.fresh(TEMPORARIES);
        let number = self.random.pick(&[csr::FFLAGS, csr::FCSR]);
        self.put(Op::csrrs, value, 0, 0, number.into());
        let base = self.fresh(TEMPORARIES & !(1 << value));
        self.put(Op::lui, base, 0, 0, DATA as i32);
        let at = 8 * self.below(VARIABLES as usize / 8) as i32;
        self.put(Op::sd, 0, base, value, at);
    }

    /// Emits code that loads the address of a variable; returns the register and an offset to add.
    fn address(&mut self) -> (u8, i32) {
        let imm = |program: &mut Self, len: i32| {
            let imm = program.below(len as usize - 7) as i32;
            if program.one_in(4) { imm } else { imm & !7 }
        };
        match self.below(4) {
            0 if self.body.variables >= 8 => (SP, imm(self, self.body.variables)),
            1 if self.body.variables >= 8 => {
                let base = self.fresh(INTEGERS);
                self.put(Op::addi, base, SP, 0, 0);
                (base, imm(self, self.body.variables))
            }
            2 => (self.aligned(), 0),
            _ => {
                let base = self.fresh(INTEGERS);
                self.put(Op::lui, base, 0, 0, DATA as i32);
                (base, imm(self, VARIABLES))
            }
        }
    }

    /// Emits code that loads the address of a random aligned variable; returns the register.
    fn aligned(&mut self) -> u8 {
        let from = self.source(RegisterFile::X);
        let index = self.fresh(TEMPORARIES);
        let base = self.fresh(TEMPORARIES & !(1 << index));
        self.put(Op::andi, index, from, 0, VARIABLES - 8);
        self.put(Op::lui, base, 0, 0, DATA as i32);
        self.put(Op::add, base, base, index, 0);
        base
    }

    /// Resolves all places and returns the data section.
    fn link(&mut self) -> Vec<u8> {
        let mut data: Vec<u8> = (0..DATA_LEN / 8)
            .flat_map(|n| {
                let value =
                    if self.random.one_in(2) { values::float(self.random) } else { values::integer(self.random) };
                if n * 8 < TABLES { value } else { 0 }.to_le_bytes()
            })
            .collect();
        let resolve = |place: Place| match place {
            Place::At(at) => at,
            Place::Function(index) => self.made[index].text.start,
            Place::SetJmp => self.library[0],
            Place::LongJmp => self.library[1],
        };
        for &(at, inst, place) in &self.jumps {
            let inst = Inst { imm: (resolve(place) as i64 - at as i64) as i32, ..inst };
            self.text[at..at + 4].copy_from_slice(&inst.encode().to_le_bytes());
        }
        for &(at, rd, place) in &self.addresses {
            let distance = (resolve(place) as i64 - at as i64) as i32;
            let high = Inst { rd, imm: distance.wrapping_add(0x800) & !0xfff, ..blank(Op::auipc) };
            let low = Inst { rd, rs1: rd, imm: distance << 20 >> 20, ..blank(Op::addi) };
            self.text[at..at + 4].copy_from_slice(&high.encode().to_le_bytes());
            self.text[at + 4..at + 8].copy_from_slice(&low.encode().to_le_bytes());
        }
        for Entry { at, place, from } in &self.entries {
            let to = TEXT + resolve(*place) as u64;
            match from {
                None => data[*at..at + 8].copy_from_slice(&to.to_le_bytes()),
                Some(from) => {
                    let distance = to.wrapping_sub(self.tables_high - (DATA_LEN - *from) as u64) as u32;
                    data[*at..at + 4].copy_from_slice(&distance.to_le_bytes());
                }
            }
        }
        data
    }
}
