//! Small files that ask for work without end: what a trap's backtrace reads of them is bounded.

use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::common::gcc_text;
use riverrun_program::{Frame, Image, demangle};

/// Far above what any of it takes, and far below what it took without bounds.
const PATIENCE: Duration = Duration::from_secs(3);

fn within_patience<R>(what: &str, body: impl FnOnce() -> R) -> R {
    let begin = Instant::now();
    let result = body();
    assert!(begin.elapsed() < PATIENCE, "{what} took {:?}", begin.elapsed());
    result
}

/// A program whose debug information is this, besides an abbreviation with a unit's address ranges and line program.
fn with_debug_info(text: &str) -> Image {
    let source = format!(
        ".globl _start\n.type _start,@function\n_start: ebreak\n.size _start,.-_start\n\
         .section .debug_abbrev,\"\",@progbits\n.byte 1,0x11,0, 0x55,0x17, 0x10,0x17, 0,0, 0\n{text}"
    );
    Image::parse(gcc_text(&source, &["-nostdlib", "-static", "-Wa,-mno-relax"])).unwrap()
}

fn units(count: usize) -> String {
    format!(
        ".section .debug_info,\"\",@progbits\n.rept {count}\n.4byte 16\n.2byte 4\n.4byte 0\n.byte 8\n.byte 1\n.4byte 0\n\
         .4byte 0\n.endr\n"
    )
}

fn ranges(count: usize) -> String {
    format!(
        ".section .debug_ranges,\"\",@progbits\n.set n,0\n.rept {count}\n.8byte 0x10000+n*16\n.8byte 0x10000+n*16+16\n\
         .set n,n+1\n.endr\n.8byte 0,0\n"
    )
}

#[test]
fn units_that_share_their_ranges() {
    let image = with_debug_info(&(units(4000) + &ranges(4000)));
    let frame = Frame { pc: image.entry(), is_return_address: false };
    let described = within_patience("units times ranges", || image.describe(frame));
    assert_eq!(described.function.as_deref(), Some("_start"));
    within_patience("lookups", || (0..64).for_each(|_| drop(image.locate(image.entry()))));
}

#[test]
fn units_that_share_their_lines() {
    // Version 4, one directory table and file table that are empty, and special opcodes.
    let lines = ".section .debug_line,\"\",@progbits\n.4byte 3f-1f\n1: .2byte 4\n.4byte 2f-4f\n4: .byte 1,1,1,0,14,10\n\
                 .byte 0,1,1,1,1,0,0,0,1\n.byte 0,0\n2:\n.rept 200000\n.byte 32\n.endr\n3:\n";
    let image = with_debug_info(&(units(4000) + &ranges(16) + lines));
    within_patience("units times lines", || (0..64).for_each(|_| drop(image.locate(image.entry()))));
}

#[test]
fn an_unwind_entry_without_end() {
    let source = ".globl _start\n.type _start,@function\n_start:\n.cfi_startproc\nebreak\n.cfi_def_cfa_offset 16\n\
                  .cfi_offset ra, -8\n.rept 300000\n.cfi_escape 0,0,0,0,0,0,0,0\n.endr\nebreak\n.cfi_endproc\n\
                  .size _start,.-_start\n";
    let image = Image::parse(gcc_text(source, &["-nostdlib", "-static", "-Wa,-mno-relax"])).unwrap();
    let pc = image.entry() + 4;
    let frames = within_patience("an entry for each frame", || {
        image.unwind(pc, |x| if x == 1 { pc } else { 0x8000 }, |_| Some(pc), 257)
    });
    assert_eq!(frames[0].pc, pc);
}

/// An executable of one instruction, with these sections behind it: type, offset of the name in the last one, contents,
/// entry size.
struct Elf {
    bytes: Vec<u8>,
    headers: Vec<u8>,
}

impl Elf {
    const SHT_SYMTAB: u32 = 2;
    const SHT_STRTAB: u32 = 3;

    fn new() -> Elf {
        let mut bytes = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend([2, 0, 243, 0, 1, 0, 0, 0]);
        bytes.extend(0x10078_u64.to_le_bytes());
        bytes.extend(64_u64.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend([1, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0]);
        bytes.extend([1, 0, 0, 0, 5, 0, 0, 0]);
        for word in [0, 0x10000, 0x10000, 0x7c, 0x7c, 4096_u64] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(0x0010_0073_u32.to_le_bytes());
        Elf { bytes, headers: vec![0; 64] }
    }

    fn add(&mut self, contents: &[u8]) -> (u64, u64) {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let at = self.bytes.len() as u64;
        self.bytes.extend(contents);
        (at, contents.len() as u64)
    }

    fn section(&mut self, name: u32, kind: u32, (offset, size): (u64, u64), link: u32, entry_size: u64) {
        self.headers.extend(name.to_le_bytes());
        self.headers.extend(kind.to_le_bytes());
        for word in [0, 0, offset, size] {
            self.headers.extend(word.to_le_bytes());
        }
        self.headers.extend(link.to_le_bytes());
        self.headers.extend(0_u32.to_le_bytes());
        self.headers.extend(8_u64.to_le_bytes());
        self.headers.extend(entry_size.to_le_bytes());
    }

    /// `names` is the index of the section with the names of sections.
    fn image(mut self, names: u16) -> Image {
        let headers = std::mem::take(&mut self.headers);
        let (at, size) = self.add(&headers);
        self.bytes[40..48].copy_from_slice(&at.to_le_bytes());
        self.bytes[60..62].copy_from_slice(&((size / 64) as u16).to_le_bytes());
        self.bytes[62..64].copy_from_slice(&names.to_le_bytes());
        Image::parse(self.bytes).unwrap()
    }
}

#[test]
fn symbols_that_share_a_long_name() {
    let mut elf = Elf::new();
    let name = elf.add(&[vec![b'x'; 1 << 20], vec![0]].concat());
    let symbol =
        [&1_u32.to_le_bytes()[..], &[0x12, 0, 1, 0], &0x10078_u64.to_le_bytes(), &4_u64.to_le_bytes()].concat();
    let symbols = elf.add(&symbol.repeat(40_000));
    elf.section(0, Elf::SHT_SYMTAB, symbols, 2, 24);
    elf.section(0, Elf::SHT_STRTAB, name, 0, 0);
    let image = elf.image(2);
    let (symbol, offset) = within_patience("symbols times names", || image.symbol_at(image.entry())).unwrap();
    assert!(symbol.name.starts_with('x') && offset == 0);
    let frame = Frame { pc: image.entry(), is_return_address: false };
    within_patience("descriptions", || (0..64).for_each(|_| drop(image.describe(frame).to_string())));
}

#[test]
fn sections_that_share_a_long_name() {
    let mut elf = Elf::new();
    let name = elf.add(&[vec![b'.'; 1 << 20], vec![0]].concat());
    elf.section(0, Elf::SHT_STRTAB, name, 0, 0);
    for _ in 0..60_000 {
        elf.section(1, Elf::SHT_STRTAB, name, 0, 0);
    }
    let image = elf.image(1);
    within_patience("sections times names", || {
        assert!(image.imports().unwrap().is_empty() && image.exports().unwrap().is_empty());
        assert!(image.attributes().arch.is_none() && image.locate(image.entry()).is_empty());
    });
}

#[test]
fn names_that_mean_too_much() {
    // What grows: templates in templates, references to all before, nesting, Rust's back references and lengths.
    let nested = |open: &str, close: &str, n: usize| format!("_Z1fI{}i{}Evv", open.repeat(n), close.repeat(n));
    let mut doubled = String::from("_Z1f1S1PIS_S_E");
    (0..200).for_each(|last| write!(doubled, "S{}_IS{1}_S{1}_E", 0, last).unwrap());
    let rust = |n: usize| format!("_RIC1a{}iE", "TB3_".repeat(n));
    let names = [
        doubled,
        nested("1AI", "E", 3000),
        nested("PFv", "E", 3000),
        nested("N1A", "E", 3000),
        nested("XplLi1E", "E", 2000),
        nested("DpT_", "", 3000),
        rust(3000),
        format!("_RNvC1a{}", "Nv".repeat(5000)),
        format!("_Z{}", "dl".repeat(5000)),
        format!("_ZN{}E", "1aI".repeat(5000)),
        format!("_Z1f{}", "M1A".repeat(5000)),
        format!("_Z1f{}", "cv1AT_".repeat(2500)),
    ];
    for name in names {
        within_patience(&name[..40], || assert!(demangle(&name).len() <= 16 << 10));
    }
}
