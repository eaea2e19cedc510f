//! Minimal static executables, made in memory.

/// Where the text is loaded; it is also the entry.
pub const TEXT: u64 = 0x1_0000;
/// Where the data is loaded.
pub const DATA: u64 = 0x80_0000;

const HEADERS: usize = 64 + 2 * 56;
const PAGE: usize = 4096;

/// An executable of two segments: `text` at [`TEXT`], readable and executable, and `data` at
/// [`DATA`], readable and writable and followed by `zeroed` bytes of zeros.
///
/// # Panics
/// If `text` reaches [`DATA`].
pub fn executable(text: &[u8], data: &[u8], zeroed: u64) -> Vec<u8> {
    assert!(TEXT + (text.len() as u64) < DATA, "the text is too long");
    let text_offset = HEADERS.next_multiple_of(PAGE);
    let data_offset = (text_offset + text.len()).next_multiple_of(PAGE);
    let mut file = Vec::with_capacity(data_offset + data.len());
    file.extend([0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    file.extend([2, 0, 243, 0, 1, 0, 0, 0]); // ET_EXEC, EM_RISCV, version 1
    file.extend(TEXT.to_le_bytes());
    file.extend(64_u64.to_le_bytes()); // program headers
    file.extend(0_u64.to_le_bytes()); // no section headers
    file.extend([5, 0, 0, 0, 64, 0, 56, 0, 2, 0, 64, 0, 0, 0, 0, 0]); // RVC, double-float ABI
    let mut segment = |flags: u32, offset: usize, address: u64, len: usize, zeroed: u64| {
        file.extend(1_u32.to_le_bytes()); // PT_LOAD
        file.extend(flags.to_le_bytes());
        for word in [offset as u64, address, address, len as u64, len as u64 + zeroed, PAGE as u64] {
            file.extend(word.to_le_bytes());
        }
    };
    segment(5, text_offset, TEXT, text.len(), 0);
    segment(6, data_offset, DATA, data.len(), zeroed);
    file.resize(text_offset, 0);
    file.extend(text);
    file.resize(data_offset, 0);
    file.extend(data);
    file
}
