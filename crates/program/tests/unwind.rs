//! Backtraces, over stacks laid out by hand for the functions of `guests/frames.S`.

use std::collections::HashMap;

use crate::common::gcc;
use object::LittleEndian;
use object::elf::{FileHeader64, SHT_DYNSYM};
use object::read::elf::{FileHeader, Sym};
use riverrun_program::{DynamicObject, Frame, Image, JoinedProgram, STATIC_PIE_BIAS};

const RA: usize = 1;
const SP: usize = 2;
const S0: usize = 8;

/// A stopped machine.
struct Stopped {
    image: Image,
    pc: u64,
    x: [u64; 32],
    memory: HashMap<u64, u64>,
}

impl Stopped {
    /// Stopped at `label`, with the stack pointer at `sp`.
    fn at(flags: &[&str], label: &str, sp: u64) -> Self {
        let image = Image::parse(gcc("frames.S", &[&["-nostdlib"], flags].concat())).unwrap();
        let pc = image.symbol(label).unwrap().address;
        let mut x = [0; 32];
        x[SP] = sp;
        Self { image, pc, x, memory: HashMap::new() }
    }

    fn address(&self, label: &str) -> u64 {
        self.image.symbol(label).unwrap().address
    }

    fn store(&mut self, address: u64, value: u64) {
        self.memory.insert(address, value);
    }

    fn frames(&self, limit: usize) -> Vec<Frame> {
        let read = |address: u64| self.memory.get(&address).copied();
        self.image.unwind(self.pc, |x| self.x[x], read, limit)
    }

    /// The labels of all frames.
    fn labels(&self) -> Vec<String> {
        let label = |frame: &Frame| {
            let named = self.image.symbols().filter(|symbol| symbol.address == frame.pc);
            named.map(|symbol| symbol.name).max_by_key(|name| name.len()).unwrap_or("?").to_owned()
        };
        self.frames(100).iter().map(label).collect()
    }
}

/// In `leaf`, called by `expression`, `variable`, `outer` and `_start` in turn.
fn deep(flags: &[&str]) -> Stopped {
    let mut stopped = Stopped::at(flags, "leaf", 0x7f00);
    stopped.x[RA] = stopped.address("expression_return");
    stopped.x[S0] = 0x7fd0;
    // `expression` keeps its CFA at the stack pointer.
    stopped.store(0x7f00, 0x7f40);
    stopped.store(0x7f40 - 24, stopped.address("variable_return"));
    // `variable` ends at s0, wherever its stack pointer is.
    stopped.store(0x7fd0 - 8, stopped.address("outer_return"));
    stopped.store(0x7fd0 - 16, 0);
    // `outer`
    stopped.store(0x7fd0 + 24, stopped.address("_start_return"));
    stopped.store(0x7fd0 + 16, 0);
    stopped
}

const ALL: [&str; 5] = ["leaf", "expression_return", "variable_return", "outer_return", "_start_return"];

#[test]
fn by_eh_frame() {
    let stopped = deep(&["-static"]);
    assert!(stopped.image.section(".eh_frame").is_some());
    assert_eq!(stopped.labels(), ALL);
    let frames = stopped.frames(100);
    assert!(!frames[0].is_return_address);
    assert!(frames[1..].iter().all(|frame| frame.is_return_address));
    let names: Vec<_> = frames.iter().map(|&f| stopped.image.describe(f).function.unwrap()).collect();
    assert_eq!(names, ["leaf", "expression", "variable", "outer", "_start"]);
}

#[test]
fn by_eh_frame_of_a_static_pie() {
    assert_eq!(deep(&["-static-pie", "-Wl,--no-dynamic-linker"]).labels(), ALL);
}

#[test]
fn by_debug_frame() {
    let stopped = deep(&["-static", "-DDEBUG_FRAME"]);
    assert!(stopped.image.section(".eh_frame").is_none());
    assert!(stopped.image.section(".debug_frame").is_some());
    assert_eq!(stopped.labels(), ALL);
}

#[test]
fn as_many_frames_as_wanted() {
    let stopped = deep(&["-static"]);
    for limit in 0..5 {
        assert_eq!(stopped.frames(limit), stopped.frames(100)[..limit]);
    }
}

#[test]
fn inside_a_prologue_and_an_epilogue() {
    for label in ["outer", "outer_epilogue"] {
        let mut stopped = Stopped::at(&["-static"], label, 0x7000);
        stopped.x[RA] = stopped.address("_start_return");
        assert_eq!(stopped.labels(), [label, "_start_return"]);
    }
}

#[test]
fn a_jump_to_nowhere_was_made_by_a_call() {
    let mut stopped = deep(&["-static"]);
    stopped.pc = 0xdead_beef_0000;
    assert_eq!(stopped.labels()[1..], ALL[1..]);
    assert_eq!(stopped.labels()[0], "?");
}

#[test]
fn a_damaged_stack_ends_the_walk() {
    let mut stopped = deep(&["-static"]);
    stopped.store(0x7fd0 - 8, 0x1234_5678);
    assert_eq!(stopped.labels(), ALL[..3]);
    stopped.memory.clear();
    assert_eq!(stopped.labels(), ALL[..2]);
    stopped.x[RA] = 0;
    assert_eq!(stopped.labels(), ALL[..1]);
}

#[test]
fn a_cycle_ends_the_walk() {
    // `variable` finds itself: the frame pointer that it saved is its own.
    let mut stopped = Stopped::at(&["-static"], "variable_return", 0x7f00);
    stopped.x[S0] = 0x7fd0;
    stopped.store(0x7fd0 - 8, stopped.address("variable_return"));
    stopped.store(0x7fd0 - 16, 0x7fd0);
    assert_eq!(stopped.labels(), ["variable_return"; 2]);
    // Two frames that point to each other.
    stopped.store(0x7fd0 - 16, 0x7fe0);
    stopped.store(0x7fe0 - 8, stopped.address("variable_return"));
    stopped.store(0x7fe0 - 16, 0x7fd0);
    assert_eq!(stopped.labels(), ["variable_return"; 3]);
}

#[test]
fn tables_that_never_end() {
    let mut stopped = Stopped::at(&["-static"], "endless", 0x7f00);
    stopped.x[RA] = stopped.address("_start_return");
    assert_eq!(stopped.labels(), ["endless"]);
}

#[test]
fn from_a_signal_handler_to_what_it_interrupted() {
    let mut stopped = Stopped::at(&["-static"], "leaf", 0x9_0000);
    stopped.x[RA] = stopped.address("trampoline_return");
    stopped.store(0x9_0000 + 64 - 8, stopped.address("outer"));
    stopped.store(0x9_0000 + 64 - 16, 0x7000);
    stopped.store(0x9_0000 + 64 - 24, stopped.address("_start_return"));
    let frames = stopped.frames(100);
    assert_eq!(stopped.labels(), ["leaf", "trampoline_return", "outer", "_start_return"]);
    assert!(frames[1].is_return_address);
    assert!(!frames[2].is_return_address);
}

#[test]
fn by_the_code_where_there_are_no_tables() {
    let mut stopped = Stopped::at(&["-static"], "untold", 0x7f00);
    stopped.x[RA] = stopped.address("untold_return");
    stopped.x[S0] = 0x7f20;
    stopped.store(0x7f18, stopped.address("untold_return"));
    stopped.store(0x7f10, 0x7f40);
    stopped.store(0x7f38, stopped.address("_start_return"));
    stopped.store(0x7f30, 0);
    let expected = ["untold", "untold_return", "untold_return", "_start_return"];
    assert_eq!(stopped.labels(), expected);
}

#[test]
fn large_frames_by_the_code() {
    let mut stopped = Stopped::at(&["-static"], "large_return", 0x1_0000);
    stopped.x[RA] = 1;
    let frame_size = 2032 + 4096 + 100 * 4096 + 16;
    stopped.store(0x1_0000 + frame_size - 8, stopped.address("_start_return"));
    stopped.pc = stopped.address("leaf");
    stopped.x[RA] = stopped.address("large_return");
    assert_eq!(stopped.labels(), ["leaf", "large_return", "_start_return"]);
}

#[test]
fn by_frame_pointers_where_there_is_nothing_else() {
    let mut stopped = Stopped::at(&["-static"], "untold", 0x7f00);
    let untold_return = stopped.address("untold_return");
    stopped.x[RA] = untold_return;
    stopped.x[S0] = 0x7f20;
    stopped.store(0x7f18, untold_return);
    stopped.store(0x7f10, 0x7f40);
    stopped.store(0x7f38, untold_return);
    stopped.store(0x7f30, 0);
    // Without symbols, it is unknown where functions begin.
    let stripped = Image::parse(gcc("frames.S", &["-nostdlib", "-static", "-s"])).unwrap();
    let pcs: Vec<u64> = Stopped { image: stripped, ..stopped }.frames(9).iter().map(|f| f.pc).collect();
    assert_eq!(pcs[1..], [untold_return; 3]);
}

#[test]
fn of_each_part_of_a_joined_program() {
    let file = gcc("hello.c", &["-O1", "-shared", "-fPIC", "-fasynchronous-unwind-tables"]);
    let symbols = FileHeader64::<LittleEndian>::parse(&*file).unwrap();
    let sections = symbols.sections(LittleEndian, &*file).unwrap();
    let symbols = sections.symbols(LittleEndian, &*file, SHT_DYNSYM).unwrap();
    let main = symbols.iter().find(|symbol| symbol.name(LittleEndian, symbols.strings()) == Ok(b"main")).unwrap();
    let (start, size) = (main.st_value.get(LittleEndian), main.st_size.get(LittleEndian));

    let part = DynamicObject::parse(file).unwrap();
    let joined = JoinedProgram::new(&part, &part, &[part.clone(), part.clone()]).unwrap();
    let image = Image::parse(joined.bytes).unwrap();
    let ranges: Vec<_> = image.unwind_ranges().collect();
    for base in [STATIC_PIE_BIAS, joined.interpreter_base].into_iter().chain(joined.bases) {
        assert!(ranges.contains(&(base + start..base + start + size)), "{base:#x} {start:#x} {size} {ranges:x?}");
    }
}
