//! Minimal static executables, made in memory.

/// Where the text is loaded; it is also the entry.
pub const TEXT: u64 = 0x1_0000;
/// Where the data is loaded.
pub const DATA: u64 = 0x80_0000;

/// Where constants are loaded, a page at most.
pub const CONSTANTS: u64 = DATA - 0x1_0000;

const HEADERS: usize = 64 + 3 * 56;
const PAGE: usize = 4096;

/// An executable of two segments: `text` at [`TEXT`], readable and executable, and `data` at
/// [`DATA`], readable and writable and followed by `zeroed` bytes of zeros.
///
/// # Panics
/// If `text` reaches [`CONSTANTS`].
pub fn executable(text: &[u8], data: &[u8], zeroed: u64) -> Vec<u8> {
    with_constants(text, &[], data, zeroed)
}

/// The same with a third segment, `constants` at [`CONSTANTS`], only readable; none if there are none.
///
/// # Panics
/// If `text` reaches [`CONSTANTS`], or these [`DATA`].
pub fn with_constants(text: &[u8], constants: &[u8], data: &[u8], zeroed: u64) -> Vec<u8> {
    assert!(TEXT + (text.len() as u64) < CONSTANTS, "the text is too long");
    assert!(CONSTANTS + (constants.len() as u64) < DATA, "the constants are too long");
    let count = if constants.is_empty() { 2 } else { 3 };
    let text_offset = HEADERS.next_multiple_of(PAGE);
    let constants_offset = (text_offset + text.len()).next_multiple_of(PAGE);
    let data_offset = (constants_offset + constants.len()).next_multiple_of(PAGE);
    let mut file = Vec::with_capacity(data_offset + data.len());
    file.extend([0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    file.extend([2, 0, 243, 0, 1, 0, 0, 0]); // ET_EXEC, EM_RISCV, version 1
    file.extend(TEXT.to_le_bytes());
    file.extend(64_u64.to_le_bytes()); // program headers
    file.extend(0_u64.to_le_bytes()); // no section headers
    file.extend([5, 0, 0, 0, 64, 0, 56, 0, count, 0, 64, 0, 0, 0, 0, 0]); // RVC, double-float ABI
    let mut segment = |flags: u32, offset: usize, address: u64, len: usize, zeroed: u64| {
        file.extend(1_u32.to_le_bytes()); // PT_LOAD
        file.extend(flags.to_le_bytes());
        for word in [offset as u64, address, address, len as u64, len as u64 + zeroed, PAGE as u64] {
            file.extend(word.to_le_bytes());
        }
    };
    segment(5, text_offset, TEXT, text.len(), 0);
    if !constants.is_empty() {
        segment(4, constants_offset, CONSTANTS, constants.len(), 0);
    }
    segment(6, data_offset, DATA, data.len(), zeroed);
    file.resize(text_offset, 0);
    file.extend(text);
    file.resize(constants_offset, 0);
    file.extend(constants);
    file.resize(data_offset, 0);
    file.extend(data);
    file
}

/// The executable with symbols of functions at these distances from the start of its text.
pub fn with_functions(mut file: Vec<u8>, functions: &[std::ops::Range<usize>]) -> Vec<u8> {
    const SECTION: usize = 64;
    let names: Vec<u8> = b"\0.text\0".iter().copied().chain((0..functions.len()).flat_map(name)).collect();
    let mut symbols = vec![0; 24];
    let mut at = 7;
    for (index, function) in functions.iter().enumerate() {
        symbols.extend((at as u32).to_le_bytes());
        symbols.extend([0x12, 0, 1, 0]); // a global function, in section 1
        symbols.extend((TEXT + function.start as u64).to_le_bytes());
        symbols.extend((function.len() as u64).to_le_bytes());
        at += name(index).len();
    }
    let symbols_at = file.len().next_multiple_of(8);
    file.resize(symbols_at, 0);
    file.extend(&symbols);
    let names_at = file.len();
    file.extend(&names);
    let sections_at = file.len().next_multiple_of(8);
    file.resize(sections_at + SECTION, 0);
    let text_len = functions.iter().map(|function| function.end).max().unwrap_or(0);
    let text_at = HEADERS.next_multiple_of(PAGE);
    let mut section = |name: u32, kind: u32, flags: u64, address: u64, at: usize, len: usize, link: u32, size: u64| {
        file.extend([name.to_le_bytes(), kind.to_le_bytes()].concat());
        for word in [flags, address, at as u64, len as u64] {
            file.extend(word.to_le_bytes());
        }
        file.extend([link.to_le_bytes(), 1_u32.to_le_bytes()].concat()); // one local symbol, the empty one
        file.extend([8_u64.to_le_bytes(), size.to_le_bytes()].concat());
    };
    section(1, 1, 6, TEXT, text_at, text_len, 0, 0); // program bits, allocated and executable
    section(0, 2, 0, 0, symbols_at, symbols.len(), 3, 24); // symbols, their names in section 3
    section(0, 3, 0, 0, names_at, names.len(), 0, 0); // strings
    file[0x28..0x30].copy_from_slice(&(sections_at as u64).to_le_bytes());
    for (at, half) in [(0x3a, SECTION as u16), (0x3c, 4), (0x3e, 3)] {
        file[at..at + 2].copy_from_slice(&half.to_le_bytes());
    }
    file
}

fn name(index: usize) -> Vec<u8> {
    format!("f{index}\0").into_bytes()
}
