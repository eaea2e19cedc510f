//! Who called whom in a guest that has stopped.

use riverrun_program::Image;

use crate::error::Frame;
use crate::memory::Memory;

/// The calls that led to where the guest stands, innermost first.
pub(crate) fn frames(memory: &Memory, image: &Image) -> Vec<Frame> {
    let pc = memory.window.state().pc;
    let function = image.symbol_at(pc).map(|(symbol, offset)| (symbol.name.to_string(), offset));
    vec![Frame { pc, function, location: None }]
}
