//! Constant propagation over `Ops`: just enough to recognise the addresses that jump tables contain.

use riverrun_isa::ops::{Float, FloatCompare, Int, Mem, Ops, Rounding, System};

use crate::analysis::execution::{unknown, unknown_to_all};

/// The known facts about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Nothing.
    Unknown,
    /// All.
    Constant(u64),
    /// This constant plus an unknown number: an address in a table.
    Above(u64),
    /// An entry of a table plus a constant.
    Entry {
        /// Where the table begins.
        table: u64,
        /// What an entry is.
        mem: Mem,
        /// What is added to it.
        plus: u64,
        /// Whether it is the entry there, so that the table may begin earlier.
        is_first: bool,
    },
}

use Known::{Above, Constant, Entry, Unknown};

/// [`Ops`] on [`Known`].
pub(super) struct Constants;

fn fold(a: Known, b: Known, f: impl Fn(u64, u64) -> u64) -> Known {
    match (a, b) {
        (Constant(a), Constant(b)) => Constant(f(a, b)),
        _ => Unknown,
    }
}

impl Ops for Constants {
    type V = Known;

    fn imm(&self, value: u64) -> Known {
        Constant(value)
    }

    fn add(&self, a: Known, b: Known) -> Known {
        match (a, b) {
            (Constant(a), Constant(b)) => Constant(a.wrapping_add(b)),
            (Above(a), Constant(b)) | (Constant(a), Above(b)) => Above(a.wrapping_add(b)),
            (Constant(constant), Unknown) | (Unknown, Constant(constant)) => Above(constant),
            (Entry { table, mem, plus, is_first }, Constant(b))
            | (Constant(b), Entry { table, mem, plus, is_first }) => {
                Entry { table, mem, plus: plus.wrapping_add(b), is_first }
            }
            _ => Unknown,
        }
    }

    fn and(&self, a: Known, b: Known) -> Known {
        match (a, b) {
            // What a jump does to its target.
            (entry @ Entry { .. }, Constant(mask)) if mask == !1 => entry,
            _ => fold(a, b, |a, b| a & b),
        }
    }

    fn shl(&self, a: Known, b: Known) -> Known {
        fold(a, b, |a, b| a.wrapping_shl(b as u32))
    }

    fn sext32(&self, a: Known) -> Known {
        match a {
            Constant(a) => Constant(a as i32 as u64),
            _ => Unknown,
        }
    }

    fn load(&self, mem: Mem, address: Known) -> Known {
        match address {
            // An index that is constant may be so in the first round of a loop only.
            Above(table) => Entry { table, mem, plus: 0, is_first: false },
            Constant(table) => Entry { table, mem, plus: 0, is_first: true },
            _ => Unknown,
        }
    }

    fn store(&self, _: Mem, _: Known, _: Known) {}
    fn raise(&self, _: u8, _: Known) {}
    fn system(&self, _: System) {}
    fn call_import(&self, _: Known) {}

    fn amo(&self, _: Mem, _: Known, _: impl Fn(Known) -> Known) -> Known {
        Unknown
    }

    fn csr(&self, _: u16, _: impl Fn(Known) -> Known) -> Known {
        Unknown
    }

    unknown_to_all!(Known = Unknown);

    unknown! {
        Known = Unknown;
        sub(Known, Known);
        mul(Known, Known);
        or(Known, Known);
        xor(Known, Known);
        shr(Known, Known);
        sar(Known, Known);
        sext8(Known);
        sext16(Known);
        zext8(Known);
        zext16(Known);
        zext32(Known);
        eq(Known, Known);
        ne(Known, Known);
        lt_s(Known, Known);
        lt_u(Known, Known);
        ge_s(Known, Known);
        ge_u(Known, Known);
        select(Known, Known, Known);
        load_reserved(Mem, Known);
        store_conditional(Mem, Known, Known);
    }
}
