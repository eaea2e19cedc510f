//! Zbb: basic bit manipulation (Bit-Manipulation ISA extensions 1.0.0, section 2.2).

macro_rules! rows {
    ([$($next:ident)*] $callback:ident { $($rows:tt)* }) => {
        $crate::ext::chain! { [$($next)*] $callback { $($rows)* Zbb {

/// `rd = rs1 & ~rs2`
andn = R { mask: 0xfe00707f, match: 0x40007033 } |o, rs1, rs2| o.and(rs1, o.not(rs2));
/// `rd = rs1 | ~rs2`
orn = R { mask: 0xfe00707f, match: 0x40006033 } |o, rs1, rs2| o.or(rs1, o.not(rs2));
/// `rd = ~(rs1 ^ rs2)`
xnor = R { mask: 0xfe00707f, match: 0x40004033 } |o, rs1, rs2| o.not(o.xor(rs1, rs2));
/// `rd = leading_zeros(rs1)`
clz = R1 { mask: 0xfff0707f, match: 0x60001013 } |o, rs1| o.clz(rs1);
/// `rd = trailing_zeros(rs1)`
ctz = R1 { mask: 0xfff0707f, match: 0x60101013 } |o, rs1| o.ctz(rs1);
/// `rd = ones(rs1)`
cpop = R1 { mask: 0xfff0707f, match: 0x60201013 } |o, rs1| o.popcount(rs1);
/// `rd = leading_zeros(rs1[31:0])`
clzw = R1 { mask: 0xfff0707f, match: 0x6000101b } |o, rs1| o.sub(o.clz(o.zext32(rs1)), o.imm(32));
/// `rd = trailing_zeros(rs1[31:0])`
ctzw = R1 { mask: 0xfff0707f, match: 0x6010101b } |o, rs1| o.ctz(o.or(rs1, o.imm(1 << 32)));
/// `rd = ones(rs1[31:0])`
cpopw = R1 { mask: 0xfff0707f, match: 0x6020101b } |o, rs1| o.popcount(o.zext32(rs1));
/// `rd = max_s(rs1, rs2)`
max = R { mask: 0xfe00707f, match: 0xa006033 } |o, rs1, rs2| max_s(o, rs1, rs2);
/// `rd = max_u(rs1, rs2)`
maxu = R { mask: 0xfe00707f, match: 0xa007033 } |o, rs1, rs2| max_u(o, rs1, rs2);
/// `rd = min_s(rs1, rs2)`
min = R { mask: 0xfe00707f, match: 0xa004033 } |o, rs1, rs2| min_s(o, rs1, rs2);
/// `rd = min_u(rs1, rs2)`
minu = R { mask: 0xfe00707f, match: 0xa005033 } |o, rs1, rs2| min_u(o, rs1, rs2);
/// `rd = sext8(rs1)`
sext_b = R1 { mask: 0xfff0707f, match: 0x60401013 } |o, rs1| o.sext8(rs1);
/// `rd = sext16(rs1)`
sext_h = R1 { mask: 0xfff0707f, match: 0x60501013 } |o, rs1| o.sext16(rs1);
/// `rd = zext16(rs1)`
zext_h = R1 { mask: 0xfff0707f, match: 0x800403b } |o, rs1| o.zext16(rs1);
/// `rd = rs1 rotated left by rs2[5:0]`
rol = R { mask: 0xfe00707f, match: 0x60001033 } |o, rs1, rs2| o.rotl(rs1, rs2);
/// `rd = rs1 rotated right by rs2[5:0]`
ror = R { mask: 0xfe00707f, match: 0x60005033 } |o, rs1, rs2| o.rotr(rs1, rs2);
/// `rd = rs1 rotated right by shamt`
rori = Sh { mask: 0xfc00707f, match: 0x60005013 } |o, rs1, imm| o.rotr(rs1, imm);
/// `rd = sext32(rs1[31:0] rotated left by rs2[4:0])`
rolw = R { mask: 0xfe00707f, match: 0x6000103b } |o, rs1, rs2| o.sext32(o.rotl32(rs1, rs2));
/// `rd = sext32(rs1[31:0] rotated right by rs2[4:0])`
rorw = R { mask: 0xfe00707f, match: 0x6000503b } |o, rs1, rs2| o.sext32(o.rotr32(rs1, rs2));
/// `rd = sext32(rs1[31:0] rotated right by shamt)`
roriw = ShW { mask: 0xfe00707f, match: 0x6000501b } |o, rs1, imm| o.sext32(o.rotr32(rs1, imm));
/// `rd = every byte of rs1 that is not 0 made 0xff`
orc_b = R1 { mask: 0xfff0707f, match: 0x28705013 } |o, rs1| or_combine_bytes(o, rs1);
/// `rd = the bytes of rs1 in reverse order`
rev8 = R1 { mask: 0xfff0707f, match: 0x6b805013 } |o, rs1| o.bswap(rs1);

        } } }
    };
}
pub(crate) use rows;
