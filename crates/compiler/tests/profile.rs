//! `--profile`: which code is compiled, and how profiles are refused.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use riverrun_testkit::tools::output_of;
use tempfile::TempDir;

/// Functions of which one is three times as long as another, one is small, and one has two ways.
const TEXT: &str = "
    .globl _start
    .type _start, @function
_start: call first
    call second
    li a7, 93
    ecall
    .size _start, .-_start
    .type first, @function
first: .rept 100
    add a0, a0, a1
    .endr
    ret
    .size first, .-first
    .type second, @function
second: .rept 300
    add a0, a0, a1
    .endr
    ret
    .size second, .-second
    .type third, @function
third: add a0, a0, a1
    ret
    .size third, .-third
    .type fourth, @function
fourth: beqz a0, 1f
    .rept 50
    add a0, a0, a1
    .endr
    ret
1:  .rept 70
    add a0, a0, a1
    .endr
    ret
    .size fourth, .-fourth
";

struct Guest {
    folder: TempDir,
}

impl Guest {
    fn new() -> Guest {
        let guest = Guest { folder: tempfile::tempdir().unwrap() };
        let source = guest.path("guest.s");
        std::fs::write(&source, TEXT).unwrap();
        let mut gcc = Command::new("riscv64-linux-gnu-gcc");
        gcc.args(["-nostdlib", "-static", "-Wl,--no-relax", "-Wl,--build-id=none,-Ttext=0x20000", "-o"]);
        output_of(gcc.arg(guest.path("guest")).arg(source), "gcc-riscv64-linux-gnu");
        guest
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn compile(&self, profile: &str, options: &[&str]) -> Output {
        std::fs::write(self.path("profile"), profile).unwrap();
        let mut compiler = Command::new(env!("CARGO_BIN_EXE_riverrun-compile"));
        compiler.args(["--stats=json", "--profile"]).arg(self.path("profile")).args(options);
        compiler.arg("-o").arg(self.path("guest.rro")).arg(self.path("guest")).output().unwrap()
    }

    /// Functions and instructions that are compiled by a profile with these samples.
    fn compiled(&self, samples: &[(u64, u64)], options: &[&str]) -> (u64, u64) {
        let lines = samples.iter().map(|(pc, count)| format!("{pc:#x} {count}\n"));
        let output = self.compile(&format!("riverrun profile 3\n{}", lines.collect::<String>()), options);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let stats: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
        (stats["functions"].as_u64().unwrap(), stats["instructions"].as_u64().unwrap())
    }
}

/// Addresses in the guest's functions.
const START: u64 = 0x20000;
const FIRST: u64 = START + 60;
const SECOND: u64 = START + 600;
const THIRD: u64 = START + 828;
const FOURTH: u64 = START + 832;

#[test]
fn functions_with_samples_are_compiled() {
    let guest = Guest::new();
    assert_eq!(guest.compiled(&[], &[]).0, 0);
    assert_eq!(guest.compiled(&[(FIRST, 1)], &[]), (1, 102));
    assert_eq!(guest.compiled(&[(SECOND, 1)], &[]), (1, 302));
    assert_eq!(guest.compiled(&[(START, 1), (FIRST, 1), (SECOND, 9)], &[]).0, 3);
    // In none.
    assert_eq!(guest.compiled(&[(0x100, 5), (u64::MAX, 5)], &[]).0, 0);
}

#[test]
fn those_with_most_samples_for_their_length_come_first() {
    let guest = Guest::new();
    let both = |first, second| guest.compiled(&[(FIRST, first), (SECOND, second)], &["--max-work", "330"]).1;
    assert_eq!(both(10, 20), 102);
    assert_eq!(both(10, 60), 302);
    assert_eq!(guest.compiled(&[(SECOND, 1)], &["--max-work", "10"]).0, 0);
}

#[test]
fn functions_without_samples_follow_the_smallest_first() {
    let guest = Guest::new();
    let reached = |limit| guest.compiled(&[(FIRST, 0), (SECOND, 1), (THIRD, 0)], &["--max-work", limit]);
    assert_eq!(reached("700"), (3, 102 + 302 + 3));
    assert_eq!(reached("330"), (2, 302 + 3));
    assert_eq!(reached("20"), (1, 3));
}

#[test]
fn blocks_that_control_has_not_reached_are_left_out() {
    let guest = Guest::new();
    let (branch, next, target) = (FOURTH, FOURTH + 2, FOURTH + 2 + 102);
    let whole = 2 + 52 + 72;
    assert_eq!(guest.compiled(&[(branch, 0)], &[]), (1, whole - 71));
    assert_eq!(guest.compiled(&[(branch, 0), (next, 3)], &[]), (1, whole - 71));
    assert_eq!(guest.compiled(&[(branch, 0), (target, 0)], &[]), (1, whole));
    // As much as is compiled of it counts.
    assert_eq!(guest.compiled(&[(branch, 0)], &["--max-work", "60"]), (1, whole - 71));
    assert_eq!(guest.compiled(&[(branch, 0), (target, 0)], &["--max-work", "60"]).0, 0);
}

#[test]
fn machine_code_is_kept_for_the_next_compilation() {
    let guest = Guest::new();
    let file = guest.path("objects");
    // LLVM's with samples, quick code without.
    for (quick, count) in [(&[][..], 1), (&["--quick=cold"], 1), (&["--quick=most"], 0)] {
        let compile = |samples: &[(u64, u64)]| {
            guest.compiled(samples, &[quick, &["--objects", file.to_str().unwrap()]].concat());
            (std::fs::read(guest.path("guest.rro")).unwrap(), std::fs::read(&file).unwrap())
        };
        let all = [(FIRST, count), (SECOND, count), (FOURTH, count)];
        std::fs::write(&file, [0; 100]).unwrap();
        let first = compile(&all);
        assert_eq!(compile(&all), first);
        // Others are dropped, and come back.
        let fewer = compile(&all[..1]);
        assert!(fewer.1.len() < first.1.len());
        assert_eq!(compile(&all), first);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(compile(&all[..1]), fewer);
        assert_eq!(compile(&all), first);
    }

    let output =
        Command::new(env!("CARGO_BIN_EXE_riverrun-compile")).args(["--objects", "x", "guest"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("--objects goes with --profile"));
}

#[test]
fn objects_take_no_other_files_place() {
    let guest = Guest::new();
    let refused = |objects: &str, problem: &str| {
        let output = guest.compile("riverrun profile 3\n", &["--objects", guest.path(objects).to_str().unwrap()]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(problem), "{stderr}");
        assert!(!guest.path("guest.rro").exists());
    };
    std::fs::write(guest.path("notes"), "notes").unwrap();
    refused("notes", "notes: this is no file that --objects has written");
    assert_eq!(std::fs::read(guest.path("notes")).unwrap(), b"notes");
    refused("guest.rro", "guest.rro: this is the output, too");
}

#[test]
fn a_compiler_ends_with_its_parent() {
    let guest = Guest::new();
    let mut compiler = Command::new(env!("CARGO_BIN_EXE_riverrun-compile"));
    compiler.args(["--parent", "1", "-o"]).arg(guest.path("guest.rro")).arg(guest.path("guest"));
    let stderr = String::from_utf8(compiler.output().unwrap().stderr).unwrap();
    assert!(stderr.contains("--parent 1: this is not the process"), "{stderr}");
    // The shell ends while the compiler reads from a pipe.
    let folder = guest.folder.path();
    let script = "sleep 30 | \"$0\" --parent $$ /dev/stdin & sleep 0.5; readlink /proc/$!/exe; kill -9 $$";
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", script, env!("CARGO_BIN_EXE_riverrun-compile")]).current_dir(folder);
    let begin = Instant::now();
    // What the compiler has inherited is open until it has ended.
    let output = shell.stderr(Stdio::null()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("riverrun-compile"), "{output:?}");
    assert!(begin.elapsed() < Duration::from_secs(20));
}

#[test]
fn quick_code_leaves_in_place_what_llvm_has_compiled() {
    let guest = Guest::new();
    let file = guest.path("objects");
    let compile = |samples: &[(u64, u64)], quick: &[&str]| {
        guest.compiled(samples, &[quick, &["--objects", file.to_str().unwrap()]].concat());
        std::fs::read(guest.path("guest.rro")).unwrap()
    };
    let hot = [(FIRST, 0), (SECOND, 0)];
    let quick = compile(&hot, &["--quick=most"]);
    std::fs::remove_file(&file).unwrap();
    let by_llvm = compile(&hot, &[]);
    assert_ne!(quick, by_llvm);
    assert_eq!(compile(&hot, &["--quick=most"]), by_llvm);
    // Another one is quick code, now and when the first two are all again.
    let more = [&hot[..], &[(FOURTH, 1)]].concat();
    let with_another = compile(&more, &["--quick=most"]);
    assert_eq!(compile(&more, &["--quick=most"]), with_another);
    assert_eq!(compile(&hot, &["--quick=most"]), by_llvm);
    assert_ne!(compile(&more, &[]), with_another);
}

#[test]
fn what_is_no_profile_is_refused() {
    let guest = Guest::new();
    for (profile, problem) in [("", "not a profile"), ("riverrun profile 3\nx\n", "line 2 of the profile")] {
        let output = guest.compile(profile, &[]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(problem), "{stderr}");
    }
    let output = guest.compile("riverrun profile 3\n", &["--emit", "object"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--profile goes with artifacts"));
}
