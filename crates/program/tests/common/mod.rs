//! Compiles guests for the tests, with the stock cross compiler.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The ELF file that `compiler` makes of `tests/guests/<source>`.
fn compile(compiler: &str, package: &str, source: &str, flags: &[&str]) -> Vec<u8> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let unique = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{}", unique.0, unique.1));
    let run = Command::new(compiler)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests"))
        .args(flags)
        .arg(source)
        .arg("-o")
        .arg(&output)
        .output()
        .unwrap_or_else(|error| panic!("cannot run {compiler} ({error}): apt install {package}"));
    assert!(run.status.success(), "{compiler} {flags:?} {source}: {}", String::from_utf8_lossy(&run.stderr));
    let bytes = std::fs::read(&output).unwrap();
    std::fs::remove_file(&output).unwrap();
    bytes
}

/// Compiles C or assembly.
pub(crate) fn gcc(source: &str, flags: &[&str]) -> Vec<u8> {
    compile("riscv64-linux-gnu-gcc", "gcc-riscv64-linux-gnu", source, flags)
}

/// Assembles this text.
pub(crate) fn gcc_text(source: &str, flags: &[&str]) -> Vec<u8> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("{}-{}.s", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, source).unwrap();
    let bytes = gcc(path.to_str().unwrap(), flags);
    std::fs::remove_file(&path).unwrap();
    bytes
}

/// Compiles C++.
pub(crate) fn gxx(source: &str, flags: &[&str]) -> Vec<u8> {
    compile("riscv64-linux-gnu-g++", "g++-riscv64-linux-gnu", source, flags)
}
