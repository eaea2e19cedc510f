//! Random numbers: the host's, or reproducible ones.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use rustix::rand::GetRandomFlags;
use serde::{Deserialize, Serialize};

use crate::call::{Call, Outcome, Stop};

pub(crate) struct Random(Option<Box<ChaCha20Rng>>);

/// A generator's state: seed, stream and position.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedRandom(Vec<u8>);

/// Bytes between two tests of the deadline: some hosts take milliseconds for a MiB.
pub(crate) const STEP: usize = 64 << 10;

impl Random {
    pub(crate) fn new(seed: Option<u64>) -> Random {
        Random(seed.map(|seed| Box::new(ChaCha20Rng::seed_from_u64(seed))))
    }

    /// The generator's state, if it is a reproducible one.
    pub(crate) fn save(&self) -> Option<SavedRandom> {
        Some(SavedRandom(self.0.as_ref()?.serialize_state().to_vec()))
    }

    /// `None` if these bytes are no state.
    pub(crate) fn from_saved(saved: Option<&SavedRandom>) -> Option<Random> {
        let generator = match saved {
            Some(SavedRandom(state)) => {
                Some(Box::new(ChaCha20Rng::deserialize_state(state.as_slice().try_into().ok()?)))
            }
            None => None,
        };
        Some(Random(generator))
    }

    /// Fills all of `bytes`.
    pub(crate) fn fill(&mut self, mut bytes: &mut [u8]) -> Result<(), Stop> {
        match &mut self.0 {
            Some(generator) => generator.fill_bytes(bytes),
            None => {
                while !bytes.is_empty() {
                    let filled = rustix::rand::getrandom(&mut *bytes, GetRandomFlags::empty())?;
                    bytes = &mut bytes[filled..];
                }
            }
        }
        Ok(())
    }
}

pub(crate) fn getrandom(call: &mut Call<'_>) -> Outcome {
    const NONBLOCK_RANDOM_INSECURE: u32 = 7;
    call.only(2, NONBLOCK_RANDOM_INSECURE)?;
    let [address, len, ..] = call.args;
    let len = crate::call::writable(call.memory, address, len.min(i32::MAX as u64))?;
    let bytes = call.memory.slice_mut(address, len)?;
    let mut filled = 0;
    for part in bytes.chunks_mut(STEP) {
        if filled > 0 && call.patience.check().is_err() {
            break;
        }
        call.linux.random.fill(part)?;
        filled += part.len() as u64;
    }
    Ok(filled)
}
