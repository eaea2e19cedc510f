//! Programs for the examples in this documentation.

/// A program of three instructions: it ends with status 42 by Linux's call 93.
pub const TINY: &[u8] = &TINY_BYTES;

const TINY_BYTES: [u8; 132] = {
    let text: [u32; 3] = [0x02a0_0513, 0x05d0_0893, 0x0000_0073]; // li a0,42; li a7,93; ecall
    let words: [(usize, u64, usize); 21] = [
        (0, 0x464c_457f, 4),
        (4, 2, 1), // 64 bits
        (5, 1, 1), // little-endian
        (6, 1, 1),
        (16, 2, 2),   // an executable
        (18, 243, 2), // for RISC-V
        (20, 1, 4),
        (24, 0x10078, 8), // entry
        (32, 64, 8),      // program headers
        (52, 64, 2),
        (54, 56, 2),
        (56, 1, 2), // one of them:
        (64, 1, 4), // to be loaded,
        (68, 5, 4), // read and execute
        (80, 0x10000, 8),
        (88, 0x10000, 8),
        (96, 132, 8),
        (104, 132, 8),
        (112, 4096, 8),
        (120, text[0] as u64 | (text[1] as u64) << 32, 8),
        (128, text[2] as u64, 4),
    ];
    let mut bytes = [0; 132];
    let mut word = 0;
    while word < words.len() {
        let (at, value, len) = words[word];
        let mut byte = 0;
        while byte < len {
            bytes[at + byte] = (value >> (8 * byte)) as u8;
            byte += 1;
        }
        word += 1;
    }
    bytes
};

/// A program that exports `int32_t add(int32_t, int32_t)`: `doc/adder.S`.
pub const ADDER: &[u8] = include_bytes!("doc/adder.elf");

/// A program that exports `int32_t play(int32_t)`, which calls the host functions `Game::add` and
/// `Game::score`: `doc/scorer.S`.
pub const SCORER: &[u8] = include_bytes!("doc/scorer.elf");
