//! M: integer multiplication and division (Unprivileged ISA, "M Extension for Integer
//! Multiplication and Division").

macro_rules! rows {
    ([$($next:ident)*] $callback:ident { $($rows:tt)* }) => {
        $crate::ext::chain! { [$($next)*] $callback { $($rows)* M {

/// `rd = rs1 * rs2`
mul = R { mask: 0xfe00707f, match: 0x2000033, cost: 3 } |o, rs1, rs2| o.mul(rs1, rs2);
/// `rd = (sext128(rs1) * sext128(rs2)) >> 64`
mulh = R { mask: 0xfe00707f, match: 0x2001033, cost: 3 } |o, rs1, rs2| o.mul_high_s(rs1, rs2);
/// `rd = (sext128(rs1) * zext128(rs2)) >> 64`
mulhsu = R { mask: 0xfe00707f, match: 0x2002033, cost: 3 } |o, rs1, rs2| mul_high_su(o, rs1, rs2);
/// `rd = (zext128(rs1) * zext128(rs2)) >> 64`
mulhu = R { mask: 0xfe00707f, match: 0x2003033, cost: 3 } |o, rs1, rs2| o.mul_high_u(rs1, rs2);
/// `rd = rs1 /s rs2`
div = R { mask: 0xfe00707f, match: 0x2004033, cost: 20 } |o, rs1, rs2| o.div_s(rs1, rs2);
/// `rd = rs1 /u rs2`
divu = R { mask: 0xfe00707f, match: 0x2005033, cost: 20 } |o, rs1, rs2| o.div_u(rs1, rs2);
/// `rd = rs1 %s rs2`
rem = R { mask: 0xfe00707f, match: 0x2006033, cost: 20 } |o, rs1, rs2| o.rem_s(rs1, rs2);
/// `rd = rs1 %u rs2`
remu = R { mask: 0xfe00707f, match: 0x2007033, cost: 20 } |o, rs1, rs2| o.rem_u(rs1, rs2);

/// `rd = sext32(rs1 * rs2)`
mulw = R { mask: 0xfe00707f, match: 0x200003b, cost: 3 } |o, rs1, rs2| o.sext32(o.mul(rs1, rs2));
/// `rd = sext32(sext32(rs1) /s sext32(rs2))`
divw = R { mask: 0xfe00707f, match: 0x200403b, cost: 12 } |o, rs1, rs2| o.sext32(o.div_s(o.sext32(rs1), o.sext32(rs2)));
/// `rd = sext32(zext32(rs1) /u zext32(rs2))`
divuw = R { mask: 0xfe00707f, match: 0x200503b, cost: 12 } |o, rs1, rs2| o.sext32(o.div_u(o.zext32(rs1), o.zext32(rs2)));
/// `rd = sext32(sext32(rs1) %s sext32(rs2))`
remw = R { mask: 0xfe00707f, match: 0x200603b, cost: 12 } |o, rs1, rs2| o.sext32(o.rem_s(o.sext32(rs1), o.sext32(rs2)));
/// `rd = sext32(zext32(rs1) %u zext32(rs2))`
remuw = R { mask: 0xfe00707f, match: 0x200703b, cost: 12 } |o, rs1, rs2| o.sext32(o.rem_u(o.zext32(rs1), o.zext32(rs2)));

        } } }
    };
}
pub(crate) use rows;
