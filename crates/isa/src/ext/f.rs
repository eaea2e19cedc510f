//! F: single-precision floating point (Unprivileged ISA, "F Extension for
//! Single-Precision Floating-Point").
//!
//! Sources that are not NaN-boxed count as the canonical NaN, except where bits only move: `fsw` and
//! `fmv.x.w` take the low half as it is.

macro_rules! rows {
    ([$($next:ident)*] $callback:ident { $($rows:tt)* }) => {
        $crate::ext::chain! { [$($next)*] $callback { $($rows)* F {

/// `fd = box(mem[rs1 + imm])`
flw = FLoad { mask: 0x707f, match: 0x2007 } |o, rs1, imm| o.box_s(o.load(U32, o.add(rs1, imm)));
/// `mem[rs1 + imm] = fs2[31:0]`
fsw = FStore { mask: 0x707f, match: 0x2027 } |o, rs1, rs2, imm| { o.store(U32, o.add(rs1, imm), rs2); o.unit() };
/// `fd = fs1 * fs2 + fs3`
fmadd_s = FR4 { mask: 0x600007f, match: 0x43, cost: 4 } |o, rs1, rs2, rs3, rm| o.box_s(o.fma(S, o.unbox_s(rs1), o.unbox_s(rs2), o.unbox_s(rs3), rm));
/// `fd = fs1 * fs2 - fs3`
fmsub_s = FR4 { mask: 0x600007f, match: 0x47, cost: 4 } |o, rs1, rs2, rs3, rm| o.box_s(o.fma(S, o.unbox_s(rs1), o.unbox_s(rs2), o.negate(S, o.unbox_s(rs3)), rm));
/// `fd = -(fs1 * fs2) + fs3`
fnmsub_s = FR4 { mask: 0x600007f, match: 0x4b, cost: 4 } |o, rs1, rs2, rs3, rm| o.box_s(o.fma(S, o.negate(S, o.unbox_s(rs1)), o.unbox_s(rs2), o.unbox_s(rs3), rm));
/// `fd = -(fs1 * fs2) - fs3`
fnmadd_s = FR4 { mask: 0x600007f, match: 0x4f, cost: 4 } |o, rs1, rs2, rs3, rm| o.box_s(o.fma(S, o.negate(S, o.unbox_s(rs1)), o.unbox_s(rs2), o.negate(S, o.unbox_s(rs3)), rm));
/// `fd = fs1 + fs2`
fadd_s = FR { mask: 0xfe00007f, match: 0x53, cost: 4 } |o, rs1, rs2, rm| o.box_s(o.fadd(S, o.unbox_s(rs1), o.unbox_s(rs2), rm));
/// `fd = fs1 - fs2`
fsub_s = FR { mask: 0xfe00007f, match: 0x8000053, cost: 4 } |o, rs1, rs2, rm| o.box_s(o.fsub(S, o.unbox_s(rs1), o.unbox_s(rs2), rm));
/// `fd = fs1 * fs2`
fmul_s = FR { mask: 0xfe00007f, match: 0x10000053, cost: 4 } |o, rs1, rs2, rm| o.box_s(o.fmul(S, o.unbox_s(rs1), o.unbox_s(rs2), rm));
/// `fd = fs1 / fs2`
fdiv_s = FR { mask: 0xfe00007f, match: 0x18000053, cost: 15 } |o, rs1, rs2, rm| o.box_s(o.fdiv(S, o.unbox_s(rs1), o.unbox_s(rs2), rm));
/// `fd = sqrt(fs1)`
fsqrt_s = FR1 { mask: 0xfff0007f, match: 0x58000053, cost: 20 } |o, rs1, rm| o.box_s(o.fsqrt(S, o.unbox_s(rs1), rm));
/// `fd = fs1 with the sign of fs2`
fsgnj_s = FRx { mask: 0xfe00707f, match: 0x20000053 } |o, rs1, rs2| o.box_s(o.copy_sign(S, o.unbox_s(rs1), o.unbox_s(rs2)));
/// `fd = fs1 with the opposite sign of fs2`
fsgnjn_s = FRx { mask: 0xfe00707f, match: 0x20001053 } |o, rs1, rs2| o.box_s(o.copy_sign(S, o.unbox_s(rs1), o.negate(S, o.unbox_s(rs2))));
/// `fd = fs1 with the product of both signs`
fsgnjx_s = FRx { mask: 0xfe00707f, match: 0x20002053 } |o, rs1, rs2| o.box_s(o.multiply_sign(S, o.unbox_s(rs1), o.unbox_s(rs2)));
/// `fd = minimumNumber(fs1, fs2)`
fmin_s = FRx { mask: 0xfe00707f, match: 0x28000053, cost: 4 } |o, rs1, rs2| o.box_s(minimum_number(o, S, o.unbox_s(rs1), o.unbox_s(rs2)));
/// `fd = maximumNumber(fs1, fs2)`
fmax_s = FRx { mask: 0xfe00707f, match: 0x28001053, cost: 4 } |o, rs1, rs2| o.box_s(maximum_number(o, S, o.unbox_s(rs1), o.unbox_s(rs2)));
/// `rd = fs1 == fs2`
feq_s = FCmp { mask: 0xfe00707f, match: 0xa0002053, cost: 4 } |o, rs1, rs2| o.fcompare(S, Eq, o.unbox_s(rs1), o.unbox_s(rs2));
/// `rd = fs1 < fs2`
flt_s = FCmp { mask: 0xfe00707f, match: 0xa0001053, cost: 4 } |o, rs1, rs2| o.fcompare(S, Lt, o.unbox_s(rs1), o.unbox_s(rs2));
/// `rd = fs1 <= fs2`
fle_s = FCmp { mask: 0xfe00707f, match: 0xa0000053, cost: 4 } |o, rs1, rs2| o.fcompare(S, Le, o.unbox_s(rs1), o.unbox_s(rs2));
/// `rd = 1 << class(fs1)`
fclass_s = FBits { mask: 0xfff0707f, match: 0xe0001053, cost: 4 } |o, rs1| classify(o, S, o.unbox_s(rs1));

/// `rd = sext32(i32(fs1))`
fcvt_w_s = FToX { mask: 0xfff0007f, match: 0xc0000053, cost: 4 } |o, rs1, rm| o.float_to_int(S, Int::I32, o.unbox_s(rs1), rm);
/// `rd = sext32(u32(fs1))`
fcvt_wu_s = FToX { mask: 0xfff0007f, match: 0xc0100053, cost: 4 } |o, rs1, rm| o.float_to_int(S, Int::U32, o.unbox_s(rs1), rm);
/// `rd = i64(fs1)`
fcvt_l_s = FToX { mask: 0xfff0007f, match: 0xc0200053, cost: 4 } |o, rs1, rm| o.float_to_int(S, Int::I64, o.unbox_s(rs1), rm);
/// `rd = u64(fs1)`
fcvt_lu_s = FToX { mask: 0xfff0007f, match: 0xc0300053, cost: 4 } |o, rs1, rm| o.float_to_int(S, Int::U64, o.unbox_s(rs1), rm);
/// `fd = f32(i32(rs1[31:0]))`
fcvt_s_w = XToF { mask: 0xfff0007f, match: 0xd0000053, cost: 4 } |o, rs1, rm| o.box_s(o.int_to_float(S, Int::I32, rs1, rm));
/// `fd = f32(u32(rs1[31:0]))`
fcvt_s_wu = XToF { mask: 0xfff0007f, match: 0xd0100053, cost: 4 } |o, rs1, rm| o.box_s(o.int_to_float(S, Int::U32, rs1, rm));
/// `fd = f32(i64(rs1))`
fcvt_s_l = XToF { mask: 0xfff0007f, match: 0xd0200053, cost: 4 } |o, rs1, rm| o.box_s(o.int_to_float(S, Int::I64, rs1, rm));
/// `fd = f32(u64(rs1))`
fcvt_s_lu = XToF { mask: 0xfff0007f, match: 0xd0300053, cost: 4 } |o, rs1, rm| o.box_s(o.int_to_float(S, Int::U64, rs1, rm));
/// `rd = sext32(fs1)`
fmv_x_w = FBits { mask: 0xfff0707f, match: 0xe0000053 } |o, rs1| o.sext32(rs1);
/// `fd = box(rs1[31:0])`
fmv_w_x = XBits { mask: 0xfff0707f, match: 0xf0000053 } |o, rs1| o.box_s(rs1);

        } } }
    };
}
pub(crate) use rows;
