//! Hosts that reach a limit of their system's are told which. Each test has a process of its own, as a limit is
//! that of all its threads.

use std::path::Path;
use std::process::{Command, Output};
use std::ptr;

use riverrun::{Caller, Config, Engine, Error, HeapOptions, HostError, Linker, Machine, PAGE_SIZE, Perm, Program};
use riverrun_testkit::tools;

/// In a test's own process: what it is to do.
const ROLE: &str = "RIVERRUN_TEST_EXHAUST";

/// This test again, by itself, with what the shell does before.
fn apart(test: &str, before: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let script = format!("{before}; exec \"$0\" --exact {test} --nocapture");
    let output = Command::new("sh").args(["-c", &script]).arg(program).env(ROLE, "1").output().unwrap();
    let Output { status, stdout, stderr } = &output;
    let text = [stdout, stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat();
    assert!(status.success(), "{text}");
    let said = text.lines().find_map(|line| line.split_once("said: "));
    said.unwrap_or_else(|| panic!("{text}")).1.to_owned()
}

fn is_apart() -> bool {
    std::env::var_os(ROLE).is_some()
}

/// Makes machines until there can be no more, and says why; others can be used then, and there is room once some are
/// gone.
fn exhaust() {
    let engine = Engine::new(&Config::new()).unwrap();
    let linker = Linker::<()>::new(&engine);
    let program = Program::new(&engine, riverrun::doc::ADDER).unwrap();
    let mut machines: Vec<Machine<()>> = Vec::new();
    let error = loop {
        match linker.instantiate(&program, ()) {
            Ok(machine) => machines.push(machine),
            Err(error) => break error,
        }
    };
    println!("said: {error}");
    assert!(matches!(error, Error::Resource { what: "address space for a machine", .. }), "{error:?}");
    let add = machines[0].func::<(i32, i32), i32>("add").unwrap();
    let last = machines.len() - 1;
    assert_eq!(add.call(&mut machines[last], (40, 2)).unwrap(), 42);
    drop(machines.remove(0));
    assert!(linker.instantiate(&program, ()).is_ok());
}

#[test]
fn a_limit_on_addresses_is_named() {
    if is_apart() {
        return exhaust();
    }
    // In KiB: room for one machine, and not for two.
    let said = apart("a_limit_on_addresses_is_named", "ulimit -v 7000000");
    assert!(said.starts_with("the host has no more address space for a machine: Cannot allocate memory"), "{said}");
    assert!(said.contains("RLIMIT_AS allows 6835; "), "{said}");
    assert!(said.contains("Raise it (ulimit -v unlimited)"), "{said}");
    assert!(said.contains("a machine takes 4097") && said.contains("`Config::address_bits`"), "{said}");
}

/// Where there is no room for a single machine of 4 GiB, several with fewer addresses run.
#[test]
fn a_limit_on_addresses_has_room_for_small_machines() {
    if is_apart() {
        let make = |bits| {
            let engine = Engine::new(Config::new().address_bits(bits)).unwrap();
            let program = Program::new(&engine, riverrun::doc::ADDER).unwrap();
            Linker::<()>::new(&engine).instantiate(&program, ())
        };
        let mut machines: Vec<Machine<()>> = (0..5).map(|_| make(26).unwrap()).collect();
        for machine in &mut machines {
            let add = machine.func::<(i32, i32), i32>("add").unwrap();
            assert_eq!(add.call(machine, (40, 2)).unwrap(), 42);
        }
        println!("said: {}", make(32).unwrap_err());
        return;
    }
    // In KiB.
    let said = apart("a_limit_on_addresses_has_room_for_small_machines", "ulimit -v 3000000");
    assert!(said.contains("`Config::address_bits`"), "{said}");
}

/// Mappings, all but so many.
fn take_mappings(but: usize) {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    let count: usize = limit.trim().parse::<usize>().unwrap() - but;
    const PAGE: usize = 4096;
    // SAFETY: a fresh mapping, and pages in it that no other code uses: every second one differs from its neighbours.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let start = libc::mmap(ptr::null_mut(), count * PAGE, libc::PROT_NONE, flags, -1, 0);
        assert_ne!(start, libc::MAP_FAILED);
        for page in (1..count).step_by(2) {
            assert_eq!(libc::mprotect(start.wrapping_byte_add(page * PAGE), PAGE, libc::PROT_READ), 0);
        }
    }
}

#[test]
fn a_limit_on_mappings_is_named() {
    if is_apart() {
        take_mappings(500);
        return exhaust();
    }
    let said = apart("a_limit_on_mappings_is_named", ":");
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    assert!(said.starts_with("the host has no more address space for a machine: Cannot allocate memory"), "{said}");
    assert!(said.contains(&format!("vm.max_map_count allows {}; ", limit.trim())), "{said}");
    assert!(said.contains("Raise it (sysctl -w vm.max_map_count="), "{said}");
}

/// A machine's first writes after a snapshot part the kernel's mappings. Where the kernel has no more of them, the writes of
/// guest and host succeed all the same.
#[test]
fn a_limit_on_mappings_makes_no_write_fail() {
    const START: u64 = 0x2000_0000;
    if !is_apart() {
        assert_eq!(apart("a_limit_on_mappings_makes_no_write_fail", ":"), "all is written");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let include = format!("-I{}", root.join("../../guest/include").display());
    let source = root.join("tests/guests/snapshots.c");
    let elf = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-O2", &include]);
    let engine = Engine::new(&Config::new()).unwrap();
    let mut linker = Linker::new(&engine);
    linker.heap(&HeapOptions::new()).unwrap();
    linker.syscall(500, |_: Caller<'_, ()>, x: i32| Ok::<i32, HostError>(x)).unwrap();
    let program = Program::new(&engine, elf).unwrap();
    let machine = || {
        let mut machine = linker.instantiate(&program, ()).unwrap();
        machine.memory_mut().map(START, 64 * PAGE_SIZE, Perm::READ | Perm::WRITE).unwrap();
        // What the guest may write lies between what it may only read.
        machine.memory_mut().protect(START, 16 * PAGE_SIZE, Perm::READ).unwrap();
        machine.memory_mut().protect(START + 48 * PAGE_SIZE, 16 * PAGE_SIZE, Perm::READ).unwrap();
        let poke = machine.func::<(u64, i64), i64>("poke").unwrap();
        poke.call(&mut machine, (START + 20 * PAGE_SIZE, 5)).unwrap();
        (machine.snapshot().unwrap(), machine, poke)
    };
    let (_snapshot, mut one, poke) = machine();
    let (_other_snapshot, mut two, _) = machine();
    // All of them: the last ones one by one.
    take_mappings(200);
    let pages = 1000;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh mapping, if there is one, and pages in it.
    unsafe {
        let start = libc::mmap(ptr::null_mut(), pages * 4096, libc::PROT_NONE, flags, -1, 0);
        assert_ne!(start, libc::MAP_FAILED);
        let refused = |page: &usize| libc::mprotect(start.wrapping_byte_add(page * 4096), 4096, libc::PROT_READ) != 0;
        assert!((1..pages).step_by(2).any(|page| refused(&page)), "the process has mappings left");
    }
    for (number, page) in (16..48).step_by(5).enumerate() {
        let address = START + page * PAGE_SIZE;
        poke.call(&mut one, (address, 7 + number as i64)).unwrap();
        two.memory_mut().write_u64(address, 7 + number as u64).unwrap();
        for machine in [&one, &two] {
            assert_eq!(machine.memory().read_u64(address).unwrap(), 7 + number as u64);
        }
    }
    println!("said: all is written");
}

#[test]
fn a_limit_on_files_is_named() {
    if is_apart() {
        let engine = Engine::new(&Config::new()).unwrap();
        let mut programs = Vec::new();
        let error = loop {
            match Program::new(&engine, riverrun::doc::ADDER) {
                Ok(program) => programs.push(program),
                Err(error) => break error,
            }
        };
        return println!("said: {error}");
    }
    let said = apart("a_limit_on_files_is_named", "ulimit -n 64");
    assert!(said.starts_with("the host has no more memory for a program: Too many open files"), "{said}");
    assert!(said.contains("RLIMIT_NOFILE allows; ") && said.contains("Raise it (ulimit -n)"), "{said}");
}
