//! Random programs of several functions, both as compilers make them and as only hand-written code is: calls in loops and by
//! pointers, recursion, jump tables, links in other registers, jumps out of several functions at once, mismatched returns.

use riverrun_isa::{Inst, Op};

use super::{ALIGNED, BASE, DATA_LEN, Generator, RA, SP, Target, blank};
use crate::case::Case;
use crate::elf::{self, DATA, TEXT};
use crate::random::Random;
use crate::values;

/// What the data begins with: pointers to functions, tables of places to jump to, and the place and
/// stack pointer that are jumped back to.
const POINTER_COUNT: usize = 16;
const TABLES: usize = 8 * POINTER_COUNT;
const TABLE_LEN: usize = 4;
const TABLES_END: usize = JUMP_BACK - 8 * TABLE_LEN;
const JUMP_BACK: usize = 0x7e0;
/// Where the stack begins.
const STACK: u64 = DATA + 0x1c00;
/// Holds a link besides `RA`, as calls of the routines that save registers have it.
const LINK: u8 = 5;
/// Hold an address, or what it is made of, for a few instructions.
const ADDRESS: u8 = 6;
const INDEX: u8 = 7;
/// Counts rounds of loops with calls in them.
const ROUNDS: u8 = 18;
/// Bytes of a frame, and where it has what.
const FRAME: i32 = 32;
const SAVED_RA: i32 = 24;
const SAVED_ROUNDS: i32 = 16;

/// Initial states of one random program. It sees how many instructions it has executed only if it
/// `counts` them.
pub fn cases(random: &mut Random, counts: bool) -> Vec<Case> {
    let count = 2 + random.below(12);
    let generator = Generator { counts, ..Generator::new(random, true) };
    let mut program =
        Functions { generator, starts: Vec::new(), calls: Vec::new(), count, pointers: Vec::new(), tables: TABLES };
    program.entry();
    for index in 0..count {
        program.function(index);
    }
    program.millicode();
    program.link();
    let Functions { generator: Generator { random, text, .. }, pointers, .. } = program;
    let mut data: Vec<u8> = (0..DATA_LEN / 8).flat_map(|_| values::integer(random).to_le_bytes()).collect();
    for (at, to) in pointers {
        data[at..at + 8].copy_from_slice(&(TEXT + to as u64).to_le_bytes());
    }
    data[JUMP_BACK + 8..JUMP_BACK + 16].copy_from_slice(&STACK.to_le_bytes());
    let elf = elf::executable(&text, &data, 0);
    (0..2 + random.below(4)).map(|_| state(random, elf.clone())).collect()
}

fn state(random: &mut Random, elf: Vec<u8>) -> Case {
    let mut x = std::array::from_fn(|_| values::integer(random));
    (x[0], x[RA as usize]) = (0, TEXT);
    (x[SP as usize], x[ALIGNED as usize], x[BASE as usize]) = (STACK, DATA + 0x1000, DATA + 0x1800);
    let f = std::array::from_fn(|_| values::float(random));
    let fcsr = if random.one_in(4) { values::fcsr(random) } else { 0 };
    let fuel = if random.one_in(3) { random.below(1000) } else { random.below(20_000) } as u64;
    Case { elf, x, f, fcsr, fuel }
}

struct Functions<'a> {
    generator: Generator<'a>,
    /// Where they begin.
    starts: Vec<usize>,
    /// Where calls stand, and the functions that they are to.
    calls: Vec<(usize, Inst, usize)>,
    /// How many there will be.
    count: usize,
    /// Places in the data that hold an address of the text.
    pointers: Vec<(usize, usize)>,
    /// The end of the tables that there are.
    tables: usize,
}

impl Functions<'_> {
    fn one_in(&mut self, n: usize) -> bool {
        self.generator.random.one_in(n)
    }

    fn below(&mut self, n: usize) -> usize {
        self.generator.random.below(n)
    }

    fn put(&mut self, op: Op, rd: u8, rs1: u8, rs2: u8, imm: i32) {
        self.generator.put(Inst { rd, rs1, rs2, imm, ..blank(op) });
    }

    fn here(&self) -> usize {
        self.generator.text.len()
    }

    fn items(&mut self, most: usize) {
        for _ in 0..self.below(most + 1) {
            match self.below(3) {
                0 => self.generator.operation(),
                1 => self.generator.compressed(),
                _ => self.generator.item(),
            }
        }
    }

    /// Calls some functions, and exits.
    fn entry(&mut self) {
        for _ in 0..1 + self.below(3) {
            let function = self.below(self.count);
            self.call(function);
        }
        self.put(Op::addi, 17, 0, 0, 93);
        self.put(Op::ecall, 0, 0, 0, 0);
    }

    fn function(&mut self, index: usize) {
        self.starts.push(self.here());
        match self.below(8) {
            0 => return self.leaf(),
            1 => return self.recursive(index),
            _ => {}
        }
        let frame = !self.one_in(4);
        if frame {
            self.put(Op::addi, SP, SP, 0, -FRAME);
            self.put(Op::sd, 0, SP, RA, SAVED_RA);
        }
        for _ in 0..1 + self.below(6) {
            match self.below(16) {
                0..=3 => self.items(8),
                4..=5 => self.floats(),
                // Without a frame, the return address is lost, and the function runs on.
                _ if !frame && !self.one_in(16) => self.items(4),
                6..=8 => self.call_further(index),
                9..=10 => self.call_in_a_loop(index),
                11 => self.call_by_pointer(),
                12..=13 => self.switch(),
                14 => self.put_call(Inst { rd: LINK, ..blank(Op::jal) }, self.count),
                _ => self.mismatched_return(),
            }
        }
        if frame {
            self.put(Op::ld, RA, SP, 0, SAVED_RA);
            self.put(Op::addi, SP, SP, 0, FRAME);
        }
        match self.below(16) {
            // Into what follows.
            0 => {}
            1 => {
                let other = self.further(index);
                self.put_call(blank(Op::jal), other);
            }
            _ => self.put(Op::jalr, 0, RA, 0, 0),
        }
    }

    /// A small function that calls nothing, and returns elsewhere now and then.
    fn leaf(&mut self) {
        self.items(4);
        if self.one_in(16) {
            self.put(Op::addi, RA, RA, 0, 4);
        }
        self.put(Op::jalr, 0, RA, 0, 0);
    }

    /// A small function that calls itself, as deep as the stack is.
    fn recursive(&mut self, index: usize) {
        self.put(Op::addi, SP, SP, 0, -FRAME);
        self.put(Op::sd, 0, SP, RA, SAVED_RA);
        for _ in 0..1 + self.below(2) {
            self.items(3);
            self.put(Op::lui, ADDRESS, 0, 0, DATA as i32 + 0x2000);
            self.put(Op::addi, ADDRESS, ADDRESS, 0, -0x600);
            self.put(Op::bgeu, 0, ADDRESS, SP, 8);
            self.call(index);
        }
        self.items(3);
        if self.one_in(8) {
            self.mismatched_return();
        }
        self.put(Op::ld, RA, SP, 0, SAVED_RA);
        self.put(Op::addi, SP, SP, 0, FRAME);
        self.put(Op::jalr, 0, RA, 0, 0);
    }

    /// A function that this one may call without end in sight only now and then.
    fn further(&mut self, index: usize) -> usize {
        match self.count - index - 1 {
            0 => self.below(self.count),
            _ if self.one_in(12) => self.below(self.count),
            rest => index + 1 + self.below(rest),
        }
    }

    fn put_call(&mut self, inst: Inst, function: usize) {
        self.calls.push((self.here(), inst, function));
        self.generator.put(inst);
    }

    fn call(&mut self, function: usize) {
        self.put_call(Inst { rd: RA, ..blank(Op::jal) }, function);
    }

    fn call_further(&mut self, index: usize) {
        let function = self.further(index);
        self.call(function);
    }

    fn call_in_a_loop(&mut self, index: usize) {
        let rounds = 1 + self.below(4) as i32;
        self.put(Op::addi, ROUNDS, 0, 0, rounds);
        let head = self.here();
        self.put(Op::sd, 0, SP, ROUNDS, SAVED_ROUNDS);
        self.items(4);
        self.call_further(index);
        self.put(Op::ld, ROUNDS, SP, 0, SAVED_ROUNDS);
        self.put(Op::addi, ROUNDS, ROUNDS, 0, -1);
        self.generator.put_jump(Inst { rs1: ROUNDS, ..blank(Op::bne) }, Target::At(head));
    }

    /// Puts the address of the data into `ADDRESS`.
    fn data(&mut self) {
        self.put(Op::lui, ADDRESS, 0, 0, DATA as i32);
    }

    fn call_by_pointer(&mut self) {
        if self.one_in(2) {
            let offset = 8 * self.below(POINTER_COUNT) as i32;
            self.data();
            self.put(Op::ld, ADDRESS, ADDRESS, 0, offset);
        } else {
            let index = self.generator.source();
            self.put(Op::andi, INDEX, index, 0, POINTER_COUNT as i32 - 1);
            self.data();
            self.put(Op::sh3add, ADDRESS, INDEX, ADDRESS, 0);
            self.put(Op::ld, ADDRESS, ADDRESS, 0, 0);
        }
        let rd = if self.one_in(16) { 0 } else { RA };
        self.put(Op::jalr, rd, ADDRESS, 0, 0);
    }

    /// A jump to one of a few places behind it, by a table that may hold their distances.
    fn switch(&mut self) {
        let table = self.tables;
        if table > TABLES_END {
            return;
        }
        self.tables += 8 * TABLE_LEN;
        let index = self.generator.source();
        self.put(Op::andi, INDEX, index, 0, 2 * TABLE_LEN as i32 - 1);
        self.put(Op::addi, ADDRESS, 0, 0, TABLE_LEN as i32);
        self.generator.put_jump(Inst { rs1: INDEX, rs2: ADDRESS, ..blank(Op::bgeu) }, Target::Near);
        self.data();
        self.put(Op::sh3add, ADDRESS, INDEX, ADDRESS, 0);
        self.put(Op::ld, ADDRESS, ADDRESS, 0, table as i32);
        self.put(Op::jalr, 0, ADDRESS, 0, 0);
        for entry in 0..TABLE_LEN {
            self.pointers.push((table + 8 * entry, self.here()));
            self.items(3);
            if self.one_in(2) {
                self.generator.put_jump(blank(Op::jal), Target::Near);
            }
        }
        // Something to arrive at.
        self.put(Op::addi, 10, 10, 0, 1);
    }

    /// Float arithmetic in a loop, results of one round being operands of the next.
    fn floats(&mut self) {
        const OPS: &[Op] = &[
            Op::fadd_d,
            Op::fsub_d,
            Op::fmul_d,
            Op::fdiv_d,
            Op::fsqrt_d,
            Op::fmadd_d,
            Op::fnmsub_d,
            Op::fmin_d,
            Op::fsgnj_d,
            Op::fsgnjn_d,
            Op::fsgnjx_d,
            Op::feq_d,
            Op::flt_d,
            Op::fcvt_s_d,
            Op::fcvt_d_s,
            Op::fcvt_d_l,
            Op::fcvt_l_d,
            Op::fadd_s,
            Op::fmul_s,
            Op::fmadd_s,
            Op::fsgnjn_s,
            Op::fmv_x_d,
            Op::fmv_d_x,
            Op::fsd,
            Op::fld,
            Op::fsw,
            Op::flw,
            Op::csrrs,
            Op::csrrw,
        ];
        let rounds = 1 + self.below(8) as i32;
        self.put(Op::addi, LINK, 0, 0, rounds);
        let head = self.here();
        for _ in 0..1 + self.below(8) {
            let op = self.generator.random.pick(OPS);
            if op.info().format.is_csr() {
                self.generator.csr();
                continue;
            }
            // Few registers, so that they are used again.
            let mut inst = self.generator.operands(op);
            let [rs1, rs2, rs3] = op.info().format.sources().map(|file| file == Some(riverrun_isa::RegisterFile::F));
            for (field, float) in [(&mut inst.rs1, rs1), (&mut inst.rs2, rs2), (&mut inst.rs3, rs3)] {
                if float {
                    *field %= 6;
                }
            }
            if matches!(op.info().format.destination(), riverrun_isa::Destination::F) {
                inst.rd %= 6;
            }
            // Quite often the two operands are one, which makes moves and magnitudes.
            if rs1 && rs2 && self.one_in(3) {
                inst.rs2 = inst.rs1;
            }
            self.generator.put(inst);
        }
        self.put(Op::addi, LINK, LINK, 0, -1);
        self.generator.put_jump(Inst { rs1: LINK, ..blank(Op::bne) }, Target::At(head));
    }

    /// Constructs of libraries and hand-written code that compilers do not emit.
    fn mismatched_return(&mut self) {
        self.data();
        match self.below(6) {
            // To come back here, as by `setjmp`.
            0..=1 => {
                self.put(Op::sd, 0, ADDRESS, SP, JUMP_BACK as i32 + 8);
                self.put(Op::auipc, INDEX, 0, 0, 0);
                self.put(Op::addi, INDEX, INDEX, 0, 12);
                self.put(Op::sd, 0, ADDRESS, INDEX, JUMP_BACK as i32);
            }
            // As by `longjmp`, now and then.
            2..=3 => {
                let (rs1, rs2) = (self.generator.source(), self.generator.source());
                let skip = self.here();
                self.put(Op::bltu, 0, rs1, rs2, 16);
                self.put(Op::ld, INDEX, ADDRESS, 0, JUMP_BACK as i32);
                self.put(Op::ld, SP, ADDRESS, 0, JUMP_BACK as i32 + 8);
                self.put(Op::jalr, 0, INDEX, 0, 0);
                debug_assert_eq!(self.here() - skip, 16);
            }
            // Past the instruction that is returned to.
            4 => {
                self.put(Op::ld, RA, SP, 0, SAVED_RA);
                self.put(Op::addi, RA, RA, 0, 4);
                self.put(Op::sd, 0, SP, RA, SAVED_RA);
            }
            // To where another function is returned to.
            _ => {
                self.put(Op::ld, RA, SP, 0, SAVED_RA + FRAME);
                self.put(Op::sd, 0, SP, RA, SAVED_RA);
            }
        }
    }

    /// A routine with its link elsewhere, behind all functions.
    fn millicode(&mut self) {
        self.starts.push(self.here());
        for n in 0..self.below(3) as i32 {
            self.put(Op::sd, 0, SP, 18 + n as u8, -8 * n - 16);
        }
        self.put(Op::addi, 11, 11, 0, 3);
        self.put(Op::jalr, 0, LINK, 0, 0);
    }

    fn link(&mut self) {
        self.generator.link();
        for (at, inst, function) in std::mem::take(&mut self.calls) {
            let inst = Inst { imm: (self.starts[function] as i64 - at as i64) as i32, ..inst };
            self.generator.text[at..at + 4].copy_from_slice(&inst.encode().to_le_bytes());
        }
        for index in 0..POINTER_COUNT {
            // Few lead back to the beginning.
            let function = self.count / 2 + self.below(self.count.div_ceil(2));
            self.pointers.push((8 * index, self.starts[function]));
        }
        let function = self.below(self.count);
        self.pointers.push((JUMP_BACK, self.starts[function]));
    }
}
