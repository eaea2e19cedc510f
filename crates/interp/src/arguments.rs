//! Host calls whose arguments are set by the instructions immediately before: each argument is a constant or another
//! register. The call's handler then sets them all at once, and those instructions are not executed one by one.

use riverrun_program::{CallRegisters, CallResults};

use crate::operation::{Decoded, Operation};

/// Arguments that engines pass to host functions in registers.
pub(crate) const ARGUMENTS: usize = riverrun_vm::REGISTER_ARGUMENTS;
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
    has_integer_result: bool,
}

#[cfg_attr(not(by_hand), allow(dead_code, reason = "only handlers by hand set them"))]
impl Arguments {
    /// The arguments that the instructions before a host call set; `None` if they set only a few, or if no handler can do
    /// what they do.
    pub(crate) fn of<'a>(
        registers: CallRegisters,
        before: impl DoubleEndedIterator<Item = &'a Decoded>,
    ) -> Option<Arguments> {
        let has_integer_result = match registers.results {
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
        // Handlers set the last argument first.
        let is_lost = |n, slot| argument(slot, count).is_some_and(|m| m > n && sources[m] != Source::Slot(slot));
        let is_late = |(n, &source)| matches!(source, Source::Slot(slot) if is_lost(n, slot));
        // Setting an argument again takes longer than reading it.
        let kept = (0..count).filter(|&n| sources[n] == Source::Slot(A0 + n as u8)).count();
        let fits = 2 * kept < count && !sources.iter().enumerate().any(is_late);
        fits.then_some(Arguments { sources, setters: setters.len(), has_integer_result })
    }

    /// The number of instructions that set them, at most [`ARGUMENTS`].
    pub(crate) fn setters(&self) -> usize {
        self.setters
    }

    /// Whether the function has an integer result.
    pub(crate) fn has_integer_result(&self) -> bool {
        self.has_integer_result
    }

    /// A bit for each argument, a0's the lowest, that says whether it is a constant; above them a bit that is always set.
    pub(crate) fn kinds(&self) -> usize {
        let is_constant = |source: &Source| matches!(source, Source::Constant(_));
        self.sources.iter().rev().fold(1, |kinds, source| kinds << 1 | usize::from(is_constant(source)))
    }

    /// The constants and slots in the layout that handlers read.
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

/// The argument that an instruction sets, and its source, if the instruction does nothing else.
fn setter(decoded: &Decoded, count: usize) -> Option<(usize, Source)> {
    let source = match decoded.operation {
        Operation::Constant => Source::Constant(decoded.imm.try_into().ok()?),
        Operation::Move => Source::Slot(decoded.rs1),
        _ => return None,
    };
    Some((argument(decoded.rd, count)?, source))
}
