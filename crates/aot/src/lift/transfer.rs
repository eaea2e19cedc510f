//! Calls, returns, and exits from compiled code.

use inkwell::IntPredicate;
use inkwell::llvm_sys::LLVMTailCallKind;
use inkwell::values::{IntValue, PointerValue};
use riverrun_vm::Reason;
use riverrun_vm::convention::{self, NOWHERE};

use crate::analysis::{address, is_copied};
#[cfg(doc)]
use crate::lift::continuations::Continuations;
use crate::lift::ir::{Callers, Space, built};
use crate::lift::registers::RA;
use crate::lift::site::Site;
use crate::lift::value::Value;

impl<'c> Site<'_, 'c> {
    /// Commits the live registers except the pinned ones.
    pub(super) fn flush(&self) {
        let dirty = self.registers.dirty(false);
        self.registers.flush(self.ir, dirty & self.live);
        self.registers.flushed(dirty);
    }

    /// Exits, and resumes after this when the guest reaches the address `resume`. The caller has set the state's pc.
    /// Frames of host-ABI entry points cannot be suspended: they are dropped.
    pub(super) fn exit(&self, reason: Reason, resume: u64) {
        if self.ir.callers == Callers::Host {
            return self.exit_host_abi_entry(reason);
        }
        self.store_field(convention::REASON, reason as u64);
        self.store_field(convention::RESUME, resume);
        self.call(self.stub(convention::EXIT));
    }

    /// Exits at the function's beginning, and resumes after this with the same or another pc.
    pub(super) fn exit_at_start(&self) {
        self.call(self.stub(convention::EXIT_AT_START));
    }

    /// A stub whose address is in the state.
    fn stub(&self, field: i64) -> PointerValue<'c> {
        let ir = self.ir;
        ir.load(ir.pointer.into(), ir.field(self.registers.base(ir), field), Space::State).into_pointer_value()
    }

    /// Calls a function by the convention; afterwards the registers are its results.
    fn call(&self, target: PointerValue<'c>) {
        let (ir, registers) = (self.ir, self.registers);
        self.flush();
        let call = ir.call(target, &registers.arguments(ir, self.live));
        let results = call.try_as_basic_value().basic().expect("functions return the registers");
        registers.take_results(ir, results.into_struct_value());
    }

    /// Calls a compiled function that should return to the block `next`. After a mismatched return, this function continues
    /// at one of its own continuations or returns mismatched, too ([`Continuations`]).
    pub(super) fn call_and_check(&self, target: PointerValue<'c>, next: u64) {
        let ir = self.ir;
        self.call(target);
        let expected = self.returns_to(next);
        let continuation = self.continuations.at(ir, self.function, next);
        ir.branch_likely(expected, continuation, self.continuations.mismatched);
    }

    /// Returns from a copy to the continuation of its call, the block `next`, if ra has that address.
    pub(super) fn check_return(&self, next: u64) {
        let (ir, registers) = (self.ir, self.registers);
        if !is_copied(next) {
            // Callees that were called by other means return there, too.
            self.continuations.at(ir, self.function, next);
        }
        let expected = self.returns_to(next);
        let (home, mismatched) = (ir.block(self.function), ir.block(self.function));
        let fork = registers.fork();
        ir.branch_likely(expected, home, mismatched);
        ir.builder.position_at_end(mismatched);
        self.flush();
        registers.save(ir, 0, !0);
        ir.jump(self.continuations.mismatched);
        registers.rejoin(fork);
        ir.builder.position_at_end(home);
    }

    /// Whether ra has the address of a block.
    fn returns_to(&self, block: u64) -> IntValue<'c> {
        let ir = self.ir;
        ir.compare(IntPredicate::EQ, ir.word(self.registers.get(ir, RA)), ir.int(address(block)))
    }

    /// Exits without being resumed: the reference interpreter continues at `pc`.
    pub(super) fn step_out(&self, pc: IntValue<'c>) {
        self.exit_at(pc, Reason::Step);
    }

    fn exit_at(&self, pc: IntValue<'c>, reason: Reason) {
        let ir = self.ir;
        ir.store(ir.field(self.registers.base(ir), convention::PC), pc.into(), Space::State);
        self.exit(reason, NOWHERE);
        ir.unreachable();
    }

    /// Calls the function at an address, compiled or not, and continues at `next`.
    pub(super) fn call_indirect(&self, target: Value<'c>, next: u64) {
        self.call_and_check(self.look_up(target), next);
    }

    /// Exits to execute the instruction at `pc` elsewhere, for this reason, and continues at `next`.
    pub(super) fn step(&self, pc: u64, next: u64, reason: Reason) {
        self.store_field(convention::PC, pc);
        self.exit(reason, next);
        self.ir.jump(self.continuations.at(self.ir, self.function, next));
    }

    /// Tail-calls the function at an address.
    pub(super) fn tail_call_indirect(&self, target: Value<'c>) {
        if self.ir.callers == Callers::Host {
            return self.exit_at(self.ir.word(target), Reason::Jump);
        }
        self.tail_call(self.look_up(target));
    }

    /// Tail-calls another function.
    pub(super) fn tail_call(&self, target: PointerValue<'c>) {
        let (ir, registers) = (self.ir, self.registers);
        self.flush();
        let call = ir.call(target, &registers.arguments(ir, self.live));
        call.set_tail_call_kind(LLVMTailCallKind::LLVMTailCallKindMustTail);
        let results = call.try_as_basic_value().basic().expect("functions return the registers");
        built(ir.builder.build_return(Some(&results)));
    }

    /// Returns to the caller, which compares ra.
    pub(super) fn return_to_caller(&self) {
        if self.ir.callers == Callers::Host {
            return self.return_to_host();
        }
        self.flush();
        let results = self.registers.results(self.ir, self.live);
        built(self.ir.builder.build_return(Some(&results)));
    }
}
