//! C: compressed instructions, those of RV64 with D (Unprivileged ISA, "C Extension for Compressed
//! Instructions"). Hints, as writes to x0 and shifts by 0, are instructions like the others.

macro_rules! rows {
    ([$($next:ident)*] $callback:ident { $($rows:tt)* }) => {
        $crate::ext::chain! { [$($next)*] $callback { $($rows)* C {

/// `addi rd, x2, imm`
c_addi4spn = Wide { mask: 0xe003, match: 0x0 } |rd, imm| addi { rd, rs1: 2, imm } if imm != 0;
/// `fld fd, imm(rs1)`
c_fld = LoadDouble { mask: 0xe003, match: 0x2000 } |rd, rs1, imm| fld { rd, rs1, imm };
/// `lw rd, imm(rs1)`
c_lw = LoadWord { mask: 0xe003, match: 0x4000 } |rd, rs1, imm| lw { rd, rs1, imm };
/// `ld rd, imm(rs1)`
c_ld = LoadDouble { mask: 0xe003, match: 0x6000 } |rd, rs1, imm| ld { rd, rs1, imm };
/// `fsd fs2, imm(rs1)`
c_fsd = StoreDouble { mask: 0xe003, match: 0xa000 } |rs1, rs2, imm| fsd { rs1, rs2, imm };
/// `sw rs2, imm(rs1)`
c_sw = StoreWord { mask: 0xe003, match: 0xc000 } |rs1, rs2, imm| sw { rs1, rs2, imm };
/// `sd rs2, imm(rs1)`
c_sd = StoreDouble { mask: 0xe003, match: 0xe000 } |rs1, rs2, imm| sd { rs1, rs2, imm };

/// `addi x0, x0, imm`
c_nop = Imm { mask: 0xef83, match: 0x1 } |imm| addi { imm };
/// `addi rd, rd, imm`
c_addi = Imm { mask: 0xe003, match: 0x1 } |rd, imm| addi { rd, rs1: rd, imm } if rd != 0;
/// `addiw rd, rd, imm`
c_addiw = Imm { mask: 0xe003, match: 0x2001 } |rd, imm| addiw { rd, rs1: rd, imm } if rd != 0;
/// `addi rd, x0, imm`
c_li = Imm { mask: 0xe003, match: 0x4001 } |rd, imm| addi { rd, imm };
/// `addi x2, x2, imm`
c_addi16sp = Stack { mask: 0xef83, match: 0x6101 } |imm| addi { rd: 2, rs1: 2, imm } if imm != 0;
/// `lui rd, imm`
c_lui = Upper { mask: 0xe003, match: 0x6001 } |rd, imm| lui { rd, imm } if rd != 2 && imm != 0;
/// `srli rd, rd, imm`
c_srli = ArithShift { mask: 0xec03, match: 0x8001 } |rd, imm| srli { rd, rs1: rd, imm };
/// `srai rd, rd, imm`
c_srai = ArithShift { mask: 0xec03, match: 0x8401 } |rd, imm| srai { rd, rs1: rd, imm };
/// `andi rd, rd, imm`
c_andi = ArithImm { mask: 0xec03, match: 0x8801 } |rd, imm| andi { rd, rs1: rd, imm };
/// `sub rd, rd, rs2`
c_sub = Arith { mask: 0xfc63, match: 0x8c01 } |rd, rs2| sub { rd, rs1: rd, rs2 };
/// `xor rd, rd, rs2`
c_xor = Arith { mask: 0xfc63, match: 0x8c21 } |rd, rs2| xor { rd, rs1: rd, rs2 };
/// `or rd, rd, rs2`
c_or = Arith { mask: 0xfc63, match: 0x8c41 } |rd, rs2| or { rd, rs1: rd, rs2 };
/// `and rd, rd, rs2`
c_and = Arith { mask: 0xfc63, match: 0x8c61 } |rd, rs2| and { rd, rs1: rd, rs2 };
/// `subw rd, rd, rs2`
c_subw = Arith { mask: 0xfc63, match: 0x9c01 } |rd, rs2| subw { rd, rs1: rd, rs2 };
/// `addw rd, rd, rs2`
c_addw = Arith { mask: 0xfc63, match: 0x9c21 } |rd, rs2| addw { rd, rs1: rd, rs2 };
/// `jal x0, imm`
c_j = Target { mask: 0xe003, match: 0xa001 } |imm| jal { imm };
/// `beq rs1, x0, imm`
c_beqz = Branch { mask: 0xe003, match: 0xc001 } |rs1, imm| beq { rs1, imm };
/// `bne rs1, x0, imm`
c_bnez = Branch { mask: 0xe003, match: 0xe001 } |rs1, imm| bne { rs1, imm };

/// `slli rd, rd, imm`
c_slli = Shift { mask: 0xe003, match: 0x2 } |rd, imm| slli { rd, rs1: rd, imm };
/// `fld fd, imm(x2)`
c_fldsp = StackLoadDouble { mask: 0xe003, match: 0x2002 } |rd, imm| fld { rd, rs1: 2, imm };
/// `lw rd, imm(x2)`
c_lwsp = StackLoadWord { mask: 0xe003, match: 0x4002 } |rd, imm| lw { rd, rs1: 2, imm } if rd != 0;
/// `ld rd, imm(x2)`
c_ldsp = StackLoadDouble { mask: 0xe003, match: 0x6002 } |rd, imm| ld { rd, rs1: 2, imm } if rd != 0;
/// `jalr x0, 0(rs1)`
c_jr = Jump { mask: 0xf07f, match: 0x8002 } |rs1| jalr { rs1 } if rs1 != 0;
/// `add rd, x0, rs2`
c_mv = Reg { mask: 0xf003, match: 0x8002 } |rd, rs2| add { rd, rs2 } if rs2 != 0;
/// `ebreak`
c_ebreak = Bare { mask: 0xffff, match: 0x9002 } | | ebreak {};
/// `jalr x1, 0(rs1)`
c_jalr = Jump { mask: 0xf07f, match: 0x9002 } |rs1| jalr { rd: 1, rs1 } if rs1 != 0;
/// `add rd, rd, rs2`
c_add = Reg { mask: 0xf003, match: 0x9002 } |rd, rs2| add { rd, rs1: rd, rs2 } if rs2 != 0;
/// `fsd fs2, imm(x2)`
c_fsdsp = StackStoreDouble { mask: 0xe003, match: 0xa002 } |rs2, imm| fsd { rs1: 2, rs2, imm };
/// `sw rs2, imm(x2)`
c_swsp = StackStoreWord { mask: 0xe003, match: 0xc002 } |rs2, imm| sw { rs1: 2, rs2, imm };
/// `sd rs2, imm(x2)`
c_sdsp = StackStoreDouble { mask: 0xe003, match: 0xe002 } |rs2, imm| sd { rs1: 2, rs2, imm };

        } } }
    };
}
pub(crate) use rows;
