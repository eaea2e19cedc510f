//! Zfa: additional floating-point instructions (Unprivileged ISA, "Zfa Extension").

macro_rules! rows {
    ([$($next:ident)*] $callback:ident { $($rows:tt)* }) => {
        $crate::ext::chain! { [$($next)*] $callback { $($rows)* Zfa {

/// `fd = constant number rs1 of the table`
fli_s = FLi { mask: 0xfff0707f, match: 0xf0100053 } |o, index| o.box_s(o.imm(load_immediate(S, index)));
/// `fd = minimum(fs1, fs2)`
fminm_s = FRx { mask: 0xfe00707f, match: 0x28002053, cost: 4 } |o, rs1, rs2| o.box_s(minimum(o, S, o.unbox_s(rs1), o.unbox_s(rs2)));
/// `fd = maximum(fs1, fs2)`
fmaxm_s = FRx { mask: 0xfe00707f, match: 0x28003053, cost: 4 } |o, rs1, rs2| o.box_s(maximum(o, S, o.unbox_s(rs1), o.unbox_s(rs2)));
/// `fd = fs1 rounded to an integer, never inexact`
fround_s = FR1 { mask: 0xfff0007f, match: 0x40400053, cost: 4 } |o, rs1, rm| o.box_s(o.fround(S, o.unbox_s(rs1), rm, false));
/// `fd = fs1 rounded to an integer`
froundnx_s = FR1 { mask: 0xfff0007f, match: 0x40500053, cost: 4 } |o, rs1, rm| o.box_s(o.fround(S, o.unbox_s(rs1), rm, true));
/// `rd = fs1 <= fs2, quiet`
fleq_s = FCmp { mask: 0xfe00707f, match: 0xa0004053, cost: 4 } |o, rs1, rs2| o.fcompare(S, LeQuiet, o.unbox_s(rs1), o.unbox_s(rs2));
/// `rd = fs1 < fs2, quiet`
fltq_s = FCmp { mask: 0xfe00707f, match: 0xa0005053, cost: 4 } |o, rs1, rs2| o.fcompare(S, LtQuiet, o.unbox_s(rs1), o.unbox_s(rs2));

/// `fd = constant number rs1 of the table`
fli_d = FLi { mask: 0xfff0707f, match: 0xf2100053 } |o, index| o.imm(load_immediate(D, index));
/// `fd = minimum(fs1, fs2)`
fminm_d = FRx { mask: 0xfe00707f, match: 0x2a002053, cost: 4 } |o, rs1, rs2| minimum(o, D, rs1, rs2);
/// `fd = maximum(fs1, fs2)`
fmaxm_d = FRx { mask: 0xfe00707f, match: 0x2a003053, cost: 4 } |o, rs1, rs2| maximum(o, D, rs1, rs2);
/// `fd = fs1 rounded to an integer, never inexact`
fround_d = FR1 { mask: 0xfff0007f, match: 0x42400053, cost: 4 } |o, rs1, rm| o.fround(D, rs1, rm, false);
/// `fd = fs1 rounded to an integer`
froundnx_d = FR1 { mask: 0xfff0007f, match: 0x42500053, cost: 4 } |o, rs1, rm| o.fround(D, rs1, rm, true);
/// `rd = sext32(i32(fs1) modulo 2^32)`
fcvtmod_w_d = FBits { mask: 0xfff0707f, match: 0xc2801053, cost: 4 } |o, rs1| convert_modular(o, rs1);
/// `rd = fs1 <= fs2, quiet`
fleq_d = FCmp { mask: 0xfe00707f, match: 0xa2004053, cost: 4 } |o, rs1, rs2| o.fcompare(D, LeQuiet, rs1, rs2);
/// `rd = fs1 < fs2, quiet`
fltq_d = FCmp { mask: 0xfe00707f, match: 0xa2005053, cost: 4 } |o, rs1, rs2| o.fcompare(D, LtQuiet, rs1, rs2);

        } } }
    };
}
pub(crate) use rows;
