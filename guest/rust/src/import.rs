//! Host functions that guests call by one instruction.

/// Calls a host function: one instruction, with the record by which the host binds it when it loads the program.
///
/// It takes the import's number, name and signature, and the operands of [`core::arch::asm!`] that put arguments
/// into registers and results where they belong. `riverrun bindgen --guest-rust` makes functions around the same,
/// with numbers from 32 on; those below are riverrun's own.
///
/// # Safety
/// Operands have to follow the calling convention, and say what the host does to memory.
macro_rules! import {
    ($number:literal, $name:literal, $signature:literal, $($operands:tt)*) => {
        ::core::arch::asm!(
            concat!(".ifndef riverrun_import_", $number),
            concat!(".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_", $number, ", comdat"),
            ".balign 8",
            concat!(".weak riverrun_import_", $number),
            concat!(".hidden riverrun_import_", $number),
            concat!("riverrun_import_", $number, ":"),
            concat!(".word ", $number, ", {hash}"),
            concat!(".dword .Limport_name_", $number, ", .Limport_signature_", $number),
            ".popsection",
            concat!(".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_", $number, ", comdat"),
            concat!(".Limport_name_", $number, ": .asciz \"", $name, "\""),
            concat!(".Limport_signature_", $number, ": .asciz \"", $signature, "\""),
            ".popsection",
            ".endif",
            concat!(".reloc ., R_RISCV_NONE, riverrun_import_", $number),
            concat!(".insn u 0x0b, x0, ", $number),
            hash = const $crate::import::crc32($name),
            $($operands)*
        )
    };
}
pub(crate) use import;

/// The hash of names by which hosts find functions (that of zlib and IEEE 802.3).
pub(crate) const fn crc32(name: &str) -> u32 {
    let mut crc = !0_u32;
    let mut at = 0;
    while at < name.len() {
        crc ^= name.as_bytes()[at] as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        at += 1;
    }
    !crc
}
