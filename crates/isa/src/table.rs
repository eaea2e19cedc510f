//! The instruction table: every instruction is one row, in the file of its extension under `ext/`.
//!
//! ```text
//! /// `rd = (rs1 << 1) + rs2`
//! sh1add = R { mask: 0xfe00707f, match: 0x20002033 } |o, rs1, rs2| o.add(o.shl_imm(rs1, 1), rs2);
//! ^name    ^format            ^encoding               ^operands      ^semantics over `Ops`
//! ```
//!
//! - The name is the mnemonic, its dots as underscores: `fcvt_w_s` is `fcvt.w.s`.
//! - The format ([`Format`]) names the operands: where their bits are, how the assembler writes
//!   them, which are float registers, and where the result goes.
//! - The semantics may use the operands by the names of [`Operands`]' fields.
//! - An optional `cost: N` is the row's price in units of a simple instruction (default 1), a
//!   hint for schedulers and meters; fuel counts instructions, not costs.
//!
//! Macros generate from the rows: the [`Op`] enum, decoder, encoder, disassembler, the generic [`eval`],
//! and, for engines, [`for_each_op!`](crate::for_each_op) with one [`Row`] type per instruction.

use crate::ext;
use crate::format::Format;
use crate::ops::{Ops, Rounding};

/// The operands that a row's semantics may use. Values are whole 64-bit registers, of the register file that the format
/// says.
#[derive(Clone, Copy, Debug)]
pub struct Operands<V> {
    /// First source register.
    pub rs1: V,
    /// Second source register.
    pub rs2: V,
    /// Third source register.
    pub rs3: V,
    /// The immediate, sign-extended (shift amounts and `csr*i` immediates zero-extended).
    pub imm: V,
    /// The instruction's own address.
    pub pc: V,
    /// The number of a control and status register.
    pub csr: u16,
    /// The rounding mode, still possibly [`Rounding::Dyn`].
    pub rm: Rounding,
    /// The raw `rs1` field, where it selects a constant (`fli`).
    pub index: u8,
}

/// One instruction as a type, for engines that generate code per instruction.
pub trait Row: Copy + 'static {
    /// The instruction.
    const OP: Op;
    /// Its format.
    const FORMAT: Format;
    /// Evaluates the semantics: the value that the format sends to the destination register,
    /// the branch condition, or the jump target.
    fn eval<O: Ops>(o: &O, x: &Operands<O::V>) -> O::V;
}

/// The columns of an instruction's row but for its semantics.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The row's name.
    pub name: &'static str,
    /// The extension that defines it.
    pub extension: Extension,
    /// Its operands.
    pub format: Format,
    /// Which bits of the encoding are fixed.
    pub mask: u32,
    /// Their values.
    pub bits: u32,
    /// Price in units of a simple instruction.
    pub cost: u8,
    /// The row's comment.
    pub doc: &'static str,
}

macro_rules! define {
    (($d:tt) $($ext:ident { $(
        $(#[doc = $doc:literal])*
        $name:ident = $format:ident { mask: $mask:literal, match: $bits:literal $(, cost: $cost:literal)? }
            |$o:ident $(, $p:ident)*| $body:expr;
    )* })*) => {
        /// The extension that defines an instruction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Extension { $(
            #[doc = concat!("The extension ", stringify!($ext), ".")]
            $ext,
        )* }

        impl Extension {
            /// Every extension, in the table's order.
            pub const ALL: &[Extension] = &[$(Extension::$ext),*];

            /// The extension's name.
            pub const fn name(self) -> &'static str {
                match self { $(Extension::$ext => stringify!($ext),)* }
            }
        }

        /// An instruction; compressed ones are [`crate::COp`].
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Op { $($( $(#[doc = $doc])* $name, )*)* }

        impl Op {
            /// Every instruction, in the table's order.
            pub const ALL: &[Op] = &[$($(Op::$name,)*)*];
        }

        pub(crate) const INFO: &[Info] = &[$($(Info {
            name: stringify!($name),
            extension: Extension::$ext,
            format: Format::$format,
            mask: $mask,
            bits: $bits,
            cost: 1 $(- 1 + $cost)?,
            doc: concat!($($doc,)*),
        },)*)*];

        /// One type per instruction.
        #[allow(non_camel_case_types)]
        pub mod rows {
            #[allow(unused_imports)]
            use crate::ops::{Float::*, FloatCompare::*, Int, Mem::*, System, fflags::*};
            use crate::ext::compose::*;
            $($(
                $(#[doc = $doc])*
                #[derive(Clone, Copy, Debug)]
                pub struct $name;

                impl super::Row for $name {
                    const OP: super::Op = super::Op::$name;
                    const FORMAT: super::Format = super::Format::$format;

                    #[inline(always)]
                    #[allow(unused_variables)]
                    fn eval<O: super::Ops>($o: &O, x: &super::Operands<O::V>) -> O::V {
                        $(let $p = x.$p;)*
                        $body
                    }
                }
            )*)*
        }

        /// Evaluates an instruction's semantics over any [`Ops`].
        pub fn eval<O: Ops>(op: Op, o: &O, x: &Operands<O::V>) -> O::V {
            match op { $($(Op::$name => <rows::$name as Row>::eval(o, x),)*)* }
        }

        /// Calls the macro `$m` with the name and [`Format`] of every instruction:
        /// `add R, sub R, ...`. The names are those of [`Op`]'s variants and of the types in
        /// [`rows`].
        #[macro_export]
        macro_rules! for_each_op {
            ($d m:ident $d ($d args:tt)*) => { $d m! { $d ($d args)* $($($name $format,)*)* } };
        }
    };
}

ext::for_each_row!(define(($)));

impl Op {
    /// What the table says of the instruction.
    pub const fn info(self) -> &'static Info {
        &INFO[self as usize]
    }
}
