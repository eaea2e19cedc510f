//! Tools that tests run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A file that ends with its owner.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// A file of these bytes, executable, in `folder` (tests say `env!("CARGO_TARGET_TMPDIR")`).
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn new(folder: &str, bytes: &[u8]) -> Scratch {
        use std::os::unix::fs::PermissionsExt;
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(folder).join(name);
        std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, executable).expect("the file's owner may change its mode");
        Scratch(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left behind lies in the target folder.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Runs a tool and gives what it wrote to its output.
///
/// # Panics
/// If it is missing, with the Debian package that has it, or fails.
pub fn output_of(command: &mut Command, package: &str) -> Vec<u8> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let run = command.output().unwrap_or_else(|error| panic!("cannot run {tool} ({error}): apt install {package}"));
    assert!(run.status.success(), "{command:?} ({}): {}", run.status, String::from_utf8_lossy(&run.stderr));
    run.stdout
}

/// The static executable that the cross compiler makes of a C source that needs no library.
///
/// # Panics
/// If it cannot be compiled.
pub fn compile(folder: &str, source: &Path, flags: &[&str]) -> Vec<u8> {
    let file = Scratch::new(folder, &[]);
    let mut gcc = Command::new("riscv64-linux-gnu-gcc");
    // Nothing sets up gp, which relaxed code relies on.
    gcc.args(["-static", "-nostdlib", "-ffreestanding", "-mno-relax", "-Wall", "-Werror"]).args(flags);
    output_of(gcc.arg(source).arg("-o").arg(file.path()), "gcc-riscv64-linux-gnu");
    std::fs::read(file.path()).expect("the compiler's output")
}
