//! Who called whom in a guest that has stopped.

use riverrun_program::{FrameDescription, Image};

use crate::memory::Memory;
use crate::registers::Position;

/// Calls beyond these are left out: a recursion without end has hundreds of thousands.
const LIMIT: usize = 256;

/// The calls that led to where the state says that the guest stands, innermost first.
pub(crate) fn frames(memory: &Memory, image: &Image) -> Vec<FrameDescription> {
    frames_at(memory, image, Position::of(memory.window.state()))
}

/// The calls that led to this position, innermost first.
pub(crate) fn frames_at(memory: &Memory, image: &Image, position: Position) -> Vec<FrameDescription> {
    let state = memory.window.state();
    let register = |x| position.x(state, x as u8 & 31);
    let frames = image.unwind(position.pc, register, |address| memory.read_u64(address).ok(), LIMIT);
    frames.into_iter().map(|frame| image.describe(frame)).collect()
}
