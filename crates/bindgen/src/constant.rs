//! Evaluates the constants of enums and the lengths of arrays, as GCC and clang do for RISC-V.
//!
//! The languages give constants different types, so the same text can have different values: in
//! `enum { ONE = 1u, LESS = ONE - 2 }`, `LESS` is -1 in C and 4294967295 in C++. Guests of both languages include the
//! header of a description, so every expression is evaluated by the rules of each, and refused where they differ.

use lang_c::ast::{
    BinaryOperator, BinaryOperatorExpression, CastExpression, Constant as Literal, EnumType, Expression, Integer,
    IntegerBase, IntegerSize, TypeName, UnaryOperator,
};

use crate::error::{Problem, Result, unsupported};
use crate::reserved;
use crate::types::{Scalar, Type};

/// The types of constants, after promotion. Of two operands, the one that is later in this list gives the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Int,
    Unsigned,
    Long,
    UnsignedLong,
}

const KINDS: [Kind; 4] = [Kind::Int, Kind::Unsigned, Kind::Long, Kind::UnsignedLong];

/// The rules for the types of constants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rules {
    /// C up to C17, as GCC has it.
    C17,
    /// C23, and C of any version in clang.
    C23,
    Cpp,
}

const ALL_RULES: [Rules; 3] = [Rules::C17, Rules::C23, Rules::Cpp];

/// A value, and its type by each of the rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constant {
    pub(crate) value: i128,
    kinds: [Kind; 3],
}

/// A value by one of the rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number {
    value: i128,
    kind: Kind,
}

impl Kind {
    fn bits(self) -> u32 {
        if self < Kind::Long { 32 } else { 64 }
    }

    fn is_signed(self) -> bool {
        matches!(self, Kind::Int | Kind::Long)
    }

    fn fits(self, value: i128) -> bool {
        self.convert(value) == value
    }

    /// What is left of a value that is converted to this type.
    fn convert(self, value: i128) -> i128 {
        truncated(value, self.bits(), self.is_signed())
    }

    /// The result of a calculation: unsigned ones wrap, signed ones must not overflow.
    fn result(self, text: &str, value: i128) -> Result<Number> {
        if self.is_signed() && !self.fits(value) {
            let instead = "write numbers with `u`, `l` or `ul` behind them, or the result";
            return Err(unsupported(format!("a value in `{text}` overflows its type"), instead));
        }
        Ok(Number { value: self.convert(value), kind: self })
    }

    fn scalar(self) -> Scalar {
        match self {
            Kind::Int => Scalar::I32,
            Kind::Unsigned => Scalar::U32,
            Kind::Long => Scalar::I64,
            Kind::UnsignedLong => Scalar::U64,
        }
    }
}

/// The low bits of a value.
fn truncated(value: i128, bits: u32, is_signed: bool) -> i128 {
    let low = value & ((1 << bits) - 1);
    if is_signed && low >> (bits - 1) != 0 { low - (1 << bits) } else { low }
}

/// Evaluates expressions, by what is declared.
pub(crate) trait Constants {
    /// A constant of an enum.
    fn value(&self, name: &str) -> Option<Constant>;

    /// Sets the value of a constant, and its types.
    fn set_value(&mut self, name: &str, constant: Constant);

    /// Adds the name of a constant.
    ///
    /// # Errors
    /// If it is another's.
    fn add_constant(&mut self, name: &str) -> Result<()>;

    /// The type of a cast or of `sizeof`.
    fn type_name(&mut self, text: &str, name: &TypeName) -> Result<Type>;

    /// The value of an expression, the same by all rules.
    fn constant(&mut self, text: &str, expression: &Expression) -> Result<Constant> {
        let mut kinds = [Kind::Int; 3];
        let mut values = [0; 3];
        for rules in ALL_RULES {
            let Number { value, kind } = self.evaluate(text, expression, rules)?;
            (values[rules as usize], kinds[rules as usize]) = (value, kind);
        }
        let [value, ..] = values;
        if values != [value; 3] {
            let what = format!("a value in `{text}` is not the same in all versions of C and C++");
            return Err(unsupported(what, "write the number that you mean"));
        }
        Ok(Constant { value, kinds })
    }

    fn evaluate(&mut self, text: &str, expression: &Expression, rules: Rules) -> Result<Number> {
        match expression {
            Expression::Identifier(name) => match self.value(&name.node.name) {
                Some(constant) => Ok(Number { value: constant.value, kind: constant.kinds[rules as usize] }),
                None => Err(unsupported(
                    format!(
                        "`{}` in `{text}`, which is no constant of an enum that is declared before",
                        name.node.name
                    ),
                    "write the number, or declare the enum first",
                )),
            },
            Expression::Constant(literal) => match &literal.node {
                Literal::Integer(integer) => number(text, integer),
                Literal::Character(character) => character_value(text, character),
                Literal::Float(_) => Err(not_evaluated(text)),
            },
            Expression::UnaryOperator(unary) => {
                let Number { value, kind } = self.evaluate(text, &unary.node.operand.node, rules)?;
                match unary.node.operator.node {
                    UnaryOperator::Plus => Ok(Number { value, kind }),
                    UnaryOperator::Minus => kind.result(text, -value),
                    UnaryOperator::Complement => kind.result(text, !value),
                    UnaryOperator::Negate => Ok(truth(value == 0)),
                    _ => Err(not_evaluated(text)),
                }
            }
            Expression::BinaryOperator(binary) => self.binary(text, &binary.node, rules),
            Expression::Conditional(conditional) => {
                let condition = self.evaluate(text, &conditional.node.condition.node, rules)?;
                let yes = self.evaluate(text, &conditional.node.then_expression.node, rules)?;
                let no = self.evaluate(text, &conditional.node.else_expression.node, rules)?;
                let kind = yes.kind.max(no.kind);
                let value = if condition.value != 0 { yes.value } else { no.value };
                Ok(Number { value: kind.convert(value), kind })
            }
            Expression::Cast(cast) => self.cast(text, &cast.node, rules),
            Expression::SizeOfTy(size_of) => match self.type_name(text, &size_of.node.0.node)?.layout() {
                Some((size, _)) => Ok(Number { value: size.into(), kind: Kind::UnsignedLong }),
                None => Err(not_evaluated(text)),
            },
            _ => Err(not_evaluated(text)),
        }
    }

    fn binary(&mut self, text: &str, binary: &BinaryOperatorExpression, rules: Rules) -> Result<Number> {
        let left = self.evaluate(text, &binary.lhs.node, rules)?;
        let right = self.evaluate(text, &binary.rhs.node, rules)?;
        let kind = left.kind.max(right.kind);
        let [a, b] = [kind.convert(left.value), kind.convert(right.value)];
        match binary.operator.node {
            BinaryOperator::Plus => kind.result(text, a + b),
            BinaryOperator::Minus => kind.result(text, a - b),
            // Only unsigned products exceed 128 bits.
            BinaryOperator::Multiply => kind.result(text, a.wrapping_mul(b)),
            BinaryOperator::Divide | BinaryOperator::Modulo if b == 0 => {
                Err(unsupported(format!("a division by zero in `{text}`"), "write the number that you mean"))
            }
            BinaryOperator::Divide => kind.result(text, a / b),
            // If the quotient overflows, C does not define the remainder.
            BinaryOperator::Modulo => kind.result(text, a / b).and_then(|_| kind.result(text, a % b)),
            BinaryOperator::BitwiseAnd => kind.result(text, a & b),
            BinaryOperator::BitwiseXor => kind.result(text, a ^ b),
            BinaryOperator::BitwiseOr => kind.result(text, a | b),
            BinaryOperator::Less => Ok(truth(a < b)),
            BinaryOperator::Greater => Ok(truth(a > b)),
            BinaryOperator::LessOrEqual => Ok(truth(a <= b)),
            BinaryOperator::GreaterOrEqual => Ok(truth(a >= b)),
            BinaryOperator::Equals => Ok(truth(a == b)),
            BinaryOperator::NotEquals => Ok(truth(a != b)),
            BinaryOperator::LogicalAnd => Ok(truth(left.value != 0 && right.value != 0)),
            BinaryOperator::LogicalOr => Ok(truth(left.value != 0 || right.value != 0)),
            BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight => shift(text, &binary.operator.node, left, right),
            _ => Err(not_evaluated(text)),
        }
    }

    fn cast(&mut self, text: &str, cast: &CastExpression, rules: Rules) -> Result<Number> {
        let Number { value, .. } = self.evaluate(text, &cast.expression.node, rules)?;
        let ty = self.type_name(text, &cast.type_name.node)?;
        let Type::Scalar(scalar) = ty.bare() else { return Err(not_evaluated(text)) };
        let bits = 8 * scalar.size() as u32;
        let (value, kind) = match scalar {
            Scalar::Bool => (i128::from(value != 0), Kind::Int),
            Scalar::I8 | Scalar::I16 | Scalar::I32 => (truncated(value, bits, true), Kind::Int),
            Scalar::U8 | Scalar::U16 => (truncated(value, bits, false), Kind::Int),
            Scalar::U32 => (truncated(value, bits, false), Kind::Unsigned),
            Scalar::I64 => (truncated(value, bits, true), Kind::Long),
            Scalar::U64 => (truncated(value, bits, false), Kind::UnsignedLong),
            Scalar::F32 | Scalar::F64 => return Err(not_evaluated(text)),
        };
        Ok(Number { value, kind })
    }

    /// Adds the constants of an enum. Returns its type: at least `int`, unsigned unless a value is negative.
    fn enumerators(&mut self, text: &str, kind: &EnumType) -> Result<Scalar> {
        let mut values: Vec<i128> = Vec::new();
        let mut next = Constant { value: 0, kinds: [Kind::Int; 3] };
        for enumerator in &kind.enumerators {
            let name = &enumerator.node.identifier.node.name;
            reserved::check_global(name)?;
            self.add_constant(name)?;
            let mut constant = match &enumerator.node.expression {
                Some(expression) => self.constant(text, &expression.node)?,
                None if next.kinds[Rules::C17 as usize].fits(next.value) => next,
                // Some compilers take the next wider type, others do not.
                None => {
                    let what = format!("the value of `{name}` in `{text}` overflows the type of the one before");
                    return Err(unsupported(what, "write its value"));
                }
            };
            // C makes it an int at once if it can be one.
            if Kind::Int.fits(constant.value) {
                constant.kinds[Rules::C17 as usize] = Kind::Int;
                constant.kinds[Rules::C23 as usize] = Kind::Int;
            }
            self.set_value(name, constant);
            values.push(constant.value);
            next = Constant { value: constant.value + 1, ..constant };
        }
        let [least, most] = [values.iter().min(), values.iter().max()].map(|value| value.copied().unwrap_or(0));
        let has_all = |kind: &&Kind| kind.fits(least) && kind.fits(most);
        let of_enum = KINDS.iter().filter(|kind| kind.is_signed() == (least < 0)).find(has_all).copied();
        let (Some(of_enum), Some(promoted)) = (of_enum, KINDS.iter().find(has_all).copied()) else {
            let what = format!("`{text}`: no type of integers has all the values");
            return Err(unsupported(what, "leave out the negative ones, or those above 0x7fffffffffffffff"));
        };
        for enumerator in &kind.enumerators {
            let name = &enumerator.node.identifier.node.name;
            if let Some(mut constant) = self.value(name) {
                let is_int = Kind::Int.fits(constant.value);
                let are_int = Kind::Int.fits(least) && Kind::Int.fits(most);
                constant.kinds[Rules::C17 as usize] = if is_int { Kind::Int } else { of_enum };
                constant.kinds[Rules::C23 as usize] = if are_int { Kind::Int } else { of_enum };
                constant.kinds[Rules::Cpp as usize] = promoted;
                self.set_value(name, constant);
            }
        }
        Ok(of_enum.scalar())
    }
}

fn truth(is_true: bool) -> Number {
    Number { value: is_true.into(), kind: Kind::Int }
}

fn shift(text: &str, operator: &BinaryOperator, left: Number, right: Number) -> Result<Number> {
    let Number { value, kind } = left;
    let is_left = *operator == BinaryOperator::ShiftLeft;
    if right.value < 0 || right.value >= kind.bits().into() || is_left && value < 0 {
        let what = format!("a shift in `{text}` that C or C++ does not define");
        return Err(unsupported(what, "write the number that you mean"));
    }
    if !is_left {
        return kind.result(text, value >> right.value);
    }
    let shifted = value << right.value;
    // `1 << 31` is the least int.
    let reaches_sign = kind.is_signed() && shifted >> kind.bits() == 0;
    if reaches_sign { Ok(Number { value: kind.convert(shifted), kind }) } else { kind.result(text, shifted) }
}

/// A number in its first type that it fits.
fn number(text: &str, integer: &Integer) -> Result<Number> {
    let radix = match integer.base {
        IntegerBase::Decimal => 10,
        IntegerBase::Octal => 8,
        IntegerBase::Hexadecimal => 16,
        IntegerBase::Binary => 2,
    };
    let value = u64::from_str_radix(&integer.number, radix).ok().map(i128::from);
    let suffix = &integer.suffix;
    let can_be_unsigned = suffix.unsigned || integer.base != IntegerBase::Decimal;
    let mut kinds = KINDS.into_iter().filter(|kind| match kind.is_signed() {
        true => !suffix.unsigned,
        false => can_be_unsigned,
    });
    let found = value.and_then(|value| {
        let is_long = suffix.size != IntegerSize::Int;
        let kind = kinds.find(|kind| kind.fits(value) && (!is_long || kind.bits() == 64))?;
        Some(Number { value, kind })
    });
    let what = || format!("the number {} in `{text}`", integer.number);
    found
        .filter(|_| !suffix.imaginary)
        .ok_or_else(|| unsupported(what(), "write one of at most 64 bits, with `u` behind it if it needs all"))
}

/// The value of `'a'`.
fn character_value(text: &str, literal: &str) -> Result<Number> {
    let value = match literal.as_bytes() {
        [b'\'', c @ b' '..=b'~', b'\''] if !matches!(c, b'\\' | b'\'') => *c,
        [b'\'', b'\\', b'0', b'\''] => 0,
        [b'\'', b'\\', b't', b'\''] => b'\t',
        [b'\'', b'\\', b'n', b'\''] => b'\n',
        [b'\'', b'\\', b'r', b'\''] => b'\r',
        [b'\'', b'\\', c @ (b'\\' | b'\'' | b'"'), b'\''] => *c,
        _ => return Err(not_evaluated(text)),
    };
    Ok(Number { value: value.into(), kind: Kind::Int })
}

fn not_evaluated(text: &str) -> Problem {
    unsupported(
        format!("an expression in `{text}`"),
        "write integers and constants of enums, with operators, `sizeof (type)` and casts to integers",
    )
}
