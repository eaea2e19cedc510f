//! Who called whom in a guest that has stopped.

use riverrun_program::{FrameDescription, Image};

use crate::memory::Memory;

/// Calls beyond these are left out: a recursion without end has hundreds of thousands.
const LIMIT: usize = 256;

/// The calls that led to where the guest stands, innermost first.
pub(crate) fn frames(memory: &Memory, image: &Image) -> Vec<FrameDescription> {
    let state = memory.window.state();
    let frames = image.unwind(state.pc, |x| state.slots[x & 31], |address| memory.read_u64(address).ok(), LIMIT);
    frames.into_iter().map(|frame| image.describe(frame)).collect()
}
