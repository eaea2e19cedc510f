//! The algebra of word-level values in which every instruction's semantics is written.
//!
//! A row of the table says *what* an instruction computes; an implementation of [`Ops`] says
//! *how*: on `u64` in the interpreter, on soft floats in the reference interpreter, on text in
//! the semantics printer, on LLVM values in the compiler. Methods take `&self`, so that rows
//! read as expressions: `o.add(o.shl(rs1, o.imm(1)), rs2)`.

/// How wide a memory access is and how a loaded value fills its 64-bit register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mem {
    /// 8 bits, sign-extended.
    I8,
    /// 8 bits, zero-extended.
    U8,
    /// 16 bits, sign-extended.
    I16,
    /// 16 bits, zero-extended.
    U16,
    /// 32 bits, sign-extended.
    I32,
    /// 32 bits, zero-extended.
    U32,
    /// 64 bits.
    U64,
}

impl Mem {
    /// The access's width in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            Mem::I8 | Mem::U8 => 1,
            Mem::I16 | Mem::U16 => 2,
            Mem::I32 | Mem::U32 => 4,
            Mem::U64 => 8,
        }
    }

    /// What a register holds after a load of `value`, whose bits beyond the access's width are zero.
    ///
    /// ```
    /// use riverrun_isa::ops::Mem;
    /// assert_eq!(Mem::I16.extend(0x8001), 0xffff_ffff_ffff_8001);
    /// assert_eq!(Mem::U16.extend(0x8001), 0x8001);
    /// ```
    pub const fn extend(self, value: u64) -> u64 {
        match self {
            Mem::I8 => value as i8 as u64,
            Mem::I16 => value as i16 as u64,
            Mem::I32 => value as i32 as u64,
            Mem::U8 | Mem::U16 | Mem::U32 | Mem::U64 => value,
        }
    }
}

/// A floating-point format. A value of [`Float::S`] is the low 32 bits of a word whose high bits are zero
/// ([`Ops::unbox_s`] makes it of a register's NaN-boxed form, [`Ops::box_s`] converts it back).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Float {
    /// IEEE 754 binary32.
    S,
    /// IEEE 754 binary64.
    D,
}

impl Float {
    /// The sign bit.
    pub const fn sign(self) -> u64 {
        match self {
            Float::S => 1 << 31,
            Float::D => 1 << 63,
        }
    }
}

/// An integer type that floats convert to and from. Results of 32-bit types are sign-extended
/// to 64 bits, whether the type is signed or not, as the specification demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Int {
    /// Signed 32 bits.
    I32,
    /// Unsigned 32 bits.
    U32,
    /// Signed 64 bits.
    I64,
    /// Unsigned 64 bits.
    U64,
}

/// A floating-point comparison. Quiet ones raise NV for signalling NaNs only, the others for
/// every NaN; all are false where an operand is a NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatCompare {
    /// `a == b`, quiet.
    Eq,
    /// `a < b`, signalling.
    Lt,
    /// `a <= b`, signalling.
    Le,
    /// `a < b`, quiet.
    LtQuiet,
    /// `a <= b`, quiet.
    LeQuiet,
}

/// The rounding-mode field of an instruction (Unprivileged ISA, section 20.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Rounding {
    /// To nearest, ties to even.
    Rne = 0,
    /// Towards zero.
    Rtz = 1,
    /// Down.
    Rdn = 2,
    /// Up.
    Rup = 3,
    /// To nearest, ties away from zero.
    Rmm = 4,
    /// The mode in the `frm` register.
    Dyn = 7,
}

impl Rounding {
    /// The mode of a three-bit field; `None` for the two reserved values.
    pub const fn from_bits(bits: u32) -> Option<Rounding> {
        Some(match bits {
            0 => Rounding::Rne,
            1 => Rounding::Rtz,
            2 => Rounding::Rdn,
            3 => Rounding::Rup,
            4 => Rounding::Rmm,
            7 => Rounding::Dyn,
            _ => return None,
        })
    }

    /// The assembler's name of the mode.
    pub const fn name(self) -> &'static str {
        match self {
            Rounding::Rne => "rne",
            Rounding::Rtz => "rtz",
            Rounding::Rdn => "rdn",
            Rounding::Rup => "rup",
            Rounding::Rmm => "rmm",
            Rounding::Dyn => "dyn",
        }
    }
}

/// Accrued exception bits, as in `fflags` (Unprivileged ISA, section 20.2).
pub mod fflags {
    /// Inexact.
    pub const NX: u8 = 1;
    /// Underflow.
    pub const UF: u8 = 2;
    /// Overflow.
    pub const OF: u8 = 4;
    /// Division by zero.
    pub const DZ: u8 = 8;
    /// Invalid operation.
    pub const NV: u8 = 16;
}

/// Canonical NaN of [`Float::S`].
pub const CANONICAL_NAN_S: u64 = 0x7fc0_0000;
/// Canonical NaN of [`Float::D`].
pub const CANONICAL_NAN_D: u64 = 0x7ff8_0000_0000_0000;

/// An instruction's request to its execution environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum System {
    /// `ecall`: a call to the environment.
    Ecall,
    /// `ebreak`: a breakpoint.
    Ebreak,
    /// `fence`: orders memory accesses.
    Fence,
    /// `fence.i`: makes stores to instruction memory visible to fetches.
    FenceI,
}

/// Word-level operations. Every value is 64 bits wide; a condition is a value that is 0 or 1.
///
/// Implementations decide what evaluation means (compute, print, emit). All operations are
/// total: where C has undefined behaviour, the result is RISC-V's.
pub trait Ops {
    /// A 64-bit value.
    type V: Copy;

    /// The constant `value`.
    fn imm(&self, value: u64) -> Self::V;

    /// `a + b` modulo 2^64.
    fn add(&self, a: Self::V, b: Self::V) -> Self::V;
    /// `a - b` modulo 2^64.
    fn sub(&self, a: Self::V, b: Self::V) -> Self::V;
    /// The low 64 bits of `a * b`.
    fn mul(&self, a: Self::V, b: Self::V) -> Self::V;
    /// The high 64 bits of the signed product.
    fn mul_high_s(&self, a: Self::V, b: Self::V) -> Self::V;
    /// The high 64 bits of the unsigned product.
    fn mul_high_u(&self, a: Self::V, b: Self::V) -> Self::V;
    /// Signed quotient, rounded towards zero; all ones where `b` is 0, `a` where it overflows.
    fn div_s(&self, a: Self::V, b: Self::V) -> Self::V;
    /// Unsigned quotient; all ones where `b` is 0.
    fn div_u(&self, a: Self::V, b: Self::V) -> Self::V;
    /// Signed remainder; `a` where `b` is 0, 0 where the quotient overflows.
    fn rem_s(&self, a: Self::V, b: Self::V) -> Self::V;
    /// Unsigned remainder; `a` where `b` is 0.
    fn rem_u(&self, a: Self::V, b: Self::V) -> Self::V;

    /// Bitwise and.
    fn and(&self, a: Self::V, b: Self::V) -> Self::V;
    /// Bitwise or.
    fn or(&self, a: Self::V, b: Self::V) -> Self::V;
    /// Bitwise exclusive or.
    fn xor(&self, a: Self::V, b: Self::V) -> Self::V;
    /// `a << (b mod 64)`.
    fn shl(&self, a: Self::V, b: Self::V) -> Self::V;
    /// `a >> (b mod 64)`, zeros shifted in.
    fn shr(&self, a: Self::V, b: Self::V) -> Self::V;
    /// `a >> (b mod 64)`, copies of the sign shifted in.
    fn sar(&self, a: Self::V, b: Self::V) -> Self::V;
    /// `a` rotated left by `b mod 64`.
    fn rotl(&self, a: Self::V, b: Self::V) -> Self::V;
    /// `a` rotated right by `b mod 64`.
    fn rotr(&self, a: Self::V, b: Self::V) -> Self::V;
    /// The low 32 bits of `a` rotated left by `b mod 32`, zero-extended.
    fn rotl32(&self, a: Self::V, b: Self::V) -> Self::V;
    /// The low 32 bits of `a` rotated right by `b mod 32`, zero-extended.
    fn rotr32(&self, a: Self::V, b: Self::V) -> Self::V;
    /// Leading zeros; 64 for 0.
    fn clz(&self, a: Self::V) -> Self::V;
    /// Trailing zeros; 64 for 0.
    fn ctz(&self, a: Self::V) -> Self::V;
    /// Number of ones.
    fn popcount(&self, a: Self::V) -> Self::V;
    /// The eight bytes in reverse order.
    fn bswap(&self, a: Self::V) -> Self::V;

    /// The low 8 bits, sign-extended.
    fn sext8(&self, a: Self::V) -> Self::V;
    /// The low 16 bits, sign-extended.
    fn sext16(&self, a: Self::V) -> Self::V;
    /// The low 32 bits, sign-extended.
    fn sext32(&self, a: Self::V) -> Self::V;
    /// The low 8 bits, zero-extended.
    fn zext8(&self, a: Self::V) -> Self::V;
    /// The low 16 bits, zero-extended.
    fn zext16(&self, a: Self::V) -> Self::V;
    /// The low 32 bits, zero-extended.
    fn zext32(&self, a: Self::V) -> Self::V;

    /// `a == b`.
    fn eq(&self, a: Self::V, b: Self::V) -> Self::V;
    /// `a != b`.
    fn ne(&self, a: Self::V, b: Self::V) -> Self::V;
    /// `a < b`, signed.
    fn lt_s(&self, a: Self::V, b: Self::V) -> Self::V;
    /// `a < b`, unsigned.
    fn lt_u(&self, a: Self::V, b: Self::V) -> Self::V;
    /// `a >= b`, signed.
    fn ge_s(&self, a: Self::V, b: Self::V) -> Self::V;
    /// `a >= b`, unsigned.
    fn ge_u(&self, a: Self::V, b: Self::V) -> Self::V;
    /// `a` where the condition holds, else `b`.
    fn select(&self, condition: Self::V, a: Self::V, b: Self::V) -> Self::V;

    /// Loads from guest memory; may trap. Misaligned addresses are allowed.
    fn load(&self, mem: Mem, address: Self::V) -> Self::V;
    /// Stores the low bytes of `value` to guest memory; may trap.
    fn store(&self, mem: Mem, address: Self::V, value: Self::V);
    /// Loads and reserves; traps if misaligned.
    fn load_reserved(&self, mem: Mem, address: Self::V) -> Self::V;
    /// Stores if the reservation still holds: 0, else 1; traps if misaligned.
    fn store_conditional(&self, mem: Mem, address: Self::V, value: Self::V) -> Self::V;
    /// Replaces the value in memory by `change` of it, atomically, and returns the old value; traps if misaligned.
    fn amo(&self, mem: Mem, address: Self::V, change: impl Fn(Self::V) -> Self::V) -> Self::V;

    /// `a + b`, rounded.
    fn fadd(&self, f: Float, a: Self::V, b: Self::V, rm: Rounding) -> Self::V;
    /// `a - b`, rounded.
    fn fsub(&self, f: Float, a: Self::V, b: Self::V, rm: Rounding) -> Self::V;
    /// `a * b`, rounded.
    fn fmul(&self, f: Float, a: Self::V, b: Self::V, rm: Rounding) -> Self::V;
    /// `a / b`, rounded.
    fn fdiv(&self, f: Float, a: Self::V, b: Self::V, rm: Rounding) -> Self::V;
    /// The square root, rounded.
    fn fsqrt(&self, f: Float, a: Self::V, rm: Rounding) -> Self::V;
    /// `a * b + c`, rounded once.
    fn fma(&self, f: Float, a: Self::V, b: Self::V, c: Self::V, rm: Rounding) -> Self::V;
    /// Compares.
    fn fcompare(&self, f: Float, compare: FloatCompare, a: Self::V, b: Self::V) -> Self::V;
    /// To an integer; saturates and raises NV out of range, NaN counts as +infinity.
    fn float_to_int(&self, f: Float, int: Int, a: Self::V, rm: Rounding) -> Self::V;
    /// From an integer, rounded. 32-bit types read the low 32 bits.
    fn int_to_float(&self, f: Float, int: Int, a: Self::V, rm: Rounding) -> Self::V;
    /// From binary32 to binary64; exact.
    fn widen(&self, a: Self::V) -> Self::V;
    /// From binary64 to binary32, rounded.
    fn narrow(&self, a: Self::V, rm: Rounding) -> Self::V;
    /// To an integral value of the same format; raises NX only where `inexact` is set.
    fn fround(&self, f: Float, a: Self::V, rm: Rounding, inexact: bool) -> Self::V;
    /// Raises `flags` ([`fflags`]) where the condition holds.
    fn raise(&self, flags: u8, condition: Self::V);

    /// Replaces the control and status register `csr` by `change` of it and returns the old value. The caller has tested
    /// [`crate::Inst::is_legal_csr`].
    fn csr(&self, csr: u16, change: impl Fn(Self::V) -> Self::V) -> Self::V;
    /// Makes a request to the environment.
    fn system(&self, event: System);
    /// Calls the host function that is bound to import number `index`, with its arguments and results in registers.
    fn call_import(&self, index: Self::V);

    // The following are composed of the above, for every implementation.

    /// Bitwise not.
    #[inline(always)]
    fn not(&self, a: Self::V) -> Self::V {
        self.xor(a, self.imm(!0))
    }

    /// `a << amount`, `amount` below 64.
    #[inline(always)]
    fn shl_imm(&self, a: Self::V, amount: u32) -> Self::V {
        self.shl(a, self.imm(amount as u64))
    }

    /// `a >> amount` with zeros shifted in, `amount` below 64.
    #[inline(always)]
    fn shr_imm(&self, a: Self::V, amount: u32) -> Self::V {
        self.shr(a, self.imm(amount as u64))
    }

    /// No result: what an instruction without destination evaluates to.
    #[inline(always)]
    fn unit(&self) -> Self::V {
        self.imm(0)
    }

    /// The binary32 value of a register: its low half where the high one is all ones, else the
    /// canonical NaN (Unprivileged ISA, section 21.2).
    #[inline(always)]
    fn unbox_s(&self, register: Self::V) -> Self::V {
        let boxed = self.ge_u(register, self.imm(0xffff_ffff_0000_0000));
        self.select(boxed, self.zext32(register), self.imm(CANONICAL_NAN_S))
    }

    /// The opposite sign, of NaNs too.
    #[inline(always)]
    fn negate(&self, f: Float, a: Self::V) -> Self::V {
        self.xor(a, self.imm(f.sign()))
    }

    /// The magnitude of `a` with the sign of `b`, of NaNs too.
    #[inline(always)]
    fn copy_sign(&self, f: Float, a: Self::V, b: Self::V) -> Self::V {
        self.or(self.and(a, self.imm(f.sign() - 1)), self.and(b, self.imm(f.sign())))
    }

    /// `a`, its sign turned where `b` is negative, of NaNs too.
    #[inline(always)]
    fn multiply_sign(&self, f: Float, a: Self::V, b: Self::V) -> Self::V {
        self.xor(a, self.and(b, self.imm(f.sign())))
    }

    /// A register's NaN-boxed form of a binary32 value.
    #[inline(always)]
    fn box_s(&self, value: Self::V) -> Self::V {
        self.or(value, self.imm(0xffff_ffff_0000_0000))
    }
}
