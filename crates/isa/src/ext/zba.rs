//! Zba: address generation (Bit-Manipulation ISA extensions 1.0.0, section 2.1).

macro_rules! rows {
    ([$($next:ident)*] $callback:ident { $($rows:tt)* }) => {
        $crate::ext::chain! { [$($next)*] $callback { $($rows)* Zba {

/// `rd = zext32(rs1) + rs2`
add_uw = R { mask: 0xfe00707f, match: 0x0800003b } |o, rs1, rs2| o.add(o.zext32(rs1), rs2);
/// `rd = (rs1 << 1) + rs2`
sh1add = R { mask: 0xfe00707f, match: 0x20002033 } |o, rs1, rs2| o.add(o.shl_imm(rs1, 1), rs2);

        } } }
    };
}
pub(crate) use rows;
