//! `--call`: calls of a program's exported functions, as text.

use riverrun::{DynFunc, GuestValue, Machine, Scalar};
use riverrun_linux::Linux;

use crate::Result;

/// `add(40, 2)`, or `reset` for a function without parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FunctionCall {
    name: String,
    arguments: Vec<String>,
}

/// Reads what follows `--call`.
pub(crate) fn parse(text: &str) -> std::result::Result<FunctionCall, String> {
    let wrong = || format!("not a call of a function: {text:?}; say for example 'add(40, 2)'");
    let (name, arguments) = match text.split_once('(') {
        None => (text, ""),
        Some((name, rest)) => (name, rest.trim_end().strip_suffix(')').ok_or_else(wrong)?),
    };
    let name = name.trim();
    let arguments = match arguments.trim() {
        "" => Vec::new(),
        list => list.split(',').map(|argument| argument.trim().to_owned()).collect(),
    };
    let is_call = !name.is_empty() && !name.contains(char::is_whitespace) && !arguments.iter().any(String::is_empty);
    if is_call { Ok(FunctionCall { name: name.to_owned(), arguments }) } else { Err(wrong()) }
}

impl FunctionCall {
    /// Reads the arguments by the types that the program exports the function with.
    pub(crate) fn check(&self, machine: &mut Machine<Linux>) -> Result<CheckedCall> {
        let function = machine.dyn_func(&self.name, None)?;
        let parameters = function.parameters();
        if parameters.len() != self.arguments.len() {
            let given = match self.arguments.len() {
                1 => "1 argument is".to_owned(),
                given => format!("{given} arguments are"),
            };
            return Err(format!("{} is `{}`, but {given} given", self.name, function.signature()).into());
        }
        let arguments = parameters.iter().zip(&self.arguments).map(|(&scalar, text)| {
            bits(scalar, text).ok_or_else(|| format!("{}: {text:?} is not of type {}", self.name, scalar.name()).into())
        });
        let mut slots = arguments.collect::<Result<Vec<u64>>>()?;
        slots.resize(slots.len().max(function.results().len()), 0);
        Ok(CheckedCall { function, slots })
    }
}

/// A call that fits the function.
pub(crate) struct CheckedCall {
    function: DynFunc,
    slots: Vec<u64>,
}

impl CheckedCall {
    /// Calls the function; gives its result as text.
    pub(crate) fn run(mut self, machine: &mut Machine<Linux>) -> Result<String> {
        self.function.call(machine, &mut self.slots)?;
        Ok(results(&self.function, &self.slots))
    }
}

/// The raw value that a text stands for.
fn bits(scalar: Scalar, text: &str) -> Option<u64> {
    let integer = || match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => text.parse::<i128>().ok(),
    };
    Some(match scalar {
        Scalar::Bool => match text {
            "true" | "1" => 1,
            "false" | "0" => 0,
            _ => return None,
        },
        Scalar::I8 => i8::try_from(integer()?).ok()?.to_bits(),
        Scalar::U8 => u8::try_from(integer()?).ok()?.to_bits(),
        Scalar::I16 => i16::try_from(integer()?).ok()?.to_bits(),
        Scalar::U16 => u16::try_from(integer()?).ok()?.to_bits(),
        Scalar::I32 => i32::try_from(integer()?).ok()?.to_bits(),
        Scalar::U32 => u32::try_from(integer()?).ok()?.to_bits(),
        Scalar::I64 => i64::try_from(integer()?).ok()?.to_bits(),
        Scalar::U64 | Scalar::Ptr => u64::try_from(integer()?).ok()?.to_bits(),
        Scalar::F32 => GuestValue::to_bits(text.parse::<f32>().ok()?),
        Scalar::F64 => GuestValue::to_bits(text.parse::<f64>().ok()?),
    })
}

fn text(scalar: Scalar, bits: u64) -> String {
    match scalar {
        Scalar::Bool => bool::from_bits(bits).to_string(),
        Scalar::I8 => i8::from_bits(bits).to_string(),
        Scalar::U8 => u8::from_bits(bits).to_string(),
        Scalar::I16 => i16::from_bits(bits).to_string(),
        Scalar::U16 => u16::from_bits(bits).to_string(),
        Scalar::I32 => i32::from_bits(bits).to_string(),
        Scalar::U32 => u32::from_bits(bits).to_string(),
        Scalar::I64 => i64::from_bits(bits).to_string(),
        Scalar::U64 => u64::from_bits(bits).to_string(),
        Scalar::Ptr => format!("{bits:#x}"),
        Scalar::F32 => <f32 as GuestValue>::from_bits(bits).to_string(),
        Scalar::F64 => <f64 as GuestValue>::from_bits(bits).to_string(),
    }
}

/// The results: nothing, a value, or `{1, 2}`.
fn results(function: &DynFunc, slots: &[u64]) -> String {
    let texts: Vec<String> = function.results().zip(slots).map(|(scalar, &bits)| text(scalar, bits)).collect();
    match &texts[..] {
        [one] => one.clone(),
        [] => String::new(),
        several => format!("{{{}}}", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read() {
        let call = |name: &str, arguments: &[&str]| {
            Ok(FunctionCall {
                name: name.to_owned(),
                arguments: arguments.iter().map(|&text| text.to_owned()).collect(),
            })
        };
        assert_eq!(parse("add(40, 2)"), call("add", &["40", "2"]));
        assert_eq!(parse(" reset "), call("reset", &[]));
        assert_eq!(parse("reset( )"), call("reset", &[]));
        assert_eq!(parse("scale( -1.5 ,0x10)"), call("scale", &["-1.5", "0x10"]));
        for wrong in ["", "(1)", "add(1", "add(1,)", "add 1", "add(,)"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn arguments_have_their_types() {
        assert_eq!(bits(Scalar::I32, "-1"), Some(u64::MAX));
        assert_eq!(bits(Scalar::U8, "255"), Some(255));
        assert_eq!(bits(Scalar::Ptr, "0x10"), Some(16));
        assert_eq!(bits(Scalar::F64, "0.5"), Some(0.5_f64.to_bits()));
        for (scalar, wrong) in [(Scalar::U8, "256"), (Scalar::I32, "1.5"), (Scalar::Bool, "2"), (Scalar::U64, "-1")] {
            assert_eq!(bits(scalar, wrong), None, "{wrong}");
        }
        assert_eq!(text(Scalar::I16, u64::MAX), "-1");
        assert_eq!(text(Scalar::F32, GuestValue::to_bits(0.25_f32)), "0.25");
    }
}
