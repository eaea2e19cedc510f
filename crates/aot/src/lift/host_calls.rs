//! Host calls from compiled code, by the host's calling convention on the host's stack: those of `rr.call`, and those
//! `ecall`s whose host function the machine has cached.
//!
//! Invariant (`crates/vm/src/imports.rs`): while the host function runs, all live registers are committed but its arguments
//! among a0 to a4, which it gets in host registers. In precise mode these are committed, too. Live are those that it
//! may read by its type, or the guest later.

use std::mem::offset_of;

use inkwell::InlineAsmDialect;
use inkwell::IntPredicate;
use inkwell::values::{IntValue, PointerValue};
use riverrun_vm::convention;
use riverrun_vm::{Bound, DYNAMIC_CALL, F_SLOT, Import, REGISTER_ARGUMENTS, SYSTEM_CALLS, SystemCall};

use crate::analysis::{CallNumber, HostCall};
use crate::lift::ir::{Callers, Ir, Space, built};
use crate::lift::registers::{self, A0, FUEL, Label, Set};
use crate::lift::site::Site;
use crate::lift::value::Value;

const FA0: usize = F_SLOT as usize + 10;

/// Argument registers that are passed in host registers.
const ARGUMENTS: [usize; REGISTER_ARGUMENTS] = [A0, A0 + 1, A0 + 2, A0 + 3, A0 + 4];
/// Result registers: a host function may change these and no others.
const INTEGER_RESULTS: [usize; 2] = [A0, A0 + 1];
const FLOAT_RESULTS: [usize; 2] = [FA0, FA0 + 1];

/// Pinned registers from this position on are in r12 to r14, which host functions preserve. The others, except
/// arguments, are committed before a host call and reloaded after it: to spill them as well would take one more store.
const PRESERVED: usize = 7;

/// The registers that may hold a system call's key: t0 if a7 is [`DYNAMIC_CALL`], else a7.
const SYSTEM_CALL_KEYS: [usize; 2] = [17, 5];

fn set(registers: &[usize]) -> Set {
    registers.iter().fold(0, |set, register| set | 1 << register)
}

/// Registers that the lifted code of a host call names.
pub(crate) fn used() -> Set {
    set(&ARGUMENTS) | set(&FLOAT_RESULTS) | set(&SYSTEM_CALL_KEYS)
}

/// Registers that may be uncommitted after a host call: its arguments.
pub(crate) fn lacking() -> Set {
    set(&ARGUMENTS)
}

/// The assembly that calls the host function of the import in rdi; r15 has the window's address. It switches to the
/// host's stack and keeps compiled code's stack pointer in a callee-saved register: reloading it from memory would make
/// each call wait for the one before. Every register that SysV functions may change is an output or a clobber.
fn call_text() -> String {
    let (host, code) = (convention::HOST_SP, offset_of!(Import, code));
    format!("movq %rsp, $7\n\tmovq {host}(%r15), %rsp\n\tcallq *{code}(%rdi)\n\tmovq $7, %rsp")
}

/// Outputs 0 and 1 are the results; 2 to 6 are argument registers, whose contents are lost; 7 keeps the stack pointer.
/// LLVM must take a callee-saved register for 7, as all others are listed. Inputs: window, import, arguments.
fn constraints(ir: &Ir<'_>) -> String {
    let mut text = "={rax},={rdx},={rdi},={rsi},={rcx},={r8},={r9},=&r,{r15},2,3,1,4,5,6".to_owned();
    let wide = ir.options.cpu.features().has("avx512f");
    let vectors = (0..if wide { 32 } else { 16 }).map(|n| format!("xmm{n}"));
    let masks = (0..if wide { 8 } else { 0 }).map(|n| format!("k{n}"));
    let others = ["r10", "r11", "memory", "dirflag", "fpsr", "flags"].map(str::to_owned);
    for clobber in vectors.chain(masks).chain(others) {
        text += &format!(",~{{{clobber}}}");
    }
    text
}

impl<'c> Site<'_, 'c> {
    /// Calls the host function of an import.
    pub(super) fn call_import_host(&self, index: IntValue<'c>) {
        let ir = self.ir;
        let imports = ir.field(self.registers.base(ir), convention::IMPORTS);
        let imports = ir.load(ir.pointer.into(), imports, Space::State).into_pointer_value();
        let size = ir.int(size_of::<Bound>() as u64);
        let call = index.get_zero_extended_constant().map_or(HostCall::ANY, |index| self.imports.call(index));
        self.call_host(ir.at(imports, built(ir.builder.build_int_mul(index, size, ""))), call);
    }

    /// Looks a system call up in the machine's table of cached host functions ([`SystemCall`]). Returns the address of
    /// the import and the blocks for a hit and for a miss. `expected` is a hint that makes the index a constant; the
    /// key is compared all the same.
    pub(super) fn known_system_call(&self, expected: Option<CallNumber>) -> (PointerValue<'c>, Label<'c>, Label<'c>) {
        let (ir, registers) = (self.ir, self.registers);
        let [a7, t0] = SYSTEM_CALL_KEYS.map(|register| ir.word(registers.get(ir, register)));
        let is_dynamic = ir.compare(IntPredicate::EQ, a7, ir.int(DYNAMIC_CALL));
        let place_of = |number: IntValue<'c>| built(ir.builder.build_and(number, ir.int(SYSTEM_CALLS as u64 - 1), ""));
        let mut conditions = Vec::new();
        let (key, place) = match expected {
            // `is_dynamic` needs no test: no entry has `DYNAMIC_CALL` as its key.
            Some(CallNumber::InA7(key)) => (a7, place_of(ir.int(key))),
            Some(CallNumber::InT0(key)) => {
                conditions.push(is_dynamic);
                (t0, place_of(ir.int(key)))
            }
            None => {
                let key = ir.select(is_dynamic, t0.into(), a7.into()).into_int_value();
                (key, place_of(key))
            }
        };
        let distance = built(ir.builder.build_int_mul(place, ir.int(size_of::<SystemCall>() as u64), ""));
        let known = ir.at(ir.field(registers.base(ir), convention::SYSTEM_CALLS), distance);
        let known_key = ir.load(ir.i64.into(), known, Space::State).into_int_value();
        conditions.push(ir.compare(IntPredicate::EQ, known_key, key));
        let both = |a, b| built(ir.builder.build_and(a, b, ""));
        let is_known = conditions.into_iter().reduce(both).expect("keys are compared");
        let import = ir.at(known, ir.int(std::mem::offset_of!(SystemCall, import) as u64));
        let (hit, miss) = (ir.block(self.function), ir.block(self.function));
        ir.branch_likely(is_known, hit, miss);
        (import, hit, miss)
    }

    /// Calls the host function of the import at this address. Only its result registers change.
    pub(super) fn call_host(&self, import: PointerValue<'c>, call: HostCall) {
        let (ir, registers) = (self.ir, self.registers);
        // In precise mode arguments are committed, too: if the host function ends the run, the hart has them. A
        // function that waits stores its arguments there, and only these.
        let handed_over = if ir.options.is_precise() { 0 } else { set(&ARGUMENTS[..call.arguments]) };
        let dirty = registers.dirty(true) & !(1 << FUEL) & !handed_over;
        registers.flush(ir, dirty & self.live);
        registers.flushed(dirty);
        self.store_field(convention::PC, self.pc);
        // The block's start has subtracted all its instructions. The host must see the fuel that is left after the
        // call: add those that follow it.
        let behind = ir.int(self.ahead.wrapping_sub(1));
        let left = ir.options.fuel.then(|| {
            let left = built(ir.builder.build_int_add(ir.word(registers.get(ir, FUEL)), behind, ""));
            ir.store(ir.field(registers.base(ir), convention::FUEL), left.into(), Space::State);
            left
        });

        // The host function reads no registers beyond its parameters.
        let argument = |register| match register - A0 < call.arguments {
            true => ir.word(registers.get(ir, register)),
            false => ir.i64.get_undef(),
        };
        let arguments = ARGUMENTS.map(argument);
        let results = match call.by_slots.filter(|_| ir.callers == Callers::Host) {
            Some(number) => self.call_host_by_its_kind(import, number, arguments, call.arguments),
            None => self.call_host_code(import, arguments, call.results >> INTEGER_RESULTS[1] & 1 != 0),
        };
        for (register, result) in INTEGER_RESULTS.into_iter().zip(results) {
            if call.results >> register & 1 != 0 {
                registers.set(register, Value::Word(result));
            }
        }
        let not_preserved = match ir.callers {
            // The fuel is not reloaded: its field holds `behind` more than its register.
            Callers::Guest => set(&registers::pinned(ir.options.fuel)[..PRESERVED]) & !set(&ARGUMENTS) & !(1 << FUEL),
            Callers::Host => 0,
        };
        let reloaded = call.results & set(&FLOAT_RESULTS) | not_preserved;
        for register in registers::members(reloaded) {
            let home = ir.field(registers.base(ir), registers::home(register));
            let result = ir.load(ir.i64.into(), home, Space::State).into_int_value();
            registers.set(register, Value::Word(result));
        }
        registers.flushed(reloaded);
        if let Some(left) = left {
            self.exit_if_asked(left, behind, call.results);
        }
    }

    /// Calls the import's code; a1 is undefined unless `gives_a1`.
    pub(super) fn call_host_code(
        &self,
        import: PointerValue<'c>,
        arguments: [IntValue<'c>; REGISTER_ARGUMENTS],
        gives_a1: bool,
    ) -> [IntValue<'c>; 2] {
        match self.ir.callers {
            Callers::Guest => self.call_host_from_own_stack(import, arguments),
            Callers::Host => self.call_host_on_its_stack(import, arguments, gives_a1),
        }
    }

    fn call_host_from_own_stack(
        &self,
        import: PointerValue<'c>,
        arguments: [IntValue<'c>; REGISTER_ARGUMENTS],
    ) -> [IntValue<'c>; 2] {
        let ir = self.ir;
        let pointers = [self.registers.base(ir), import].map(Into::into);
        let arguments: Vec<_> = pointers.into_iter().chain(arguments.map(Into::into)).collect();
        let word = ir.i64.into();
        let results = ir.context.struct_type(&[word; 8], false);
        let kinds: Vec<_> = [ir.pointer.into(); 2].into_iter().chain([word.into(); REGISTER_ARGUMENTS]).collect();
        let prototype = results.fn_type(&kinds, false);
        let dialect = Some(InlineAsmDialect::ATT);
        let call = ir.context.create_inline_asm(prototype, call_text(), constraints(ir), true, false, dialect, false);
        let results = built(ir.builder.build_indirect_call(prototype, call, &arguments, ""));
        let results = results.try_as_basic_value().basic().expect("the results are a structure").into_struct_value();
        [0, 1].map(|index| built(ir.builder.build_extract_value(results, index, "")).into_int_value())
    }

    /// Exits if the host function has called guest functions that used fuel: what was left `before` may not reach the next
    /// test. And if it is asked to: code that counts has no polls.
    fn exit_if_asked(&self, before: IntValue<'c>, behind: IntValue<'c>, results: Set) {
        let (ir, registers) = (self.ir, self.registers);
        let word = |field| ir.load(ir.i64.into(), ir.field(registers.base(ir), field), Space::State).into_int_value();
        let (left, poll) = (word(convention::FUEL), word(convention::POLL));
        let is_same = ir.compare(IntPredicate::EQ, left, before);
        let is_unasked = ir.compare(IntPredicate::EQ, poll, ir.int(0));
        let (go_on, exits) = (ir.block(self.function), ir.block(self.function));
        ir.branch_likely(built(ir.builder.build_and(is_same, is_unasked, "")), go_on, exits);
        ir.builder.position_at_end(exits);
        let fork = registers.fork();
        registers.set(FUEL, Value::Word(built(ir.builder.build_int_sub(left, behind, ""))));
        let next = Site { pc: self.pc + 4, ahead: self.ahead - 1, live: self.live | results, ..*self };
        next.exit_for_good(next.pc);
        registers.rejoin(fork);
        ir.builder.position_at_end(go_on);
    }
}
