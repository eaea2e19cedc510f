//! Any word can be decoded, encoded again, disassembled, and its semantics printed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use riverrun_fuzz_targets::seed;
use riverrun_isa::{COp, Format, Inst, Op, Style, decode, disassemble, length, semantics};

/// A word of every instruction.
fn seeds() -> Vec<Vec<u8>> {
    let words = Op::ALL.iter().map(|op| op.info().bits.to_le_bytes().to_vec());
    words.chain(COp::ALL.iter().map(|cop| u32::from(cop.info().bits).to_le_bytes().to_vec())).collect()
}

fn check(word: u32, pc: u64) {
    for style in [Style::Aliases, Style::Raw] {
        assert!(!disassemble(word, pc, style).to_string().is_empty());
    }
    let Some(inst) = decode(word) else { return };
    assert_eq!(inst.len, length(word));
    assert!(!semantics(&inst, pc).is_empty());
    let encoded = inst.encode();
    assert_eq!(decode(encoded), Some(Inst { len: 4, ..inst }), "{word:#x} became {encoded:#x}");
    // Fences have fields that are ignored.
    let whole = !matches!(inst.op.info().format, Format::Fence | Format::Sys);
    assert!(inst.len == 2 || !whole || encoded == word, "{word:#x} became {encoded:#x}");
}

fuzz_target!(init: seed(seeds()), |data: &[u8]| {
    for (n, bytes) in data.chunks_exact(4).enumerate() {
        let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        check(word, 4 * n as u64);
        check(word, u64::MAX - 1);
    }
});
