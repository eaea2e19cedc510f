//! Zba: address generation (Bit-Manipulation ISA extensions 1.0.0, section 2.1).

macro_rules! rows {
    ([$($next:ident)*] $callback:ident { $($rows:tt)* }) => {
        $crate::ext::chain! { [$($next)*] $callback { $($rows)* Zba {

/// `rd = zext32(rs1) + rs2`
add_uw = R { mask: 0xfe00707f, match: 0x800003b } |o, rs1, rs2| o.add(o.zext32(rs1), rs2);
/// `rd = (rs1 << 1) + rs2`
sh1add = R { mask: 0xfe00707f, match: 0x20002033 } |o, rs1, rs2| o.add(o.shl_imm(rs1, 1), rs2);
/// `rd = (rs1 << 2) + rs2`
sh2add = R { mask: 0xfe00707f, match: 0x20004033 } |o, rs1, rs2| o.add(o.shl_imm(rs1, 2), rs2);
/// `rd = (rs1 << 3) + rs2`
sh3add = R { mask: 0xfe00707f, match: 0x20006033 } |o, rs1, rs2| o.add(o.shl_imm(rs1, 3), rs2);
/// `rd = (zext32(rs1) << 1) + rs2`
sh1add_uw = R { mask: 0xfe00707f, match: 0x2000203b } |o, rs1, rs2| o.add(o.shl_imm(o.zext32(rs1), 1), rs2);
/// `rd = (zext32(rs1) << 2) + rs2`
sh2add_uw = R { mask: 0xfe00707f, match: 0x2000403b } |o, rs1, rs2| o.add(o.shl_imm(o.zext32(rs1), 2), rs2);
/// `rd = (zext32(rs1) << 3) + rs2`
sh3add_uw = R { mask: 0xfe00707f, match: 0x2000603b } |o, rs1, rs2| o.add(o.shl_imm(o.zext32(rs1), 3), rs2);
/// `rd = zext32(rs1) << shamt`
slli_uw = Sh { mask: 0xfc00707f, match: 0x800101b } |o, rs1, imm| o.shl(o.zext32(rs1), imm);

        } } }
    };
}
pub(crate) use rows;
