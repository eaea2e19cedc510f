//! A: atomic instructions (Unprivileged ISA, "A Extension for Atomic Instructions").
//!
//! Operands of the 32-bit minima and maxima are sign-extended, which keeps the unsigned order too.

macro_rules! rows {
    ([$($next:ident)*] $callback:ident { $($rows:tt)* }) => {
        $crate::ext::chain! { [$($next)*] $callback { $($rows)* A {

/// `rd = sext32(mem[rs1]); reserve mem[rs1]`
lr_w = Lr { mask: 0xf9f0707f, match: 0x1000202f, cost: 8 } |o, rs1| o.load_reserved(I32, rs1);
/// `if reserved then mem[rs1] = rs2[31:0]; rd = !reserved`
sc_w = Amo { mask: 0xf800707f, match: 0x1800202f, cost: 8 } |o, rs1, rs2| o.store_conditional(I32, rs1, rs2);
/// `rd = sext32(mem[rs1]); mem[rs1] = rs2`
amoswap_w = Amo { mask: 0xf800707f, match: 0x800202f, cost: 12 } |o, rs1, rs2| o.amo(I32, rs1, |_| rs2);
/// `rd = sext32(mem[rs1]); mem[rs1] = mem[rs1] + rs2`
amoadd_w = Amo { mask: 0xf800707f, match: 0x202f, cost: 12 } |o, rs1, rs2| o.amo(I32, rs1, |old| o.add(old, rs2));
/// `rd = sext32(mem[rs1]); mem[rs1] = mem[rs1] ^ rs2`
amoxor_w = Amo { mask: 0xf800707f, match: 0x2000202f, cost: 12 } |o, rs1, rs2| o.amo(I32, rs1, |old| o.xor(old, rs2));
/// `rd = sext32(mem[rs1]); mem[rs1] = mem[rs1] & rs2`
amoand_w = Amo { mask: 0xf800707f, match: 0x6000202f, cost: 12 } |o, rs1, rs2| o.amo(I32, rs1, |old| o.and(old, rs2));
/// `rd = sext32(mem[rs1]); mem[rs1] = mem[rs1] | rs2`
amoor_w = Amo { mask: 0xf800707f, match: 0x4000202f, cost: 12 } |o, rs1, rs2| o.amo(I32, rs1, |old| o.or(old, rs2));
/// `rd = sext32(mem[rs1]); mem[rs1] = min_s(mem[rs1], rs2)`
amomin_w = Amo { mask: 0xf800707f, match: 0x8000202f, cost: 12 } |o, rs1, rs2| o.amo(I32, rs1, |old| min_s(o, old, o.sext32(rs2)));
/// `rd = sext32(mem[rs1]); mem[rs1] = max_s(mem[rs1], rs2)`
amomax_w = Amo { mask: 0xf800707f, match: 0xa000202f, cost: 12 } |o, rs1, rs2| o.amo(I32, rs1, |old| max_s(o, old, o.sext32(rs2)));
/// `rd = sext32(mem[rs1]); mem[rs1] = min_u(mem[rs1], rs2)`
amominu_w = Amo { mask: 0xf800707f, match: 0xc000202f, cost: 12 } |o, rs1, rs2| o.amo(I32, rs1, |old| min_u(o, old, o.sext32(rs2)));
/// `rd = sext32(mem[rs1]); mem[rs1] = max_u(mem[rs1], rs2)`
amomaxu_w = Amo { mask: 0xf800707f, match: 0xe000202f, cost: 12 } |o, rs1, rs2| o.amo(I32, rs1, |old| max_u(o, old, o.sext32(rs2)));

/// `rd = mem[rs1]; reserve mem[rs1]`
lr_d = Lr { mask: 0xf9f0707f, match: 0x1000302f, cost: 8 } |o, rs1| o.load_reserved(U64, rs1);
/// `if reserved then mem[rs1] = rs2; rd = !reserved`
sc_d = Amo { mask: 0xf800707f, match: 0x1800302f, cost: 8 } |o, rs1, rs2| o.store_conditional(U64, rs1, rs2);
/// `rd = mem[rs1]; mem[rs1] = rs2`
amoswap_d = Amo { mask: 0xf800707f, match: 0x800302f, cost: 12 } |o, rs1, rs2| o.amo(U64, rs1, |_| rs2);
/// `rd = mem[rs1]; mem[rs1] = mem[rs1] + rs2`
amoadd_d = Amo { mask: 0xf800707f, match: 0x302f, cost: 12 } |o, rs1, rs2| o.amo(U64, rs1, |old| o.add(old, rs2));
/// `rd = mem[rs1]; mem[rs1] = mem[rs1] ^ rs2`
amoxor_d = Amo { mask: 0xf800707f, match: 0x2000302f, cost: 12 } |o, rs1, rs2| o.amo(U64, rs1, |old| o.xor(old, rs2));
/// `rd = mem[rs1]; mem[rs1] = mem[rs1] & rs2`
amoand_d = Amo { mask: 0xf800707f, match: 0x6000302f, cost: 12 } |o, rs1, rs2| o.amo(U64, rs1, |old| o.and(old, rs2));
/// `rd = mem[rs1]; mem[rs1] = mem[rs1] | rs2`
amoor_d = Amo { mask: 0xf800707f, match: 0x4000302f, cost: 12 } |o, rs1, rs2| o.amo(U64, rs1, |old| o.or(old, rs2));
/// `rd = mem[rs1]; mem[rs1] = min_s(mem[rs1], rs2)`
amomin_d = Amo { mask: 0xf800707f, match: 0x8000302f, cost: 12 } |o, rs1, rs2| o.amo(U64, rs1, |old| min_s(o, old, rs2));
/// `rd = mem[rs1]; mem[rs1] = max_s(mem[rs1], rs2)`
amomax_d = Amo { mask: 0xf800707f, match: 0xa000302f, cost: 12 } |o, rs1, rs2| o.amo(U64, rs1, |old| max_s(o, old, rs2));
/// `rd = mem[rs1]; mem[rs1] = min_u(mem[rs1], rs2)`
amominu_d = Amo { mask: 0xf800707f, match: 0xc000302f, cost: 12 } |o, rs1, rs2| o.amo(U64, rs1, |old| min_u(o, old, rs2));
/// `rd = mem[rs1]; mem[rs1] = max_u(mem[rs1], rs2)`
amomaxu_d = Amo { mask: 0xf800707f, match: 0xe000302f, cost: 12 } |o, rs1, rs2| o.amo(U64, rs1, |old| max_u(o, old, rs2));

        } } }
    };
}
pub(crate) use rows;
