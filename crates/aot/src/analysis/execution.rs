//! Abstract execution of instructions, over any implementation of `Ops`.

use riverrun_isa::ops::Ops;
use riverrun_isa::{Destination, Inst, Operands, RegisterFile, eval};

/// Operations of an implementation of [`Ops`] whose results are `$unknown`.
macro_rules! unknown {
    ($known:ty = $unknown:expr; $($name:ident($($type:ty),*);)*) => {
        $(fn $name(&self, $(_: $type),*) -> $known { $unknown })*
    };
}

/// The operations that are unknown in every analysis: floats, and those that compute neither addresses nor branches.
macro_rules! unknown_to_all {
    ($known:ty = $unknown:expr) => {
        unknown! {
            $known = $unknown;
            mul_high_s($known, $known);
            mul_high_u($known, $known);
            div_s($known, $known);
            div_u($known, $known);
            rem_s($known, $known);
            rem_u($known, $known);
            rotl($known, $known);
            rotr($known, $known);
            rotl32($known, $known);
            rotr32($known, $known);
            clz($known);
            ctz($known);
            popcount($known);
            bswap($known);
            fadd(Float, $known, $known, Rounding);
            fsub(Float, $known, $known, Rounding);
            fmul(Float, $known, $known, Rounding);
            fdiv(Float, $known, $known, Rounding);
            fsqrt(Float, $known, Rounding);
            fma(Float, $known, $known, $known, Rounding);
            fcompare(Float, FloatCompare, $known, $known);
            float_to_int(Float, Int, $known, Rounding);
            int_to_float(Float, Int, $known, Rounding);
            widen($known);
            narrow($known, Rounding);
            fround(Float, $known, Rounding, bool);
        }
    };
}

pub(super) use {unknown, unknown_to_all};

/// Executes an instruction on the integer registers; gives its value: its result, the target of a jump, or whether a
/// branch is taken. Nothing but `unknown` is in float registers.
pub(super) fn execute<O: Ops>(ops: &O, pc: u64, inst: &Inst, registers: &mut [O::V; 32], unknown: O::V) -> O::V {
    let format = inst.op.info().format;
    let read = |file: Option<RegisterFile>, n: u8| match file {
        Some(RegisterFile::X) => registers[n as usize],
        _ => unknown,
    };
    let [rs1, rs2, rs3] = format.sources();
    let operands = Operands {
        rs1: read(rs1, inst.rs1),
        rs2: read(rs2, inst.rs2),
        rs3: read(rs3, inst.rs3),
        imm: ops.imm(inst.immediate()),
        pc: ops.imm(pc),
        csr: inst.imm as u16,
        rm: inst.rm,
        index: inst.rs1,
    };
    let value = eval(inst.op, ops, &operands);
    let result = match format.destination() {
        Destination::X => value,
        Destination::Jump => ops.imm(pc + u64::from(inst.len)),
        _ => return value,
    };
    if inst.rd != 0 {
        registers[inst.rd as usize] = result;
    }
    value
}
