//! Where a function's guest registers are: in LLVM stack slots, which become host registers; within a block, as values; and,
//! once committed, in the state.

use std::cell::{Cell, RefCell};

pub(crate) use crate::analysis::registers::{COUNT, FUEL, Set, float_sources, members, names_float, sources, written};
use crate::lift::ir::{Ir, Space, built};
use crate::lift::value::Value;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, FunctionValue, IntValue, PointerValue, StructValue};
use riverrun_isa::ops::Float;
use riverrun_vm::convention::{self, PINNED, Pinned};

/// The return address.
pub(crate) const RA: usize = 1;
/// The guest's stack pointer.
pub(crate) const SP: usize = 2;
/// The first argument, and result.
pub(crate) const A0: usize = 10;
/// The second argument, and result.
pub(crate) const A1: usize = 11;

/// The ten pinned registers, by number.
pub(crate) fn pinned(fuel: bool) -> [usize; PINNED] {
    convention::pinned(fuel).map(|pinned| match pinned {
        Pinned::X(n) => n as usize,
        Pinned::Fuel => FUEL,
    })
}

/// The pinned registers, as a set.
pub(crate) fn pinned_set(fuel: bool) -> Set {
    pinned(fuel).iter().fold(0, |set, &register| set | 1 << register)
}

/// Where a register stands in the state, as a distance from the window.
pub(crate) fn home(register: usize) -> i64 {
    if register == FUEL { convention::FUEL } else { convention::slot(register as u8) }
}

/// The registers of the function that is being lifted.
pub(crate) struct Registers<'c> {
    /// Stack slots of those that it uses.
    slots: [Option<PointerValue<'c>>; COUNT],
    /// Stack slots of float registers as floats, see [`Value::Both`].
    views: [Option<(Float, PointerValue<'c>)>; COUNT],
    /// Stack slots of the lower halves of those that are narrow where some block begins, see
    /// [`crate::analysis::narrow`].
    narrow_slots: [Option<PointerValue<'c>>; COUNT],
    /// Those that are narrow where this block begins, and in such slots.
    narrow: Cell<Set>,
    /// The state-resident registers, which have no slots.
    state_resident: Set,
    /// Pinned registers that are passed on unchanged, although they are dead.
    kept: Set,
    base_slot: PointerValue<'c>,
    pinned: [usize; PINNED],
    /// Their values at this place of the block, if known.
    values: RefCell<[Option<Value<'c>>; COUNT]>,
    /// Values that are not yet in their slots.
    unsaved: Cell<Set>,
    base: Cell<Option<PointerValue<'c>>>,
    /// Uncommitted registers.
    dirty: Cell<Set>,
    /// Which ones have been written since [`Registers::track_changes`].
    changed: Cell<Set>,
}

impl<'c> Registers<'c> {
    /// Slots for the registers of `used`, and those of the convention, in the current block; none for
    /// `state_resident` ones. Those that are `kept` are handed over as they are; those that are `narrow` anywhere have slots
    /// for that, too.
    pub(crate) fn new(
        ir: &Ir<'c>,
        used: Set,
        state_resident: Set,
        kept: Set,
        narrow: Set,
        views: [Option<Float>; COUNT],
    ) -> Registers<'c> {
        let pinned = pinned(ir.options.fuel);
        let all = (used | pinned_set(ir.options.fuel)) & !state_resident;
        let slot = |register| (all >> register & 1 != 0).then(|| built(ir.builder.build_alloca(ir.i64, "")));
        Registers {
            slots: std::array::from_fn(slot),
            views: std::array::from_fn(|register| {
                let view = views[register].filter(|_| state_resident >> register & 1 == 0);
                view.map(|f| (f, built(ir.builder.build_alloca(ir.float_type(f), ""))))
            }),
            narrow_slots: std::array::from_fn(|register| {
                let is_narrow = narrow & all & 1 << register != 0;
                is_narrow.then(|| built(ir.builder.build_alloca(ir.bits(32), "")))
            }),
            narrow: Cell::new(0),
            state_resident,
            kept,
            base_slot: built(ir.builder.build_alloca(ir.pointer, "")),
            pinned,
            values: RefCell::new([None; COUNT]),
            unsaved: Cell::new(0),
            base: Cell::new(None),
            dirty: Cell::new(0),
            changed: Cell::new(0),
        }
    }

    fn slot(&self, register: usize) -> PointerValue<'c> {
        self.slots[register].expect("registers that are used have slots")
    }

    /// Forgets all values: another block begins, where the registers `dirty` are uncommitted.
    pub(crate) fn begin_block(&self, dirty: Set) {
        *self.values.borrow_mut() = [None; COUNT];
        self.unsaved.set(0);
        self.base.set(None);
        self.dirty.set(dirty);
        self.narrow.set(0);
    }

    /// Says which registers are narrow where the block begins.
    pub(crate) fn begin_narrow(&self, narrow: Set) {
        self.narrow.set(narrow);
    }

    /// The narrow slots of a set, those that there are.
    fn narrow_slots(&self, set: Set) -> impl Iterator<Item = (usize, PointerValue<'c>)> {
        members(set).filter_map(|register| Some((register, self.narrow_slots[register]?)))
    }

    /// The window's address.
    pub(crate) fn base(&self, ir: &Ir<'c>) -> PointerValue<'c> {
        self.base.get().unwrap_or_else(|| {
            let base = built(ir.builder.build_load(ir.pointer, self.base_slot, "")).into_pointer_value();
            self.base.set(Some(base));
            base
        })
    }

    pub(crate) fn get(&self, ir: &Ir<'c>, register: usize) -> Value<'c> {
        if let Some(value) = self.values.borrow()[register] {
            return value;
        }
        if let Some((_, slot)) = self.narrow_slots(self.narrow.get() & 1 << register).next() {
            let half = built(ir.builder.build_load(ir.bits(32), slot, "")).into_int_value();
            let value = Value::Word(ir.sign_extend(half));
            self.values.borrow_mut()[register] = Some(value);
            return value;
        }
        let word = match self.state_resident >> register & 1 {
            0 => built(ir.builder.build_load(ir.i64, self.slot(register), "")),
            _ => ir.load(ir.i64.into(), ir.field(self.base(ir), home(register)), Space::State),
        };
        let word = word.into_int_value();
        let value = match self.views[register] {
            None => Value::Word(word),
            Some((f, view)) => {
                let float = built(ir.builder.build_load(ir.float_type(f), view, "")).into_float_value();
                if f == Float::D { Value::Both(f, word, float) } else { Value::BothBoxed(word, float) }
            }
        };
        self.values.borrow_mut()[register] = Some(value);
        value
    }

    /// A register whose bits are observed here. From here on its slot has the canonical bits, so that later uses wait for
    /// nothing and no second copy is kept.
    pub(crate) fn see(&self, ir: &Ir<'c>, register: usize) -> Value<'c> {
        let value = ir.exact(self.get(ir, register));
        self.values.borrow_mut()[register] = Some(value);
        value
    }

    /// Writes a register's slots.
    fn put(&self, ir: &Ir<'c>, register: usize, value: Value<'c>) {
        built(ir.builder.build_store(self.slot(register), ir.word(value)));
        if let Some((f, view)) = self.views[register] {
            built(ir.builder.build_store(view, ir.register_float(f, value)));
        }
    }

    pub(crate) fn set(&self, register: usize, value: Value<'c>) {
        self.values.borrow_mut()[register] = Some(value);
        self.unsaved.set(self.unsaved.get() | 1 << register);
        self.dirty.set(self.dirty.get() | 1 << register);
        self.changed.set(self.changed.get() | 1 << register);
    }

    /// From here on, [`Registers::changed`] has what is written.
    pub(crate) fn track_changes(&self) {
        self.changed.set(0);
    }

    pub(crate) fn changed(&self) -> Set {
        self.changed.get()
    }

    /// Brings the slots up to date, as a block ends. Resident registers have been committed. Where control goes on,
    /// those of `narrow` are looked for in narrow slots, and those of `wide` in others.
    pub(crate) fn save(&self, ir: &Ir<'c>, narrow: Set, wide: Set) {
        let unsaved = self.unsaved.take() & !self.state_resident;
        for (register, slot) in self.narrow_slots(unsaved & narrow) {
            let half = ir.truncate(ir.word(self.get(ir, register)), 32);
            built(ir.builder.build_store(slot, half));
        }
        let widened = self.narrow_slots(self.narrow.get()).fold(0, |set, (register, _)| set | 1 << register);
        self.save_those(ir, (unsaved | widened) & wide);
    }

    /// Brings the narrow slots up to date from the others; gives whether that makes no difference.
    pub(crate) fn narrow_down(&self, ir: &Ir<'c>, narrow: Set) -> Option<IntValue<'c>> {
        self.narrow_slots(narrow).fold(None, |all, (register, slot)| {
            let word = ir.word(self.get(ir, register));
            let half = ir.truncate(word, 32);
            built(ir.builder.build_store(slot, half));
            let is_same = ir.compare(IntPredicate::EQ, ir.sign_extend(half), word);
            Some(all.map_or(is_same, |all| built(ir.builder.build_and(all, is_same, ""))))
        })
    }

    /// Whether a register has a slot: it is used, and not state-resident.
    pub(crate) fn has_slot(&self, register: usize) -> bool {
        self.slots[register].is_some()
    }

    /// Whether each of these registers holds its constant, if there are any.
    pub(crate) fn are_constant(&self, ir: &Ir<'c>, constants: &[(usize, u64)]) -> Option<IntValue<'c>> {
        let is_constant = |&(register, constant): &(usize, u64)| {
            ir.compare(IntPredicate::EQ, ir.word(self.get(ir, register)), ir.int(constant))
        };
        constants.iter().map(is_constant).reduce(|all, one| built(ir.builder.build_and(all, one, "")))
    }

    /// Writes the slots of registers that hold these constants, so that LLVM knows them; narrow slots of `narrow`, too.
    pub(crate) fn put_constants(&self, ir: &Ir<'c>, constants: &[(usize, u64)], narrow: Set) {
        for &(register, constant) in constants {
            let word = ir.int(constant);
            self.put(ir, register, Value::Word(word));
            for (_, slot) in self.narrow_slots(narrow & 1 << register) {
                built(ir.builder.build_store(slot, ir.truncate(word, 32)));
            }
        }
    }

    /// Results of arithmetic that are not yet in their slots, which get canonical NaNs there.
    pub(crate) fn unsaved_results(&self) -> Set {
        let values = self.values.borrow();
        let is_result = |register: &usize| matches!(values[*register], Some(Value::Float(..) | Value::Boxed(_)));
        let unsaved = members(self.unsaved.get() & !self.state_resident);
        unsaved.filter(is_result).fold(0, |set, register| set | 1 << register)
    }

    /// Has [`Registers::save`] leave registers out: they are dead, or saved by [`Registers::save_those`].
    pub(crate) fn leave_out(&self, registers: Set) {
        self.unsaved.set(self.unsaved.get() & !registers);
    }

    /// Brings the slots of these registers up to date.
    pub(crate) fn save_those(&self, ir: &Ir<'c>, registers: Set) {
        for register in members(registers) {
            self.put(ir, register, self.get(ir, register));
        }
    }

    /// The uncommitted registers, without the pinned ones unless `pinned`.
    pub(crate) fn dirty(&self, pinned: bool) -> Set {
        let all = self.dirty.get();
        if pinned { all } else { all & !self.pinned.iter().fold(0, |set, &register| set | 1 << register) }
    }

    /// Stores the registers `which` in the state.
    pub(crate) fn flush(&self, ir: &Ir<'c>, which: Set) {
        for register in members(which) {
            let word = ir.word(self.see(ir, register));
            ir.store(ir.field(self.base(ir), home(register)), word.into(), Space::State);
        }
    }

    /// Commits those of `which` that are uncommitted.
    pub(crate) fn commit(&self, ir: &Ir<'c>, which: Set) {
        let lacking = which & self.dirty.get();
        self.flush(ir, lacking);
        self.flushed(lacking);
    }

    /// Marks all registers of `which` as committed.
    pub(crate) fn flushed(&self, which: Set) {
        self.dirty.set(self.dirty.get() & !which);
    }

    /// A pinned register at a call or return with these `live` ones after it. Dead ones are 0, so that no guest sees host
    /// data.
    pub(super) fn handed_over(&self, ir: &Ir<'c>, register: usize, live: Set) -> IntValue<'c> {
        if (live | self.kept) >> register & 1 == 0 { ir.int(0) } else { ir.word(self.get(ir, register)) }
    }

    /// The pinned registers at a call after which `live` registers are live.
    pub(crate) fn arguments(&self, ir: &Ir<'c>, live: Set) -> Vec<BasicMetadataValueEnum<'c>> {
        let base = self.base(ir);
        let pinned = self.pinned.map(|register| self.handed_over(ir, register, live).into());
        pinned.into_iter().chain([base.into()]).collect()
    }

    /// The pinned registers at a return after which `live` registers are live.
    pub(crate) fn results(&self, ir: &Ir<'c>, live: Set) -> StructValue<'c> {
        let kind = ir.prototype.get_return_type().expect("functions return the registers").into_struct_type();
        let base = PINNED as u32;
        let with_base = built(ir.builder.build_insert_value(kind.get_poison(), self.base(ir), base, ""));
        (0..).zip(self.pinned).fold(with_base.into_struct_value(), |results, (index, register)| {
            let word = self.handed_over(ir, register, live);
            built(ir.builder.build_insert_value(results, word, index, "")).into_struct_value()
        })
    }

    /// Takes over what a call has returned into the slots; all other registers are in the state, see
    /// [`Registers::reload`].
    pub(crate) fn take_results(&self, ir: &Ir<'c>, results: StructValue<'c>) {
        let result = |index| built(ir.builder.build_extract_value(results, index, ""));
        self.take_in_order(ir, |index| result(index as u32));
    }

    /// Takes over a function's parameters, likewise.
    pub(crate) fn take_parameters(&self, ir: &Ir<'c>, function: FunctionValue<'c>) {
        let parameter = |index| function.get_nth_param(index).expect("functions have the convention's parameters");
        self.take_in_order(ir, |index| parameter(index as u32));
        self.reload(ir);
    }

    fn take_in_order(&self, ir: &Ir<'c>, value: impl Fn(usize) -> BasicValueEnum<'c>) {
        let position =
            |register| self.pinned.iter().position(|&pinned| pinned == register).expect("one of the convention's");
        self.take(ir, value(PINNED).into_pointer_value(), |register| value(position(register)).into_int_value());
    }

    /// Takes over the window's address and the convention's registers into the slots.
    pub(super) fn take(&self, ir: &Ir<'c>, base: PointerValue<'c>, value: impl Fn(usize) -> IntValue<'c>) {
        self.begin_block(self.pinned.iter().fold(0, |set, &register| set | 1 << register));
        self.base.set(Some(base));
        built(ir.builder.build_store(self.base_slot, base));
        for register in self.pinned {
            let value = value(register);
            built(ir.builder.build_store(self.slot(register), value));
            self.values.borrow_mut()[register] = Some(Value::Word(value));
        }
    }

    /// Loads all registers that are not the convention's own from the state into their slots.
    pub(crate) fn reload(&self, ir: &Ir<'c>) {
        let base = self.base(ir);
        for register in (0..COUNT).filter(|register| !self.pinned.contains(register)) {
            if self.slots[register].is_some() {
                let home = ir.field(base, home(register));
                self.put(ir, register, Value::Word(ir.load(ir.i64.into(), home, Space::State).into_int_value()));
            }
        }
    }

    /// Takes the convention's registers from the state, which has all.
    pub(crate) fn refill(&self, ir: &Ir<'c>) {
        for register in self.pinned {
            let home = ir.field(self.base(ir), home(register));
            let word = ir.load(ir.i64.into(), home, Space::State).into_int_value();
            self.values.borrow_mut()[register] = Some(Value::Word(word));
        }
    }

    /// Remembers what is known here, to go on from it after another path has been made.
    pub(crate) fn fork(&self) -> Fork<'c> {
        Fork {
            values: *self.values.borrow(),
            unsaved: self.unsaved.get(),
            base: self.base.get(),
            dirty: self.dirty.get(),
            narrow: self.narrow.get(),
        }
    }

    /// Goes on from what was known then.
    pub(crate) fn rejoin(&self, fork: Fork<'c>) {
        *self.values.borrow_mut() = fork.values;
        self.unsaved.set(fork.unsaved);
        self.base.set(fork.base);
        self.dirty.set(fork.dirty);
        self.narrow.set(fork.narrow);
    }
}

/// What is known of the registers at a place in a block.
#[derive(Clone)]
pub(crate) struct Fork<'c> {
    values: [Option<Value<'c>>; COUNT],
    unsaved: Set,
    base: Option<PointerValue<'c>>,
    dirty: Set,
    narrow: Set,
}

/// A block of IR that is yet to be filled.
pub(crate) type Label<'c> = BasicBlock<'c>;

/// The registers to commit, given the live ones: all of them in precise mode.
pub(super) fn to_commit(ir: &Ir<'_>, live: Set) -> Set {
    if ir.options.is_precise() { !0 } else { live }
}
