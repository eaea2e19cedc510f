//! THE instruction table of riverrun: encoding, syntax, semantics and cost of every instruction,
//! each in one row, and what comes of the rows: decoder, encoder, disassembler, evaluation.
//!
//! The instructions are those of RV64GC user programs with Zba, Zbb, Zbs, Zicond, Zfa and Zcb,
//! and of Xriverrun, this project's own, by which guests call host functions by name.
//! A row is a line in the file of its extension, `src/ext/`; how it reads stands in
//! `src/table.rs`, that of compressed instructions in `src/compressed.rs`.
//!
//! Decoding turns a word into an [`Inst`], the same for an instruction and its compressed form:
//!
//! ```
//! use riverrun_isa::{Op, decode};
//!
//! let inst = decode(0x20c5_a533).unwrap();
//! assert_eq!((inst.op, inst.rd, inst.rs1, inst.rs2), (Op::sh1add, 10, 11, 12));
//! assert_eq!(inst.encode(), 0x20c5_a533);
//!
//! // c.addi sp, -16; what stands above the 16 bits does not matter.
//! let inst = decode(0x1141).unwrap();
//! assert_eq!((inst.op, inst.rd, inst.rs1, inst.imm, inst.len), (Op::addi, 2, 2, -16, 2));
//!
//! assert_eq!(decode(0), None);
//! ```
//!
//! Disassembling writes what GNU objdump writes, with pseudo-instructions or without:
//!
//! ```
//! use riverrun_isa::{Style, disassemble, disassemble_with};
//!
//! assert_eq!(disassemble(0x0000_8067, 0x1_0000, Style::Aliases).to_string(), "ret");
//! assert_eq!(disassemble(0x0000_8067, 0x1_0000, Style::Raw).to_string(), "jalr\tzero,0(ra)");
//!
//! let symbol = |target| (target == 0x1_0008).then_some("done");
//! let text = disassemble_with(0x0005_0463, 0x1_0000, Style::Aliases, symbol);
//! assert_eq!(text.to_string(), "beqz\ta0,10008 <done>");
//! ```
//!
//! The semantics of a row are written over the operations of [`Ops`]; [`eval`] runs them over any
//! implementation. One that prints is at hand:
//!
//! ```
//! use riverrun_isa::{decode, semantics};
//!
//! let inst = decode(0x20c5_a533).unwrap();
//! assert_eq!(semantics(&inst, 0x1_0000), "sh1add: x10 = (x11 << 1) + x12");
//! ```
//!
//! What the table says of an instruction is in its [`Info`]:
//!
//! ```
//! use riverrun_isa::{Extension, Format, Op};
//!
//! let info = Op::sh1add.info();
//! assert_eq!((info.extension, info.format), (Extension::Zba, Format::R));
//! assert_eq!(info.doc.trim(), "`rd = (rs1 << 1) + rs2`");
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod absent;
mod alias;
mod compressed;
pub mod csr;
mod decode;
mod disasm;
mod ext;
mod format;
mod inst;
pub mod ops;
mod symbolic;
mod table;
pub mod words;

pub use absent::{Absent, absent};
pub use compressed::{CInfo, COp, Layout};
pub use decode::{decode, decode_compressed};
pub use disasm::{Style, disassemble, disassemble_with, length};
pub use format::{File, Format, Result};
pub use inst::Inst;
pub use ops::{Ops, Rounding};
pub use symbolic::semantics;
pub use table::{Extension, Info, Op, Operands, Row, eval, rows};
