//! The instruction table's operations, as Cranelift's instructions.

use std::cell::RefCell;

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, F64, I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value};
use cranelift_frontend::FunctionBuilder;
use riverrun_isa::ops::{
    CANONICAL_NAN_D, CANONICAL_NAN_S, Float, FloatCompare, Int, Mem, Ops, Rounding, System, fflags,
};
use riverrun_vm::{SINK_SLOT, convention};

use crate::lift::{FOLDED, truncated_range};
use crate::quick::value::{Double, Doubles, Mode, Word};

/// The flags of accesses to the guest's memory, which may be misaligned. To Cranelift they never trap: riverrun's signal
/// handler ends a run that faults.
fn guest() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// Where an instruction is lifted.
pub(super) struct Site<'a, 'f> {
    pub(super) builder: RefCell<&'a mut FunctionBuilder<'f>>,
    /// The window's address.
    pub(super) base: Value,
    pub(super) mode: Mode,
    pub(super) doubles: RefCell<&'a mut Doubles>,
}

impl Site<'_, '_> {
    pub(super) fn word(&self, word: Word) -> Value {
        let mut b = self.builder.borrow_mut();
        match word {
            Word::Value(value) => value,
            Word::Flag(flag) => b.ins().uextend(I64, flag),
            Word::Sum(value, constant) => b.ins().iadd_imm_s(value, constant),
            Word::Constant(constant) => b.ins().iconst(I64, constant as i64),
        }
    }

    fn binary(&self, a: Word, b: Word, build: impl FnOnce(&mut FunctionBuilder<'_>, Value, Value) -> Value) -> Word {
        let (a, b) = (self.word(a), self.word(b));
        Word::Value(build(&mut self.builder.borrow_mut(), a, b))
    }

    fn unary(&self, a: Word, build: impl FnOnce(&mut FunctionBuilder<'_>, Value) -> Value) -> Word {
        let a = self.word(a);
        Word::Value(build(&mut self.builder.borrow_mut(), a))
    }

    fn compare(&self, condition: IntCC, a: Word, b: Word) -> Word {
        let a = self.word(a);
        if let Word::Constant(constant) = b {
            return Word::Flag(self.builder.borrow_mut().ins().icmp_imm_s(condition, a, constant as i64));
        }
        let b = self.word(b);
        Word::Flag(self.builder.borrow_mut().ins().icmp(condition, a, b))
    }

    fn extend(&self, a: Word, narrow: Type, signed: bool) -> Word {
        self.unary(a, |b, a| {
            let low = b.ins().ireduce(narrow, a);
            if signed { b.ins().sextend(I64, low) } else { b.ins().uextend(I64, low) }
        })
    }

    fn rotate32(&self, a: Word, amount: Word, left: bool) -> Word {
        self.binary(a, amount, |b, a, amount| {
            let low = b.ins().ireduce(I32, a);
            let rotated = if left { b.ins().rotl(low, amount) } else { b.ins().rotr(low, amount) };
            b.ins().uextend(I64, rotated)
        })
    }

    /// A division. Cranelift's instructions trap if the divisor is 0 or the quotient overflows, so that they divide by 1 then,
    /// and the ISA's result is selected.
    fn divide(&self, a: Word, divisor: Word, signed: bool, remainder: bool) -> Word {
        self.binary(a, divisor, |b, a, divisor| {
            let zero = b.ins().icmp_imm_s(IntCC::Equal, divisor, 0);
            let mut bad = zero;
            if signed {
                let least = b.ins().icmp_imm_s(IntCC::Equal, a, i64::MIN);
                let minus_one = b.ins().icmp_imm_s(IntCC::Equal, divisor, -1);
                let overflows = b.ins().band(least, minus_one);
                bad = b.ins().bor(zero, overflows);
            }
            let one = b.ins().iconst(I64, 1);
            let by = b.ins().select(bad, one, divisor);
            let result = match (signed, remainder) {
                (true, false) => b.ins().sdiv(a, by),
                (false, false) => b.ins().udiv(a, by),
                (true, true) => b.ins().srem(a, by),
                (false, true) => b.ins().urem(a, by),
            };
            let by_zero = if remainder { a } else { b.ins().iconst(I64, -1) };
            b.ins().select(zero, by_zero, result)
        })
    }

    /// The offset of a guest address in the window.
    fn offset(&self, address: Value) -> Value {
        let mut b = self.builder.borrow_mut();
        if self.mode.space.is_masked() {
            b.ins().band_imm_u(address, self.mode.space.mask() as i64)
        } else {
            let low = b.ins().ireduce(I32, address);
            b.ins().uextend(I64, low)
        }
    }

    /// The host address of a guest address, without the displacement that the access adds.
    fn place(&self, address: Word) -> (Value, i32) {
        let (word, distance) = match address {
            Word::Sum(value, constant) if (-FOLDED..=FOLDED).contains(&constant) => (value, constant as i32),
            other => (self.word(other), 0),
        };
        let offset = self.offset(word);
        (self.builder.borrow_mut().ins().iadd(self.base, offset), distance)
    }

    fn set_field(&self, field: i64, value: Value) {
        self.builder.borrow_mut().ins().store(MemFlagsData::trusted(), value, self.base, field as i32);
    }

    fn float(&self, f: Float, a: Word) -> Value {
        let a = self.word(a);
        let mut b = self.builder.borrow_mut();
        match f {
            Float::D => match self.doubles.borrow().get(&a) {
                Some(double) => double.read,
                None => b.ins().bitcast(F64, MemFlagsData::new(), a),
            },
            Float::S => {
                let low = b.ins().ireduce(I32, a);
                b.ins().bitcast(F32, MemFlagsData::new(), low)
            }
        }
    }

    /// The bits of a double, which is known for them.
    pub(super) fn bits_of(&self, double: Double) -> Value {
        let bits = self.bits(Float::D, double.exact);
        self.doubles.borrow_mut().insert(bits, double);
        bits
    }

    /// The double of these bits.
    pub(super) fn double_of(&self, bits: Value) -> Value {
        let known = self.doubles.borrow().get(&bits).map(|double| double.exact);
        known.unwrap_or_else(|| self.float(Float::D, Word::Value(bits)))
    }

    fn bits(&self, f: Float, float: Value) -> Value {
        let mut b = self.builder.borrow_mut();
        match f {
            Float::D => b.ins().bitcast(I64, MemFlagsData::new(), float),
            Float::S => {
                let bits = b.ins().bitcast(I32, MemFlagsData::new(), float);
                b.ins().uextend(I64, bits)
            }
        }
    }

    /// Has a result computed even where it is not used, for the exceptions that it raises.
    fn keep(&self, result: Value) {
        if self.mode.is_strict {
            let mut b = self.builder.borrow_mut();
            b.ins().store(MemFlagsData::trusted(), result, self.base, convention::slot(SINK_SLOT) as i32);
        }
    }

    /// The bits of a result, a NaN's made canonical. Operations that read it get it as it is: any NaN will do for them, so
    /// that one is made canonical only where it is stored or kept.
    fn canonical(&self, f: Float, float: Value) -> Word {
        self.keep(float);
        let is_nan = self.builder.borrow_mut().ins().fcmp(FloatCC::Unordered, float, float);
        if f == Float::D {
            let exact = {
                let mut b = self.builder.borrow_mut();
                let nan = b.ins().f64const(f64::from_bits(CANONICAL_NAN_D));
                b.ins().select(is_nan, nan, float)
            };
            return Word::Value(self.bits_of(Double { read: float, exact }));
        }
        let bits = self.bits(f, float);
        let mut b = self.builder.borrow_mut();
        let nan = b.ins().iconst(I64, CANONICAL_NAN_S as i64);
        Word::Value(b.ins().select(is_nan, nan, bits))
    }

    fn arithmetic(
        &self,
        f: Float,
        a: Word,
        b: Word,
        build: impl FnOnce(&mut FunctionBuilder<'_>, Value, Value) -> Value,
    ) -> Word {
        let (a, b) = (self.float(f, a), self.float(f, b));
        let result = build(&mut self.builder.borrow_mut(), a, b);
        self.canonical(f, result)
    }

    /// Infinity times zero is invalid even where a quiet NaN is added (Unprivileged ISA, section 20.6), on which the host
    /// stays silent.
    fn raise_for_infinity_times_zero(&self, f: Float, [a, b, c]: [Word; 3]) {
        let infinity = self.imm(if f == Float::S { 0x7f80_0000 } else { 0x7ff0_0000_0000_0000 });
        let magnitude = |word| self.and(word, self.imm(f.sign() - 1));
        let and = |a, b| {
            let (a, b) = (self.word(a), self.word(b));
            Word::Value(self.builder.borrow_mut().ins().band(a, b))
        };
        let (a, b, c) = (magnitude(a), magnitude(b), magnitude(c));
        let zero = self.imm(0);
        let first = and(self.eq(a, infinity), self.eq(b, zero));
        let second = and(self.eq(b, infinity), self.eq(a, zero));
        let is_nan = self.lt_u(infinity, c);
        self.raise(fflags::NV, and(self.or(first, second), is_nan));
    }

    /// Rounds to an integral value by a mode other than [`Rounding::Rmm`].
    fn integral(&self, a: Value, rm: Rounding) -> Value {
        let mut b = self.builder.borrow_mut();
        match rm {
            Rounding::Rtz => b.ins().trunc(a),
            Rounding::Rdn => b.ins().floor(a),
            Rounding::Rup => b.ins().ceil(a),
            Rounding::Rne | Rounding::Dyn => b.ins().nearest(a),
            Rounding::Rmm => unreachable!("the interpreter rounds ties away from zero"),
        }
    }
}

macro_rules! binary {
    ($($name:ident = $build:ident;)*) => {
        $(fn $name(&self, a: Word, b: Word) -> Word {
            self.binary(a, b, |builder, a, b| builder.ins().$build(a, b))
        })*
    };
}

macro_rules! unary {
    ($($name:ident = $build:ident;)*) => {
        $(fn $name(&self, a: Word) -> Word {
            self.unary(a, |builder, a| builder.ins().$build(a))
        })*
    };
}

macro_rules! compare {
    ($($name:ident = $condition:ident;)*) => {
        $(fn $name(&self, a: Word, b: Word) -> Word {
            self.compare(IntCC::$condition, a, b)
        })*
    };
}

macro_rules! extend {
    ($($name:ident = $narrow:ident $signed:literal;)*) => {
        $(fn $name(&self, a: Word) -> Word {
            self.extend(a, $narrow, $signed)
        })*
    };
}

macro_rules! arithmetic {
    ($($name:ident = $build:ident;)*) => {
        $(fn $name(&self, f: Float, a: Word, b: Word, _: Rounding) -> Word {
            self.arithmetic(f, a, b, |builder, a, b| builder.ins().$build(a, b))
        })*
    };
}

impl Ops for Site<'_, '_> {
    type V = Word;

    fn imm(&self, value: u64) -> Word {
        Word::Constant(value)
    }

    fn add(&self, a: Word, b: Word) -> Word {
        match (a, b) {
            (Word::Constant(a), Word::Constant(b)) => Word::Constant(a.wrapping_add(b)),
            (Word::Sum(value, sum), Word::Constant(more)) => Word::Sum(value, sum.wrapping_add(more as i64)),
            (a, Word::Constant(more)) => Word::Sum(self.word(a), more as i64),
            (a, b) => self.binary(a, b, |builder, a, b| builder.ins().iadd(a, b)),
        }
    }

    binary! {
        sub = isub;
        mul = imul;
        mul_high_s = smulhi;
        mul_high_u = umulhi;
        and = band;
        or = bor;
        xor = bxor;
        shl = ishl;
        shr = ushr;
        sar = sshr;
        rotl = rotl;
        rotr = rotr;
    }

    unary! {
        clz = clz;
        ctz = ctz;
        popcount = popcnt;
        bswap = bswap;
    }

    compare! {
        eq = Equal;
        ne = NotEqual;
        lt_s = SignedLessThan;
        lt_u = UnsignedLessThan;
        ge_s = SignedGreaterThanOrEqual;
        ge_u = UnsignedGreaterThanOrEqual;
    }

    extend! {
        sext8 = I8 true;
        sext16 = I16 true;
        sext32 = I32 true;
        zext8 = I8 false;
        zext16 = I16 false;
        zext32 = I32 false;
    }

    arithmetic! {
        fadd = fadd;
        fsub = fsub;
        fmul = fmul;
        fdiv = fdiv;
    }

    fn div_s(&self, a: Word, b: Word) -> Word {
        self.divide(a, b, true, false)
    }

    fn div_u(&self, a: Word, b: Word) -> Word {
        self.divide(a, b, false, false)
    }

    fn rem_s(&self, a: Word, b: Word) -> Word {
        self.divide(a, b, true, true)
    }

    fn rem_u(&self, a: Word, b: Word) -> Word {
        self.divide(a, b, false, true)
    }

    fn rotl32(&self, a: Word, b: Word) -> Word {
        self.rotate32(a, b, true)
    }

    fn rotr32(&self, a: Word, b: Word) -> Word {
        self.rotate32(a, b, false)
    }

    fn select(&self, condition: Word, a: Word, b: Word) -> Word {
        let condition = if let Word::Flag(flag) = condition { flag } else { self.word(condition) };
        self.binary(a, b, |builder, a, b| builder.ins().select(condition, a, b))
    }

    fn load(&self, mem: Mem, address: Word) -> Word {
        let (at, distance) = self.place(address);
        let mut b = self.builder.borrow_mut();
        Word::Value(match mem {
            Mem::I8 => b.ins().sload8(I64, guest(), at, distance),
            Mem::U8 => b.ins().uload8(I64, guest(), at, distance),
            Mem::I16 => b.ins().sload16(I64, guest(), at, distance),
            Mem::U16 => b.ins().uload16(I64, guest(), at, distance),
            Mem::I32 => b.ins().sload32(guest(), at, distance),
            Mem::U32 => b.ins().uload32(guest(), at, distance),
            Mem::U64 => b.ins().load(I64, guest(), at, distance),
        })
    }

    fn store(&self, mem: Mem, address: Word, value: Word) {
        let (value, (at, distance)) = (self.word(value), self.place(address));
        let mut b = self.builder.borrow_mut();
        match mem.bytes() {
            1 => b.ins().istore8(guest(), value, at, distance),
            2 => b.ins().istore16(guest(), value, at, distance),
            4 => b.ins().istore32(guest(), value, at, distance),
            _ => b.ins().store(guest(), value, at, distance),
        };
    }

    fn fsqrt(&self, f: Float, a: Word, _: Rounding) -> Word {
        let a = self.float(f, a);
        let root = self.builder.borrow_mut().ins().sqrt(a);
        self.canonical(f, root)
    }

    fn fma(&self, f: Float, a: Word, b: Word, c: Word, _: Rounding) -> Word {
        if self.mode.is_strict {
            self.raise_for_infinity_times_zero(f, [a, b, c]);
        }
        let (a, b, c) = (self.float(f, a), self.float(f, b), self.float(f, c));
        let result = self.builder.borrow_mut().ins().fma(a, b, c);
        self.canonical(f, result)
    }

    fn fcompare(&self, f: Float, compare: FloatCompare, a: Word, b: Word) -> Word {
        let condition = match compare {
            FloatCompare::Eq => FloatCC::Equal,
            FloatCompare::Lt | FloatCompare::LtQuiet => FloatCC::LessThan,
            FloatCompare::Le | FloatCompare::LeQuiet => FloatCC::LessThanOrEqual,
        };
        let (a, b) = (self.float(f, a), self.float(f, b));
        let flag = self.builder.borrow_mut().ins().fcmp(condition, a, b);
        let bits = self.word(Word::Flag(flag));
        self.keep(bits);
        if matches!(compare, FloatCompare::Lt | FloatCompare::Le) {
            // The host's comparison is quiet.
            let is_nan = self.builder.borrow_mut().ins().fcmp(FloatCC::Unordered, a, b);
            self.raise(fflags::NV, Word::Flag(is_nan));
        }
        Word::Flag(flag)
    }

    fn float_to_int(&self, f: Float, int: Int, a: Word, rm: Rounding) -> Word {
        let float = self.float(f, a);
        let whole = if rm == Rounding::Rtz { float } else { self.integral(float, rm) };
        let (below, above, least, greatest) = truncated_range(int);
        let (outside, too_low, inside) = {
            let mut b = self.builder.borrow_mut();
            let wide = if f == Float::S { b.ins().fpromote(F64, whole) } else { whole };
            let [below, above, zero] = [below, above, 0.0].map(|bound| b.ins().f64const(bound));
            let too_low = b.ins().fcmp(FloatCC::LessThanOrEqual, wide, below);
            // NaNs count as too high.
            let too_high = b.ins().fcmp(FloatCC::UnorderedOrGreaterThanOrEqual, wide, above);
            let outside = b.ins().bor(too_low, too_high);
            (outside, too_low, b.ins().select(outside, zero, wide))
        };
        let converted = {
            let mut b = self.builder.borrow_mut();
            match int {
                Int::I32 | Int::I64 => b.ins().fcvt_to_sint_sat(I64, inside),
                // As signed, since results of 32 bits are sign-extended.
                Int::U32 => {
                    let wide = b.ins().fcvt_to_sint_sat(I64, inside);
                    let low = b.ins().ireduce(I32, wide);
                    b.ins().sextend(I64, low)
                }
                Int::U64 => b.ins().fcvt_to_uint_sat(I64, inside),
            }
        };
        self.keep(converted);
        self.raise(fflags::NV, Word::Flag(outside));
        let mut b = self.builder.borrow_mut();
        let [least, greatest] = [least, greatest].map(|bound| b.ins().iconst(I64, bound as i64));
        let bound = b.ins().select(too_low, least, greatest);
        Word::Value(b.ins().select(outside, bound, converted))
    }

    fn int_to_float(&self, f: Float, int: Int, a: Word, _: Rounding) -> Word {
        let kind = if f == Float::D { F64 } else { F32 };
        let a = self.word(a);
        let float = {
            let mut b = self.builder.borrow_mut();
            let source = if matches!(int, Int::I32 | Int::U32) { b.ins().ireduce(I32, a) } else { a };
            match int {
                Int::I32 | Int::I64 => b.ins().fcvt_from_sint(kind, source),
                Int::U32 | Int::U64 => b.ins().fcvt_from_uint(kind, source),
            }
        };
        let bits = self.bits(f, float);
        self.keep(bits);
        Word::Value(bits)
    }

    fn widen(&self, a: Word) -> Word {
        let narrow = self.float(Float::S, a);
        let wide = self.builder.borrow_mut().ins().fpromote(F64, narrow);
        self.canonical(Float::D, wide)
    }

    fn narrow(&self, a: Word, _: Rounding) -> Word {
        let wide = self.float(Float::D, a);
        let narrow = self.builder.borrow_mut().ins().fdemote(F32, wide);
        self.canonical(Float::S, narrow)
    }

    fn fround(&self, f: Float, a: Word, rm: Rounding, _: bool) -> Word {
        let a = self.float(f, a);
        let rounded = self.integral(a, rm);
        self.canonical(f, rounded)
    }

    fn raise(&self, flags: u8, condition: Word) {
        if !self.mode.is_strict {
            return;
        }
        let condition = self.word(condition);
        let mut b = self.builder.borrow_mut();
        let (base, place) = (self.base, convention::FFLAGS as i32);
        let [raised, none] = [u64::from(flags), 0].map(|flags| b.ins().iconst(I64, flags as i64));
        let raised = b.ins().select(condition, raised, none);
        let before = b.ins().load(I64, MemFlagsData::trusted(), base, place);
        let after = b.ins().bor(before, raised);
        b.ins().store(MemFlagsData::trusted(), after, base, place);
    }

    fn load_reserved(&self, mem: Mem, address: Word) -> Word {
        let value = self.load(mem, address);
        self.set_field(convention::RESERVATION, self.offset(self.word(address)));
        self.set_field(convention::RESERVED_VALUE, self.word(value));
        value
    }

    fn store_conditional(&self, mem: Mem, address: Word, value: Word) -> Word {
        // The load comes first, so that a fault leaves the reservation unchanged.
        let present = self.word(self.load(mem, address));
        let offset = self.offset(self.word(address));
        let holds = {
            let mut b = self.builder.borrow_mut();
            let mut is_field = |field: i64, value| {
                let reserved = b.ins().load(I64, MemFlagsData::trusted(), self.base, field as i32);
                b.ins().icmp(IntCC::Equal, reserved, value)
            };
            let (is_here, is_same) =
                (is_field(convention::RESERVATION, offset), is_field(convention::RESERVED_VALUE, present));
            b.ins().band(is_here, is_same)
        };
        let [store, done] = std::array::from_fn(|_| self.builder.borrow_mut().create_block());
        self.builder.borrow_mut().ins().brif(holds, store, &[], done, &[]);
        self.builder.borrow_mut().switch_to_block(store);
        self.store(mem, address, value);
        self.builder.borrow_mut().ins().jump(done, &[]);
        self.builder.borrow_mut().switch_to_block(done);
        self.set_field(convention::RESERVATION, self.word(self.imm(!0)));
        self.eq(Word::Flag(holds), self.imm(0))
    }

    /// One hart accesses the memory, so that no other access comes between these.
    fn amo(&self, mem: Mem, address: Word, change: impl Fn(Word) -> Word) -> Word {
        let old = self.load(mem, address);
        self.store(mem, address, change(old));
        old
    }

    fn csr(&self, _: u16, _: impl Fn(Word) -> Word) -> Word {
        unreachable!("the interpreter executes it")
    }

    /// One hart sees its own accesses in order, and its text never changes.
    fn system(&self, event: System) {
        assert!(matches!(event, System::Fence | System::FenceI), "the interpreter executes all others");
    }

    fn call_import(&self, _: Word) {
        unreachable!("the dispatcher calls the host")
    }
}
