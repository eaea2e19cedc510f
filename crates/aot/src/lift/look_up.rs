//! Calls and jumps by register: looking up a guest address in the dispatch table.

use inkwell::IntPredicate;
use inkwell::llvm_sys::LLVMTailCallKind;
use inkwell::values::{BasicMetadataValueEnum, FunctionValue, IntValue, PointerValue};
use riverrun_vm::Reason;
use riverrun_vm::artifact::Dispatch;
use riverrun_vm::convention::{self, PINNED};

use crate::lift::ir::{Ir, Space, built};
use crate::lift::registers::{self, RA};
use crate::lift::site::Site;
use crate::lift::value::Value;
use crate::names::Names;

/// The symbol of [`Ir::searcher`].
const SEARCHER: &str = "riverrun_search";

/// The symbol of the function that goes on in the one at the state's pc.
pub(crate) fn searcher(names: &Names) -> String {
    names.table(SEARCHER)
}

impl<'c> Ir<'c> {
    /// The dispatch table, a [`Dispatch`].
    fn dispatch_table(&self) -> PointerValue<'c> {
        let name = self.names.dispatch();
        let table = self.module.get_global(&name).unwrap_or_else(|| {
            let table = self.module.add_global(self.i64, None, &name);
            // Exported by the object, but never replaced by another one.
            table.set_visibility(inkwell::GlobalVisibility::Protected);
            table
        });
        table.as_pointer_value()
    }

    /// The place where an address is looked for first.
    fn first_place(&self, address: IntValue<'c>, bits: u32) -> IntValue<'c> {
        let i32 = self.bits(32);
        let multiplier = i32.const_int(Dispatch::MULTIPLIER.into(), false);
        let mixed = built(self.builder.build_int_mul(self.truncate(address, 32), multiplier, ""));
        let shift = i32.const_int(u64::from(32 - bits), false);
        self.zero_extend(built(self.builder.build_right_shift(mixed, shift, false, "")))
    }

    /// The address that stands at a place.
    fn address_at(&self, place: IntValue<'c>) -> IntValue<'c> {
        let at = self.element(self.dispatch_table(), place);
        self.load(self.i64.into(), at, Space::State).into_int_value()
    }

    /// The host function of the address that stands at a place.
    fn function_at(&self, place: IntValue<'c>, bits: u32) -> PointerValue<'c> {
        let table = self.dispatch_table();
        let distance = self.element(self.at(table, self.int(8 << bits)), place);
        self.at(table, self.load(self.i64.into(), distance, Space::State).into_int_value())
    }

    /// The search function, called instead of a function that is not in its first place, with that function's address as the
    /// state's pc. It continues in the function if the table has it, and exits if not.
    fn searcher(&self) -> FunctionValue<'c> {
        self.guest_function(&searcher(&self.names))
    }

    /// Defines the search function; other modules only declare it.
    pub(crate) fn define_searcher(&self, bits: u32) {
        let searcher = self.searcher();
        let [entry, probe, compare, found, missing] = std::array::from_fn(|_| self.block(searcher));
        let base = searcher.get_nth_param(PINNED as u32).expect("functions have the convention's parameters");
        let base = base.into_pointer_value();

        self.builder.position_at_end(entry);
        let pc = self.load(self.i64.into(), self.field(base, convention::PC), Space::State).into_int_value();
        let first = self.first_place(pc, bits);
        self.jump(probe);

        self.builder.position_at_end(probe);
        let place = built(self.builder.build_phi(self.i64, ""));
        let here = place.as_basic_value().into_int_value();
        let address = self.address_at(here);
        built(self.builder.build_conditional_branch(self.truncate(address, 1), missing, compare));

        self.builder.position_at_end(compare);
        let next = built(self.builder.build_int_add(here, self.int(1), ""));
        let next = built(self.builder.build_and(next, self.int((1 << bits) - 1), ""));
        place.add_incoming(&[(&first, entry), (&next, compare)]);
        let is_here = self.compare(IntPredicate::EQ, address, pc);
        built(self.builder.build_conditional_branch(is_here, found, probe));

        self.builder.position_at_end(found);
        self.go_on(searcher, self.function_at(here, bits));

        self.builder.position_at_end(missing);
        self.exit_to(searcher);
    }

    /// Defines the function that begins at `start` as an exit: the interpreter executes it.
    pub(crate) fn define_interpreted(&self, start: u64) {
        let function = self.function(start);
        self.builder.position_at_end(self.block(function));
        let base = function.get_nth_param(PINNED as u32).expect("functions have the convention's parameters");
        self.store(self.field(base.into_pointer_value(), convention::PC), self.int(start).into(), Space::State);
        self.exit_to(function);
    }

    /// Exits in `function` to the code at the state's pc, which will return to ra, whether it is called or jumped to.
    fn exit_to(&self, function: FunctionValue<'c>) {
        let parameter =
            |index| function.get_nth_param(index as u32).expect("functions have the convention's parameters");
        let base = parameter(PINNED).into_pointer_value();
        let ra = registers::pinned(self.options.fuel).iter().position(|&register| register == RA).expect("ra is one");
        self.store(self.field(base, convention::REASON), self.int(Reason::Call as u64).into(), Space::State);
        self.store(self.field(base, convention::RESUME), parameter(ra), Space::State);
        let exit = self.load(self.pointer.into(), self.field(base, convention::EXIT), Space::State);
        self.go_on(function, exit.into_pointer_value());
    }

    /// Goes on in `target` in the place of `function`, with its parameters.
    fn go_on(&self, function: FunctionValue<'c>, target: PointerValue<'c>) {
        let arguments: Vec<BasicMetadataValueEnum<'c>> = function.get_param_iter().map(Into::into).collect();
        let call = self.call(target, &arguments);
        call.set_tail_call_kind(LLVMTailCallKind::LLVMTailCallKindMustTail);
        let results = call.try_as_basic_value().basic().expect("functions return the registers");
        built(self.builder.build_return(Some(&results)));
    }
}

impl<'c> Site<'_, 'c> {
    /// The function at an address. Nearly always the first place has it; otherwise the search function is called. The lowest
    /// bit, if a jump must clear it, is cleared for the search only: if it is set, the first place cannot match.
    pub(super) fn look_up(&self, target: Value<'c>) -> PointerValue<'c> {
        let (ir, bits) = (self.ir, self.dispatch_bits);
        let base = self.registers.base(ir);
        let [hit, miss, found] = std::array::from_fn(|_| ir.block(self.function));
        let raw = if let Value::Even(word) = target { word } else { ir.word(target) };
        let place = ir.first_place(raw, bits);
        ir.branch_likely(ir.compare(IntPredicate::EQ, ir.address_at(place), raw), hit, miss);

        ir.builder.position_at_end(hit);
        let function = ir.function_at(place, bits);
        ir.jump(found);

        ir.builder.position_at_end(miss);
        ir.store(ir.field(base, convention::PC), ir.word(target).into(), Space::State);
        ir.jump(found);

        ir.builder.position_at_end(found);
        let called = built(ir.builder.build_phi(ir.pointer, ""));
        called.add_incoming(&[(&function, hit), (&ir.searcher().as_global_value().as_pointer_value(), miss)]);
        called.as_basic_value().into_pointer_value()
    }
}
