//! The argument and result registers of a call, as far as its signature says.

use crate::signature::{Scalar, Signature, Type};

/// Registers for arguments of each kind.
const ARGUMENTS: usize = 8;

/// The registers that a function reads and writes by the standard calling convention (psABI, "Integer
/// Calling Convention" and "Hardware Floating-point Calling Convention").
///
/// ```
/// use riverrun_program::{CallRegisters, CallResults, Signature};
///
/// let signature: Signature = "i64 (i32, f64, ptr)".parse()?;
/// assert_eq!(signature.registers(), CallRegisters { integers: 2, results: CallResults::Integer });
/// # Ok::<(), riverrun_program::SignatureError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRegisters {
    /// How many integer registers from a0 on are read: 8 at most.
    pub integers: usize,
    /// The registers that are written.
    pub results: CallResults,
}

/// The registers of a function's results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallResults {
    /// None.
    None,
    /// a0.
    Integer,
    /// fa0.
    Float,
    /// Any of a0, a1, fa0 and fa1.
    Any,
}

impl CallRegisters {
    /// Those of a function whose signature is unknown.
    pub const ANY: CallRegisters = CallRegisters { integers: ARGUMENTS, results: CallResults::Any };
}

impl Signature {
    /// The argument and result registers of a call of such a function.
    pub fn registers(&self) -> CallRegisters {
        let scalar = |kind: &Type| match kind {
            Type::Scalar(scalar) => Some(*scalar),
            Type::Struct(_) => None,
        };
        let scalars: Option<Vec<Scalar>> = self.parameters.iter().map(scalar).collect();
        let integers = scalars.map_or(ARGUMENTS, |scalars| {
            let floats = scalars.iter().filter(|scalar| scalar.is_float()).count().min(ARGUMENTS);
            (scalars.len() - floats).min(ARGUMENTS)
        });
        match self.result.as_ref().map(scalar) {
            None => CallRegisters { integers, results: CallResults::None },
            Some(Some(scalar)) if scalar.is_float() => CallRegisters { integers, results: CallResults::Float },
            Some(Some(_)) => CallRegisters { integers, results: CallResults::Integer },
            // A half of a0 and a1 that the function does not write keeps the value that was passed.
            Some(None) => CallRegisters { integers: integers.max(2), results: CallResults::Any },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_the_calling_conventions() {
        let registers = |text: &str| text.parse::<Signature>().expect("a signature").registers();
        assert_eq!(registers("void ()"), CallRegisters { integers: 0, results: CallResults::None });
        assert_eq!(registers("i64 (i32, f64, ptr)"), CallRegisters { integers: 2, results: CallResults::Integer });
        assert_eq!(registers("f32 (u8, u8, u8)"), CallRegisters { integers: 3, results: CallResults::Float });
        // The ninth float is in an integer register.
        assert_eq!(registers("void (f64, f64, f64, f64, f64, f64, f64, f64, f64)").integers, 1);
        assert_eq!(registers("{i32, f32} ({i64, i64})"), CallRegisters::ANY);
        assert_eq!(registers("{f32, f32} (f32)"), CallRegisters { integers: 2, results: CallResults::Any });
    }
}
