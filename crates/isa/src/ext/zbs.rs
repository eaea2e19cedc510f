//! Zbs: single-bit instructions (Bit-Manipulation ISA extensions 1.0.0, section 2.4).

macro_rules! rows {
    ([$($next:ident)*] $callback:ident { $($rows:tt)* }) => {
        $crate::ext::chain! { [$($next)*] $callback { $($rows)* Zbs {

/// `rd = rs1 & ~(1 << rs2[5:0])`
bclr = R { mask: 0xfe00707f, match: 0x48001033 } |o, rs1, rs2| o.and(rs1, o.not(bit(o, rs2)));
/// `rd = rs1 & ~(1 << shamt)`
bclri = Sh { mask: 0xfc00707f, match: 0x48001013 } |o, rs1, imm| o.and(rs1, o.not(bit(o, imm)));
/// `rd = (rs1 >> rs2[5:0]) & 1`
bext = R { mask: 0xfe00707f, match: 0x48005033 } |o, rs1, rs2| o.and(o.shr(rs1, rs2), o.imm(1));
/// `rd = (rs1 >> shamt) & 1`
bexti = Sh { mask: 0xfc00707f, match: 0x48005013 } |o, rs1, imm| o.and(o.shr(rs1, imm), o.imm(1));
/// `rd = rs1 ^ (1 << rs2[5:0])`
binv = R { mask: 0xfe00707f, match: 0x68001033 } |o, rs1, rs2| o.xor(rs1, bit(o, rs2));
/// `rd = rs1 ^ (1 << shamt)`
binvi = Sh { mask: 0xfc00707f, match: 0x68001013 } |o, rs1, imm| o.xor(rs1, bit(o, imm));
/// `rd = rs1 | (1 << rs2[5:0])`
bset = R { mask: 0xfe00707f, match: 0x28001033 } |o, rs1, rs2| o.or(rs1, bit(o, rs2));
/// `rd = rs1 | (1 << shamt)`
bseti = Sh { mask: 0xfc00707f, match: 0x28001013 } |o, rs1, imm| o.or(rs1, bit(o, imm));

        } } }
    };
}
pub(crate) use rows;
