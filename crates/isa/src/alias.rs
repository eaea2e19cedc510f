//! Spellings other than plain `mnemonic operands`: pseudo-instructions and the like, as in GNU binutils 2.40. The first
//! row whose conditions all hold applies.
//!
//! Operand templates are text in which a capital stands for an operand:
//!
//! | letter | operand |
//! | --- | --- |
//! | `D` `S` `T` `R` | registers rd, rs1, rs2, rs3 |
//! | `I` `X` | the immediate in decimal, in hexadecimal |
//! | `U` | the 20 bits of an upper immediate |
//! | `A` | the target of a branch or jump |
//! | `C` | a control and status register |
//! | `Z` | the number in the rs1 field |
//! | `K` | the constant of `fli` |
//! | `P` `Q` | what a fence orders before and after it |
//! | `M` | the rounding mode after a comma, nothing where it is dynamic |
//! | `E` | the rounding mode after a comma, nothing where it is to nearest even |

use When::{Imm, Rd, Rs1, Rs2, Same, Short};

use crate::compressed::{COp, Layout};
use crate::format::Format;
use crate::inst::Inst;
use crate::table::Op;

/// A condition on an instruction's operands.
#[derive(Clone, Copy)]
pub(crate) enum When {
    /// The destination register is this one.
    Rd(u8),
    /// The first source register is this one.
    Rs1(u8),
    /// The second source register is this one.
    Rs2(u8),
    /// Both source registers are the same.
    Same,
    /// The immediate is this one.
    Imm(i32),
    /// The instruction is compressed.
    Short,
}

impl When {
    fn holds(self, inst: &Inst) -> bool {
        match self {
            Rd(register) => inst.rd == register,
            Rs1(register) => inst.rs1 == register,
            Rs2(register) => inst.rs2 == register,
            Same => inst.rs1 == inst.rs2,
            Imm(imm) => inst.imm == imm,
            Short => inst.len == 2,
        }
    }
}

/// One spelling: instruction, conditions, mnemonic, operand template.
pub(crate) struct Spelling<T: 'static>(T, &'static [When], &'static str, &'static str);

/// Mnemonic and operand template of the first spelling of `op` whose conditions hold.
pub(crate) fn find<T: PartialEq>(
    spellings: &'static [Spelling<T>],
    op: T,
    inst: &Inst,
) -> Option<(&'static str, &'static str)> {
    let row = spellings.iter().find(|row| row.0 == op && row.1.iter().all(|when| when.holds(inst)))?;
    Some((row.2, row.3))
}

/// What holds in either style: names within another's encoding, conversions that are exact in
/// every rounding mode.
pub(crate) const ALWAYS: &[Spelling<Op>] = &[
    Spelling(Op::csrrw, &[Rd(0), Rs1(0), Imm(0xc00)], "unimp", ""),
    Spelling(Op::fence, &[Imm(0x833)], "fence.tso", ""),
    Spelling(Op::fence, &[Imm(0x010)], "pause", ""),
    Spelling(Op::fcvt_d_s, &[], "fcvt.d.s", "D,SE"),
    Spelling(Op::fcvt_d_w, &[], "fcvt.d.w", "D,SE"),
    Spelling(Op::fcvt_d_wu, &[], "fcvt.d.wu", "D,SE"),
    Spelling(Op::fcvtmod_w_d, &[], "fcvtmod.w.d", "D,S,rtz"),
];

/// Pseudo-instructions.
pub(crate) const ALIASES: &[Spelling<Op>] = &[
    Spelling(Op::addi, &[Rd(0), Rs1(0), Imm(0)], "nop", ""),
    Spelling(Op::addi, &[Rs1(0)], "li", "D,I"),
    Spelling(Op::addi, &[Imm(0)], "mv", "D,S"),
    Spelling(Op::add, &[Short, Rs1(0)], "mv", "D,T"),
    Spelling(Op::addiw, &[Imm(0)], "sext.w", "D,S"),
    Spelling(Op::xori, &[Imm(-1)], "not", "D,S"),
    Spelling(Op::andi, &[Imm(255)], "zext.b", "D,S"),
    Spelling(Op::add_uw, &[Rs2(0)], "zext.w", "D,S"),
    Spelling(Op::sub, &[Rs1(0)], "neg", "D,T"),
    Spelling(Op::subw, &[Rs1(0)], "negw", "D,T"),
    Spelling(Op::sltiu, &[Imm(1)], "seqz", "D,S"),
    Spelling(Op::sltu, &[Rs1(0)], "snez", "D,T"),
    Spelling(Op::slt, &[Rs2(0)], "sltz", "D,S"),
    Spelling(Op::slt, &[Rs1(0)], "sgtz", "D,T"),
    Spelling(Op::beq, &[Rs2(0)], "beqz", "S,A"),
    Spelling(Op::bne, &[Rs2(0)], "bnez", "S,A"),
    Spelling(Op::bge, &[Rs1(0)], "blez", "T,A"),
    Spelling(Op::bge, &[Rs2(0)], "bgez", "S,A"),
    Spelling(Op::blt, &[Rs2(0)], "bltz", "S,A"),
    Spelling(Op::blt, &[Rs1(0)], "bgtz", "T,A"),
    Spelling(Op::jal, &[Rd(0)], "j", "A"),
    Spelling(Op::jal, &[Rd(1)], "jal", "A"),
    Spelling(Op::jalr, &[Rd(0), Rs1(1), Imm(0)], "ret", ""),
    Spelling(Op::jalr, &[Rd(0), Imm(0)], "jr", "S"),
    Spelling(Op::jalr, &[Rd(0)], "jr", "I(S)"),
    Spelling(Op::jalr, &[Rd(1), Imm(0)], "jalr", "S"),
    Spelling(Op::jalr, &[Rd(1)], "jalr", "I(S)"),
    Spelling(Op::jalr, &[Imm(0)], "jalr", "D,S"),
    Spelling(Op::fence, &[Imm(0x0ff)], "fence", ""),
    Spelling(Op::csrrs, &[Rs1(0), Imm(0xc00)], "rdcycle", "D"),
    Spelling(Op::csrrs, &[Rs1(0), Imm(0xc01)], "rdtime", "D"),
    Spelling(Op::csrrs, &[Rs1(0), Imm(0xc02)], "rdinstret", "D"),
    Spelling(Op::csrrs, &[Rs1(0), Imm(1)], "frflags", "D"),
    Spelling(Op::csrrs, &[Rs1(0), Imm(2)], "frrm", "D"),
    Spelling(Op::csrrs, &[Rs1(0), Imm(3)], "frcsr", "D"),
    Spelling(Op::csrrs, &[Rs1(0)], "csrr", "D,C"),
    Spelling(Op::csrrs, &[Rd(0)], "csrs", "C,S"),
    Spelling(Op::csrrw, &[Rd(0), Imm(1)], "fsflags", "S"),
    Spelling(Op::csrrw, &[Rd(0), Imm(2)], "fsrm", "S"),
    Spelling(Op::csrrw, &[Rd(0), Imm(3)], "fscsr", "S"),
    Spelling(Op::csrrw, &[Imm(1)], "fsflags", "D,S"),
    Spelling(Op::csrrw, &[Imm(2)], "fsrm", "D,S"),
    Spelling(Op::csrrw, &[Imm(3)], "fscsr", "D,S"),
    Spelling(Op::csrrw, &[Rd(0)], "csrw", "C,S"),
    Spelling(Op::csrrc, &[Rd(0)], "csrc", "C,S"),
    Spelling(Op::csrrwi, &[Imm(1)], "fsflagsi", "D,Z"),
    Spelling(Op::csrrwi, &[Imm(2)], "fsrmi", "D,Z"),
    Spelling(Op::csrrwi, &[Rd(0)], "csrwi", "C,Z"),
    Spelling(Op::csrrsi, &[Rd(0)], "csrsi", "C,Z"),
    Spelling(Op::csrrci, &[Rd(0)], "csrci", "C,Z"),
    Spelling(Op::fsgnj_s, &[Same], "fmv.s", "D,S"),
    Spelling(Op::fsgnjn_s, &[Same], "fneg.s", "D,S"),
    Spelling(Op::fsgnjx_s, &[Same], "fabs.s", "D,S"),
    Spelling(Op::fsgnj_d, &[Same], "fmv.d", "D,S"),
    Spelling(Op::fsgnjn_d, &[Same], "fneg.d", "D,S"),
    Spelling(Op::fsgnjx_d, &[Same], "fabs.d", "D,S"),
];

/// Compressed instructions that keep their own name among pseudo-instructions: hints, which
/// would read as instructions of a purpose.
pub(crate) const HINTS: &[Spelling<COp>] = &[
    Spelling(COp::c_nop, &[Imm(0)], "nop", ""),
    Spelling(COp::c_nop, &[], "c.nop", "I"),
    Spelling(COp::c_addi, &[Imm(0)], "addi", "D,S,I"),
    Spelling(COp::c_li, &[Rd(0)], "c.li", "D,I"),
    Spelling(COp::c_lui, &[Rd(0)], "c.lui", "D,U"),
    Spelling(COp::c_mv, &[Rd(0)], "c.mv", "D,T"),
    Spelling(COp::c_add, &[Rd(0)], "c.add", "D,T"),
    Spelling(COp::c_slli, &[Imm(0)], "c.slli64", "D"),
    Spelling(COp::c_slli, &[Rd(0)], "c.slli", "D,X"),
    Spelling(COp::c_srli, &[Imm(0)], "c.srli64", "D"),
    Spelling(COp::c_srai, &[Imm(0)], "c.srai64", "D"),
];

/// Compressed instructions in full that are not written `mnemonic operands`.
pub(crate) const COMPRESSED: &[Spelling<COp>] = &[
    Spelling(COp::c_nop, &[], "c.addi", "D,I"),
    Spelling(COp::c_slli, &[Imm(0)], "c.slli64", "D"),
    Spelling(COp::c_srli, &[Imm(0)], "c.srli64", "D"),
    Spelling(COp::c_srai, &[Imm(0)], "c.srai64", "D"),
];

impl Format {
    /// The operand template.
    pub(crate) const fn operands(self) -> &'static str {
        match self {
            Format::R | Format::FRx | Format::FCmp => "D,S,T",
            Format::R1 | Format::FBits | Format::XBits => "D,S",
            Format::I => "D,S,I",
            Format::Sh | Format::ShW => "D,S,X",
            Format::U => "D,U",
            Format::Load | Format::FLoad | Format::Jr => "D,I(S)",
            Format::Store | Format::FStore => "T,I(S)",
            Format::B => "S,T,A",
            Format::J => "D,A",
            Format::Amo => "D,T,(S)",
            Format::Lr => "D,(S)",
            Format::Csr => "D,C,S",
            Format::CsrI => "D,C,Z",
            Format::Fence => "P,Q",
            Format::Sys => "",
            Format::Import => "I",
            Format::FR => "D,S,TM",
            Format::FR4 => "D,S,T,RM",
            Format::FR1 | Format::FToX | Format::XToF => "D,SM",
            Format::FLi => "D,K",
        }
    }
}

impl Layout {
    /// The operand template, of the instruction that the compressed one stands for.
    pub(crate) const fn operands(self) -> &'static str {
        match self {
            Layout::Wide => "D,S,I",
            Layout::LoadByte | Layout::LoadHalf | Layout::LoadWord | Layout::LoadDouble => "D,I(S)",
            Layout::StoreByte | Layout::StoreHalf | Layout::StoreWord | Layout::StoreDouble => "T,I(S)",
            Layout::Bare => "",
            Layout::Imm | Layout::Stack | Layout::ArithImm => "D,I",
            Layout::Shift | Layout::ArithShift => "D,X",
            Layout::Upper => "D,U",
            Layout::StackLoadWord | Layout::StackLoadDouble => "D,I(S)",
            Layout::StackStoreWord | Layout::StackStoreDouble => "T,I(S)",
            Layout::Reg | Layout::Arith => "D,T",
            Layout::Jump => "S",
            Layout::Unary => "D",
            Layout::Branch => "S,A",
            Layout::Target => "A",
        }
    }
}
