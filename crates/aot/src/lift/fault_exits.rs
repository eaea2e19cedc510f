//! Fault exits of precise mode: where control goes from an access that faults, with all registers committed.
//!
//! Adjacent accesses form a *group*: their fault exits commit the registers that change within the group, and then share a
//! block that commits the others.

use std::cell::RefCell;

use riverrun_vm::convention;

use crate::lift::ir::{Ir, Space, built};
use crate::lift::registers::{FUEL, Fork, Label, Registers, Set};
use crate::lift::value::Value;

/// Registers that may change within a group.
const CHANGES: u32 = 6;

/// The accesses of the present group.
#[derive(Default)]
pub(crate) struct Group<'c> {
    accesses: RefCell<Vec<Access<'c>>>,
}

/// An access whose fault exit is not yet made.
struct Access<'c> {
    fault: Label<'c>,
    /// The values of the registers there.
    registers: Fork<'c>,
    pc: u64,
    ahead: u64,
}

impl<'c> Group<'c> {
    /// Adds the access of the instruction at `pc`, whose fault exit is to be `fault`. `ahead` is the fuel that has been
    /// subtracted for it and what follows it.
    pub(crate) fn add(&self, registers: &Registers<'c>, fault: Label<'c>, pc: u64, ahead: u64) {
        let mut accesses = self.accesses.borrow_mut();
        if accesses.is_empty() {
            registers.track_changes();
        }
        accesses.push(Access { fault, registers: registers.fork(), pc, ahead });
    }

    /// Makes the fault exits if enough registers have changed since the group's first access; they end at `exit` with all
    /// registers committed.
    pub(crate) fn end_if_full(&self, ir: &Ir<'c>, registers: &Registers<'c>, exit: Label<'c>) {
        if registers.changed().count_ones() > CHANGES {
            self.end(ir, registers, exit);
        }
    }

    /// Makes the fault exits.
    pub(crate) fn end(&self, ir: &Ir<'c>, registers: &Registers<'c>, exit: Label<'c>) {
        let accesses = self.accesses.take();
        let Some(first) = accesses.first() else { return };
        let here = ir.here();
        let now = registers.fork();
        let changed: Set = registers.changed() | 1 << FUEL;
        let common = ir.context.prepend_basic_block(exit, "");
        for access in &accesses {
            ir.builder.position_at_end(access.fault);
            registers.rejoin(access.registers.clone());
            if ir.options.fuel {
                let left = ir.word(registers.get(ir, FUEL));
                let left = built(ir.builder.build_int_add(left, ir.int(access.ahead), ""));
                registers.set(FUEL, Value::Word(left));
            }
            registers.flush(ir, registers.dirty(true) & changed);
            let pc = ir.field(registers.base(ir), convention::PC);
            ir.store(pc, ir.int(access.pc).into(), Space::State);
            ir.jump(common);
        }
        ir.builder.position_at_end(common);
        // Registers that have not changed have the values of the first access.
        registers.rejoin(first.registers.clone());
        registers.flush(ir, registers.dirty(true) & !changed);
        ir.jump(exit);
        registers.rejoin(now);
        ir.builder.position_at_end(here);
    }
}
