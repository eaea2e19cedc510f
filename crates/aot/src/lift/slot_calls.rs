//! Host calls with raw values, as host functions in C take them, directly from host-ABI entry points.
//!
//! Whether a host function takes raw values is known when a machine is made, and tested at each call. Other bodies do not
//! test it, as their calls of closures would pay for it.

use std::mem::offset_of;

use inkwell::IntPredicate;
use inkwell::values::{IntValue, PointerValue};
use riverrun_vm::{Bound, Import, REGISTER_ARGUMENTS, SlotError};

use crate::lift::ir::{Space, built};
use crate::lift::site::Site;

/// The operands of a call with raw values besides the values.
struct SlotCall<'c> {
    code: PointerValue<'c>,
    data: PointerValue<'c>,
    context: PointerValue<'c>,
}

impl<'c> Site<'_, 'c> {
    /// Calls the host function of an import, whichever it is, with the first `len` arguments. Its result, if it
    /// has one, is the first.
    pub(super) fn call_host_by_its_kind(
        &self,
        import: PointerValue<'c>,
        number: u64,
        arguments: [IntValue<'c>; REGISTER_ARGUMENTS],
        len: usize,
    ) -> [IntValue<'c>; 2] {
        let ir = self.ir;
        let code = self.pointer_at(import, offset_of!(Bound, slot_code));
        let [by_registers, by_slots, fine, failed, behind] = std::array::from_fn(|_| ir.block(self.function));
        let is_none = built(ir.builder.build_is_null(code, ""));
        // Closures are what has the least to do besides: a jump to them and one behind take longer than all of it.
        ir.branch_likely(is_none, by_registers, by_slots);

        ir.builder.position_at_end(by_registers);
        let [by_registers_result, _] = self.call_host_code(import, arguments, false);
        ir.jump(behind);

        ir.builder.position_at_end(by_slots);
        let call = SlotCall {
            code,
            data: self.pointer_at(import, offset_of!(Bound, slot_data)),
            context: self.pointer_at(import, offset_of!(Import, context)),
        };
        let [error, result] = self.call_slots(&call, &arguments[..len]);
        ir.branch_likely(ir.compare(IntPredicate::EQ, error, ir.int(0)), fine, failed);
        ir.builder.position_at_end(failed);
        self.fail(error, number);
        ir.unreachable();

        ir.builder.position_at_end(fine);
        ir.jump(behind);
        ir.builder.position_at_end(behind);
        let phi = built(ir.builder.build_phi(ir.i64, ""));
        phi.add_incoming(&[(&by_registers_result, by_registers), (&result, fine)]);
        [phi.as_basic_value().into_int_value(), ir.i64.get_undef()]
    }

    fn pointer_at(&self, at: PointerValue<'c>, distance: usize) -> PointerValue<'c> {
        let ir = self.ir;
        let at = ir.at(at, ir.int(distance as u64));
        ir.load(ir.pointer.into(), at, Space::State).into_pointer_value()
    }

    /// Returns the error and the result.
    fn call_slots(&self, call: &SlotCall<'c>, arguments: &[IntValue<'c>]) -> [IntValue<'c>; 2] {
        let ir = self.ir;
        // A function that leaves no result gives its guest nothing of the host's.
        let nothing = [ir.int(0)];
        let arguments = if arguments.is_empty() { &nothing } else { arguments };
        let here = ir.here();
        let first = self.function.get_first_basic_block().and_then(|block| block.get_first_instruction());
        ir.builder.position_before(&first.expect("functions begin with their registers' slots"));
        let slots = built(ir.builder.build_alloca(ir.i64.array_type(arguments.len() as u32), ""));
        ir.builder.position_at_end(here);
        for (index, &word) in arguments.iter().enumerate() {
            ir.store(ir.element(slots, ir.int(index as u64)), word.into(), Space::State);
        }
        let prototype = ir.i64.fn_type(&[ir.pointer.into(); 3], false);
        let inputs = [call.data, call.context, slots].map(Into::into);
        let call = built(ir.builder.build_indirect_call(prototype, call.code, &inputs, ""));
        ir.mark_strict(call);
        let error = call.try_as_basic_value().basic().expect("it gives an error").into_int_value();
        [error, ir.load(ir.i64.into(), slots, Space::State).into_int_value()]
    }

    /// Ends the run for an error, which drops all frames.
    fn fail(&self, error: IntValue<'c>, number: u64) {
        let ir = self.ir;
        let error = built(ir.builder.build_int_to_ptr(error, ir.pointer, ""));
        let fail = self.pointer_at(error, offset_of!(SlotError, fail));
        let inputs = [error.into(), ir.int(number).into()];
        let prototype = ir.context.void_type().fn_type(&[ir.pointer.into(), ir.i64.into()], false);
        built(ir.builder.build_indirect_call(prototype, fail, &inputs, ""));
    }
}
