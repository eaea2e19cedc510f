//! Zicsr: control and status registers (Unprivileged ISA, "Zicsr Extension").
//!
//! [`crate::Inst::is_legal_csr`] says which registers exist and which may be written.

macro_rules! rows {
    ([$($next:ident)*] $callback:ident { $($rows:tt)* }) => {
        $crate::ext::chain! { [$($next)*] $callback { $($rows)* Zicsr {

/// `rd = csr; csr = rs1`
csrrw = Csr { mask: 0x707f, match: 0x1073, cost: 4 } |o, rs1, csr| o.csr(csr, |_| rs1);
/// `rd = csr; csr = csr | rs1`
csrrs = Csr { mask: 0x707f, match: 0x2073, cost: 4 } |o, rs1, csr| o.csr(csr, |old| o.or(old, rs1));
/// `rd = csr; csr = csr & ~rs1`
csrrc = Csr { mask: 0x707f, match: 0x3073, cost: 4 } |o, rs1, csr| o.csr(csr, |old| o.and(old, o.not(rs1)));
/// `rd = csr; csr = imm`
csrrwi = CsrI { mask: 0x707f, match: 0x5073, cost: 4 } |o, imm, csr| o.csr(csr, |_| imm);
/// `rd = csr; csr = csr | imm`
csrrsi = CsrI { mask: 0x707f, match: 0x6073, cost: 4 } |o, imm, csr| o.csr(csr, |old| o.or(old, imm));
/// `rd = csr; csr = csr & ~imm`
csrrci = CsrI { mask: 0x707f, match: 0x7073, cost: 4 } |o, imm, csr| o.csr(csr, |old| o.and(old, o.not(imm)));

        } } }
    };
}
pub(crate) use rows;
