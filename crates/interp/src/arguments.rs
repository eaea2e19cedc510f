//! What a host call's arguments are, as far as the instructions in front of it do nothing but set them: constants, or what
//! registers held in front of all these. Instead of one after the other, the call's handler sets them all at once then.

use riverrun_program::{CallRegisters, CallResults};

use crate::operation::{Decoded, Operation};

/// Arguments that host functions get handed over; further ones they look for themselves.
pub(crate) const ARGUMENTS: usize = 5;
const A0: u8 = 10;

/// Where an argument comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Constant(i16),
    Slot(u8),
}

/// The arguments of a host call.
#[cfg_attr(not(by_hand), allow(dead_code, reason = "only handlers by hand set them"))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    sources: Vec<Source>,
    setters: usize,
    gives: bool,
}

#[cfg_attr(not(by_hand), allow(dead_code, reason = "only handlers by hand set them"))]
impl Arguments {
    /// Those of a host call that comes behind a run of instructions; `None` where these set but few of them, or do what
    /// handlers cannot.
    pub(crate) fn of<'a>(
        registers: CallRegisters,
        before: impl DoubleEndedIterator<Item = &'a Decoded>,
    ) -> Option<Arguments> {
        let gives = match registers.results {
            CallResults::None | CallResults::Float => false,
            CallResults::Integer => true,
            CallResults::Any => return None,
        };
        let count = registers.integers.min(ARGUMENTS);
        let setters: Vec<_> = before.rev().map_while(|decoded| setter(decoded, count)).take(ARGUMENTS).collect();
        let mut sources: Vec<_> = (0..count).map(|n| Source::Slot(A0 + n as u8)).collect();
        for &(n, source) in setters.iter().rev() {
            sources[n] = match source {
                Source::Slot(slot) => argument(slot, count).map_or(source, |n| sources[n]),
                Source::Constant(_) => source,
            };
        }
        // Handlers set the last one first.
        let is_lost = |n, slot| argument(slot, count).is_some_and(|m| m > n && sources[m] != Source::Slot(slot));
        let is_late = |(n, &source)| matches!(source, Source::Slot(slot) if is_lost(n, slot));
        // What handlers set again takes longer than what they only read.
        let kept = (0..count).filter(|&n| sources[n] == Source::Slot(A0 + n as u8)).count();
        let fits = 2 * kept < count && !sources.iter().enumerate().any(is_late);
        fits.then_some(Arguments { sources, setters: setters.len(), gives })
    }

    /// How many instructions set them: [`ARGUMENTS`] at most.
    pub(crate) fn setters(&self) -> usize {
        self.setters
    }

    /// Whether the function gives an integer.
    pub(crate) fn gives(&self) -> bool {
        self.gives
    }

    /// A bit for each argument, a0's the lowest, which is set where it is a constant; and one that is set above them.
    pub(crate) fn kinds(&self) -> usize {
        let is_constant = |source: &Source| matches!(source, Source::Constant(_));
        self.sources.iter().rev().fold(1, |kinds, source| kinds << 1 | usize::from(is_constant(source)))
    }

    /// The constants and slots, as handlers find them.
    pub(crate) fn words(&self) -> [i16; ARGUMENTS] {
        std::array::from_fn(|n| match self.sources.get(n) {
            Some(&Source::Constant(value)) => value,
            Some(&Source::Slot(slot)) => i16::from(slot),
            None => 0,
        })
    }
}

/// Which argument is in a slot, of so many.
fn argument(slot: u8, count: usize) -> Option<usize> {
    let n = usize::from(slot.checked_sub(A0)?);
    (n < count).then_some(n)
}

/// Which argument an instruction sets, and from where, if it does nothing else.
fn setter(decoded: &Decoded, count: usize) -> Option<(usize, Source)> {
    let source = match decoded.operation {
        Operation::Constant => Source::Constant(decoded.imm.try_into().ok()?),
        Operation::Move => Source::Slot(decoded.rs1),
        _ => return None,
    };
    Some((argument(decoded.rd, count)?, source))
}
