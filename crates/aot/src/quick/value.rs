//! Values of the instruction table's operations in Cranelift's IR, which keep the form in which they were made, and the
//! mode in which operations make them.

use std::collections::HashMap;

use cranelift_codegen::ir::Value;
use riverrun_vm::AddressSpace;

/// How a function is lifted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    /// Whether accrued exceptions are exact.
    pub(super) is_strict: bool,
    /// The guest's addresses.
    pub(super) space: AddressSpace,
}

/// The doubles whose bits a value is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Double {
    /// As operations may read it: a NaN may have other bits than the canonical one.
    pub(super) read: Value,
    /// With these bits.
    pub(super) exact: Value,
}

/// The doubles of values that have been made of some.
pub(super) type Doubles = HashMap<Value, Double>;

/// A value of the instruction table's operations.
#[derive(Clone, Copy, Debug)]
pub(super) enum Word {
    /// 64 bits.
    Value(Value),
    /// A condition, as Cranelift's comparisons give it.
    Flag(Value),
    /// 64 bits plus a constant.
    Sum(Value, i64),
    /// A constant.
    Constant(u64),
}
