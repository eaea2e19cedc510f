//! D: double-precision floating point (Unprivileged ISA, "D Extension for
//! Double-Precision Floating-Point").

macro_rules! rows {
    ([$($next:ident)*] $callback:ident { $($rows:tt)* }) => {
        $crate::ext::chain! { [$($next)*] $callback { $($rows)* D {

/// `fd = mem[rs1 + imm]`
fld = FLoad { mask: 0x707f, match: 0x3007 } |o, rs1, imm| o.load(U64, o.add(rs1, imm));
/// `mem[rs1 + imm] = fs2`
fsd = FStore { mask: 0x707f, match: 0x3027 } |o, rs1, rs2, imm| { o.store(U64, o.add(rs1, imm), rs2); o.unit() };
/// `fd = fs1 * fs2 + fs3`
fmadd_d = FR4 { mask: 0x600007f, match: 0x2000043, cost: 4 } |o, rs1, rs2, rs3, rm| o.fma(D, rs1, rs2, rs3, rm);
/// `fd = fs1 * fs2 - fs3`
fmsub_d = FR4 { mask: 0x600007f, match: 0x2000047, cost: 4 } |o, rs1, rs2, rs3, rm| o.fma(D, rs1, rs2, o.negate(D, rs3), rm);
/// `fd = -(fs1 * fs2) + fs3`
fnmsub_d = FR4 { mask: 0x600007f, match: 0x200004b, cost: 4 } |o, rs1, rs2, rs3, rm| o.fma(D, o.negate(D, rs1), rs2, rs3, rm);
/// `fd = -(fs1 * fs2) - fs3`
fnmadd_d = FR4 { mask: 0x600007f, match: 0x200004f, cost: 4 } |o, rs1, rs2, rs3, rm| o.fma(D, o.negate(D, rs1), rs2, o.negate(D, rs3), rm);
/// `fd = fs1 + fs2`
fadd_d = FR { mask: 0xfe00007f, match: 0x2000053, cost: 4 } |o, rs1, rs2, rm| o.fadd(D, rs1, rs2, rm);
/// `fd = fs1 - fs2`
fsub_d = FR { mask: 0xfe00007f, match: 0xa000053, cost: 4 } |o, rs1, rs2, rm| o.fsub(D, rs1, rs2, rm);
/// `fd = fs1 * fs2`
fmul_d = FR { mask: 0xfe00007f, match: 0x12000053, cost: 4 } |o, rs1, rs2, rm| o.fmul(D, rs1, rs2, rm);
/// `fd = fs1 / fs2`
fdiv_d = FR { mask: 0xfe00007f, match: 0x1a000053, cost: 15 } |o, rs1, rs2, rm| o.fdiv(D, rs1, rs2, rm);
/// `fd = sqrt(fs1)`
fsqrt_d = FR1 { mask: 0xfff0007f, match: 0x5a000053, cost: 20 } |o, rs1, rm| o.fsqrt(D, rs1, rm);
/// `fd = fs1 with the sign of fs2`
fsgnj_d = FRx { mask: 0xfe00707f, match: 0x22000053 } |o, rs1, rs2| o.copy_sign(D, rs1, rs2);
/// `fd = fs1 with the opposite sign of fs2`
fsgnjn_d = FRx { mask: 0xfe00707f, match: 0x22001053 } |o, rs1, rs2| o.copy_sign(D, rs1, o.negate(D, rs2));
/// `fd = fs1 with the product of both signs`
fsgnjx_d = FRx { mask: 0xfe00707f, match: 0x22002053 } |o, rs1, rs2| o.multiply_sign(D, rs1, rs2);
/// `fd = minimumNumber(fs1, fs2)`
fmin_d = FRx { mask: 0xfe00707f, match: 0x2a000053, cost: 4 } |o, rs1, rs2| minimum_number(o, D, rs1, rs2);
/// `fd = maximumNumber(fs1, fs2)`
fmax_d = FRx { mask: 0xfe00707f, match: 0x2a001053, cost: 4 } |o, rs1, rs2| maximum_number(o, D, rs1, rs2);
/// `rd = fs1 == fs2`
feq_d = FCmp { mask: 0xfe00707f, match: 0xa2002053, cost: 4 } |o, rs1, rs2| o.fcompare(D, Eq, rs1, rs2);
/// `rd = fs1 < fs2`
flt_d = FCmp { mask: 0xfe00707f, match: 0xa2001053, cost: 4 } |o, rs1, rs2| o.fcompare(D, Lt, rs1, rs2);
/// `rd = fs1 <= fs2`
fle_d = FCmp { mask: 0xfe00707f, match: 0xa2000053, cost: 4 } |o, rs1, rs2| o.fcompare(D, Le, rs1, rs2);
/// `rd = 1 << class(fs1)`
fclass_d = FBits { mask: 0xfff0707f, match: 0xe2001053, cost: 4 } |o, rs1| classify(o, D, rs1);

/// `rd = sext32(i32(fs1))`
fcvt_w_d = FToX { mask: 0xfff0007f, match: 0xc2000053, cost: 4 } |o, rs1, rm| o.float_to_int(D, Int::I32, rs1, rm);
/// `rd = sext32(u32(fs1))`
fcvt_wu_d = FToX { mask: 0xfff0007f, match: 0xc2100053, cost: 4 } |o, rs1, rm| o.float_to_int(D, Int::U32, rs1, rm);
/// `rd = i64(fs1)`
fcvt_l_d = FToX { mask: 0xfff0007f, match: 0xc2200053, cost: 4 } |o, rs1, rm| o.float_to_int(D, Int::I64, rs1, rm);
/// `rd = u64(fs1)`
fcvt_lu_d = FToX { mask: 0xfff0007f, match: 0xc2300053, cost: 4 } |o, rs1, rm| o.float_to_int(D, Int::U64, rs1, rm);
/// `fd = f64(i32(rs1[31:0]))`
fcvt_d_w = XToF { mask: 0xfff0007f, match: 0xd2000053, cost: 4 } |o, rs1, rm| o.int_to_float(D, Int::I32, rs1, rm);
/// `fd = f64(u32(rs1[31:0]))`
fcvt_d_wu = XToF { mask: 0xfff0007f, match: 0xd2100053, cost: 4 } |o, rs1, rm| o.int_to_float(D, Int::U32, rs1, rm);
/// `fd = f64(i64(rs1))`
fcvt_d_l = XToF { mask: 0xfff0007f, match: 0xd2200053, cost: 4 } |o, rs1, rm| o.int_to_float(D, Int::I64, rs1, rm);
/// `fd = f64(u64(rs1))`
fcvt_d_lu = XToF { mask: 0xfff0007f, match: 0xd2300053, cost: 4 } |o, rs1, rm| o.int_to_float(D, Int::U64, rs1, rm);
/// `fd = f32(fs1)`
fcvt_s_d = FR1 { mask: 0xfff0007f, match: 0x40100053, cost: 4 } |o, rs1, rm| o.box_s(o.narrow(rs1, rm));
/// `fd = f64(fs1)`
fcvt_d_s = FR1 { mask: 0xfff0007f, match: 0x42000053, cost: 4 } |o, rs1| o.widen(o.unbox_s(rs1));
/// `rd = fs1`
fmv_x_d = FBits { mask: 0xfff0707f, match: 0xe2000053 } |o, rs1| rs1;
/// `fd = rs1`
fmv_d_x = XBits { mask: 0xfff0707f, match: 0xf2000053 } |o, rs1| rs1;

        } } }
    };
}
pub(crate) use rows;
