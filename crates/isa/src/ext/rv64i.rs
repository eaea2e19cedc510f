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
/// `rd = sext64(mem[rs1 + imm])`
lw = Load { mask: 0x707f, match: 0x2003 } |o, rs1, imm| o.load(I32, o.add(rs1, imm));
/// `mem[rs1 + imm] = rs2`
sw = Store { mask: 0x707f, match: 0x2023 } |o, rs1, rs2, imm| { o.store(U32, o.add(rs1, imm), rs2); o.unit() };
/// `rd = rs1 + imm`
addi = I { mask: 0x707f, match: 0x13 } |o, rs1, imm| o.add(rs1, imm);
/// A call to the environment.
ecall = Sys { mask: 0xffffffff, match: 0x73 } |o| { o.system(System::Ecall); o.unit() };

        } } }
    };
}
pub(crate) use rows;
