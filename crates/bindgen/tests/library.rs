//! What guests without a libc are linked with does what C says, up to the last byte that is mapped.

use std::fs;

use crate::common::{Build, COMPILERS, folder, tests};
use riverrun::{Config, Error, Linker, Machine, PAGE_SIZE, Perm, Ptr, TrapCause};
use riverrun_testkit::suite::SuiteEngine;

const START: u64 = 0x4000_0000;
/// More than the host looks at in one call.
const SIZE: u64 = 3 << 20;
const END: u64 = START + SIZE;

type Text = Ptr<u8>;

fn at(address: u64) -> Text {
    Ptr::new(address)
}

/// Machines with `SIZE` bytes at `START` and nothing behind, on each engine, by each compiler.
fn machines() -> Vec<(String, Machine<()>)> {
    let mut all = Vec::new();
    for compiler in COMPILERS {
        let folder = folder();
        let build = Build { compiler, cxx: false, flags: &["-O2"] };
        let guest = fs::read(build.guest(folder.path(), &[tests().join("guests/library.c")], &[])).unwrap();
        for &engine in SuiteEngine::ALL {
            let program = engine.load(&Config::new(), &*guest);
            let mut machine = Linker::new(program.engine()).instantiate(&program, ()).unwrap();
            machine.run().unwrap();
            machine.memory_mut().map(START, SIZE, Perm::READ | Perm::WRITE).unwrap();
            all.push((format!("{compiler:?}, {engine:?}"), machine));
        }
    }
    all
}

#[test]
fn lengths_of_texts() {
    for (name, mut machine) in machines() {
        let length = machine.func::<(Text,), u64>("length").unwrap();
        machine.memory_mut().slice_mut(START, SIZE).unwrap().fill(b'a');
        machine.memory_mut().write(END - 1, &[0]).unwrap();
        // At all distances from the end, so at all places in a word, and on both sides of where the host is asked.
        for expected in (0..300).chain([PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1, (1 << 20) + 128, SIZE - 1]) {
            assert_eq!(length.call(&mut machine, (at(END - 1 - expected),)).unwrap(), expected, "{name}");
        }
        // A zero in front of the text, in its first word, is not the end of it.
        machine.memory_mut().write(END - 5, &[0]).unwrap();
        assert_eq!(length.call(&mut machine, (at(END - 4),)).unwrap(), 3, "{name}");
        assert_eq!(length.call(&mut machine, (at(END - 7),)).unwrap(), 2, "{name}");
    }
}

#[test]
fn a_text_without_end_is_an_error() {
    for (name, mut machine) in machines() {
        let length = machine.func::<(Text,), u64>("length").unwrap();
        machine.memory_mut().slice_mut(START, SIZE).unwrap().fill(b'a');
        let near = length.call(&mut machine, (at(END - 7),)).unwrap_err();
        let Some(trap) = near.trap() else { panic!("{name}: {near}") };
        assert!(matches!(trap.cause, TrapCause::LoadFault { address: END }), "{name}: {near}");
        let far = length.call(&mut machine, (at(START),)).unwrap_err();
        assert!(matches!(far, Error::Host(_)), "{name}: {far}");
        let expected = format!("{END:#x}");
        assert!(far.to_string().contains("riverrun::strlen") && far.to_string().contains(&expected), "{name}: {far}");
    }
}

#[test]
fn blocks_are_copied_filled_and_compared() {
    for (name, mut machine) in machines() {
        let [copy, move_] = ["copy", "move"].map(|name| machine.func::<(Text, Text, u64), ()>(name).unwrap());
        let fill = machine.func::<(Text, i32, u64), ()>("fill").unwrap();
        let compare = machine.func::<(Text, Text, u64), i32>("compare").unwrap();
        let bytes: Vec<u8> = (0..100).collect();
        for size in 0..40 {
            for shift in 0..9 {
                let name = format!("{name}: {size} bytes by {shift}");
                let (to, from) = (END - size, START + shift);
                machine.memory_mut().write(START, &bytes).unwrap();
                machine.memory_mut().write(to - 1, b"#").unwrap();
                copy.call(&mut machine, (at(to), at(from), size)).unwrap();
                let expected = &bytes[shift as usize..][..size as usize];
                assert_eq!(machine.memory().slice(to, size).unwrap(), expected, "{name}");
                assert_eq!(machine.memory().slice(to - 1, 1).unwrap(), b"#", "{name}");
                assert_eq!(compare.call(&mut machine, (at(to), at(from), size)).unwrap(), 0, "{name}");
                fill.call(&mut machine, (at(to), -1, size)).unwrap();
                assert!(machine.memory().slice(to, size).unwrap().iter().all(|&byte| byte == 255), "{name}");
                assert_eq!(machine.memory().slice(to - 1, 1).unwrap(), b"#", "{name}");
                assert_eq!(compare.call(&mut machine, (at(to), at(from), size)).unwrap() > 0, size > 0, "{name}");
                // They overlap, this way and that.
                move_.call(&mut machine, (at(START), at(from), size)).unwrap();
                assert_eq!(machine.memory().slice(START, size).unwrap(), expected, "{name}");
                move_.call(&mut machine, (at(from), at(START), size)).unwrap();
                assert_eq!(machine.memory().slice(from, size).unwrap(), expected, "{name}");
            }
        }
    }
}
