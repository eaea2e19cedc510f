//! What functions consist of: branches, loops, switches, calls.

use riverrun_isa::{Inst, Op, RegisterFile};

use super::{
    A0, DATA, Entry, HIGH, INTEGERS, JUMP_BACK, MAY_JUMP, PRESERVED, Place, Program, RA, SAVED, SCRATCH, Set,
    TABLES_END, TEMPORARIES, blank,
};

/// Cases of a switch.
const CASES: usize = 4;
/// How far statements nest.
const DEEPEST: usize = 3;

/// Where functions come to their end, in bytes.
const LONGEST: usize = 2500;

/// What is in the second half of the data, as seen from its end.
const fn high(at: i32) -> i32 {
    at - (HIGH - DATA) as i32
}

impl Program<'_> {
    pub(super) fn statements(&mut self, most: usize, nesting: usize) {
        for _ in 0..self.below(most + 1) {
            self.statement(nesting);
        }
    }

    fn statement(&mut self, nesting: usize) {
        // Branches reach 4 KiB.
        if self.here() - self.body.start > LONGEST {
            return;
        }
        match self.below(20) {
            7..=9 if nesting < DEEPEST => self.branch(nesting + 1),
            10..=11 if nesting < DEEPEST => self.rounds(nesting + 1),
            12 if nesting < DEEPEST => self.switch(nesting + 1),
            13..=16 if self.body.calls => {
                self.call();
            }
            17 if self.body.calls => self.call_itself(),
            18 if self.body.calls && self.body.index < self.catcher => self.throw(),
            18 => self.write(),
            19 if self.traps && self.one_in(4) => self.trap(),
            _ => self.operations(),
        }
    }

    /// A branch to what [`Program::arrive`] will say.
    pub(super) fn put_branch(&mut self) -> usize {
        let op = self.random.pick(&[Op::beq, Op::bne, Op::blt, Op::bge, Op::bltu, Op::bgeu]);
        let (rs1, rs2) = (self.source(RegisterFile::X), if self.one_in(2) { 0 } else { self.source(RegisterFile::X) });
        self.put_forward(Inst { rs1, rs2, ..blank(op) })
    }

    fn branch(&mut self, nesting: usize) {
        let not = self.put_branch();
        let before = self.body.defined;
        self.statements(3, nesting);
        if self.body.returns && self.one_in(4) {
            self.write_results();
            self.return_to_caller();
            self.arrive(not);
            self.body.defined = before;
        } else if self.one_in(2) {
            let done = self.put_forward(blank(Op::jal));
            self.arrive(not);
            let then = std::mem::replace(&mut self.body.defined, before);
            self.statements(3, nesting);
            self.arrive(done);
            self.body.defined &= then;
        } else {
            self.arrive(not);
            self.body.defined &= before;
        }
    }

    /// A loop. Where it may call, only what calls preserve is there in the second round.
    fn rounds(&mut self, nesting: usize) {
        let kept = self.body.free & SAVED & INTEGERS;
        let calls = self.body.calls && kept != 0 && !self.one_in(3);
        let counter = self.fresh(if calls { kept } else { TEMPORARIES });
        let rounds = 1 + self.below(5) as i32;
        self.put(Op::addi, counter, 0, 0, rounds);
        self.reserve(counter);
        let may_call = std::mem::replace(&mut self.body.calls, calls);
        if calls {
            self.body.defined &= PRESERVED;
        }
        let head = self.here();
        self.statements(4, nesting);
        self.put(Op::addi, counter, counter, 0, -1);
        self.put_jump(Inst { rs1: counter, ..blank(Op::bne) }, Place::At(head));
        self.body.calls = may_call;
        self.body.free |= 1 << counter;
    }

    /// Room for a table in the data, if there is any.
    fn table(&mut self, len: usize) -> Option<usize> {
        let table = self.tables;
        (table + len <= TABLES_END).then(|| self.tables += len)?;
        Some(table)
    }

    fn switch(&mut self, nesting: usize) {
        let Some(table) = self.table(8 * CASES) else { return };
        let from = self.source(RegisterFile::X);
        let index = self.fresh(TEMPORARIES);
        let to = self.fresh(TEMPORARIES & !(1 << index));
        self.put(Op::andi, index, from, 0, 2 * CASES as i32 - 1);
        self.put(Op::addi, to, 0, 0, CASES as i32);
        let mut done = vec![self.put_forward(Inst { rs1: index, rs2: to, ..blank(Op::bgeu) })];
        self.put(Op::lui, to, 0, 0, self.tables_high as i32);
        let is_relative = self.one_in(2);
        if is_relative {
            self.put(Op::addi, to, to, 0, high(table as i32));
            self.put(Op::sh2add, index, index, to, 0);
            self.put(Op::lw, index, index, 0, 0);
            self.put(Op::add, to, to, index, 0);
        } else {
            self.put(Op::sh3add, to, index, to, 0);
            self.put(Op::ld, to, to, 0, high(table as i32));
        }
        self.put(Op::jalr, 0, to, 0, 0);
        let before = self.body.defined;
        let mut behind = before;
        let mut falls_through = false;
        for case in 0..CASES {
            let place = Place::At(self.here());
            let (at, from) = if is_relative { (table + 4 * case, Some(table)) } else { (table + 8 * case, None) };
            self.entries.push(Entry { at, place, from });
            self.body.defined = if falls_through { self.body.defined & before } else { before };
            self.statements(2, nesting);
            falls_through = self.one_in(4);
            if !falls_through {
                done.push(self.put_forward(blank(Op::jal)));
                behind &= self.body.defined;
            }
        }
        done.into_iter().for_each(|jump| self.arrive(jump));
        self.body.defined &= behind;
    }

    /// Calls a function that has been made, if there is one; says what it gives back.
    pub(super) fn call(&mut self) -> Set {
        if self.body.index == 0 {
            return 0;
        }
        let to = self.below(self.body.index);
        let signature = self.signatures[self.shapes[to]];
        self.initialise(signature.parameters);
        let by_pointer = self.one_in(3);
        // What the function raises alone: of all that a program raises, little is new.
        let stores_exceptions = self.body.accesses_exceptions && self.one_in(2);
        let pointer = by_pointer.then(|| self.pointer_to(to));
        if stores_exceptions {
            self.clear_exceptions();
        }
        if let Some(pointer) = pointer {
            self.put(Op::jalr, RA, pointer, 0, 0);
        } else {
            self.put_jump(Inst { rd: RA, ..blank(Op::jal) }, Place::Function(to));
        }
        let known = self.made.get(to).filter(|_| !by_pointer && self.knows_clobbers);
        self.behind_call(known.map_or(SCRATCH, |made| made.clobbers), signature.results);
        if stores_exceptions {
            self.store_exceptions();
        }
        signature.results
    }

    /// What is there behind a call.
    pub(super) fn behind_call(&mut self, clobbers: Set, results: Set) {
        self.body.defined = self.body.defined & !clobbers | results;
        self.body.written |= clobbers | results;
    }

    /// Puts a pointer to the function, or one of its kind, into a register that has no argument.
    pub(super) fn pointer_to(&mut self, function: usize) -> u8 {
        let alike = |other: &usize| self.shapes[*other] == self.shapes[function];
        let alike: Vec<usize> = (0..self.body.index).filter(alike).collect();
        let from = self.source(RegisterFile::X);
        let pointer = self.fresh(TEMPORARIES);
        let count = self.random.pick(&[1, 2, 4]);
        let Some(table) = self.table(8 * count) else {
            // No room: the distance from here, in two parts.
            self.addresses.push((self.here(), pointer, Place::Function(function)));
            self.put(Op::auipc, pointer, 0, 0, 0);
            self.put(Op::addi, pointer, pointer, 0, 0);
            return pointer;
        };
        for n in 0..count {
            let place = Place::Function(self.random.pick(&alike));
            self.entries.push(Entry { at: table + 8 * n, place, from: None });
        }
        if count == 1 {
            self.put(Op::lui, pointer, 0, 0, self.tables_high as i32);
        } else {
            let index = self.fresh(TEMPORARIES & !(1 << pointer | 1 << from));
            self.put(Op::andi, index, from, 0, count as i32 - 1);
            self.put(Op::lui, pointer, 0, 0, self.tables_high as i32);
            self.put(Op::sh3add, pointer, index, pointer, 0);
        }
        self.put(Op::ld, pointer, pointer, 0, high(table as i32));
        pointer
    }

    /// Calls itself, unless that is deep enough.
    fn call_itself(&mut self) {
        let Some(depth) = self.body.depth else { return };
        let signature = self.signatures[self.shapes[self.body.index]];
        let enough = self.put_forward(Inst { rs1: depth, ..blank(Op::beq) });
        let before = self.body.defined;
        self.initialise(signature.parameters);
        self.put(Op::addi, A0, depth, 0, -1);
        self.put_jump(Inst { rd: RA, ..blank(Op::jal) }, Place::Function(self.body.index));
        self.behind_call(SCRATCH, signature.results);
        self.arrive(enough);
        self.body.defined &= before;
    }

    pub(super) fn little_but_calls_of_itself(&mut self) {
        for _ in 0..1 + self.below(2) {
            self.operation();
            self.call_itself();
        }
        if self.body.index < self.catcher && self.one_in(4) {
            self.throw();
        }
    }

    /// Says whether there is a place to jump back to.
    pub(super) fn may_jump(&mut self, may: bool) {
        let value = self.fresh(TEMPORARIES);
        let base = self.fresh(TEMPORARIES & !(1 << value));
        self.put(Op::addi, value, 0, 0, i32::from(may));
        self.put(Op::lui, base, 0, 0, HIGH as i32);
        self.put(Op::sd, 0, base, value, high(MAY_JUMP));
    }

    /// Jumps back, now and then.
    fn throw(&mut self) {
        let base = self.fresh(TEMPORARIES);
        self.put(Op::lui, base, 0, 0, HIGH as i32);
        self.put(Op::ld, base, base, 0, high(MAY_JUMP));
        let not = [self.put_forward(Inst { rs1: base, ..blank(Op::beq) }), self.put_branch()];
        let before = self.body.defined;
        self.put(Op::lui, A0, 0, 0, HIGH as i32);
        self.put(Op::addi, A0, A0, 0, high(JUMP_BACK));
        self.put(Op::addi, A0 + 1, 0, 0, 1);
        self.put_jump(Inst { rd: RA, ..blank(Op::jal) }, Place::LongJmp);
        self.body.written |= SCRATCH;
        not.into_iter().for_each(|jump| self.arrive(jump));
        self.body.defined = before;
    }

    /// Linux's call 64: what is written can be seen.
    fn write(&mut self) {
        let len = 1 + self.below(16) as i32;
        self.put(Op::lui, A0 + 1, 0, 0, DATA as i32);
        for (register, value) in [(A0, 1), (A0 + 2, len), (17, 64)] {
            self.put(Op::addi, register, 0, 0, value);
        }
        self.put(Op::ecall, 0, 0, 0, 0);
        for register in [A0, A0 + 1, A0 + 2, 17] {
            self.define(register);
        }
    }

    /// Ends it all, now and then.
    fn trap(&mut self) {
        let not = self.put_branch();
        if self.one_in(2) {
            self.put(Op::ebreak, 0, 0, 0, 0);
        } else {
            let value = self.source(RegisterFile::X);
            self.put(Op::sd, 0, 0, value, 16);
        }
        self.arrive(not);
    }
}
