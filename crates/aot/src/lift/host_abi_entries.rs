//! Host-ABI entry points: second bodies of guest functions, which the host calls by its own convention on its own stack.
//!
//! Functions that a program exports and that call no guest function get one. Neither the stack nor the registers that the
//! host's convention preserves have to be switched, so a call costs little more than one of a host function. An entry point
//! returns a0 only; callers that also need a1 use the other body.
//!
//! An exit drops its frame. The guest continues in the function's other body or in the interpreter.

use std::mem::offset_of;

use inkwell::IntPredicate;
use inkwell::llvm_sys::LLVMTailCallKind;
use inkwell::types::{BasicMetadataTypeEnum, BasicType, FunctionType};
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, FunctionValue, IntValue, PointerValue};
use riverrun_isa::Inst;
use riverrun_vm::convention::CALL_ARGUMENTS;
use riverrun_vm::convention::{self, NOWHERE};
use riverrun_vm::{Import, REGISTER_ARGUMENTS, RETURN_ADDRESS, Reason};

use crate::analysis::{self, Function, Imports, Terminator};
use crate::lift::ir::{Ir, Space, built};
use crate::lift::registers::{self, A0, A1, RA, Registers, SP, Set};
use crate::lift::site::Site;
use crate::options::CompileOptions;

/// The longest function that gets one: in longer ones, the cost of entering hardly matters.
const SIZE: usize = 256;

/// The parameter with the window's address, after the callee, sp and the first arguments.
const WINDOW: usize = 2 + CALL_ARGUMENTS;

/// Whether the function can have a host-ABI entry point: it neither calls nor jumps to other functions, so nothing returns
/// to its frame.
pub(crate) fn suits(function: &Function, options: &CompileOptions) -> bool {
    let stays = |end: &Terminator| match end {
        Terminator::Call { .. } | Terminator::CallIndirect { .. } | Terminator::CallInside { .. } => false,
        Terminator::JumpIndirect(targets) => !targets.inside.is_empty(),
        end => end.successors().iter().all(|to| function.blocks.contains_key(to)),
    };
    !options.fuel
        && !options.is_precise()
        && function.orphans.is_empty()
        && function.size() <= SIZE
        && function.blocks.values().all(|block| stays(&block.end))
}

impl<'c> Ir<'c> {
    /// A function of the host's convention, of a pointer, words, and other pointers.
    fn host_prototype(&self, result: impl BasicType<'c>, words: usize, pointers: usize) -> FunctionType<'c> {
        let pointer = BasicMetadataTypeEnum::from(self.pointer);
        let words = std::iter::repeat_n(self.i64.into(), words);
        let parameters: Vec<_> =
            std::iter::once(pointer).chain(words).chain(std::iter::repeat_n(pointer, pointers)).collect();
        result.fn_type(&parameters, false)
    }

    /// The host-ABI entry point of the guest function at `start`, declared if necessary. Its parameters are the callee, sp,
    /// the first arguments, and the window.
    pub(crate) fn host_abi_entry(&self, start: u64) -> FunctionValue<'c> {
        self.declare(&self.names.host_abi_entry(start), self.host_prototype(self.i64, WINDOW - 1, 1))
    }
}

/// Registers that are parameters; the state has all others.
pub(crate) fn parameters() -> Set {
    (A0..A0 + CALL_ARGUMENTS).fold(1 << RA | 1 << SP, |set, register| set | 1 << register)
}

/// The second result register, if neither the function reads it, which returns to the host alone, nor the host: callers
/// of host-ABI entry points do not.
pub(crate) fn unseen(function: &Function, imports: &Imports) -> Set {
    let returns = |end: &Terminator| {
        matches!(end, Terminator::Next(_) | Terminator::Jump(_) | Terminator::Branch { .. } | Terminator::Return)
    };
    let keeps = |(_, inst): &(u64, Inst)| {
        analysis::before(inst, 0, imports) >> A1 & 1 == 0 && registers::written(inst) != Some(RA)
    };
    let is_unseen = function.blocks.values().all(|block| returns(&block.end) && block.insts.iter().all(keeps));
    if is_unseen { 1 << A1 } else { 0 }
}

impl<'c> Registers<'c> {
    /// Takes the parameters of a host-ABI entry point.
    pub(crate) fn take_host_parameters(&self, ir: &Ir<'c>, entry: FunctionValue<'c>) {
        let parameter = |index| entry.get_nth_param(index).expect("host-ABI entry points have these parameters");
        let base = parameter(WINDOW as u32).into_pointer_value();
        let first = |register: usize| Some(2 + register.checked_sub(A0)? as u32).filter(|&n| n < WINDOW as u32);
        self.take(ir, base, |register| match register {
            RA => ir.int(RETURN_ADDRESS),
            SP => parameter(1).into_int_value(),
            register => match first(register) {
                Some(index) => parameter(index).into_int_value(),
                None => {
                    ir.load(ir.i64.into(), ir.field(base, registers::home(register)), Space::State).into_int_value()
                }
            },
        });
        self.reload(ir);
    }
}

impl<'c> Site<'_, 'c> {
    /// Returns to the host, if that is where the guest returns to.
    pub(super) fn return_to_host(&self) {
        let (ir, registers) = (self.ir, self.registers);
        self.flush();
        let is_home = ir.compare(IntPredicate::EQ, ir.word(registers.get(ir, RA)), ir.int(RETURN_ADDRESS));
        let (home, mismatched) = (ir.block(self.function), ir.block(self.function));
        let fork = registers.fork();
        ir.branch_likely(is_home, home, mismatched);
        ir.builder.position_at_end(mismatched);
        self.exit_host_abi_entry(Reason::Returned);
        ir.unreachable();
        registers.rejoin(fork);
        ir.builder.position_at_end(home);
        let result = registers.handed_over(ir, A0, self.live);
        built(ir.builder.build_return(Some(&result)));
    }

    /// Exits with all registers committed, dropping this frame. Code after this is unreachable.
    pub(super) fn exit_host_abi_entry(&self, reason: Reason) {
        let (ir, registers) = (self.ir, self.registers);
        self.flush();
        registers.flush(ir, registers.dirty(true));
        self.store_field(convention::REASON, reason as u64);
        self.store_field(convention::RESUME, NOWHERE);
        let base = registers.base(ir);
        let quit = ir.load(ir.pointer.into(), ir.field(base, convention::QUIT), Space::State).into_pointer_value();
        let prototype = ir.context.void_type().fn_type(&[ir.pointer.into()], false);
        let state = ir.field(base, convention::STATE);
        built(ir.builder.build_indirect_call(prototype, quit, &[state.into()], ""));
        ir.unreachable();
        ir.builder.position_at_end(ir.block(self.function));
    }

    /// Calls the host function of an import, whose results are in a0 and a1.
    pub(super) fn call_host_on_its_stack(
        &self,
        import: PointerValue<'c>,
        arguments: [IntValue<'c>; REGISTER_ARGUMENTS],
        gives_a1: bool,
    ) -> [IntValue<'c>; 2] {
        let ir = self.ir;
        let both = ir.context.struct_type(&[ir.i64.into(); 2], false);
        let prototype = match gives_a1 {
            // If the guest returns the call's result, it becomes a tail call.
            false => ir.host_prototype(ir.i64, REGISTER_ARGUMENTS, 0),
            true => ir.host_prototype(both, REGISTER_ARGUMENTS, 0),
        };
        let code = ir.at(import, ir.int(offset_of!(Import, code) as u64));
        let code = ir.load(ir.pointer.into(), code, Space::State).into_pointer_value();
        let arguments: Vec<BasicMetadataValueEnum<'c>> =
            std::iter::once(import.into()).chain(arguments.map(Into::into)).collect();
        let call = built(ir.builder.build_indirect_call(prototype, code, &arguments, ""));
        // It knows nothing of this frame, which may be gone while it runs.
        call.set_tail_call_kind(LLVMTailCallKind::LLVMTailCallKindTail);
        ir.mark_strict(call);
        match call.try_as_basic_value().basic().expect("host functions have results") {
            BasicValueEnum::StructValue(both) => {
                [0, 1].map(|index| built(ir.builder.build_extract_value(both, index, "")).into_int_value())
            }
            first => [first.into_int_value(), ir.i64.get_undef()],
        }
    }
}
