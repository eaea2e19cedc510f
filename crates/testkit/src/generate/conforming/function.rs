//! Function bodies: the prologue, the results, and how a function exits: by a return, a tail call or a long jump.

use riverrun_isa::{Inst, Op};

use super::{
    A0, Body, DATA, HIGH, INTEGERS, JUMP_BACK, Made, PRESERVED, Place, Program, RA, RESULTS, S0, SAVED, SCRATCH, SP,
    Set, TEMPORARIES, blank,
};
use std::ops::Range;

/// Bytes of the entry's frame.
const ENTRY_FRAME: i32 = 64;

impl Program<'_> {
    /// Calls functions, keeps what they give back, and exits. It is given everything.
    pub(super) fn entry(&mut self, count: usize) -> Range<usize> {
        let free = !0b11111;
        self.body = Body {
            index: count,
            defined: free,
            free,
            frame: ENTRY_FRAME,
            variables: ENTRY_FRAME,
            calls: true,
            ..Body::default()
        };
        self.put(Op::addi, SP, SP, 0, -ENTRY_FRAME);
        for round in 0..1 + self.below(4) as i32 {
            self.statements(1, 2);
            let results = self.call();
            let base = self.fresh(TEMPORARIES);
            self.put(Op::lui, base, 0, 0, HIGH as i32);
            for (n, register) in registers(results).enumerate() {
                self.store(register, base, RESULTS + 32 * round + 8 * n as i32);
            }
        }
        let base = self.fresh(TEMPORARIES);
        self.put(Op::lui, base, 0, 0, HIGH as i32);
        for (n, register) in registers(SAVED).enumerate() {
            self.store(register, base, RESULTS + 0x100 + 8 * n as i32);
        }
        self.put(Op::addi, 17, 0, 0, 93);
        self.put(Op::ecall, 0, 0, 0, 0);
        self.put(Op::ebreak, 0, 0, 0, 0);
        0..self.here()
    }

    /// Stores a register in the second half of the data, whose end `base` points to.
    fn store(&mut self, register: u8, base: u8, at: i32) {
        let op = if register < 32 { Op::sd } else { Op::fsd };
        self.put(op, 0, base, register % 32, at - (HIGH - DATA) as i32);
    }

    /// `setjmp` and `longjmp`: a0 points to where all that is preserved is kept.
    pub(super) fn library(&mut self) -> [Range<usize>; 2] {
        let kept = || registers(SAVED | 1 << RA | 1 << SP).enumerate();
        self.library[0] = self.here();
        for (n, register) in kept() {
            let op = if register < 32 { Op::sd } else { Op::fsd };
            self.put(op, 0, A0, register % 32, 8 * n as i32);
        }
        self.put(Op::addi, A0, 0, 0, 0);
        self.put(Op::jalr, 0, RA, 0, 0);
        self.library[1] = self.here();
        for (n, register) in kept() {
            let op = if register < 32 { Op::ld } else { Op::fld };
            self.put(op, register % 32, A0, 0, 8 * n as i32);
        }
        self.put(Op::addi, A0, A0 + 1, 0, 0);
        self.put(Op::jalr, 0, RA, 0, 0);
        let [setjmp, longjmp] = self.library;
        [setjmp..longjmp, longjmp..self.here()]
    }

    pub(super) fn function(&mut self, index: usize) -> Made {
        let start = self.here();
        let signature = self.signatures[self.shapes[index]];
        let accesses_exceptions = self.accesses_exceptions && self.one_in(2);
        self.body = Body {
            index,
            defined: signature.parameters,
            free: SCRATCH,
            written: 1 << RA,
            results: signature.results,
            start,
            returns: true,
            accesses_exceptions,
            ..Body::default()
        };
        // An early return, before the prologue saves anything.
        if self.one_in(6) {
            let before = self.body.defined;
            let not = self.put_branch();
            self.write_results();
            self.put(Op::jalr, 0, RA, 0, 0);
            self.arrive(not);
            self.body.defined = before;
        }
        if !self.one_in(4) {
            self.prologue(signature.parameters);
        }
        let is_small = self.body.depth.is_some() && index != self.catcher && self.one_in(2);
        if is_small {
            self.little_but_calls_of_itself();
        } else {
            let most = if self.one_in(4) { 20 } else { 6 };
            let count = 2 + self.below(most);
            self.statements(count, 0);
        }
        if self.body.calls && index == self.catcher {
            self.catch();
            self.statements(2, 0);
        }
        if index == 0 || is_small || !self.one_in(6) || !self.tail_call() {
            self.write_results();
            self.return_to_caller();
        }
        Made { text: start..self.here(), clobbers: self.body.written & !PRESERVED }
    }

    fn prologue(&mut self, parameters: Set) {
        let mut saved: Set = 0;
        for _ in 0..self.below(6) {
            saved |= 1 << self.any(SAVED);
        }
        self.body.calls = !self.one_in(4);
        let kept = if self.body.calls { saved | 1 << RA } else { saved };
        self.body.variables = 8 * self.below(6) as i32;
        let frame = (self.body.variables + 8 * kept.count_ones() as i32 + 15) & !15;
        self.body.frame = frame;
        self.put(Op::addi, SP, SP, 0, -frame);
        for (n, register) in registers(kept).enumerate() {
            let at = frame - 8 - 8 * n as i32;
            let op = if register < 32 { Op::sd } else { Op::fsd };
            self.put(op, 0, SP, register % 32, at);
            self.body.saved.push((register, at));
        }
        self.body.free |= saved;
        if saved >> S0 & 1 == 1 && self.one_in(2) {
            self.put(Op::addi, S0, SP, 0, frame);
            self.body.has_frame_pointer = true;
            self.reserve(S0);
        }
        let rest = self.body.free & SAVED & INTEGERS;
        if self.body.calls && rest != 0 && parameters >> A0 & 1 == 1 && self.one_in(3) {
            let depth = self.fresh(rest);
            self.put(Op::andi, depth, A0, 0, 3);
            self.reserve(depth);
            self.body.depth = Some(depth);
        }
    }

    /// Nothing else is to be written into a register.
    pub(super) fn reserve(&mut self, register: u8) {
        self.body.free &= !(1 << register);
        self.define(register);
    }

    /// Writes a value to each of these registers. A register that has one keeps it half of the time.
    pub(super) fn initialise(&mut self, wanted: Set) {
        for register in registers(wanted) {
            let is_defined = self.body.defined >> register & 1 == 1;
            if is_defined && self.one_in(2) {
                continue;
            }
            if register >= 32 {
                let from = self.source(riverrun_isa::RegisterFile::F);
                self.put(Op::fsgnj_d, register - 32, from, from, 0);
            } else if self.one_in(4) {
                let imm = self.random.between(-2048..=2047) as i32;
                self.put(Op::addi, register, 0, 0, imm);
            } else {
                let from = self.source(riverrun_isa::RegisterFile::X);
                self.put(Op::addi, register, from, 0, 0);
            }
            self.define(register);
        }
    }

    /// Initialises the registers of the function's results.
    pub(super) fn write_results(&mut self) {
        self.initialise(self.body.results);
    }

    fn epilogue(&mut self) {
        let Body { frame, has_frame_pointer, .. } = self.body;
        if frame == 0 {
            return;
        }
        if has_frame_pointer {
            self.put(Op::addi, SP, S0, 0, -frame);
        }
        for (register, at) in self.body.saved.clone() {
            let op = if register < 32 { Op::ld } else { Op::fld };
            self.put(op, register % 32, SP, 0, at);
        }
        self.put(Op::addi, SP, SP, 0, frame);
    }

    /// Restores what the prologue saved, and returns.
    pub(super) fn return_to_caller(&mut self) {
        self.epilogue();
        self.put(Op::jalr, 0, RA, 0, 0);
    }

    /// Ends with a tail call, if there is a function that writes at least the results of this one.
    fn tail_call(&mut self) -> bool {
        let to = self.below(self.body.index);
        let signature = self.signatures[self.shapes[to]];
        if self.body.results & !signature.results != 0 {
            return false;
        }
        self.initialise(signature.parameters);
        if self.one_in(2) {
            let pointer = self.pointer_to(to);
            self.epilogue();
            self.put(Op::jalr, 0, pointer, 0, 0);
            self.body.written |= SCRATCH;
        } else {
            self.epilogue();
            self.put_jump(blank(Op::jal), Place::Function(to));
            self.body.written |= self.made[to].clobbers;
        }
        true
    }

    /// Calls `setjmp`, then functions that may `longjmp` back to it; the code behind runs in both cases.
    fn catch(&mut self) {
        self.put(Op::lui, A0, 0, 0, HIGH as i32);
        self.put(Op::addi, A0, A0, 0, JUMP_BACK - (HIGH - DATA) as i32);
        self.put_jump(Inst { rd: RA, ..blank(Op::jal) }, Place::SetJmp);
        self.behind_call(SCRATCH, 1 << A0);
        let behind = self.body.defined;
        let caught = self.put_forward(Inst { rs1: A0, ..blank(Op::bne) });
        self.may_jump(true);
        self.body.returns = false;
        for _ in 0..1 + self.below(3) {
            self.call();
            self.statements(2, 1);
        }
        self.body.returns = true;
        self.may_jump(false);
        let done = self.put_forward(blank(Op::jal));
        let defined = std::mem::replace(&mut self.body.defined, behind);
        self.arrive(caught);
        self.may_jump(false);
        self.statements(2, 1);
        self.arrive(done);
        self.body.defined &= defined;
    }
}

/// The numbers of a set.
pub(super) fn registers(set: Set) -> impl Iterator<Item = u8> {
    (0..64).filter(move |n| set >> n & 1 == 1)
}
