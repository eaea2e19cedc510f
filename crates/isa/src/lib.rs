//! THE instruction table of riverrun: encoding, syntax, semantics and cost of every instruction,
//! each in one row, and what comes of the rows: decoder, encoder, disassembler, evaluation.
#![no_std]
#![forbid(unsafe_code)]

mod alias;
mod compressed;
pub mod csr;
mod decode;
mod disasm;
mod ext;
mod format;
mod inst;
pub mod ops;
mod table;

pub use compressed::{CInfo, COp, Layout};
pub use decode::{decode, decode_compressed};
pub use disasm::{Style, disassemble, disassemble_with, length};
pub use format::{File, Format, Result};
pub use inst::Inst;
pub use ops::{Ops, Rounding};
pub use table::{Extension, Info, Op, Operands, Row, eval, rows};
