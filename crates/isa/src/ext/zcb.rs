//! Zcb: more compressed instructions (Unprivileged ISA, "Zc* Extension for Code Size Reduction").

macro_rules! rows {
    ([$($next:ident)*] $callback:ident { $($rows:tt)* }) => {
        $crate::ext::chain! { [$($next)*] $callback { $($rows)* Zcb {

/// `lbu rd, imm(rs1)`
c_lbu = LoadByte { mask: 0xfc03, match: 0x8000 } |rd, rs1, imm| lbu { rd, rs1, imm };
/// `lhu rd, imm(rs1)`
c_lhu = LoadHalf { mask: 0xfc43, match: 0x8400 } |rd, rs1, imm| lhu { rd, rs1, imm };
/// `lh rd, imm(rs1)`
c_lh = LoadHalf { mask: 0xfc43, match: 0x8440 } |rd, rs1, imm| lh { rd, rs1, imm };
/// `sb rs2, imm(rs1)`
c_sb = StoreByte { mask: 0xfc03, match: 0x8800 } |rs1, rs2, imm| sb { rs1, rs2, imm };
/// `sh rs2, imm(rs1)`
c_sh = StoreHalf { mask: 0xfc43, match: 0x8c00 } |rs1, rs2, imm| sh { rs1, rs2, imm };
/// `andi rd, rd, 0xff`
c_zext_b = Unary { mask: 0xfc7f, match: 0x9c61 } |rd| andi { rd, rs1: rd, imm: 0xff };
/// `sext.b rd, rd`
c_sext_b = Unary { mask: 0xfc7f, match: 0x9c65 } |rd| sext_b { rd, rs1: rd };
/// `zext.h rd, rd`
c_zext_h = Unary { mask: 0xfc7f, match: 0x9c69 } |rd| zext_h { rd, rs1: rd };
/// `sext.h rd, rd`
c_sext_h = Unary { mask: 0xfc7f, match: 0x9c6d } |rd| sext_h { rd, rs1: rd };
/// `add.uw rd, rd, x0`
c_zext_w = Unary { mask: 0xfc7f, match: 0x9c71 } |rd| add_uw { rd, rs1: rd };
/// `xori rd, rd, -1`
c_not = Unary { mask: 0xfc7f, match: 0x9c75 } |rd| xori { rd, rs1: rd, imm: -1 };
/// `mul rd, rd, rs2`
c_mul = Arith { mask: 0xfc63, match: 0x9c41 } |rd, rs2| mul { rd, rs1: rd, rs2 };

        } } }
    };
}
pub(crate) use rows;
