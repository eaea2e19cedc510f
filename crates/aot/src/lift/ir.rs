//! LLVM's builder, with the types and attributes that all code here shares.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::basic_block::BasicBlock;
use inkwell::builder::{Builder, BuilderError};
use inkwell::context::Context;
use inkwell::intrinsics::Intrinsic;
use inkwell::module::{FlagBehavior, Linkage, Module};
use inkwell::types::{BasicTypeEnum, FloatType, FunctionType, IntType, PointerType};
use inkwell::values::{
    BasicMetadataValueEnum, BasicValueEnum, CallSiteValue, FloatValue, FunctionValue, GlobalValue, InstructionValue,
    IntValue, MetadataValue, PointerValue,
};
use inkwell::{AddressSpace, GlobalVisibility, InlineAsmDialect, IntPredicate};

use riverrun_isa::ops::Float;
use riverrun_vm::artifact::MAX_FRAME;
use riverrun_vm::convention::PINNED;

use crate::lift::lines::Lines;
use crate::names::Names;
use crate::options::CompileOptions;

/// LLVM's number of `x86_regcallcc`.
const REGCALL: u32 = 92;

/// LLVM's attribute `memory(inaccessiblemem: readwrite)`: LLVM keeps calls with it in their order, and knows that they do
/// not access the `VmContext`.
pub(crate) const ORDERED: u64 = 3 << 2;

/// Which memory an access touches. Accesses to different spaces never alias: guards separate the `VmContext` from the
/// guest's memory, and no pointer to a private frame exists ([`crate::analysis::private_accesses`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// The `VmContext`.
    State,
    /// The guest's memory.
    Guest,
    /// The private frame of a guest function.
    Frame,
}

/// Who calls the functions of a module, which determines their calling convention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callers {
    /// Compiled code, by its own convention.
    Guest,
    /// The host, by its convention: see [`crate::lift::host_abi_entries`].
    Host,
}

impl Callers {
    /// Bytes of the largest frame of functions with these callers; see [`crate::frames`].
    fn max_frame(self) -> usize {
        /// Less than a page, which every stack of a host has for a guard at the least.
        const MAX_ENTRY_FRAME: usize = 2 << 10;
        match self {
            Callers::Guest => MAX_FRAME,
            Callers::Host => MAX_ENTRY_FRAME,
        }
    }
}

/// A module under construction.
pub(crate) struct Ir<'c> {
    pub(crate) context: &'c Context,
    pub(crate) module: Module<'c>,
    pub(crate) builder: Builder<'c>,
    pub(crate) options: CompileOptions,
    pub(crate) callers: Callers,
    pub(crate) names: Arc<Names>,
    pub(crate) i64: IntType<'c>,
    pub(crate) pointer: PointerType<'c>,
    /// The type of all compiled functions.
    pub(crate) prototype: FunctionType<'c>,
    pub(crate) lines: Lines<'c>,
    attributes: Vec<Attribute>,
    no_callee_saved: Attribute,
    strict_attribute: Attribute,
    narrow_vectors: Attribute,
    strict_floats: Cell<bool>,
    aliasing: u32,
    weights: u32,
    state_access: MetadataValue<'c>,
    guest_access: MetadataValue<'c>,
    frame_access: MetadataValue<'c>,
    likely: MetadataValue<'c>,
    stack_pointer: MetadataValue<'c>,
}

/// The builder is always positioned at the end of a block.
pub(crate) fn built<T>(result: Result<T, BuilderError>) -> T {
    result.expect("the builder stands in a block")
}

impl<'c> Ir<'c> {
    pub(crate) fn new(
        context: &'c Context,
        name: &str,
        options: CompileOptions,
        callers: Callers,
        tune: &str,
        names: &Arc<Names>,
    ) -> Ir<'c> {
        let i64 = context.i64_type();
        let pointer = context.ptr_type(AddressSpace::default());
        let fields: Vec<BasicTypeEnum> = std::iter::repeat_n(i64.into(), PINNED).chain([pointer.into()]).collect();
        let parameters: Vec<_> = fields.iter().map(|&field| field.into()).collect();
        let prototype = context.struct_type(&fields, false).fn_type(&parameters, false);

        let features: Vec<String> = options.cpu.features().names().map(|name| format!("+{name}")).collect();
        let text = |key: &str, value: &str| context.create_string_attribute(key, value);
        let flag = |name: &str| context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), 0);
        let no_callee_saved = text("no_callee_saved_registers", "");
        let mut attributes = vec![
            flag("nounwind"),
            flag("null_pointer_is_valid"),
            text("frame-pointer", "none"),
            text("target-cpu", "x86-64"),
            text("target-features", &features.join(",")),
            text("tune-cpu", tune),
            text("warn-stack-size", &callers.max_frame().to_string()),
        ];
        if callers == Callers::Guest {
            // Frames need no alignment beyond a word's; what spills vectors does it unaligned.
            attributes.extend([no_callee_saved, text("no-realign-stack", "")]);
        }

        let word = |text: &str| context.metadata_string(text);
        let root = context.metadata_node(&[word("riverrun").into()]);
        let access = |name: &str| {
            let zero = i64.const_zero();
            let kind = context.metadata_node(&[word(name).into(), root.into(), zero.into()]);
            context.metadata_node(&[kind.into(), kind.into(), zero.into()])
        };
        let weight = |weight| context.i32_type().const_int(weight, false);
        let likely = context.metadata_node(&[word("branch_weights").into(), weight(2000).into(), weight(1).into()]);
        let module = context.create_module(name);
        if callers == Callers::Guest {
            let word = context.i32_type().const_int(8, false);
            module.add_basic_value_flag("override-stack-alignment", FlagBehavior::Error, word);
        }
        Ir {
            context,
            lines: Lines::new(context, &module),
            module,
            builder: context.create_builder(),
            options,
            callers,
            names: names.clone(),
            i64,
            pointer,
            prototype,
            attributes,
            no_callee_saved,
            strict_attribute: flag("strictfp"),
            narrow_vectors: text("prefer-vector-width", "128"),
            strict_floats: Cell::new(options.is_precise()),
            aliasing: context.get_kind_id("tbaa"),
            weights: context.get_kind_id("prof"),
            state_access: access("state"),
            guest_access: access("guest"),
            frame_access: access("frame"),
            likely,
            stack_pointer: context.metadata_node(&[word("rsp").into()]),
        }
    }

    /// What is made from now on belongs to the guest instruction at `pc`.
    pub(crate) fn line(&self, pc: u64) {
        if let Some(place) = self.lines.place(self.context, pc) {
            self.builder.set_current_debug_location(place);
        }
    }

    pub(crate) fn int(&self, value: u64) -> IntValue<'c> {
        self.i64.const_int(value, false)
    }

    /// The host function of the guest function at `start`, declared if it is not there yet.
    pub(crate) fn function(&self, start: u64) -> FunctionValue<'c> {
        self.guest_function(&self.names.of(start))
    }

    /// A separate host function to which only the guest function at `start` continues.
    pub(crate) fn part(&self, start: u64, name: &str) -> FunctionValue<'c> {
        let function = self.guest_function(&self.names.part(start, name));
        function.set_linkage(Linkage::Internal);
        function
    }

    pub(super) fn guest_function(&self, name: &str) -> FunctionValue<'c> {
        let function = self.declare(name, self.prototype);
        function.set_call_conventions(REGCALL);
        function
    }

    /// A function of the artifact, declared if it is not there yet.
    pub(crate) fn declare(&self, name: &str, prototype: FunctionType<'c>) -> FunctionValue<'c> {
        self.module.get_function(name).unwrap_or_else(|| {
            let function = self.module.add_function(name, prototype, Some(Linkage::External));
            function.as_global_value().set_visibility(GlobalVisibility::Hidden);
            if let Some(section) = self.names.section() {
                function.set_section(Some(&section));
            }
            for &attribute in &self.attributes {
                function.add_attribute(AttributeLoc::Function, attribute);
            }
            function
        })
    }

    /// A call by the convention of compiled functions.
    pub(crate) fn call(&self, target: PointerValue<'c>, arguments: &[BasicMetadataValueEnum<'c>]) -> CallSiteValue<'c> {
        let call = built(self.builder.build_indirect_call(self.prototype, target, arguments, ""));
        call.set_call_convention(REGCALL);
        call.add_attribute(AttributeLoc::Function, self.no_callee_saved);
        self.mark_strict(call);
        call
    }

    /// Begins a function, in which LLVM omits and moves no float operation if it is to be `strict`.
    pub(crate) fn begin_function(&self, function: FunctionValue<'c>, strict: bool) {
        self.strict_floats.set(strict);
        if strict {
            function.add_attribute(AttributeLoc::Function, self.strict_attribute);
        }
    }

    /// Limits vectors in a function to 128 bits. Without loops, wider ones save a store or two, but their upper halves
    /// must be cleared wherever the function exits or returns.
    pub(crate) fn prefer_narrow_vectors(&self, function: FunctionValue<'c>) {
        function.add_attribute(AttributeLoc::Function, self.narrow_vectors);
    }

    /// Whether float operations raise just what they should, and when.
    pub(crate) fn strict_floats(&self) -> bool {
        self.strict_floats.get()
    }

    pub(crate) fn mark_strict(&self, call: CallSiteValue<'c>) {
        if self.strict_floats() {
            call.add_attribute(AttributeLoc::Function, self.strict_attribute);
        }
    }

    /// How many parcels of two bytes an address lies behind `first`; what is in front of it, or within a
    /// parcel, is far behind.
    pub(crate) fn parcels(&self, first: u64, address: IntValue<'c>) -> IntValue<'c> {
        let distance = built(self.builder.build_int_sub(address, self.int(first), ""));
        let one = self.int(1).into();
        let rotated = self.intrinsic("llvm.fshr", &[self.i64.into()], &[distance.into(), distance.into(), one]);
        rotated.into_int_value()
    }

    /// The lesser of an unsigned value and a limit.
    pub(crate) fn at_most(&self, value: IntValue<'c>, limit: u64) -> IntValue<'c> {
        let least = self.intrinsic("llvm.umin", &[self.i64.into()], &[value.into(), self.int(limit).into()]);
        least.into_int_value()
    }

    /// A call to an intrinsic function, overloaded by `types`.
    pub(crate) fn intrinsic(
        &self,
        name: &str,
        types: &[BasicTypeEnum<'c>],
        arguments: &[BasicMetadataValueEnum<'c>],
    ) -> BasicValueEnum<'c> {
        let intrinsic = Intrinsic::find(name).unwrap_or_else(|| panic!("LLVM has no {name}"));
        let function = intrinsic.get_declaration(&self.module, types).expect("an intrinsic has its types");
        let call = built(self.builder.build_call(function, arguments, ""));
        self.mark_strict(call);
        call.try_as_basic_value().basic().expect("these intrinsics have results")
    }

    /// `a + b + carry`, made by the flag that the carry comes from.
    pub(crate) fn add_with_carry(&self, a: IntValue<'c>, b: IntValue<'c>, carry: IntValue<'c>) -> IntValue<'c> {
        let carry = built(self.builder.build_int_z_extend(carry, self.bits(8), ""));
        let sum = self.intrinsic("llvm.x86.addcarry.64", &[], &[carry.into(), a.into(), b.into()]);
        built(self.builder.build_extract_value(sum.into_struct_value(), 1, "")).into_int_value()
    }

    /// A call to an intrinsic function that has no result.
    pub(crate) fn effect(&self, name: &str, arguments: &[BasicMetadataValueEnum<'c>]) {
        let intrinsic = Intrinsic::find(name).unwrap_or_else(|| panic!("LLVM has no {name}"));
        let function = intrinsic.get_declaration(&self.module, &[]).expect("an intrinsic has its types");
        built(self.builder.build_call(function, arguments, ""));
    }

    /// The block in which the builder stands.
    pub(crate) fn here(&self) -> BasicBlock<'c> {
        self.builder.get_insert_block().expect("the builder stands in a block")
    }

    /// Hides a word's origin from LLVM.
    pub(crate) fn opaque(&self, word: IntValue<'c>) -> IntValue<'c> {
        self.assembly("", "=r,0", false, word.into(), word.get_type())
    }

    /// A condition that is known here: LLVM would compare behind a call what is branched on there, as flags do not outlive
    /// calls.
    pub(crate) fn settled(&self, flag: IntValue<'c>) -> IntValue<'c> {
        let word = built(self.builder.build_int_z_extend(flag, self.bits(32), ""));
        let word = self.assembly("", "=r,0", true, word.into(), self.bits(32));
        self.compare(IntPredicate::NE, word, self.bits(32).const_zero())
    }

    /// Whether a pointer is at least the word at a distance from it, which may change at any time: one comparison in memory,
    /// where LLVM would load a volatile word first.
    pub(crate) fn is_at_least(&self, base: PointerValue<'c>, distance: i64) -> IntValue<'c> {
        self.compares(&format!("cmpq $1, {distance}($1)"), base)
    }

    /// The same of the host's stack pointer and the word at this distance from `base`.
    pub(crate) fn is_stack_at_least(&self, base: PointerValue<'c>, distance: i64) -> IntValue<'c> {
        self.compares(&format!("cmpq %rsp, {distance}($1)"), base)
    }

    /// Whether the first operand of an instruction that compares is not above the second.
    fn compares(&self, text: &str, base: PointerValue<'c>) -> IntValue<'c> {
        let flag = self.assembly(text, "={@ccbe},r", true, base.into(), self.bits(32));
        self.compare(IntPredicate::NE, flag, self.bits(32).const_zero())
    }

    /// An instruction with one operand, which stays in its order with all others that are `ordered`.
    fn assembly(
        &self,
        text: &str,
        constraints: &str,
        ordered: bool,
        operand: BasicMetadataValueEnum<'c>,
        result: IntType<'c>,
    ) -> IntValue<'c> {
        let kind = match operand {
            BasicMetadataValueEnum::PointerValue(pointer) => pointer.get_type().into(),
            _ => result.into(),
        };
        let prototype = result.fn_type(&[kind], false);
        let dialect = Some(InlineAsmDialect::ATT);
        let assembly = self.context.create_inline_asm(
            prototype,
            text.to_owned(),
            constraints.to_owned(),
            ordered,
            false,
            dialect,
            false,
        );
        let call = built(self.builder.build_indirect_call(prototype, assembly, &[operand], ""));
        if ordered {
            for name in ["nounwind", "willreturn"] {
                let attribute = self.context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), 0);
                call.add_attribute(AttributeLoc::Function, attribute);
            }
            let memory = Attribute::get_named_enum_kind_id("memory");
            call.add_attribute(AttributeLoc::Function, self.context.create_enum_attribute(memory, ORDERED));
        }
        call.try_as_basic_value().basic().expect("it has a result").into_int_value()
    }

    /// The host's stack pointer.
    pub(crate) fn stack_pointer(&self) -> IntValue<'c> {
        self.intrinsic("llvm.read_register", &[self.i64.into()], &[self.stack_pointer.into()]).into_int_value()
    }

    /// `base + offset`, in bytes.
    pub(crate) fn at(&self, base: PointerValue<'c>, offset: IntValue<'c>) -> PointerValue<'c> {
        // SAFETY: without `inbounds`, any offset is defined; it is the access that may fault.
        built(unsafe { self.builder.build_gep(self.context.i8_type(), base, &[offset], "") })
    }

    /// The place of a word of an array.
    pub(crate) fn element(&self, array: PointerValue<'c>, index: IntValue<'c>) -> PointerValue<'c> {
        // SAFETY: as in `at`.
        built(unsafe { self.builder.build_gep(self.i64, array, &[index], "") })
    }

    /// The place of a field at a distance from the window ([`riverrun_vm::convention`]).
    pub(crate) fn field(&self, base: PointerValue<'c>, distance: i64) -> PointerValue<'c> {
        self.at(base, self.int(distance as u64))
    }

    pub(crate) fn load(&self, kind: BasicTypeEnum<'c>, at: PointerValue<'c>, space: Space) -> BasicValueEnum<'c> {
        let value = built(self.builder.build_load(kind, at, ""));
        if let Some(load) = value.as_instruction_value_of() {
            self.annotate(load, space);
        }
        value
    }

    /// Keeps LLVM from merging a load with its neighbours into a vector.
    pub(crate) fn keep_apart(&self, loaded: BasicValueEnum<'c>) {
        if let Some(load) = loaded.as_instruction_value_of() {
            load.set_volatile(true).expect("loads can be volatile");
        }
    }

    pub(crate) fn store(&self, at: PointerValue<'c>, value: BasicValueEnum<'c>, space: Space) {
        let store = built(self.builder.build_store(at, value));
        self.annotate(store, space);
    }

    fn annotate(&self, access: InstructionValue<'c>, space: Space) {
        let (kind, alignment) = match space {
            Space::State => (self.state_access, 8),
            Space::Guest => (self.guest_access, 1),
            Space::Frame => (self.frame_access, 1),
        };
        access.set_alignment(alignment).expect("powers of two are alignments");
        access.set_metadata(kind, self.aliasing).expect("nodes are metadata");
    }

    /// A branch that is nearly always taken.
    pub(crate) fn branch_likely(&self, condition: IntValue<'c>, likely: BasicBlock<'c>, unlikely: BasicBlock<'c>) {
        let branch = built(self.builder.build_conditional_branch(condition, likely, unlikely));
        branch.set_metadata(self.likely, self.weights).expect("nodes are metadata");
    }

    pub(crate) fn compare(&self, predicate: IntPredicate, a: IntValue<'c>, b: IntValue<'c>) -> IntValue<'c> {
        built(self.builder.build_int_compare(predicate, a, b, ""))
    }

    pub(crate) fn select(
        &self,
        condition: IntValue<'c>,
        a: BasicValueEnum<'c>,
        b: BasicValueEnum<'c>,
    ) -> BasicValueEnum<'c> {
        built(self.builder.build_select(condition, a, b, ""))
    }

    pub(crate) fn truncate(&self, value: IntValue<'c>, bits: u32) -> IntValue<'c> {
        let kind = self.bits(bits);
        built(self.builder.build_int_truncate(value, kind, ""))
    }

    pub(crate) fn zero_extend(&self, value: IntValue<'c>) -> IntValue<'c> {
        built(self.builder.build_int_z_extend(value, self.i64, ""))
    }

    pub(crate) fn sign_extend(&self, value: IntValue<'c>) -> IntValue<'c> {
        built(self.builder.build_int_s_extend(value, self.i64, ""))
    }

    pub(crate) fn bits(&self, bits: u32) -> IntType<'c> {
        match bits {
            1 => self.context.bool_type(),
            8 => self.context.i8_type(),
            16 => self.context.i16_type(),
            32 => self.context.i32_type(),
            128 => self.context.i128_type(),
            _ => self.i64,
        }
    }

    pub(crate) fn bit_cast(&self, value: BasicValueEnum<'c>, kind: BasicTypeEnum<'c>) -> BasicValueEnum<'c> {
        built(self.builder.build_bit_cast(value, kind, ""))
    }

    pub(crate) fn float_type(&self, f: Float) -> FloatType<'c> {
        match f {
            Float::S => self.context.f32_type(),
            Float::D => self.context.f64_type(),
        }
    }

    /// The same float bits as an integer, or the reverse; both are of one size.
    pub(crate) fn float_bits(&self, value: FloatValue<'c>, bits: u32) -> IntValue<'c> {
        self.bit_cast(value.into(), self.bits(bits).into()).into_int_value()
    }

    /// The entry at `index` of a constant table.
    pub(crate) fn look_up(&self, kind: IntType<'c>, entries: &[IntValue<'c>], index: IntValue<'c>) -> IntValue<'c> {
        let table = self.constant_table(kind, entries.len());
        table.set_initializer(&kind.const_array(entries));
        // SAFETY: as in `at`.
        let entry = built(unsafe { self.builder.build_gep(kind, table.as_pointer_value(), &[index], "") });
        built(self.builder.build_load(kind, entry, "")).into_int_value()
    }

    /// A table that is yet to be filled.
    fn constant_table(&self, kind: IntType<'c>, len: usize) -> GlobalValue<'c> {
        let table = self.module.add_global(kind.array_type(len as u32), None, "");
        table.set_linkage(Linkage::Private);
        table.set_constant(true);
        table
    }

    /// Jumps to the label at `index`, which is below `len`, or to `other` where there is none: by a table.
    pub(crate) fn jump_by_table(
        &self,
        index: IntValue<'c>,
        len: u64,
        labels: &BTreeMap<u64, BasicBlock<'c>>,
        other: BasicBlock<'c>,
    ) {
        let i32 = self.bits(32);
        let table = self.constant_table(i32, len as usize);
        let here = table.as_pointer_value();
        // From the table: the object has no addresses that a loader would have to change.
        let distance = |label: BasicBlock<'c>| {
            // SAFETY: the address is only jumped to by the instruction below, in the label's function.
            let address = unsafe { label.get_address() }.expect("labels are not their functions' first blocks");
            address.const_to_int(self.i64).const_sub(here.const_to_int(self.i64)).const_truncate(i32)
        };
        let other_distance = distance(other);
        let entry = |index| labels.get(&index).map_or(other_distance, |&label| distance(label));
        let entries: Vec<_> = (0..len).map(entry).collect();
        table.set_initializer(&i32.const_array(&entries));

        let offset = built(self.builder.build_left_shift(index, self.int(2), ""));
        let distance = built(self.builder.build_load(i32, self.at(here, offset), "")).into_int_value();
        let to = self.at(here, self.sign_extend(distance));
        let targets: Vec<_> = labels.values().copied().chain([other]).collect();
        built(self.builder.build_indirect_branch(to, &targets));
    }

    /// Fills the current block's place with a new block, and goes on there.
    pub(crate) fn block(&self, function: FunctionValue<'c>) -> BasicBlock<'c> {
        self.context.append_basic_block(function, "")
    }

    pub(crate) fn jump(&self, to: BasicBlock<'c>) {
        built(self.builder.build_unconditional_branch(to));
    }

    pub(crate) fn unreachable(&self) {
        built(self.builder.build_unreachable());
    }
}

/// An operand of an instruction, if it is an integer.
pub(crate) fn integer_operand<'c>(of: InstructionValue<'c>, index: u32) -> Option<IntValue<'c>> {
    of.get_operand(index)?.value()?.try_into().ok()
}

/// The instruction that made a value.
trait AsInstruction<'c> {
    fn as_instruction_value_of(&self) -> Option<InstructionValue<'c>>;
}

impl<'c> AsInstruction<'c> for BasicValueEnum<'c> {
    fn as_instruction_value_of(&self) -> Option<InstructionValue<'c>> {
        use inkwell::values::BasicValue;
        self.as_instruction_value()
    }
}
