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
        let bytes = [0, 1].map(|half| image.text_bytes(pc + 2 * half..pc + 2 * half + 2).unwrap_or(&[0, 0]));
        let bits = u32::from_le_bytes([bytes[0][0], bytes[0][1], bytes[1][0], bytes[1][1]]);
        let bits = if bits & 3 == 3 { bits } else { bits & 0xffff };
        let Some(inst) = decode(bits) else { continue };
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
