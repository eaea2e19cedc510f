//! Zicond: integer conditional operations (Unprivileged ISA, "Zicond Extension").

macro_rules! rows {
    ([$($next:ident)*] $callback:ident { $($rows:tt)* }) => {
        $crate::ext::chain! { [$($next)*] $callback { $($rows)* Zicond {

/// `rd = rs2 == 0 ? 0 : rs1`
czero_eqz = R { mask: 0xfe00707f, match: 0xe005033 } |o, rs1, rs2| o.select(o.eq(rs2, o.imm(0)), o.imm(0), rs1);
/// `rd = rs2 != 0 ? 0 : rs1`
czero_nez = R { mask: 0xfe00707f, match: 0xe007033 } |o, rs1, rs2| o.select(o.ne(rs2, o.imm(0)), o.imm(0), rs1);

        } } }
    };
}
pub(crate) use rows;
