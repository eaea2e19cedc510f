//! Random programs.
//!
//! A *tame* program keeps the registers that its memory accesses and returns go by, so that it
//! runs for a while before something ends it; a wild one uses every register for everything.

mod conforming;
mod functions;

pub use conforming::cases as conforming;
pub use functions::cases as functions;
use riverrun_isa::{COp, Destination, Format, Inst, Op, RegisterFile, Rounding, csr, decode_compressed};

use crate::case::Case;
use crate::elf::{self, DATA, TEXT};
use crate::random::Random;
use crate::values;

/// Bytes of a program's data.
const DATA_LEN: usize = 0x2000;
const RA: u8 = 1;
const SP: u8 = 2;
/// Holds an address within the data, as `SP` and `ALIGNED` do.
const BASE: u8 = 8;
/// Holds an address that is a multiple of 8.
const ALIGNED: u8 = 9;
/// Counts the rounds of loops.
const COUNTER: u8 = 5;

/// A random program with its initial state.
pub fn case(random: &mut Random) -> Case {
    let tame = !random.one_in(4);
    let length = if random.one_in(8) { 1 + random.below(1200) } else { 1 + random.below(120) };
    let mut generator = Generator::new(random, tame);
    while generator.starts.len() < length {
        generator.item();
    }
    generator.exit();
    generator.link();
    let Generator { text, starts, .. } = generator;
    initial_state(random, tame, &text, &starts)
}

/// A case of these bytes as text, wild.
pub fn case_of(text: &[u8], random: &mut Random) -> Case {
    initial_state(random, false, text, &[0])
}

fn initial_state(random: &mut Random, tame: bool, text: &[u8], starts: &[usize]) -> Case {
    let data: Vec<u8> = (0..DATA_LEN / 8)
        .flat_map(|_| if random.one_in(2) { values::float(random) } else { values::integer(random) }.to_le_bytes())
        .collect();
    let code_address = |random: &mut Random| TEXT + random.pick(starts) as u64;
    let mut x = [0; 32];
    for value in &mut x[1..] {
        *value = match random.below(10) {
            0 if !tame => code_address(random),
            1 if !tame => DATA + random.below(DATA_LEN) as u64,
            _ => values::integer(random),
        };
    }
    x[RA as usize] = code_address(random);
    x[SP as usize] = DATA + 0x800 + if random.one_in(2) { 0 } else { random.below(8) as u64 };
    x[ALIGNED as usize] = DATA + 0x1000;
    x[BASE as usize] = DATA + 0x1800;
    // Addresses count modulo 2^32.
    if random.one_in(8) {
        let beyond = random.u64() << 32;
        for base in [SP, ALIGNED, BASE] {
            x[base as usize] |= beyond;
        }
    }
    let f = std::array::from_fn(|_| values::float(random));
    let mut fcsr = values::fcsr(random);
    if random.one_in(2) {
        fcsr &= 0x1f;
    } else if !tame && random.one_in(8) {
        fcsr |= 5 << 5;
    }
    let fuel = if random.one_in(3) { random.below(200) } else { random.below(3000) } as u64;
    Case { elf: elf::executable(text, &data, 0), x, f, fcsr, fuel }
}

/// A branch or jump whose target is chosen when all addresses are known.
struct Fixup {
    at: usize,
    inst: Inst,
    target: Target,
}

enum Target {
    Near,
    Anywhere,
    At(usize),
    /// The jump's register holds the address of this instruction.
    RelativeTo(usize),
}

struct Generator<'a> {
    random: &'a mut Random,
    tame: bool,
    /// Whether the program sees how many instructions it has executed.
    counts: bool,
    text: Vec<u8>,
    /// Where instructions begin.
    starts: Vec<usize>,
    fixups: Vec<Fixup>,
}

/// An instruction with all fields 0.
pub const fn blank(op: Op) -> Inst {
    Inst { op, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: Rounding::Rne, len: 4, imm: 0 }
}

impl<'a> Generator<'a> {
    fn new(random: &'a mut Random, tame: bool) -> Generator<'a> {
        Generator { random, tame, counts: true, text: Vec::new(), starts: Vec::new(), fixups: Vec::new() }
    }

    fn put(&mut self, inst: Inst) {
        self.put_word(inst.encode());
    }

    fn put_word(&mut self, word: u32) {
        self.starts.push(self.text.len());
        self.text.extend(word.to_le_bytes());
    }

    fn put_parcel(&mut self, parcel: u16) {
        self.starts.push(self.text.len());
        self.text.extend(parcel.to_le_bytes());
    }

    fn put_jump(&mut self, inst: Inst, target: Target) {
        self.fixups.push(Fixup { at: self.text.len(), inst, target });
        self.put(inst);
    }

    fn item(&mut self) {
        match self.random.below(64) {
            0..=27 => self.operation(),
            28..=35 => self.compressed(),
            36..=43 => self.branch(),
            44..=46 => {
                let rd = if self.random.one_in(2) { 0 } else { self.link_register() };
                self.put_jump(Inst { rd, ..blank(Op::jal) }, Target::Near);
            }
            47 => self.put_jump(Inst { rd: RA, ..blank(Op::jal) }, Target::Anywhere),
            48 => self.put(Inst { rs1: RA, ..blank(Op::jalr) }),
            49..=50 => self.jump_indirect(),
            51..=54 => self.computed_access(),
            55..=57 => self.reservation(),
            58..=59 => self.csr(),
            60..=61 => self.counted_loop(),
            62 => self.put(blank(Op::ecall)),
            _ if self.tame => self.operation(),
            _ => self.wild(),
        }
    }

    fn destination(&mut self) -> u8 {
        loop {
            let rd = match self.random.below(4) {
                0 => 10 + self.random.below(6) as u8,
                _ => self.random.below(32) as u8,
            };
            if !self.tame || !matches!(rd, RA | SP | BASE | ALIGNED | COUNTER) {
                return rd;
            }
        }
    }

    fn link_register(&mut self) -> u8 {
        if self.random.one_in(2) { RA } else { self.destination() }
    }

    fn source(&mut self) -> u8 {
        match self.random.below(3) {
            0 => 10 + self.random.below(6) as u8,
            _ => self.random.below(32) as u8,
        }
    }

    fn base(&mut self) -> u8 {
        if self.tame || !self.random.one_in(4) { self.random.pick(&[SP, BASE, ALIGNED]) } else { self.source() }
    }

    /// A straight-line instruction, often one of those that programs consist of.
    fn operation(&mut self) {
        const COMMON: &[Op] = &[
            Op::addi,
            Op::addiw,
            Op::add,
            Op::addw,
            Op::sub,
            Op::and,
            Op::andi,
            Op::or,
            Op::xor,
            Op::slli,
            Op::srli,
            Op::sltu,
            Op::mul,
            Op::ld,
            Op::lw,
            Op::lbu,
            Op::sd,
            Op::sw,
            Op::sb,
            Op::fadd_d,
            Op::fmul_d,
            Op::lui,
            Op::auipc,
        ];
        let op = if self.random.one_in(2) { self.random.pick(COMMON) } else { self.random.pick(Op::ALL) };
        let straight = !matches!(
            op.info().format,
            Format::B
                | Format::J
                | Format::Jr
                | Format::Amo
                | Format::Lr
                | Format::Csr
                | Format::CsrI
                | Format::Sys
                | Format::Import
        );
        if straight {
            let inst = self.operands(op);
            self.put(inst);
        }
    }

    /// The instruction with random operands.
    fn operands(&mut self, op: Op) -> Inst {
        let format = op.info().format;
        let [rs1, rs2, rs3] = format.sources();
        let memory = matches!(format, Format::Load | Format::Store | Format::FLoad | Format::FStore);
        let mut inst = random_inst(op, self.random);
        let mut source = |file: Option<RegisterFile>| if file.is_some() { self.source() } else { 0 };
        (inst.rs1, inst.rs2, inst.rs3) = (source(rs1), source(rs2), source(rs3));
        if memory {
            inst.rs1 = self.base();
            if self.random.one_in(2) {
                inst.imm = inst.imm >> 3 << 3;
            }
        }
        if format == Format::FLi {
            inst.rs1 = self.random.below(32) as u8;
        }
        if format.destination() == Destination::X {
            inst.rd = self.destination();
        }
        inst
    }

    fn compressed(&mut self) {
        let cop = self.random.pick(COp::ALL);
        let info = cop.info();
        for _ in 0..20 {
            let parcel = info.bits | self.random.u32() as u16 & !info.mask;
            let Some((_, inst)) = decode_compressed(parcel) else { continue };
            let format = inst.op.info().format;
            let memory = matches!(format, Format::Load | Format::Store | Format::FLoad | Format::FStore);
            let fits = match format.destination() {
                _ if memory && ![SP, BASE, ALIGNED].contains(&inst.rs1) => false,
                Destination::X => ![RA, SP, BASE, ALIGNED, COUNTER].contains(&inst.rd),
                Destination::F | Destination::None => inst.op != Op::ebreak,
                Destination::Branch => inst.imm.abs() < 64,
                Destination::Jump if inst.op == Op::jal => inst.imm.abs() < 64,
                Destination::Jump => inst.rs1 == RA,
            };
            if fits || !self.tame {
                return self.put_parcel(parcel);
            }
        }
    }

    fn branch(&mut self) {
        let op = self.random.pick(&[Op::beq, Op::bne, Op::blt, Op::bge, Op::bltu, Op::bgeu]);
        let (rs1, rs2) = (self.source(), if self.random.one_in(3) { 0 } else { self.source() });
        self.put_jump(Inst { rs1, rs2, ..blank(op) }, Target::Near);
    }

    /// `auipc` and `jalr`, next to each other or not.
    fn jump_indirect(&mut self) {
        let rs1 = loop {
            let register = self.destination();
            if register != 0 {
                break register;
            }
        };
        let from = self.text.len();
        self.put(Inst { rd: rs1, ..blank(Op::auipc) });
        if self.random.one_in(4) {
            self.put(Inst { rd: rs1, rs1, ..blank(Op::addi) });
        }
        let rd = if self.random.one_in(2) { 0 } else { self.link_register() };
        self.put_jump(Inst { rd, rs1, ..blank(Op::jalr) }, Target::RelativeTo(from));
    }

    /// An access to an address that has just been computed.
    fn computed_access(&mut self) {
        const ACCESSES: &[Op] = &[
            Op::lb,
            Op::lbu,
            Op::lh,
            Op::lhu,
            Op::lw,
            Op::lwu,
            Op::ld,
            Op::flw,
            Op::fld,
            Op::sb,
            Op::sh,
            Op::sw,
            Op::sd,
            Op::fsw,
            Op::fsd,
        ];
        const SUMS: &[(Op, i32)] = &[
            (Op::add, 0x7f8),
            (Op::add, 0x7ff),
            (Op::add_uw, 0x7ff),
            (Op::sh1add, 0x3fc),
            (Op::sh2add, 0x1fe),
            (Op::sh3add, 0xff),
        ];
        let (index, address) = (self.destination(), self.destination());
        let (rs1, rs2) = (self.source(), self.random.pick(&[ALIGNED, BASE, SP]));
        let (sum, imm) = self.random.pick(SUMS);
        self.put(Inst { rd: index, rs1, imm, ..blank(Op::andi) });
        self.put(Inst { rd: address, rs1: index, rs2, ..blank(sum) });
        if address == 0 {
            return;
        }
        let op = self.random.pick(ACCESSES);
        let imm = if self.random.one_in(2) { 0 } else { self.random.between(-16..=16) as i32 };
        let inst = self.operands(op);
        self.put(Inst { rs1: address, imm, ..inst });
    }

    /// Atomic operations at one address, the reserved word changed or not between them.
    fn reservation(&mut self) {
        let wild = !self.tame && self.random.one_in(4);
        let rs1 = if wild { self.source() } else { ALIGNED };
        let double = self.random.one_in(2);
        let atomics: Vec<Op> = Op::ALL
            .iter()
            .copied()
            .filter(|op| op.info().format == Format::Amo && (op.info().bits >> 12 & 7 == 3) == double)
            .collect();
        let (reserve, conditional) = if double { (Op::lr_d, Op::sc_d) } else { (Op::lr_w, Op::sc_w) };
        if self.random.one_in(2) {
            let op = self.random.pick(&atomics);
            let inst = self.operands(op);
            return self.put(Inst { rs1, ..inst });
        }
        let inst = self.operands(reserve);
        self.put(Inst { rs1, ..inst });
        match self.random.below(4) {
            0 => {
                let rs2 = self.source();
                self.put(Inst { rs1, rs2, ..blank(Op::sd) });
            }
            1 => self.operation(),
            _ => {}
        }
        let inst = self.operands(conditional);
        self.put(Inst { rs1, ..inst });
    }

    fn csr(&mut self) {
        let op = self.random.pick(&[Op::csrrw, Op::csrrs, Op::csrrc, Op::csrrwi, Op::csrrsi, Op::csrrci]);
        let number = match self.random.below(16) {
            0..=5 => csr::FFLAGS,
            6..=8 => csr::FRM,
            9..=11 => csr::FCSR,
            12..=14 if !self.counts => csr::FFLAGS,
            12 => csr::CYCLE,
            13 => csr::TIME,
            14 => csr::INSTRET,
            _ if self.tame => {
                if self.counts {
                    csr::INSTRET
                } else {
                    csr::FRM
                }
            }
            _ => self.random.below(4096) as u16,
        };
        let mut inst = Inst { rd: self.destination(), imm: number.into(), ..blank(op) };
        inst.rs1 = self.random.below(32) as u8;
        let counter = number >= csr::CYCLE;
        if self.tame && counter {
            (inst.op, inst.rs1) = (self.random.pick(&[Op::csrrs, Op::csrrsi, Op::csrrci]), 0);
        } else if self.tame && number != csr::FFLAGS {
            // A rounding mode that is not reserved, mostly.
            inst.op = self.random.pick(&[Op::csrrwi, Op::csrrci]);
            if number == csr::FRM && !self.random.one_in(8) {
                inst.rs1 %= 5;
            }
        }
        self.put(inst);
    }

    fn counted_loop(&mut self) {
        let rounds = 1 + self.random.below(20) as i32;
        self.put(Inst { rd: COUNTER, imm: rounds, ..blank(Op::addi) });
        let head = self.text.len();
        for _ in 0..1 + self.random.below(6) {
            if self.random.one_in(4) { self.compressed() } else { self.operation() }
        }
        self.put(Inst { rd: COUNTER, rs1: COUNTER, imm: -1, ..blank(Op::addi) });
        self.put_jump(Inst { rs1: COUNTER, ..blank(Op::bne) }, Target::At(head));
    }

    /// What only goes wrong, or hardly ever right.
    fn wild(&mut self) {
        match self.random.below(6) {
            0 => self.put(blank(Op::ebreak)),
            1 => {
                let word = self.random.u32() | 3;
                self.put_word(word);
            }
            2 => {
                let parcel = self.random.u32() as u16;
                self.put_parcel(parcel);
            }
            3 => {
                let op = self.random.pick(Op::ALL);
                let inst = random_inst(op, self.random);
                self.put(inst);
            }
            4 => {
                // A reserved rounding mode.
                let word = random_inst(Op::fadd_d, self.random).encode();
                let reserved = self.random.pick(&[0x5000, 0x6000]);
                self.put_word(word & !0x7000 | reserved);
            }
            _ => {
                let (rs1, imm) = (self.source(), self.random.between(-2048..=2047) as i32);
                self.put(Inst { rs1, imm, ..blank(Op::jalr) });
            }
        }
    }

    /// Linux's call 93, `exit`, mostly; programs may also fall off their text.
    fn exit(&mut self) {
        if self.random.one_in(8) {
            return;
        }
        self.put(Inst { rd: 17, imm: 93, ..blank(Op::addi) });
        self.put(blank(Op::ecall));
    }

    /// Chooses the targets of branches and jumps.
    fn link(&mut self) {
        for fixup in std::mem::take(&mut self.fixups) {
            let Fixup { at, mut inst, target } = fixup;
            let here = self.starts.partition_point(|&start| start < at);
            let near = |distance: i64| (here as i64 + distance).clamp(0, self.starts.len() as i64 - 1) as usize;
            let mut to = match target {
                // Forward three times of four, so that few programs go in circles for long.
                Target::Near if self.random.one_in(4) => self.starts[near(-self.random.between(0..=12))],
                Target::Near => self.starts[near(self.random.between(1..=12))],
                Target::Anywhere | Target::RelativeTo(_) => self.random.pick(&self.starts),
                Target::At(to) => to,
            } as i64;
            if !matches!(target, Target::At(_)) && self.random.one_in(if self.tame { 100 } else { 20 }) {
                // Into the middle of an instruction, or before or behind the text.
                to += self.random.pick(&[-4, -2, 2, 2, 2, 4]);
            }
            inst.imm = match target {
                Target::RelativeTo(from) => {
                    let distance = to - from as i64 + i64::from(self.random.one_in(8));
                    distance.clamp(-2048, 2047) as i32
                }
                _ => (to - at as i64) as i32,
            };
            self.text[at..at + 4].copy_from_slice(&inst.encode().to_le_bytes());
        }
    }
}

/// The instruction with random bits in all its fields, but no reserved rounding mode; every
/// second rounds dynamically.
pub fn random_inst(op: Op, random: &mut Random) -> Inst {
    let info = op.info();
    let rm = match random.below(10) {
        rm @ 0..=4 => rm as u32,
        _ => 7,
    };
    let mut word = info.bits | random.u32() & !info.mask;
    if info.format.rounds() {
        word = word & !0x7000 | rm << 12;
    }
    riverrun_isa::decode(word).filter(|inst| inst.op == op).unwrap_or(blank(op))
}
