//! RV64I: the base integer instructions (Unprivileged ISA, chapters 2 and 4).

macro_rules! rows {
    ([$($next:ident)*] $callback:ident { $($rows:tt)* }) => {
        $crate::ext::chain! { [$($next)*] $callback { $($rows)* I {

/// `rd = imm << 12`
lui = U { mask: 0x7f, match: 0x37 } |o, imm| imm;
/// `rd = pc + (imm << 12)`
auipc = U { mask: 0x7f, match: 0x17 } |o, pc, imm| o.add(pc, imm);
/// `rd = pc + 4; pc += imm`
jal = J { mask: 0x7f, match: 0x6f } |o, pc, imm| o.add(pc, imm);
/// `rd = pc + 4; pc = (rs1 + imm) & ~1`
jalr = Jr { mask: 0x707f, match: 0x67 } |o, rs1, imm| o.and(o.add(rs1, imm), o.imm(!1));

/// `if rs1 == rs2 then pc += imm`
beq = B { mask: 0x707f, match: 0x63 } |o, rs1, rs2| o.eq(rs1, rs2);
/// `if rs1 != rs2 then pc += imm`
bne = B { mask: 0x707f, match: 0x1063 } |o, rs1, rs2| o.ne(rs1, rs2);
/// `if rs1 <s rs2 then pc += imm`
blt = B { mask: 0x707f, match: 0x4063 } |o, rs1, rs2| o.lt_s(rs1, rs2);
/// `if rs1 >=s rs2 then pc += imm`
bge = B { mask: 0x707f, match: 0x5063 } |o, rs1, rs2| o.ge_s(rs1, rs2);
/// `if rs1 <u rs2 then pc += imm`
bltu = B { mask: 0x707f, match: 0x6063 } |o, rs1, rs2| o.lt_u(rs1, rs2);
/// `if rs1 >=u rs2 then pc += imm`
bgeu = B { mask: 0x707f, match: 0x7063 } |o, rs1, rs2| o.ge_u(rs1, rs2);

/// `rd = sext8(mem[rs1 + imm])`
lb = Load { mask: 0x707f, match: 0x3 } |o, rs1, imm| o.load(I8, o.add(rs1, imm));
/// `rd = sext16(mem[rs1 + imm])`
lh = Load { mask: 0x707f, match: 0x1003 } |o, rs1, imm| o.load(I16, o.add(rs1, imm));
/// `rd = sext32(mem[rs1 + imm])`
lw = Load { mask: 0x707f, match: 0x2003 } |o, rs1, imm| o.load(I32, o.add(rs1, imm));
/// `rd = mem[rs1 + imm]`
ld = Load { mask: 0x707f, match: 0x3003 } |o, rs1, imm| o.load(U64, o.add(rs1, imm));
/// `rd = zext8(mem[rs1 + imm])`
lbu = Load { mask: 0x707f, match: 0x4003 } |o, rs1, imm| o.load(U8, o.add(rs1, imm));
/// `rd = zext16(mem[rs1 + imm])`
lhu = Load { mask: 0x707f, match: 0x5003 } |o, rs1, imm| o.load(U16, o.add(rs1, imm));
/// `rd = zext32(mem[rs1 + imm])`
lwu = Load { mask: 0x707f, match: 0x6003 } |o, rs1, imm| o.load(U32, o.add(rs1, imm));

/// `mem[rs1 + imm] = rs2[7:0]`
sb = Store { mask: 0x707f, match: 0x23 } |o, rs1, rs2, imm| { o.store(U8, o.add(rs1, imm), rs2); o.unit() };
/// `mem[rs1 + imm] = rs2[15:0]`
sh = Store { mask: 0x707f, match: 0x1023 } |o, rs1, rs2, imm| { o.store(U16, o.add(rs1, imm), rs2); o.unit() };
/// `mem[rs1 + imm] = rs2[31:0]`
sw = Store { mask: 0x707f, match: 0x2023 } |o, rs1, rs2, imm| { o.store(U32, o.add(rs1, imm), rs2); o.unit() };
/// `mem[rs1 + imm] = rs2`
sd = Store { mask: 0x707f, match: 0x3023 } |o, rs1, rs2, imm| { o.store(U64, o.add(rs1, imm), rs2); o.unit() };

/// `rd = rs1 + imm`
addi = I { mask: 0x707f, match: 0x13 } |o, rs1, imm| o.add(rs1, imm);
/// `rd = rs1 <s imm`
slti = I { mask: 0x707f, match: 0x2013 } |o, rs1, imm| o.lt_s(rs1, imm);
/// `rd = rs1 <u imm`
sltiu = I { mask: 0x707f, match: 0x3013 } |o, rs1, imm| o.lt_u(rs1, imm);
/// `rd = rs1 ^ imm`
xori = I { mask: 0x707f, match: 0x4013 } |o, rs1, imm| o.xor(rs1, imm);
/// `rd = rs1 | imm`
ori = I { mask: 0x707f, match: 0x6013 } |o, rs1, imm| o.or(rs1, imm);
/// `rd = rs1 & imm`
andi = I { mask: 0x707f, match: 0x7013 } |o, rs1, imm| o.and(rs1, imm);
/// `rd = rs1 << shamt`
slli = Sh { mask: 0xfc00707f, match: 0x1013 } |o, rs1, imm| o.shl(rs1, imm);
/// `rd = rs1 >>u shamt`
srli = Sh { mask: 0xfc00707f, match: 0x5013 } |o, rs1, imm| o.shr(rs1, imm);
/// `rd = rs1 >>s shamt`
srai = Sh { mask: 0xfc00707f, match: 0x40005013 } |o, rs1, imm| o.sar(rs1, imm);
/// `rd = rs1 + rs2`
add = R { mask: 0xfe00707f, match: 0x33 } |o, rs1, rs2| o.add(rs1, rs2);
/// `rd = rs1 - rs2`
sub = R { mask: 0xfe00707f, match: 0x40000033 } |o, rs1, rs2| o.sub(rs1, rs2);
/// `rd = rs1 << rs2[5:0]`
sll = R { mask: 0xfe00707f, match: 0x1033 } |o, rs1, rs2| o.shl(rs1, rs2);
/// `rd = rs1 <s rs2`
slt = R { mask: 0xfe00707f, match: 0x2033 } |o, rs1, rs2| o.lt_s(rs1, rs2);
/// `rd = rs1 <u rs2`
sltu = R { mask: 0xfe00707f, match: 0x3033 } |o, rs1, rs2| o.lt_u(rs1, rs2);
/// `rd = rs1 ^ rs2`
xor = R { mask: 0xfe00707f, match: 0x4033 } |o, rs1, rs2| o.xor(rs1, rs2);
/// `rd = rs1 >>u rs2[5:0]`
srl = R { mask: 0xfe00707f, match: 0x5033 } |o, rs1, rs2| o.shr(rs1, rs2);
/// `rd = rs1 >>s rs2[5:0]`
sra = R { mask: 0xfe00707f, match: 0x40005033 } |o, rs1, rs2| o.sar(rs1, rs2);
/// `rd = rs1 | rs2`
or = R { mask: 0xfe00707f, match: 0x6033 } |o, rs1, rs2| o.or(rs1, rs2);
/// `rd = rs1 & rs2`
and = R { mask: 0xfe00707f, match: 0x7033 } |o, rs1, rs2| o.and(rs1, rs2);

/// `rd = sext32(rs1 + imm)`
addiw = I { mask: 0x707f, match: 0x1b } |o, rs1, imm| o.sext32(o.add(rs1, imm));
/// `rd = sext32(rs1 << shamt)`
slliw = ShW { mask: 0xfe00707f, match: 0x101b } |o, rs1, imm| o.sext32(o.shl(rs1, imm));
/// `rd = sext32(zext32(rs1) >>u shamt)`
srliw = ShW { mask: 0xfe00707f, match: 0x501b } |o, rs1, imm| o.sext32(o.shr(o.zext32(rs1), imm));
/// `rd = sext32(rs1) >>s shamt`
sraiw = ShW { mask: 0xfe00707f, match: 0x4000501b } |o, rs1, imm| o.sar(o.sext32(rs1), imm);
/// `rd = sext32(rs1 + rs2)`
addw = R { mask: 0xfe00707f, match: 0x3b } |o, rs1, rs2| o.sext32(o.add(rs1, rs2));
/// `rd = sext32(rs1 - rs2)`
subw = R { mask: 0xfe00707f, match: 0x4000003b } |o, rs1, rs2| o.sext32(o.sub(rs1, rs2));
/// `rd = sext32(rs1 << rs2[4:0])`
sllw = R { mask: 0xfe00707f, match: 0x103b } |o, rs1, rs2| o.sext32(o.shl(rs1, low5(o, rs2)));
/// `rd = sext32(zext32(rs1) >>u rs2[4:0])`
srlw = R { mask: 0xfe00707f, match: 0x503b } |o, rs1, rs2| o.sext32(o.shr(o.zext32(rs1), low5(o, rs2)));
/// `rd = sext32(rs1) >>s rs2[4:0]`
sraw = R { mask: 0xfe00707f, match: 0x4000503b } |o, rs1, rs2| o.sar(o.sext32(rs1), low5(o, rs2));

/// Orders memory accesses. Unused fields and reserved modes act as a plain fence.
fence = Fence { mask: 0x707f, match: 0xf } |o| { o.system(System::Fence); o.unit() };
/// A call to the environment.
ecall = Sys { mask: 0xffffffff, match: 0x73 } |o| { o.system(System::Ecall); o.unit() };
/// A breakpoint.
ebreak = Sys { mask: 0xffffffff, match: 0x100073 } |o| { o.system(System::Ebreak); o.unit() };

        } } }
    };
}
pub(crate) use rows;
