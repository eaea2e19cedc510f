//! Files that must be refused, each with its message; and files damaged at random.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::common::gcc;
use riverrun_program::{DynamicObject, Image, JoinedProgram, LoadError};

/// A small valid program of two segments: text, data.
static PROGRAM: LazyLock<Vec<u8>> =
    LazyLock::new(|| gcc("start.s", &["-static", "-nostdlib", "-Wl,-z,separate-code,--build-id=none"]));

const HEADER_TABLE: usize = 64;
const HEADER_SIZE: usize = 56;
const PT_LOAD: u32 = 1;

// Fields of the ELF header, and of a program header.
const E_TYPE: usize = 16;
const E_MACHINE: usize = 18;
const E_VERSION: usize = 20;
const E_ENTRY: usize = 24;
const E_PHOFF: usize = 32;
const E_PHENTSIZE: usize = 54;
const E_PHNUM: usize = 56;
const P_FLAGS: usize = 4;
const P_OFFSET: usize = 8;
const P_VADDR: usize = 16;
const P_FILESZ: usize = 32;
const P_MEMSZ: usize = 40;
const P_ALIGN: usize = 48;

fn word(file: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(file[at..at + 8].try_into().unwrap())
}

fn put(file: &mut [u8], at: usize, value: u64) {
    file[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

fn put_half(file: &mut [u8], at: usize, value: u16) {
    file[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

fn headers(file: &[u8]) -> impl Iterator<Item = usize> {
    let count = usize::from(u16::from_le_bytes([file[E_PHNUM], file[E_PHNUM + 1]]));
    (0..count).map(|index| HEADER_TABLE + index * HEADER_SIZE)
}

/// Positions in the file of the headers of loadable segments, in the order of the file.
fn loadable(file: &[u8]) -> Vec<usize> {
    headers(file).filter(|&at| file[at..at + 4] == PT_LOAD.to_le_bytes()).collect()
}

/// Position of the header of the executable segment.
fn text(file: &[u8]) -> usize {
    loadable(file).into_iter().find(|at| file[at + P_FLAGS] & 1 != 0).unwrap()
}

/// Position of the header of the writable segment.
fn data(file: &[u8]) -> usize {
    loadable(file).into_iter().find(|at| file[at + P_FLAGS] & 2 != 0).unwrap()
}

/// The message that refuses the program after `damage`.
#[track_caller]
fn refusal(damage: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut file = PROGRAM.clone();
    damage(&mut file);
    message(file)
}

#[track_caller]
fn message(file: Vec<u8>) -> String {
    Image::parse(file).expect_err("the file was not refused").to_string()
}

#[track_caller]
fn assert_says(message: String, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

#[test]
fn the_undamaged_program_is_accepted() {
    let image = Image::parse(PROGRAM.as_slice()).unwrap();
    assert_eq!(image.symbol("_start").unwrap().address, image.entry());
}

#[test]
fn not_elf() {
    assert_says(message(Vec::new()), &["not an ELF file"]);
    assert_says(message(b"#!/bin/sh\necho hello\n".into()), &["not an ELF file", "-static"]);
    assert_says(refusal(|file| file[0] = 0), &["not an ELF file"]);
}

#[test]
fn truncated_header() {
    assert_says(refusal(|file| file.truncate(63)), &["truncated", "the ELF header", "0x40", "0x3f bytes"]);
}

#[test]
fn class_32() {
    assert_says(refusal(|file| file[4] = 1), &["not a 64-bit program", "class 1", "RV64"]);
}

#[test]
fn big_endian() {
    assert_says(refusal(|file| file[5] = 2), &["not a little-endian program", "encoding 2"]);
}

#[test]
fn unknown_version() {
    assert_says(refusal(|file| file[E_VERSION] = 7), &["unknown ELF version 7"]);
}

#[test]
fn other_machine() {
    assert_says(
        refusal(|file| put_half(file, E_MACHINE, 62)),
        &["a program for x86-64", "machine 62", "RISC-V compiler"],
    );
    assert_says(refusal(|file| put_half(file, E_MACHINE, 9999)), &["an unknown machine", "9999"]);
}

#[test]
fn relocatable_object() {
    assert_says(message(gcc("start.s", &["-c"])), &["relocatable object", "link it with -static"]);
}

#[test]
fn shared_object() {
    let wanted = ["a shared object", "-static", "-shared"];
    assert_says(message(gcc("inlined.c", &["-shared", "-fPIC"])), &wanted);
    assert_says(message(gcc("start.s", &["-shared", "-nostdlib", "-Wl,-soname,x.so"])), &wanted);
    assert_says(message(gcc("start.s", &["-shared", "-nostdlib", "-Wl,-e,0"])), &wanted);
}

#[test]
fn core_dump_and_unknown_type() {
    assert_says(refusal(|file| put_half(file, E_TYPE, 4)), &["not a program", "type 4"]);
    assert_says(refusal(|file| put_half(file, E_TYPE, 0xfe00)), &["not a program", "65024"]);
}

#[test]
fn dynamically_linked() {
    let wanted = ["dynamically linked", "/lib/ld-linux-riscv64-lp64d.so.1", "link it with -static"];
    assert_says(message(gcc("hello.c", &["-no-pie"])), &wanted);
    assert_says(message(gcc("hello.c", &["-pie", "-fPIE"])), &wanted);
    let flags = ["-pie", "-fPIE", "-Wl,--no-dynamic-linker"];
    assert_says(message(gcc("hello.c", &flags)), &["the shared library `libc.so.6`", "-static"]);
}

#[test]
fn program_headers() {
    assert_says(refusal(|file| put_half(file, E_PHENTSIZE, 32)), &["program header entries of 32 bytes", "56"]);
    assert_says(refusal(|file| put_half(file, E_PHNUM, 0)), &["no loadable segments"]);
    assert_says(refusal(|file| put_half(file, E_PHNUM, 0xffff)), &["more than 65534"]);
    let wanted = ["truncated", "the program header table"];
    assert_says(refusal(|file| put_half(file, E_PHNUM, 0xfffe)), &wanted);
    assert_says(refusal(|file| put(file, E_PHOFF, u64::MAX - 8)), &wanted);
}

#[test]
fn no_loadable_segments() {
    let unload = |file: &mut Vec<u8>| loadable(file).into_iter().for_each(|at| file[at] = 4);
    assert_says(refusal(unload), &["no loadable segments", "nothing to run"]);
    let empty = |file: &mut Vec<u8>| {
        for at in loadable(file) {
            put(file, at + P_FILESZ, 0);
            put(file, at + P_MEMSZ, 0);
        }
    };
    assert_says(refusal(empty), &["no loadable segments"]);
}

#[test]
fn overlapping_segments() {
    let overlap = |file: &mut Vec<u8>| {
        let (text, data) = (text(file), data(file));
        let start = word(file, text + P_VADDR);
        put(file, data + P_VADDR, start + 8);
        put(file, data + P_ALIGN, 0);
    };
    assert_says(refusal(overlap), &["overlap at address 0x1", "linker script"]);
    let swallow = |file: &mut Vec<u8>| {
        let text = text(file);
        put(file, text + P_MEMSZ, 0x10_0000);
    };
    assert_says(refusal(swallow), &["overlap at address"]);
}

#[test]
fn segments_outside_the_window() {
    let place = |address: u64, size: u64| {
        refusal(|file| {
            let at = data(file);
            put(file, at + P_ALIGN, 0);
            put(file, at + P_VADDR, address);
            put(file, at + P_MEMSZ, size);
        })
    };
    let outside = "outside the guest's address space 0x10000..0xffff0000";
    assert_says(place(0, 0x1000), &[outside, "(address 0x0, 0x1000 bytes)"]);
    assert_says(place(0xffff, 0x1000), &[outside]);
    assert_says(place(0xfffe_f000, 0x1001), &[outside]);
    assert_says(place(0x1_0000_0000, 0x1000), &[outside, "0x100000000"]);
    assert_says(place(0x20_0000, u64::MAX), &[outside]);
    assert_says(place(u64::MAX - 0xfff, 0x1000), &[outside]);
    assert_says(place(u64::MAX - 0xfff, u64::MAX), &[outside]);
    // A static-pie cannot wrap round to a good address either.
    let wrap = |file: &mut Vec<u8>| {
        put_half(file, E_TYPE, 3);
        let at = data(file);
        put(file, at + P_ALIGN, 0);
        put(file, at + P_VADDR, u64::MAX - 0xfff);
    };
    assert_says(refusal(wrap), &[outside]);
}

#[test]
fn segments_at_the_edge_of_the_window_are_accepted() {
    let mut file = PROGRAM.clone();
    let at = data(&file);
    put(&mut file, at + P_ALIGN, 1);
    put(&mut file, at + P_VADDR, 0xfffe_f000);
    put(&mut file, at + P_MEMSZ, 0x1000);
    let image = Image::parse(file).unwrap();
    assert_eq!(image.end(), 0xffff_0000);
}

#[test]
fn misaligned_segments() {
    let shift = |file: &mut Vec<u8>| {
        let at = data(file);
        let address = word(file, at + P_VADDR);
        put(file, at + P_VADDR, address + 1);
    };
    assert_says(refusal(shift), &["segment", "misaligned", "0x1000"]);
    let odd = |file: &mut Vec<u8>| {
        let at = data(file);
        put(file, at + P_ALIGN, 24);
    };
    assert_says(refusal(odd), &["misaligned", "alignment 0x18", "power of two"]);
}

#[test]
fn more_in_the_file_than_in_memory() {
    let shrink = |file: &mut Vec<u8>| {
        let at = data(file);
        put(file, at + P_FILESZ, 4);
        put(file, at + P_MEMSZ, 3);
    };
    assert_says(refusal(shrink), &["0x4 bytes in the file but only 0x3 in memory"]);
}

#[test]
fn segments_beyond_the_file() {
    let beyond = |offset: u64| {
        refusal(|file| {
            let at = data(file);
            put(file, at + P_ALIGN, 0);
            put(file, at + P_OFFSET, offset);
        })
    };
    assert_says(beyond(PROGRAM.len() as u64), &["truncated: segment", "copy or link it again"]);
    assert_says(beyond(u64::MAX), &["truncated: segment"]);
}

#[test]
fn writable_text() {
    let writable = |file: &mut Vec<u8>| {
        let at = text(file);
        file[at + P_FLAGS] = 7;
    };
    assert_says(refusal(writable), &["segment", "writable and executable at once", "never allowed"]);
    assert_says(
        message(gcc("start.s", &["-static", "-nostdlib", "-Wl,-N"])),
        &["writable and executable at once", "-N"],
    );
}

#[test]
fn text_and_data_in_one_page() {
    let near = |file: &mut Vec<u8>| {
        let (text, data) = (text(file), data(file));
        let end = word(file, text + P_VADDR) + word(file, text + P_MEMSZ);
        put(file, data + P_VADDR, end);
        put(file, data + P_ALIGN, 0);
    };
    assert_says(refusal(near), &["the page at 0x1", "(rw-)", "-z separate-code"]);
}

#[test]
fn readable_segments_may_share_a_page() {
    let mut file = PROGRAM.clone();
    let (text, data) = (text(&file), data(&file));
    let mut place = |at: usize, address: u64, size: u64, flags: u8| {
        put(&mut file, at + P_ALIGN, 0);
        put(&mut file, at + P_VADDR, address);
        put(&mut file, at + P_MEMSZ, size);
        file[at + P_FLAGS] = flags;
    };
    place(data, 0x10_0ffc, 0x1006, 4);
    place(text, 0x10_2002, 0x2000, 5);
    put(&mut file, E_ENTRY, 0x10_2002);
    for other in loadable(&file).into_iter().filter(|&at| at != text && at != data) {
        file[other] = 4;
    }
    let image = Image::parse(file).unwrap();
    let pages = image.pages().iter();
    let pages: Vec<_> = pages.map(|pages| (pages.addresses.clone(), pages.permissions.to_string())).collect();
    let expected = [
        (0x10_0000..0x10_2000, "r--".to_owned()),
        (0x10_2000..0x10_3000, "r-x".to_owned()),
        (0x10_3000..0x10_5000, "r-x".to_owned()),
    ];
    assert_eq!(pages, expected);
}

#[test]
fn entry() {
    let data_address = word(&PROGRAM, data(&PROGRAM) + P_VADDR);
    let set = |entry: u64| refusal(|file| put(file, E_ENTRY, entry));
    let outside = "is not inside an executable segment";
    assert_says(set(data_address), &[outside, &format!("{data_address:#x}"), "-Wl,-e,SYMBOL"]);
    assert_says(set(0), &[outside]);
    assert_says(set(u64::MAX), &[outside]);
    let text = text(&PROGRAM);
    let text_end = word(&PROGRAM, text + P_VADDR) + word(&PROGRAM, text + P_FILESZ);
    assert_says(set(text_end), &[outside]);
    let entry = word(&PROGRAM, E_ENTRY);
    assert_says(set(entry + 1), &["misaligned", "even addresses"]);
}

/// Everything that an image answers, whatever the file holds.
fn ask_everything(image: &Image) {
    let pc = image.entry();
    image.attributes();
    image.build_id();
    image.sections().for_each(drop);
    for symbol in image.symbols() {
        image.symbol(symbol.name);
    }
    image.symbol_at(pc);
    image.locate(pc);
    for frame in image.unwind(pc, |x| pc + x as u64, |address| Some(address | 1), 16) {
        image.describe(frame).to_string();
    }
}

#[test]
fn truncated_at_every_byte() {
    let file = gcc("inlined.c", &["-g", "-O1", "-static", "-nostdlib"]);
    let filled = loadable(&file).into_iter().filter(|at| word(&file, at + P_FILESZ) > 0);
    let ends = filled.map(|at| word(&file, at + P_OFFSET) + word(&file, at + P_FILESZ));
    let loaded_end = ends.max().unwrap();
    assert!(loaded_end < file.len() as u64 / 2, "most of the file should be debug information");
    for length in 0..file.len() {
        match Image::parse(&file[..length]) {
            Ok(image) => {
                assert!(length as u64 >= loaded_end, "accepted with {length} bytes");
                ask_everything(&image);
            }
            Err(error) => {
                assert!((length as u64) < loaded_end, "refused with {length} bytes: {error}");
                let truncated = matches!(error, LoadError::Truncated { .. });
                assert!(truncated || length < 4 && error == LoadError::NotElf, "{length}: {error}");
            }
        }
    }
}

/// Marsaglia's xorshift64: a seeded source of numbers for the tests.
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

#[test]
fn random_damage() {
    const SLOWEST: Duration = Duration::from_secs(2);
    let file = gcc("inlined.c", &["-g", "-O1", "-static", "-nostdlib"]);
    let header_end = headers(&file).max().unwrap() + HEADER_SIZE;
    let section_headers = word(&file, 40) as usize;
    let mut random = Xorshift(0x9e37_79b9_7f4a_7c15);
    let mut accepted = 0;
    for round in 0..6000 {
        let mut damaged = file.clone();
        // A third each: headers only, section headers only, anywhere.
        let (start, end) = match round % 3 {
            0 => (4, header_end),
            1 => (section_headers, file.len()),
            _ => (header_end, file.len()),
        };
        for _ in 0..=random.below(6) {
            let at = start + random.below(end - start);
            damaged[at] = match random.below(3) {
                0 => [0, 0xff, 0x7f, 0x80][random.below(4)],
                1 => damaged[at] ^ (1 << random.below(8)),
                _ => random.below(256) as u8,
            };
        }
        let begun = Instant::now();
        if let Ok(image) = Image::parse(damaged) {
            accepted += 1;
            ask_everything(&image);
        }
        assert!(begun.elapsed() < SLOWEST, "round {round} took {:?}", begun.elapsed());
    }
    assert!((2000..6000).contains(&accepted), "{accepted} of 6000 were accepted");
}

/// What is copied when a program is joined with its libraries is in proportion to the files.
#[test]
fn segments_that_repeat_a_file_are_not_joined() {
    let mut file = PROGRAM.clone();
    let length = file.len() as u64;
    let first = loadable(&PROGRAM)[0];
    put(&mut file, first + P_VADDR, word(&PROGRAM, first + P_VADDR) | u64::MAX << 16);
    let object = DynamicObject::parse(file).unwrap();
    let error = JoinedProgram::new(&object, &object, &[]).unwrap_err();
    assert!(matches!(error, LoadError::OutOfWindow { .. }), "{error}");

    let mut file = PROGRAM.clone();
    for at in loadable(&PROGRAM) {
        put(&mut file, at + P_OFFSET, 0);
        put(&mut file, at + P_VADDR, 0x10000);
        for field in [P_FILESZ, P_MEMSZ] {
            put(&mut file, at + field, length);
        }
    }
    // The table of headers moves to the end, where there is room for one more segment, the same again.
    let table = file[HEADER_TABLE..][..headers(&PROGRAM).count() * HEADER_SIZE].to_vec();
    let load = file[first..][..HEADER_SIZE].to_vec();
    let count = table.len() / HEADER_SIZE + 1;
    put(&mut file, E_PHOFF, length);
    put_half(&mut file, E_PHNUM, count.try_into().unwrap());
    file.extend([table, load].concat());
    let error = DynamicObject::parse(file).unwrap_err();
    assert!(matches!(error, LoadError::RepeatedContents { .. }), "{error}");
}

/// Damage in any byte of the headers is an error, or another program.
#[test]
fn damaged_headers_are_joined_or_refused() {
    for at in 0..HEADER_TABLE + headers(&PROGRAM).count() * HEADER_SIZE {
        for bits in [0x01, 0x80, 0xff] {
            let mut file = PROGRAM.clone();
            file[at] ^= bits;
            let Ok(object) = DynamicObject::parse(file) else { continue };
            let _ = JoinedProgram::new(&object, &object, &[object.clone(), object.clone()]);
        }
    }
}
