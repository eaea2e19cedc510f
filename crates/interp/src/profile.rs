//! Counts the sequences of operations that programs execute, from which [`crate::patterns`] was chosen.

use std::collections::HashMap;

use riverrun_isa::decode;
use riverrun_program::Image;

use crate::fusible::LONGEST;
use crate::fusion::notation;
use crate::operation::{Decoded, Operation};

/// Counts, for a trace of executed addresses, the sequences of three and more instructions that
/// one handler could execute, in the notation of the patterns' table.
///
/// ```
/// let image = riverrun_program::Image::parse(riverrun_program::doc::TINY)?;
/// let trace = [image.entry(), image.entry() + 4, image.entry() + 8];
/// let mut counts = std::collections::HashMap::new();
/// riverrun_interp::profile::count(&image, trace.into_iter(), &mut counts);
/// assert!(counts.is_empty(), "two instructions, and a call, are no sequence of three");
/// # Ok::<(), riverrun_program::LoadError>(())
/// ```
pub fn count(image: &Image, trace: impl Iterator<Item = u64>, counts: &mut HashMap<String, u64>) {
    let mut straight: Vec<Decoded> = Vec::new();
    let mut expected = 0;
    for pc in trace {
        let Some(inst) = image.instruction_bits(pc).ok().and_then(decode) else { continue };
        let decoded = Decoded::new(&inst, pc, true);
        if pc != expected {
            straight.clear();
        }
        expected = pc + u64::from(inst.len);
        let branch = matches!(decoded.operation, Operation::Branch(_));
        if notation(&[decoded]).is_none() {
            straight.clear();
            continue;
        }
        straight.push(decoded);
        if straight.len() > LONGEST {
            straight.remove(0);
        }
        for len in 3..=straight.len() {
            if let Some(text) = notation(&straight[straight.len() - len..]) {
                *counts.entry(text).or_default() += 1;
            }
        }
        if branch {
            straight.clear();
        }
    }
}
