//! Batches of probes: one instruction each, executed on many inputs.
//!
//! A batch is a program for Linux that runs anywhere: for each probe it loads the sources and
//! `fcsr` from a table, executes the instruction, and stores the results; at the end it writes all results to its output. So
//! outputs of two machines can be compared byte by byte, and results with those of an oracle one by one.

use riverrun_isa::{COp, Destination, Format, Inst, Op, RegisterFile, Style, csr, decode_compressed, disassemble};

use crate::case::{Engine, Loaded};
use crate::elf::{self, DATA, TEXT};
use crate::generate::{blank, random_inst};
use crate::random::Random;
use crate::values;

/// How often a probe is executed, each time on other inputs.
pub const ROUNDS: usize = 16;

/// Rows of each kind in the table of inputs.
const ROWS: usize = 2048;
/// Bytes of a row of inputs and of one of results: four words.
const ROW: usize = 32;
/// Where results are written: behind the inputs.
const RESULTS: u64 = DATA + (Kind::COUNT * ROWS * ROW) as u64;

/// An instruction to be probed, as a row of one of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A row of the table of instructions.
    Op(Op),
    /// A row of the table of compressed ones.
    Compressed(COp),
}

/// What the sources of an instruction are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integers,
    Singles,
    Doubles,
}

impl Kind {
    const COUNT: usize = 3;

    fn of(inst: &Inst, random: &mut Random) -> Kind {
        let [rs1, rs2, _] = inst.op.info().format.sources();
        let name = inst.op.info().name;
        match () {
            _ if rs1 != Some(RegisterFile::F) && rs2 != Some(RegisterFile::F) => Kind::Integers,
            _ if name.ends_with("_s") || name.ends_with("_w") => Kind::Singles,
            _ if name.ends_with("_d") => Kind::Doubles,
            _ => random.pick(&[Kind::Singles, Kind::Doubles]),
        }
    }
}

/// The inputs of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// The sources as the instruction finds them in its registers; where it lacks one, any value.
    /// The address of an indirect jump is not among them.
    pub sources: [u64; 3],
    /// Float control and status.
    pub fcsr: u32,
    /// The memory that is accessed, if any.
    pub memory: [u64; 2],
}

/// The results of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Results {
    /// The destination register; 0 if there is none.
    pub value: u64,
    /// Float control and status.
    pub fcsr: u32,
    /// The memory accessed; of branches and jumps, the way they went.
    pub memory: [u64; 2],
}

/// An instruction at a place in its batch.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// The instruction.
    pub inst: Inst,
    /// Its encoding.
    pub word: u32,
    /// Its address.
    pub pc: u64,
    /// Where in [`Results::memory`] it accesses memory, in bytes.
    pub offset: u8,
    first_row: usize,
}

/// A program of probes.
#[derive(Debug)]
pub struct Batch {
    /// The program.
    pub elf: Vec<u8>,
    probes: Vec<Probe>,
    table: Vec<[u64; 4]>,
}

impl Batch {
    /// A batch of `count` probes of these instructions in turn.
    pub fn new(subjects: &[Subject], count: usize, seed: u64) -> Batch {
        let mut random = Random::seeded(seed);
        let table = table(&mut random);
        let mut writer = Writer { random, text: Vec::new(), probes: Vec::new() };
        for &subject in subjects.iter().cycle().take(count) {
            writer.probe(subject);
        }
        let len = (writer.probes.len() * ROUNDS * ROW) as u64;
        writer.finish(len);
        let data: Vec<u8> = table.as_flattened().iter().copied().flat_map(u64::to_le_bytes).collect();
        let elf = elf::executable(&writer.text, &data, len);
        Batch { elf, probes: writer.probes, table }
    }

    /// What an engine writes.
    ///
    /// # Panics
    /// If the program does not exit.
    pub fn run(&self, engine: Engine) -> Vec<u8> {
        let mut machine = Loaded::new(engine, &self.elf).start();
        let status = machine.run().unwrap_or_else(|error| panic!("{engine:?}: {error}"));
        assert_eq!(status, 0, "{engine:?}");
        machine.into_data()
    }

    /// Every execution of every probe, with what `output` says came of it.
    ///
    /// # Panics
    /// If `output` is not as long as that of this batch.
    pub fn results<'a>(&'a self, output: &'a [u8]) -> impl Iterator<Item = (&'a Probe, Inputs, Results)> + 'a {
        assert_eq!(output.len(), self.probes.len() * ROUNDS * ROW, "bytes of results");
        let word = |row: usize, n: usize| {
            let at = row * ROW + 8 * n;
            u64::from_le_bytes(output[at..at + 8].try_into().expect("eight bytes"))
        };
        (0..self.probes.len() * ROUNDS).map(move |row| {
            let probe = &self.probes[row / ROUNDS];
            let inputs = self.inputs(probe, row);
            let results =
                Results { value: word(row, 0), fcsr: word(row, 1) as u32, memory: [word(row, 2), word(row, 3)] };
            (probe, inputs, results)
        })
    }

    /// What the probe finds whose results are in this row.
    fn inputs(&self, probe: &Probe, row: usize) -> Inputs {
        let [first, second, third, fcsr] = self.table[probe.first_row + row % ROUNDS];
        let loaded = [first, second, third];
        let Inst { rs1, rs2, rs3, imm, op, .. } = probe.inst;
        let format = op.info().format;
        let registers: Vec<_> = format.sources().into_iter().zip([rs1, rs2, rs3]).collect();
        let address = RESULTS + (row * ROW) as u64 + 16 + u64::from(probe.offset);
        let sources = std::array::from_fn(|n| match registers[n] {
            (Some(RegisterFile::X), 0) => 0,
            (Some(RegisterFile::X), register) if is_memory(format) && register == rs1 => {
                // The immediate of an atomic is no offset.
                address.wrapping_add_signed(if matches!(format, Format::Amo | Format::Lr) {
                    0
                } else {
                    -i64::from(imm)
                })
            }
            // What is loaded last stays.
            register => loaded[registers.iter().rposition(|&other| other == register).unwrap_or(n)],
        });
        let memory = if is_memory(format) { [third, first] } else { [0, 0] };
        Inputs { sources, fcsr: fcsr as u32, memory }
    }
}

impl std::fmt::Display for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}: {}", self.word, disassemble(self.word, self.pc, Style::Aliases))
    }
}

/// Rows of three values and an `fcsr`, [`ROWS`] of each kind.
fn table(random: &mut Random) -> Vec<[u64; 4]> {
    let mut table = Vec::with_capacity(Kind::COUNT * ROWS);
    for kind in [values::integers, values::singles, values::doubles] {
        for _ in 0..ROWS {
            let [first, second, third] = kind(random);
            table.push([first, second, third, values::fcsr(random).into()]);
        }
    }
    table
}

struct Writer {
    random: Random,
    text: Vec<u8>,
    probes: Vec<Probe>,
}

/// The registers that a probe's frame uses: none of the instruction's.
struct Frame {
    /// Address of the row of inputs.
    inputs: u8,
    /// Where the last one ends.
    end: u8,
    /// Address of the row of results.
    results: u8,
    temporary: u8,
}

impl Writer {
    fn put(&mut self, inst: Inst) {
        self.text.extend(inst.encode().to_le_bytes());
    }

    fn put_encoding(&mut self, word: u32, len: u8) {
        self.text.extend(&word.to_le_bytes()[..len as usize]);
    }

    fn i(&mut self, op: Op, rd: u8, rs1: u8, imm: i32) {
        self.put(Inst { rd, rs1, imm, ..blank(op) });
    }

    /// A store of `rs2`, an integer or float register.
    fn s(&mut self, op: Op, rs2: u8, rs1: u8, imm: i32) {
        self.put(Inst { rs1, rs2, imm, ..blank(op) });
    }

    /// `rd = rs1 + imm`, `imm` between -4000 and 4000.
    fn add(&mut self, rd: u8, rs1: u8, imm: i32) {
        self.i(Op::addi, rd, rs1, imm / 2);
        self.i(Op::addi, rd, rd, imm - imm / 2);
    }

    fn constant(&mut self, rd: u8, value: u64) {
        let value = value as i32;
        let low = value << 20 >> 20;
        self.put(Inst { rd, imm: value.wrapping_sub(low), ..blank(Op::lui) });
        self.i(Op::addiw, rd, rd, low);
    }

    /// An instruction of the subject that a probe can be made of, its encoding and its length.
    /// Branches and jumps of the table lead `distance` bytes on.
    fn choose(&mut self, subject: Subject, distance: impl Fn(u8) -> i32) -> (Inst, u32) {
        loop {
            let (mut inst, word) = match subject {
                Subject::Op(op) => (random_inst(op, &mut self.random), None),
                Subject::Compressed(cop) => {
                    let info = cop.info();
                    let parcel = info.bits | self.random.u32() as u16 & !info.mask;
                    match decode_compressed(parcel) {
                        Some((found, inst)) if found == cop => (inst, Some(parcel.into())),
                        _ => continue,
                    }
                }
            };
            let format = inst.op.info().format;
            match format {
                Format::B | Format::J if word.is_none() => inst.imm = distance(4),
                Format::B | Format::J if inst.imm != distance(2) => continue,
                Format::Csr | Format::CsrI => inst.imm = self.random.pick(&[csr::FFLAGS, csr::FRM, csr::FCSR]).into(),
                _ => {}
            }
            if inst.rs1 == 0 && (is_memory(format) || format == Format::Jr) {
                continue;
            }
            return (inst, word.unwrap_or_else(|| inst.encode()));
        }
    }

    fn frame(&mut self, inst: &Inst) -> Frame {
        let mut taken = vec![0, inst.rd, inst.rs1, inst.rs2];
        let mut free = || loop {
            let register = self.random.below(32) as u8;
            if !taken.contains(&register) {
                taken.push(register);
                return register;
            }
        };
        Frame { inputs: free(), end: free(), results: free(), temporary: free() }
    }

    fn probe(&mut self, subject: Subject) {
        // How the frame around branches and jumps is laid out: see `transfer`.
        let backward = self.random.one_in(2);
        let (inst, word) = self.choose(subject, |len| if backward { -8 } else { i32::from(len) + 4 });
        let frame = self.frame(&inst);
        let kind = Kind::of(&inst, &mut self.random);
        let first_row = kind as usize * ROWS + self.random.below(ROWS - ROUNDS);
        let results = RESULTS + (self.probes.len() * ROUNDS * ROW) as u64;
        self.constant(frame.inputs, DATA + (first_row * ROW) as u64);
        self.constant(frame.end, DATA + ((first_row + ROUNDS) * ROW) as u64);
        self.constant(frame.results, results);
        let head = self.text.len();
        let format = inst.op.info().format;
        for (n, (file, register)) in format.sources().into_iter().zip([inst.rs1, inst.rs2, inst.rs3]).enumerate() {
            match file {
                Some(RegisterFile::X) => self.i(Op::ld, register, frame.inputs, 8 * n as i32),
                Some(RegisterFile::F) => self.i(Op::fld, register, frame.inputs, 8 * n as i32),
                None => {}
            }
        }
        let offset = if is_memory(format) { self.address(&inst, &frame) } else { 0 };
        self.i(Op::ld, frame.temporary, frame.inputs, 24);
        self.put(Inst { rs1: frame.temporary, imm: csr::FCSR.into(), ..blank(Op::csrrw) });
        let transfers = matches!(format, Format::B | Format::J | Format::Jr);
        let pc = if transfers {
            self.transfer(&inst, word, &frame, backward)
        } else {
            let pc = self.text.len();
            self.put_encoding(word, inst.len);
            pc
        };
        match format.destination() {
            Destination::X | Destination::Jump => self.s(Op::sd, inst.rd, frame.results, 0),
            Destination::F => self.s(Op::fsd, inst.rd, frame.results, 0),
            Destination::None | Destination::Branch => {}
        }
        if transfers {
            self.s(Op::sd, frame.temporary, frame.results, 16);
        }
        self.put(Inst { rd: frame.temporary, imm: csr::FCSR.into(), ..blank(Op::csrrs) });
        self.s(Op::sd, frame.temporary, frame.results, 8);
        self.i(Op::addi, frame.inputs, frame.inputs, ROW as i32);
        self.i(Op::addi, frame.results, frame.results, ROW as i32);
        let distance = head as i32 - self.text.len() as i32;
        self.put(Inst { rs1: frame.inputs, rs2: frame.end, imm: distance, ..blank(Op::bne) });
        self.probes.push(Probe { inst, word, pc: TEXT + pc as u64, offset, first_row });
    }

    /// Fills the memory that the instruction accesses, the last two words of its results, and
    /// points `rs1` into it; reserves it where the instruction needs that, and may spoil it then.
    /// Gives the offset of the access.
    fn address(&mut self, inst: &Inst, frame: &Frame) -> u8 {
        let format = inst.op.info().format;
        for (source, word) in [(16, 16), (0, 24)] {
            self.i(Op::ld, frame.temporary, frame.inputs, source);
            self.s(Op::sd, frame.temporary, frame.results, word);
        }
        let atomic = matches!(format, Format::Amo | Format::Lr);
        let double = inst.op.info().bits >> 12 & 7 == 3;
        let (offset, imm) = match (atomic, double) {
            (false, _) => (self.random.below(9) as i32, inst.imm),
            (true, false) => (self.random.below(4) as i32 * 4, 0),
            (true, true) => (self.random.below(2) as i32 * 8, 0),
        };
        self.add(inst.rs1, frame.results, 16 + offset - imm);
        if !matches!(inst.op, Op::sc_w | Op::sc_d) {
            return offset as u8;
        }
        let reserve = if double { Op::lr_d } else { Op::lr_w };
        self.put(Inst { rd: frame.temporary, rs1: inst.rs1, ..blank(reserve) });
        if self.random.one_in(3) {
            self.i(Op::ld, frame.temporary, frame.inputs, 8);
            self.s(Op::sw, frame.temporary, inst.rs1, 0);
        }
        offset as u8
    }

    /// A branch or jump, between instructions that leave in the temporary register which way it
    /// went: 1 for straight on, 2 for backward, 3 for forward. Gives its offset in the text.
    fn transfer(&mut self, inst: &Inst, word: u32, frame: &Frame, backward: bool) -> usize {
        let marker = frame.temporary;
        let indirect = inst.op == Op::jalr;
        if !backward {
            self.i(Op::addi, marker, 0, 3);
            if indirect {
                let odd = self.random.below(2) as i32;
                self.point(inst, 3 * 4 + i32::from(inst.len) + 4 + odd);
            }
            let pc = self.text.len();
            self.put_encoding(word, inst.len);
            self.i(Op::addi, marker, 0, 1);
            return pc;
        }
        let address = if indirect { 12 } else { 0 };
        self.put(Inst { imm: 4 + 4 + 4, ..blank(Op::jal) });
        self.i(Op::addi, marker, 0, 2);
        self.put(Inst { imm: 4 + address + i32::from(inst.len) + 4, ..blank(Op::jal) });
        if indirect {
            self.point(inst, -8);
        }
        let pc = self.text.len();
        self.put_encoding(word, inst.len);
        self.i(Op::addi, marker, 0, 1);
        pc
    }

    /// Points a `jalr` at what is `distance` bytes from here.
    fn point(&mut self, inst: &Inst, distance: i32) {
        self.put(Inst { rd: inst.rs1, ..blank(Op::auipc) });
        self.add(inst.rs1, inst.rs1, distance - inst.imm);
    }

    /// Linux's calls 64, `write`, until all is written, and 93, `exit`.
    fn finish(&mut self, len: u64) {
        let (a0, a1, a2, a7) = (10, 11, 12, 17);
        self.constant(a1, RESULTS);
        self.constant(a2, len);
        let head = self.text.len();
        self.i(Op::addi, a0, 0, 1);
        self.i(Op::addi, a7, 0, 64);
        self.put(blank(Op::ecall));
        self.put(Inst { rd: a1, rs1: a1, rs2: a0, ..blank(Op::add) });
        self.put(Inst { rd: a2, rs1: a2, rs2: a0, ..blank(Op::sub) });
        let distance = head as i32 - self.text.len() as i32;
        self.put(Inst { rs1: a2, imm: distance, ..blank(Op::bne) });
        self.i(Op::addi, a0, 0, 0);
        self.i(Op::addi, a7, 0, 93);
        self.put(blank(Op::ecall));
    }
}

fn is_memory(format: Format) -> bool {
    use Format::*;
    matches!(format, Load | Store | FLoad | FStore | Amo | Lr)
}
