//! Choices: from a seed, or from a fuzzer's bytes as long as there are any.

/// A stream of choices. The same seed, or the same bytes, give the same stream.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
    bytes: std::vec::IntoIter<u8>,
}

impl Random {
    /// The stream of a seed.
    pub fn seeded(seed: u64) -> Random {
        Random { state: seed, bytes: Vec::new().into_iter() }
    }

    /// The choices that `bytes` make, one to eight bytes each; the stream of seed 0 after them.
    pub fn from_bytes(bytes: Vec<u8>) -> Random {
        Random { state: 0, bytes: bytes.into_iter() }
    }

    /// A number of `len` bytes.
    fn bytes(&mut self, len: usize) -> u64 {
        if self.bytes.len() > 0 {
            return self.bytes.by_ref().take(len).fold(0, |value, byte| value << 8 | u64::from(byte));
        }
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) >> (64 - 8 * len)
    }

    /// Any 64 bits.
    pub fn u64(&mut self) -> u64 {
        self.bytes(8)
    }

    /// Any 32 bits.
    pub fn u32(&mut self) -> u32 {
        self.bytes(4) as u32
    }

    /// A number below `bound`, which is at most 2^32.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let len = match bound {
            0 => panic!("nothing to choose from"),
            1 => return 0,
            2..=16 => 1,
            17..=0x1000 => 3,
            _ => 5,
        };
        (self.bytes(len) % bound as u64) as usize
    }

    /// A number of the range.
    pub fn between(&mut self, range: std::ops::RangeInclusive<i64>) -> i64 {
        range.start() + self.below((range.end() - range.start() + 1) as usize) as i64
    }

    /// Whether something with the chance of one in `n` happens.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of the values.
    pub fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}
