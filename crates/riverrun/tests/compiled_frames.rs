//! Whatever frames on the host's stack a guest's functions need, nothing below the stack's guard changes, and the
//! guest's results are those of the interpreter.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use riverrun::{CompileOptions, Config, Engine, Fidelity, Linker, Machine, Program, Quick};
use riverrun_testkit::{Random, amount, tools};

/// Bytes of the stacks that compiled code runs on.
const STACK: usize = 16 << 20;

/// Host memory right below a guard, filled with a pattern.
struct Canary {
    start: *mut u8,
    is_mapped: bool,
}

impl Canary {
    /// As much as the largest frame that is tried.
    const LEN: usize = 4 << 20;
    const BYTE: u8 = 0xa5;

    /// One below the guard of a machine's stack: at the top of a stack that is not used, or where nothing is mapped.
    fn below(machine: &Machine<()>, idle_stack: &Range<usize>) -> Option<Canary> {
        let guard = machine.host_stack_guard()?;
        let start = guard.start - Canary::LEN;
        let is_mapped = !(idle_stack.start <= start && guard.start <= idle_stack.end);
        // SAFETY: the memory is the idle stack's, or a mapping of this test's own where there was none.
        unsafe {
            let start: *mut u8 = std::ptr::with_exposed_provenance_mut(start);
            if is_mapped {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
                let protection = libc::PROT_READ | libc::PROT_WRITE;
                if libc::mmap(start.cast(), Canary::LEN, protection, flags, -1, 0) == libc::MAP_FAILED {
                    return None;
                }
            }
            std::ptr::write_bytes(start, Canary::BYTE, Canary::LEN);
            Some(Canary { start, is_mapped })
        }
    }

    fn is_intact(&self) -> bool {
        // SAFETY: the memory is there as long as the canary.
        unsafe { std::slice::from_raw_parts(self.start, Canary::LEN) }.iter().all(|&byte| byte == Canary::BYTE)
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        if self.is_mapped {
            // SAFETY: nothing else refers to the mapping.
            unsafe { libc::munmap(self.start.cast(), Canary::LEN) };
        }
    }
}

/// A guest that recurses `depth` calls deep, and at every `often`th of them calls a function that keeps `values` values
/// for a second use: numbers, or what it has loaded. It exits with their checksum.
fn guest(values: usize, depth: usize, often: usize, loads: bool) -> String {
    let mut text = format!(
        ".bss
.balign 4096
returns: .space {returns}
words: .space {words}
.text
.globl _start
.type _start, @function
_start:
    la s1, returns
    li s2, {depth}
    li s3, 12345
    li s4, 777
    li s6, {often}
    la s7, words
    li s8, 0
    mv t0, s7
    li t1, {values}
1:  sd t1, 0(t0)
    addi t0, t0, 8
    addi t1, t1, -1
    bnez t1, 1b
    call deeper
    andi a0, s8, 127
    li a7, 93
    ecall
.size _start, . - _start
.type deeper, @function
deeper:
    sd ra, 0(s1)
    addi s1, s1, 8
    rem t0, s2, s6
    bnez t0, 1f
    call near
    add s8, s8, a0
1:  addi s2, s2, -1
    beqz s2, 2f
    call deeper
2:  addi s1, s1, -8
    ld ra, 0(s1)
    ret
.size deeper, . - deeper
# Goes on in the other function, which may have no compiled body.
.type near, @function
near:
    nop
.size near, . - near
.type large, @function
large:
    li a0, 1
    mv a1, s7
",
        returns = 8 * depth + 64,
        words = 8 * values + 8,
    );
    let value = |text: &mut String, n: usize| {
        if loads {
            // The base moves on, as immediates are small.
            writeln!(text, "    li t0, {}\n    add t0, t0, s7\n    ld t0, 0(t0)", 8 * n).unwrap();
        } else {
            let number = (n * 2_654_435_761 + 12345) & 0x7fff_ffff;
            writeln!(text, "    li t0, {number}\n    mulhu t0, t0, s3\n    xor t0, t0, s4").unwrap();
        }
    };
    for n in (0..values).chain((0..values).rev()) {
        value(&mut text, n);
        text += "    slli t1, a0, 1\n    add a0, t1, t0\n";
    }
    text + "    ret\n.size large, . - large\n"
}

/// A machine of a program, compiled with these options if there are any, and how many functions are left to the
/// interpreter.
fn machine(elf: &[u8], options: Option<CompileOptions>) -> (Machine<()>, usize) {
    let engine = Engine::new(&Config::new()).unwrap();
    let mut program = Program::new(&engine, elf).unwrap();
    let mut interpreted = 0;
    if let Some(options) = options {
        let file = tempfile::tempdir().unwrap().keep().join("frames.rro");
        let (compiled, report) = program.compile_to(&options, &file).unwrap();
        (program, interpreted) = (compiled, report.interpreted.len());
        std::fs::remove_dir_all(file.parent().unwrap()).unwrap();
    }
    (Linker::<()>::new(&engine).instantiate(&program, ()).unwrap(), interpreted)
}

/// What a guest exits with, whether a canary was there to see it, and the functions that are left to the interpreter.
fn run(elf: &[u8], options: Option<CompileOptions>, idle_stack: &Range<usize>) -> (i32, bool, usize) {
    let (mut machine, interpreted) = machine(elf, options);
    let canary = Canary::below(&machine, idle_stack);
    let status = machine.run().unwrap();
    assert!(canary.iter().all(Canary::is_intact), "something below the guard has changed");
    (status, canary.is_some(), interpreted)
}

fn assemble(source: &str) -> Vec<u8> {
    let folder = env!("CARGO_TARGET_TMPDIR");
    let thread = std::thread::current().id();
    let file = Path::new(folder).join(format!("frames-{}-{thread:?}.S", std::process::id()));
    std::fs::write(&file, source).unwrap();
    let elf = tools::compile(folder, &file, &[]);
    std::fs::remove_file(&file).unwrap();
    elf
}

#[test]
fn frames_of_any_size_stay_on_the_stack() {
    let mut random = Random::seeded(29);
    // 4 KiB and more; the last two are more than one frame may have, and than is compiled.
    let mut sizes: Vec<(usize, bool)> = vec![(600, false), (2_400, false), (3_800, true), (12_000, true)];
    let more = (0..amount(1, 20)).map(|_| (random.between(512..=4_000) as usize, random.one_in(2)));
    sizes.extend(more.collect::<Vec<_>>());
    if amount(0, 1) == 1 {
        sizes.push((512 << 10, true));
    }
    // The largest first: it takes longest, and cases run side by side.
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let cases: Vec<_> = sizes.into_iter().map(|size| (size, random.between(700..=1_500) as usize)).collect();
    // Where stacks are reserved together, the next one lies above this machine's.
    let (idle, _) = machine(&assemble(&guest(8, 1, 1, false)), Some(CompileOptions::default()));
    let idle_guard = idle.host_stack_guard().expect("the guest is compiled");
    let idle_stack = idle_guard.end..idle_guard.end + STACK;
    let (cases, watched) = (Mutex::new(cases.into_iter()), AtomicUsize::new(0));
    let next = || cases.lock().unwrap().next();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(((values, loads), often)) = next() {
                    watched.fetch_add(check(values, loads, often, &idle_stack), Relaxed);
                }
            });
        }
    });
    assert!(watched.into_inner() > 0, "no guard was found to watch");
}

/// Runs a guest in all ways; how many canaries were there to see it.
fn check(values: usize, loads: bool, often: usize, idle_stack: &Range<usize>) -> usize {
    let mut watched = 0;
    let elf = assemble(&guest(values, 1_500_000, often, loads));
    let (expected, ..) = run(&elf, None, idle_stack);
    let options = CompileOptions { threads: 1, ..CompileOptions::default() };
    for options in [
        options,
        CompileOptions { fuel: true, ..options },
        CompileOptions { fidelity: Fidelity::Precise, ..options },
        CompileOptions { quick: Quick::All, ..options },
    ] {
        let (status, has_canary, interpreted) = run(&elf, Some(options), idle_stack);
        assert_eq!(status, expected, "{values} values, loaded: {loads}, {options:?}");
        watched += usize::from(has_canary);
        // Quick code may have half of the largest frame, 12 KiB; what has been loaded it loads again.
        if options.quick == Quick::All && !loads && !(1_400..1_700).contains(&values) {
            assert_eq!(interpreted, usize::from(values > 1_500), "{values} values");
        }
    }
    watched
}

/// A leaf function that the program exports, which keeps `values` words for a second use.
fn leaf(text: &mut String, name: &str, values: usize) {
    writeln!(text, ".globl {name}\n.type {name}, @function\n{name}:\n    lla t2, words").unwrap();
    for n in (0..values).chain((0..values).rev()) {
        match 8 * n {
            at @ ..2048 => writeln!(text, "    ld t0, {at}(t2)"),
            at => writeln!(text, "    li t0, {at}\n    add t0, t0, t2\n    ld t0, 0(t0)"),
        }
        .unwrap();
        writeln!(text, "    sh1add a0, a0, t0").unwrap();
    }
    writeln!(
        text,
        "    ret
.size {name}, . - {name}
.pushsection .rodata
name_{name}: .asciz \"{name}\"
.popsection
.pushsection .riverrun.exports, \"a\"
.balign 8
.dword {name}, name_{name}, types
.popsection"
    )
    .unwrap();
}

/// Host-ABI entry points run on the host's stack, of which the host knows nothing of the guest's needs.
#[test]
fn functions_with_large_frames_have_no_host_abi_entry_point() {
    // The last needs more than the 2 KiB that an entry point may have.
    let leaves = [("narrow", 4), ("wide", 60), ("widest", 1_000)];
    let mut source = ".option arch, +zba\n.text\n.globl _start\n_start:\n    ebreak\n".to_owned();
    leaves.iter().for_each(|(name, values)| leaf(&mut source, name, *values));
    source += ".data\n.balign 8\nwords:\n";
    (0..1_000_u64).for_each(|n| writeln!(source, "    .dword {}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).unwrap());
    source += ".section .rodata\ntypes: .asciz \"u64 (u64)\"\n";
    let elf = assemble(&source);
    let engine = Engine::new(&Config::new()).unwrap();
    let program = Program::new(&engine, &*elf).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let artifact = folder.path().join("leaves.rro");
    let (compiled, report) = program.compile_to(&CompileOptions::default(), &artifact).unwrap();
    assert_eq!(report.interpreted, []);
    let artifact = std::fs::read(artifact).unwrap();
    let has = |symbol: String| artifact.windows(symbol.len()).any(|bytes| bytes == symbol.as_bytes());
    let linker = Linker::<()>::new(&engine);
    let [mut interpreted, mut compiled] = [&program, &compiled].map(|program| linker.instantiate(program, ()).unwrap());
    for (name, values) in leaves {
        assert!(has(format!("\0guest::{name}\0")), "{name}");
        assert_eq!(has(format!("\0guest::{name}#host\0")), values < 100, "{name}");
        let function = compiled.func::<(u64,), u64>(name).unwrap();
        let expected = interpreted.func::<(u64,), u64>(name).unwrap();
        // The first call prepares the fast path.
        for n in 0..4 {
            let expected = expected.call(&mut interpreted, (n,)).unwrap();
            assert_eq!(function.call(&mut compiled, (n,)).unwrap(), expected, "{name}");
        }
    }
}
