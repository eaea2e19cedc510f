//! The instruction table of riverrun: one row for each instruction, with encoding, syntax, semantics and cost. Decoder,
//! encoder, disassembler and evaluation are generated from the rows. Nothing else in the project says what an
//! instruction does.
//!
//! The instructions are those of RV64GC user programs with Zba, Zbb, Zbs, Zicond, Zfa and Zcb,
//! and of Xriverrun, this project's own, by which guests call host functions by name.
//! Rows are in `src/ext/`, one file for each extension. `src/table.rs` explains how to write a row, `src/compressed.rs` how
//! to write one of a compressed instruction.
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
//! // c.addi sp, -16; bits above the 16 do not matter.
//! let inst = decode(0x1141).unwrap();
//! assert_eq!((inst.op, inst.rd, inst.rs1, inst.imm, inst.len), (Op::addi, 2, 2, -16, 2));
//!
//! assert_eq!(decode(0), None);
//! ```
//!
//! Disassembly is written as by GNU objdump, with or without pseudo-instructions:
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
//! The semantics of a row are expressions over the operations of [`Ops`]; [`eval`] evaluates them with any
//! implementation. This crate has one that prints:
//!
//! ```
//! use riverrun_isa::{decode, semantics};
//!
//! let inst = decode(0x20c5_a533).unwrap();
//! assert_eq!(semantics(&inst, 0x1_0000), "sh1add: x10 = (x11 << 1) + x12");
//! ```
//!
//! The other columns of the table are in an instruction's [`Info`]:
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
pub use format::{Destination, Format, RegisterFile};
pub use inst::Inst;
pub use ops::{Ops, Rounding};
pub use symbolic::semantics;
pub use table::{Extension, Info, Op, Operands, Row, eval, rows};
