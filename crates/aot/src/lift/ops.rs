//! The instruction table's operations, as LLVM instructions.

use inkwell::IntPredicate;
use inkwell::values::IntValue;
use riverrun_isa::ops::{Float, FloatCompare, Int, Mem, Ops, Rounding, System};

use crate::lift::ir::built;
use crate::lift::site::Site;
use crate::lift::value::Value;

impl<'c> Site<'_, 'c> {
    fn words(&self, a: Value<'c>, b: Value<'c>) -> (IntValue<'c>, IntValue<'c>) {
        (self.ir.word(a), self.ir.word(b))
    }

    fn compare(&self, predicate: IntPredicate, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let (a, b) = self.words(a, b);
        Value::Flag(self.ir.compare(predicate, a, b))
    }

    /// The product of 128 bits, its factors extended by `extend`.
    fn product(&self, a: Value<'c>, b: Value<'c>, extend: impl Fn(IntValue<'c>) -> IntValue<'c>) -> IntValue<'c> {
        let (a, b) = self.words(a, b);
        built(self.ir.builder.build_int_mul(extend(a), extend(b), ""))
    }

    fn zero_extended_product(&self, a: Value<'c>, b: Value<'c>) -> IntValue<'c> {
        let wide = self.ir.bits(128);
        self.product(a, b, |value| built(self.ir.builder.build_int_z_extend(value, wide, "")))
    }

    fn high_half(&self, product: IntValue<'c>) -> Value<'c> {
        let amount = product.get_type().const_int(64, false);
        let high = built(self.ir.builder.build_right_shift(product, amount, false, ""));
        Value::Word(self.ir.truncate(high, 64))
    }

    /// Shift amounts are taken modulo 64: LLVM's are undefined from there on.
    fn amount(&self, amount: Value<'c>) -> IntValue<'c> {
        built(self.ir.builder.build_and(self.ir.word(amount), self.ir.int(63), ""))
    }

    /// Divides by 1 where the divisor is 0, or where the quotient would overflow: LLVM's divisions
    /// are undefined then. Also gives whether it was 0.
    fn divisor(&self, a: IntValue<'c>, b: IntValue<'c>, signed: bool) -> (IntValue<'c>, IntValue<'c>) {
        let ir = self.ir;
        let zero = ir.compare(IntPredicate::EQ, b, ir.int(0));
        let mut bad = zero;
        if signed {
            let least = ir.compare(IntPredicate::EQ, a, ir.int(1 << 63));
            let minus_one = ir.compare(IntPredicate::EQ, b, ir.int(!0));
            let overflow = built(ir.builder.build_and(least, minus_one, ""));
            bad = built(ir.builder.build_or(zero, overflow, ""));
        }
        // By 1, the overflowing quotient is its dividend, and the remainder 0: what it should be.
        (ir.select(bad, ir.int(1).into(), b.into()).into_int_value(), zero)
    }

    fn divide(
        &self,
        a: Value<'c>,
        b: Value<'c>,
        signed: bool,
        by_zero: impl Fn(IntValue<'c>) -> IntValue<'c>,
        divide: impl Fn(IntValue<'c>, IntValue<'c>) -> IntValue<'c>,
    ) -> Value<'c> {
        let (a, b) = self.words(a, b);
        let (divisor, zero) = self.divisor(a, b, signed);
        let result = divide(a, divisor);
        Value::Word(self.ir.select(zero, by_zero(a).into(), result.into()).into_int_value())
    }

    fn unary(&self, name: &str, a: Value<'c>) -> Value<'c> {
        let a = self.ir.word(a);
        Value::Word(self.ir.intrinsic(name, &[self.ir.i64.into()], &[a.into()]).into_int_value())
    }

    fn count_zeros(&self, name: &str, a: Value<'c>) -> Value<'c> {
        let (a, defined) = (self.ir.word(a), self.ir.bits(1).const_zero());
        Value::Word(self.ir.intrinsic(name, &[self.ir.i64.into()], &[a.into(), defined.into()]).into_int_value())
    }

    fn rotate(&self, name: &str, bits: u32, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let narrow = |word| if bits == 64 { word } else { ir.truncate(word, bits) };
        let (a, b) = self.words(a, b);
        let (a, b) = (narrow(a), narrow(b));
        let rotated = ir.intrinsic(name, &[ir.bits(bits).into()], &[a.into(), a.into(), b.into()]).into_int_value();
        Value::Word(if bits == 64 { rotated } else { ir.zero_extend(rotated) })
    }

    fn extend(&self, a: Value<'c>, bits: u32, signed: bool) -> Value<'c> {
        let low = self.ir.truncate(self.ir.word(a), bits);
        Value::Word(if signed { self.ir.sign_extend(low) } else { self.ir.zero_extend(low) })
    }
}

/// Operations that are one LLVM instruction on two words.
macro_rules! binary {
    ($($name:ident = $build:ident;)*) => {
        $(fn $name(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
            let (a, b) = self.words(a, b);
            Value::Word(built(self.ir.builder.$build(a, b, "")))
        })*
    };
}

macro_rules! compare {
    ($($name:ident = $predicate:ident;)*) => {
        $(fn $name(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
            self.compare(IntPredicate::$predicate, a, b)
        })*
    };
}

macro_rules! extend {
    ($($name:ident = $bits:literal $signed:literal;)*) => {
        $(fn $name(&self, a: Value<'c>) -> Value<'c> {
            self.extend(a, $bits, $signed)
        })*
    };
}

impl<'c> Ops for Site<'_, 'c> {
    type V = Value<'c>;

    fn imm(&self, value: u64) -> Value<'c> {
        Value::Word(self.ir.int(value))
    }

    fn add(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        if let Some(constant) = self.ir.constant(b) {
            return match (self.ir.constant(a), a) {
                (Some(a), _) => self.imm(a.wrapping_add(constant)),
                (None, Value::Sum(word, more)) => Value::Sum(word, more.wrapping_add(constant as i64)),
                (None, a) => Value::Sum(self.ir.word(a), constant as i64),
            };
        }
        let (a, b) = self.words(a, b);
        Value::Word(built(self.ir.builder.build_int_add(a, b, "")))
    }

    fn and(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let (a, b) = self.words(a, b);
        match self.ir.constant(Value::Word(b)) {
            Some(u64::MAX) => Value::Word(a),
            Some(mask) if mask == !1 => Value::Even(a),
            _ => Value::Word(built(self.ir.builder.build_and(a, b, ""))),
        }
    }

    fn or(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let (a, b) = self.words(a, b);
        Value::Word(if b == self.ir.int(0) { a } else { built(self.ir.builder.build_or(a, b, "")) })
    }

    /// By the whole product: where the high half is wanted too, both are one multiplication, and
    /// LLVM narrows it where not.
    fn mul(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        Value::Word(self.ir.truncate(self.zero_extended_product(a, b), 64))
    }

    fn mul_high_u(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.high_half(self.zero_extended_product(a, b))
    }

    fn mul_high_s(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let wide = self.ir.bits(128);
        self.high_half(self.product(a, b, |value| built(self.ir.builder.build_int_s_extend(value, wide, ""))))
    }

    fn div_s(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.divide(a, b, true, |_| self.ir.int(!0), |a, b| built(self.ir.builder.build_int_signed_div(a, b, "")))
    }

    fn div_u(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.divide(a, b, false, |_| self.ir.int(!0), |a, b| built(self.ir.builder.build_int_unsigned_div(a, b, "")))
    }

    fn rem_s(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.divide(a, b, true, |a| a, |a, b| built(self.ir.builder.build_int_signed_rem(a, b, "")))
    }

    fn rem_u(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.divide(a, b, false, |a| a, |a, b| built(self.ir.builder.build_int_unsigned_rem(a, b, "")))
    }

    fn shl(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        Value::Word(built(self.ir.builder.build_left_shift(self.ir.word(a), self.amount(b), "")))
    }

    fn shr(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        Value::Word(built(self.ir.builder.build_right_shift(self.ir.word(a), self.amount(b), false, "")))
    }

    fn sar(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        Value::Word(built(self.ir.builder.build_right_shift(self.ir.word(a), self.amount(b), true, "")))
    }

    fn rotl(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.rotate("llvm.fshl", 64, a, b)
    }

    fn rotr(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.rotate("llvm.fshr", 64, a, b)
    }

    fn rotl32(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.rotate("llvm.fshl", 32, a, b)
    }

    fn rotr32(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.rotate("llvm.fshr", 32, a, b)
    }

    fn clz(&self, a: Value<'c>) -> Value<'c> {
        self.count_zeros("llvm.ctlz", a)
    }

    fn ctz(&self, a: Value<'c>) -> Value<'c> {
        self.count_zeros("llvm.cttz", a)
    }

    fn popcount(&self, a: Value<'c>) -> Value<'c> {
        self.unary("llvm.ctpop", a)
    }

    fn bswap(&self, a: Value<'c>) -> Value<'c> {
        self.unary("llvm.bswap", a)
    }

    fn select(&self, condition: Value<'c>, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let condition = self.ir.flag(condition);
        match (a, b) {
            (Value::Float(f, a), Value::Float(g, b)) if f == g => {
                Value::Float(f, self.ir.select(condition, a.into(), b.into()).into_float_value())
            }
            (Value::Exact(f, a), Value::Exact(g, b)) if f == g => {
                Value::Exact(f, self.ir.select(condition, a.into(), b.into()).into_float_value())
            }
            (a, b) => {
                let (a, b) = self.words(a, b);
                Value::Word(self.ir.select(condition, a.into(), b.into()).into_int_value())
            }
        }
    }

    binary! {
        sub = build_int_sub;
        xor = build_xor;
    }

    compare! {
        eq = EQ;
        ne = NE;
        lt_s = SLT;
        lt_u = ULT;
        ge_s = SGE;
        ge_u = UGE;
    }

    extend! {
        sext8 = 8 true;
        sext16 = 16 true;
        sext32 = 32 true;
        zext8 = 8 false;
        zext16 = 16 false;
        zext32 = 32 false;
    }

    fn load(&self, mem: Mem, address: Value<'c>) -> Value<'c> {
        self.load_guest(mem, address)
    }

    fn store(&self, mem: Mem, address: Value<'c>, value: Value<'c>) {
        self.store_guest(mem, address, value);
    }

    fn load_reserved(&self, mem: Mem, address: Value<'c>) -> Value<'c> {
        self.load_reserved_guest(mem, address)
    }

    fn store_conditional(&self, mem: Mem, address: Value<'c>, value: Value<'c>) -> Value<'c> {
        self.store_conditional_guest(mem, address, value)
    }

    fn amo(&self, mem: Mem, address: Value<'c>, change: impl Fn(Value<'c>) -> Value<'c>) -> Value<'c> {
        self.check_aligned(mem, address);
        let old = self.load_guest(mem, address);
        self.store_guest(mem, address, change(old));
        old
    }

    fn fadd(&self, f: Float, a: Value<'c>, b: Value<'c>, _: Rounding) -> Value<'c> {
        self.arithmetic("fadd", f, a, b)
    }

    fn fsub(&self, f: Float, a: Value<'c>, b: Value<'c>, _: Rounding) -> Value<'c> {
        self.arithmetic("fsub", f, a, b)
    }

    fn fmul(&self, f: Float, a: Value<'c>, b: Value<'c>, _: Rounding) -> Value<'c> {
        self.arithmetic("fmul", f, a, b)
    }

    fn fdiv(&self, f: Float, a: Value<'c>, b: Value<'c>, _: Rounding) -> Value<'c> {
        self.arithmetic("fdiv", f, a, b)
    }

    fn fsqrt(&self, f: Float, a: Value<'c>, _: Rounding) -> Value<'c> {
        self.unary_float("sqrt", f, a, true)
    }

    fn fma(&self, f: Float, a: Value<'c>, b: Value<'c>, c: Value<'c>, _: Rounding) -> Value<'c> {
        self.fused(f, a, b, c)
    }

    fn fcompare(&self, f: Float, compare: FloatCompare, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.compare_floats(f, compare, a, b)
    }

    fn float_to_int(&self, f: Float, int: Int, a: Value<'c>, rm: Rounding) -> Value<'c> {
        self.float_to_integer(f, int, a, rm)
    }

    fn int_to_float(&self, f: Float, int: Int, a: Value<'c>, _: Rounding) -> Value<'c> {
        self.integer_to_float(f, int, a)
    }

    fn widen(&self, a: Value<'c>) -> Value<'c> {
        self.widen_float(a)
    }

    fn narrow(&self, a: Value<'c>, _: Rounding) -> Value<'c> {
        self.narrow_float(a)
    }

    fn fround(&self, f: Float, a: Value<'c>, rm: Rounding, inexact: bool) -> Value<'c> {
        self.round_float(f, a, rm, inexact)
    }

    fn raise(&self, flags: u8, condition: Value<'c>) {
        self.raise_flags(flags, condition);
    }

    fn csr(&self, number: u16, change: impl Fn(Value<'c>) -> Value<'c>) -> Value<'c> {
        self.float_csr(number, change)
    }

    fn system(&self, event: System) {
        // One hart sees its own accesses in order, and its text never changes.
        assert!(
            matches!(event, System::Fence | System::FenceI),
            "the analysis leaves calls to the reference interpreter"
        );
    }

    fn call_import(&self, index: Value<'c>) {
        self.call_import_host(self.ir.word(index));
    }

    fn box_s(&self, value: Value<'c>) -> Value<'c> {
        self.ir.boxed(value)
    }

    fn unbox_s(&self, register: Value<'c>) -> Value<'c> {
        self.ir.unbox(register)
    }

    fn negate(&self, f: Float, a: Value<'c>) -> Value<'c> {
        self.negate_float(f, a)
    }

    fn copy_sign(&self, f: Float, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.copy_float_sign(f, a, b)
    }

    fn multiply_sign(&self, f: Float, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.multiply_float_sign(f, a, b)
    }
}
