//! Superinstructions: handlers that execute several operations in a row.
//!
//! Some thirty common operations have a handler for each pair of them and for each with every branch. Longer sequences that
//! programs execute often are listed in [`crate::patterns`].

use riverrun_isa::{Op, Row, rows};

use crate::decoded_op::Handler;
use crate::forward::{FORWARD_RS1, FORWARD_RS2, NO_FORWARD, Registers, SAME_RS1};
use crate::fusible::{Fusible, LONGEST, shift, step};
use crate::handlers::*;
use crate::micro::*;
use crate::operation::{Decoded, Operation};
use crate::patterns::patterns;
use crate::select::for_branch;

/// The number of patterns.
const PATTERNS: usize = patterns::<false>().len();

/// The patterns' places in their list, sorted by key.
const SORTED: [usize; PATTERNS] = {
    let patterns = patterns::<false>();
    let mut sorted = [0; PATTERNS];
    let mut len = 0;
    while len < sorted.len() {
        let mut at = len;
        while at > 0 && patterns[len].key < patterns[sorted[at - 1]].key {
            sorted[at] = sorted[at - 1];
            at -= 1;
        }
        sorted[at] = len;
        len += 1;
    }
    sorted
};

/// Their keys, close together: they are searched for whatever is decoded.
static KEYS: [u64; SORTED.len()] = {
    let mut keys = [0; SORTED.len()];
    let mut index = 0;
    while index < keys.len() {
        keys[index] = patterns::<false>()[SORTED[index]].key;
        index += 1;
    }
    keys
};

/// Handlers for the first two, three, ... operations of `sequence`, each with its number of
/// operations, for a window whose addresses are masked or not. `check` says whether the jump of the last one has to test the
/// fuel.
pub(crate) fn handlers<'a>(
    sequence: impl Iterator<Item = (&'a Decoded, bool)>,
    is_masked: bool,
) -> impl Iterator<Item = (usize, Handler)> {
    let (pair, patterns) = match is_masked {
        true => (pair::<true> as Pair, patterns::<true>()),
        false => (pair::<false> as Pair, patterns::<false>()),
    };
    let mut key = 0;
    let mut before: Option<&Decoded> = None;
    let mut sequence = sequence.take(LONGEST).enumerate();
    std::iter::from_fn(move || {
        loop {
            if key == u64::MAX {
                return None;
            }
            let (index, (decoded, check)) = sequence.next()?;
            let forward = before.map_or(NO_FORWARD, |before| forward(before, decoded));
            let fusible = Fusible::of(decoded.operation);
            // A sequence ends before an operation that cannot be fused, and after a branch.
            key = fusible.map_or(u64::MAX, |fusible| key | step(fusible, forward, index));
            let first = before.replace(decoded);
            let found = match (index, first) {
                (0, _) | (_, None) => None,
                (1, Some(first)) => pair(first, decoded, forward, check),
                _ if key == u64::MAX => None,
                _ => {
                    let at = KEYS.partition_point(|&known| known < key);
                    let next = KEYS.get(at).copied().unwrap_or(u64::MAX);
                    let found = (next == key).then(|| patterns[SORTED[at]].handlers[usize::from(check)]);
                    // No pattern has this beginning.
                    if (next ^ key) >> shift(index) != 0 {
                        key = u64::MAX;
                    }
                    found
                }
            };
            if let Some(handler) = found {
                return Some((index + 1, handler));
            }
        }
    })
}

/// Which operand of `second` comes from `first`.
fn forward(first: &Decoded, second: &Decoded) -> u8 {
    let registers = |decoded: &Decoded| Fusible::of(decoded.operation).map_or(Registers::NONE, Fusible::registers);
    let (before, registers) = (registers(first), registers(second));
    let takes = |forward, operand, source| operand == source && registers.can_take(forward, before);
    match () {
        _ if takes(FORWARD_RS1, second.rs1, first.rd) => FORWARD_RS1,
        _ if takes(FORWARD_RS2, second.rs2, first.rd) => FORWARD_RS2,
        _ if matches!(second.operation, Operation::Branch(_)) => NO_FORWARD,
        _ if takes(SAME_RS1, second.rs1, first.rs1) => SAME_RS1,
        _ => NO_FORWARD,
    }
}

/// The notation of [`crate::patterns`] for a sequence, `None` if it cannot be a pattern.
#[cfg(feature = "profile")]
pub(crate) fn notation(sequence: &[Decoded]) -> Option<String> {
    let mut text = String::new();
    for (index, decoded) in sequence.iter().enumerate() {
        let forward = if index == 0 { NO_FORWARD } else { forward(&sequence[index - 1], decoded) };
        let name = Fusible::of(decoded.operation)?;
        let branch = matches!(decoded.operation, Operation::Branch(_));
        text += match (index, branch) {
            (0, _) => "",
            (_, true) => " => ",
            (_, false) => ", ",
        };
        text += &format!("{name:?} {forward}");
    }
    Some(text)
}

/// Whether the branch `R` can take the operand `forward` from `M`.
const fn takes<M: Micro, R: Row>(forward: u8) -> bool {
    Registers::of(R::FORMAT).can_take(forward, M::REGISTERS)
}

/// The handler of a branch after `M`, for each way to take its operands.
fn branch_behind<M: Micro>(op: Op, forward: u8, check: bool) -> Handler {
    macro_rules! case {
        ($row:ident) => {
            match forward {
                FORWARD_RS1 if const { takes::<M, rows::$row>(FORWARD_RS1) } => checked!($row, FORWARD_RS1),
                FORWARD_RS2 if const { takes::<M, rows::$row>(FORWARD_RS2) } => checked!($row, FORWARD_RS2),
                _ => checked!($row, NO_FORWARD),
            }
        };
    }
    macro_rules! checked {
        ($row:ident, $forward:ident) => {
            match check {
                false => branch::<M, rows::$row, $forward, false>,
                true => branch::<M, rows::$row, $forward, true>,
            }
        };
    }
    for_branch!(op, case)
}

/// Calls `$case!(Micro)` for an operation that pairs with every other; `None` for others. A memory access depends on
/// `MASKED`.
macro_rules! for_pairing {
    ($operation:expr, $case:ident) => {
        match $operation {
            Operation::Constant => $case!(Constant),
            Operation::Move => $case!(Move),
            Operation::Row(op) => match op {
                Op::addi => $case!(Value<rows::addi>),
                Op::addiw => $case!(Value<rows::addiw>),
                Op::add => $case!(Value<rows::add>),
                Op::addw => $case!(Value<rows::addw>),
                Op::sub => $case!(Value<rows::sub>),
                Op::and => $case!(Value<rows::and>),
                Op::andi => $case!(Value<rows::andi>),
                Op::or => $case!(Value<rows::or>),
                Op::xor => $case!(Value<rows::xor>),
                Op::slli => $case!(Value<rows::slli>),
                Op::srli => $case!(Value<rows::srli>),
                Op::slliw => $case!(Value<rows::slliw>),
                Op::srliw => $case!(Value<rows::srliw>),
                Op::sltu => $case!(Value<rows::sltu>),
                Op::mul => $case!(Value<rows::mul>),
                Op::mulhu => $case!(Value<rows::mulhu>),
                Op::ld => $case!(Value<rows::ld, MASKED>),
                Op::lw => $case!(Value<rows::lw, MASKED>),
                Op::lwu => $case!(Value<rows::lwu, MASKED>),
                Op::lh => $case!(Value<rows::lh, MASKED>),
                Op::lhu => $case!(Value<rows::lhu, MASKED>),
                Op::lbu => $case!(Value<rows::lbu, MASKED>),
                Op::sd => $case!(Effect<rows::sd, MASKED>),
                Op::sw => $case!(Effect<rows::sw, MASKED>),
                Op::sh => $case!(Effect<rows::sh, MASKED>),
                Op::sb => $case!(Effect<rows::sb, MASKED>),
                Op::fadd_d => $case!(Value<rows::fadd_d>),
                Op::fsub_d => $case!(Value<rows::fsub_d>),
                Op::fmul_d => $case!(Value<rows::fmul_d>),
                Op::sh2add => $case!(Value<rows::sh2add>),
                Op::sh3add => $case!(Value<rows::sh3add>),
                _ => None,
            },
            _ => None,
        }
    };
}

/// [`pair`] for windows whose addresses are masked, or not.
type Pair = fn(&Decoded, &Decoded, u8, bool) -> Option<Handler>;

/// The handler of two operations that follow each other, if there is one. `check` says whether
/// the second one's jump has to test the fuel.
fn pair<const MASKED: bool>(first: &Decoded, second: &Decoded, forward: u8, check: bool) -> Option<Handler> {
    macro_rules! case {
        ($first:ty) => {
            behind::<$first, MASKED>(second, forward, check)
        };
    }
    for_pairing!(first.operation, case)
}

/// The handler of `A` and then `B`. Those with operands that `A` can never give are not built.
fn fused<A: Micro, B: Micro>(forward: u8) -> Handler {
    match forward {
        FORWARD_RS1 if const { B::REGISTERS.can_take(FORWARD_RS1, A::REGISTERS) } => {
            straight::<Fused<A, B, FORWARD_RS1>>
        }
        FORWARD_RS2 if const { B::REGISTERS.can_take(FORWARD_RS2, A::REGISTERS) } => {
            straight::<Fused<A, B, FORWARD_RS2>>
        }
        SAME_RS1 if const { B::REGISTERS.can_take(SAME_RS1, A::REGISTERS) } => straight::<Fused<A, B, SAME_RS1>>,
        _ => straight::<Fused<A, B, NO_FORWARD>>,
    }
}

fn behind<A: Micro, const MASKED: bool>(second: &Decoded, forward: u8, check: bool) -> Option<Handler> {
    macro_rules! case {
        ($second:ty) => {
            Some(fused::<A, $second>(forward))
        };
    }
    match second.operation {
        Operation::Branch(op) => Some(branch_behind::<A>(op, forward, check)),
        operation => for_pairing!(operation, case),
    }
}
