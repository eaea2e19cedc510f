//! The registers of arguments and results (RISC-V psABI, LP64D, chapter "Procedure Calling Convention").

use crate::error::Problem;
use crate::types::{Record, Scalar, Type};

/// The size in bytes of the largest struct that the psABI passes by value. A larger parameter or result is an error.
pub(crate) const MAX_BY_VALUE: u64 = 16;

/// The most parameters that a host function can have; each piece of a struct counts as one.
const MAX_PIECES: usize = 16;

/// Number of integer argument registers, and of float argument registers.
const REGISTERS: u8 = 8;

/// Where a piece of an argument or result is passed: in a register, or on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// a0 to a7.
    Int(u8),
    /// fa0 to fa7.
    Float(u8),
    Stack,
}

impl Place {
    /// The register's name in assembler.
    pub(crate) fn register(self) -> Option<String> {
        match self {
            Place::Int(number) => Some(format!("a{number}")),
            Place::Float(number) => Some(format!("fa{number}")),
            Place::Stack => None,
        }
    }
}

/// The part of a value that is passed in one register, or in one word on the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) place: Place,
    /// The type in the register; `None` for a pointer, `U64` for up to eight bytes of a struct in integer registers.
    pub(crate) scalar: Option<Scalar>,
    /// Its offset in the value, in bytes.
    pub(crate) offset: u64,
    /// Its size in bytes.
    pub(crate) size: u64,
}

/// Where the parameters and the result of a function are passed.
#[derive(Debug)]
pub(crate) struct Convention {
    /// For each parameter, its pieces.
    pub(crate) parameters: Vec<Vec<Piece>>,
    /// Empty for `void`.
    pub(crate) result: Vec<Piece>,
}

impl Convention {
    pub(crate) fn new(result: &Type, parameters: &[&Type]) -> Result<Convention, Problem> {
        let mut registers = Registers::default();
        let parameters = parameters.iter().map(|ty| registers.assign(ty)).collect::<Result<Vec<Vec<Piece>>, _>>()?;
        if parameters.iter().flatten().count() > MAX_PIECES {
            return Err(Problem::Unsupported {
                what: format!("more than {MAX_PIECES} parameters"),
                instead: "pass a pointer to a struct",
            });
        }
        // The psABI returns a result in the registers in which it would pass a first argument of that type.
        let result = match result.bare() {
            Type::Void => Vec::new(),
            result => Registers::default().assign(result)?,
        };
        Ok(Convention { parameters, result })
    }

    /// Whether a parameter is on the stack. Then no stub is inline: only a call of a function puts it there.
    pub(crate) fn uses_stack(&self) -> bool {
        self.parameters.iter().flatten().any(|piece| piece.place == Place::Stack)
    }

    /// Whether a7 holds an argument: then it cannot hold the number of a system call.
    pub(crate) fn uses_a7(&self) -> bool {
        self.parameters.iter().flatten().any(|piece| piece.place == Place::Int(REGISTERS - 1))
    }
}

/// How many argument registers are taken.
#[derive(Default)]
struct Registers {
    int: u8,
    float: u8,
}

impl Registers {
    fn assign(&mut self, ty: &Type) -> Result<Vec<Piece>, Problem> {
        match ty.bare() {
            Type::Scalar(scalar) => {
                let place = if scalar.is_float() { self.float() } else { self.int() };
                Ok(vec![Piece { place, scalar: Some(*scalar), offset: 0, size: scalar.size() }])
            }
            Type::Pointer(..) => Ok(vec![Piece { place: self.int(), scalar: None, offset: 0, size: 8 }]),
            Type::Record(record) => self.record(record),
            other => Err(Problem::Unsupported {
                what: format!("`{}` by value", other.declare("")),
                instead: "pass a pointer, or a struct of plain fields",
            }),
        }
    }

    fn record(&mut self, record: &Record) -> Result<Vec<Piece>, Problem> {
        let size = record.layout().map_or(u64::MAX, |(size, _)| size);
        if size > MAX_BY_VALUE {
            return Err(Problem::StructTooLarge { name: record.name.clone(), size, limit: MAX_BY_VALUE });
        }
        let fields = flatten(record);
        let floats = fields.iter().filter(|(_, scalar)| scalar.is_some_and(Scalar::is_float)).count() as u8;
        let ints = fields.len() as u8 - floats;
        // One or two numbers, of which one is a float, have a register each if there is one for each.
        let numbers = fields.iter().all(|(_, scalar)| scalar.is_some());
        let room = self.float + floats <= REGISTERS && self.int + ints <= REGISTERS;
        if numbers && floats > 0 && floats + ints <= 2 && room {
            let piece = |(offset, scalar): (u64, Option<Scalar>)| {
                let is_float = scalar.is_some_and(Scalar::is_float);
                let place = if is_float { self.float() } else { self.int() };
                Piece { place, scalar, offset, size: scalar.map_or(8, Scalar::size) }
            };
            return Ok(fields.into_iter().map(piece).collect());
        }
        let words = (0..size).step_by(8);
        Ok(words
            .map(|offset| Piece { place: self.int(), scalar: Some(Scalar::U64), offset, size: (size - offset).min(8) })
            .collect())
    }

    fn int(&mut self) -> Place {
        let number = self.int;
        if number == REGISTERS {
            return Place::Stack;
        }
        self.int += 1;
        Place::Int(number)
    }

    /// Floats for which no float register is left are passed like integers.
    fn float(&mut self) -> Place {
        let number = self.float;
        if number == REGISTERS {
            return self.int();
        }
        self.float += 1;
        Place::Float(number)
    }
}

/// The scalars of a struct with their offsets, including those of nested structs and arrays; `None` is a pointer.
pub(crate) fn flatten(record: &Record) -> Vec<(u64, Option<Scalar>)> {
    fn add(ty: &Type, offset: u64, all: &mut Vec<(u64, Option<Scalar>)>) {
        match ty.bare() {
            Type::Scalar(scalar) => all.push((offset, Some(*scalar))),
            Type::Record(record) => record.offsets().for_each(|(inner, field)| add(&field.ty, offset + inner, all)),
            Type::Array(of, length) => {
                let size = of.layout().map_or(0, |(size, _)| size);
                (0..length.unwrap_or(0)).for_each(|index| add(of, offset + index * size, all));
            }
            _ => all.push((offset, None)),
        }
    }
    let mut all = Vec::new();
    record.offsets().for_each(|(offset, field)| add(&field.ty, offset, &mut all));
    all
}

/// The text of a signature in records of imports: `i32 (ptr, f32)`. It names what registers hold, so a struct is its
/// pieces.
pub(crate) fn signature(convention: &Convention) -> String {
    let name = |piece: &Piece| piece.scalar.map_or("ptr", Scalar::rust);
    let parameters: Vec<&str> = convention.parameters.iter().flatten().map(name).collect();
    let result = match convention.result.as_slice() {
        [] => "void".to_owned(),
        [one] => name(one).to_owned(),
        several => format!("{{{}}}", several.iter().map(name).collect::<Vec<_>>().join(", ")),
    };
    format!("{result} ({})", parameters.join(", "))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::types::Field;

    /// GCC and Clang agree that a pointer is no number.
    #[test]
    fn pointers_are_not_passed_apart() {
        let with = |other: Type| {
            let field = |ty| Field { name: String::new(), ty };
            let fields = vec![field(Type::Scalar(Scalar::F32)), field(other)];
            let ty = Type::Record(Arc::new(Record { name: String::new(), fields }));
            signature(&Convention::new(&ty, &[&ty]).unwrap())
        };
        assert_eq!(with(Type::Scalar(Scalar::I64)), "{f32, i64} (f32, i64)");
        assert_eq!(with(Type::Pointer(Box::new(Type::Void), false)), "{u64, u64} (u64, u64)");
    }
}
