//! The types of a call in one word, as compilers know it that make part of the call of its caller.

use riverrun::Scalar;

use crate::value::{Kind, KindCode};

/// Parameters of functions that are called by registers alone, at most.
pub(crate) const FEW: usize = 3;

/// The kinds of up to three arguments, each one greater than it is, from the lowest byte on; in the highest byte, how
/// many results there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Shape(u32);

impl Shape {
    /// Of no call.
    pub(crate) const NONE: Shape = Shape(u32::MAX);
    const RESULTS: u32 = 8 * FEW as u32;

    /// That of calls of a function with few parameters. Nothing has it if a result has to be looked at: a `bool`, of
    /// which guests may have put anything there.
    pub(crate) fn of(parameters: &[Scalar], results: &[Scalar]) -> Shape {
        if parameters.len() > FEW || results.contains(&Scalar::Bool) {
            return Shape::NONE;
        }
        let kinds = parameters.iter().zip(0..).map(|(&scalar, n)| (scalar as u32 + 1) << (8 * n));
        Shape((results.len() as u32) << Shape::RESULTS | kinds.sum::<u32>())
    }

    /// The kinds of the arguments.
    pub(crate) fn kinds(self) -> impl Iterator<Item = KindCode> {
        let bytes = self.0.to_le_bytes();
        bytes.into_iter().take(FEW).take_while(|&byte| byte != 0).map(|byte| KindCode::from(byte) - 1)
    }

    /// How many results the caller has room for.
    pub(crate) fn results(self) -> usize {
        (self.0 >> Shape::RESULTS) as usize
    }
}

// Each fits a byte, with room for none.
const _: () = assert!((Kind::Ptr as u32) < u8::MAX as u32 - 1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_function_is_what_its_callers_say() {
        let all = [Scalar::Bool, Scalar::Ptr, Scalar::I32];
        for parameters in [&all[..0], &all[..1], &all] {
            let shape = Shape::of(parameters, &[Scalar::F64]);
            let kinds: Vec<KindCode> = parameters.iter().map(|&scalar| scalar as u32).collect();
            assert_eq!((shape.kinds().collect::<Vec<_>>(), shape.results()), (kinds, 1));
        }
        assert_eq!(Shape::of(&[Scalar::I64; 4], &[]), Shape::NONE);
        assert_eq!(Shape::of(&[], &[Scalar::Bool]), Shape::NONE);
    }
}
