//! Compiles guests, and hosts in C and C++ against this crate's library.

#![allow(dead_code, reason = "every test file uses a part of it")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// This crate's folder.
pub(crate) fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The repository.
pub(crate) fn root() -> &'static Path {
    here().ancestors().nth(2).unwrap()
}

/// A folder that is gone when the test ends.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// The folder of the libraries that Cargo has built with this test.
pub(crate) fn libraries() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    assert!(folder.join("libriverrun_capi.a").exists(), "no library in {}", folder.display());
    folder.to_owned()
}

pub(crate) fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{:?}: {error}", command.get_program()));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    output
}

/// The tests' guest, compiled once; and one that looks at what float exceptions have accrued.
pub(crate) fn guests() -> &'static [PathBuf; 2] {
    static GUESTS: OnceLock<[PathBuf; 2]> = OnceLock::new();
    GUESTS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("capi-guest-{}", std::process::id()));
        [("plain", "-DUNGUARDED"), ("guarded", "-DGUARDED")].map(|(name, flag)| {
            let folder = folder.join(name);
            fs::create_dir_all(&folder).unwrap();
            compile_guest(&here().join("tests/guest"), "guest.c", &[flag], &folder)
        })
    })
}

/// Compiles a guest without a libc, with the stubs of the `api.json` beside it.
pub(crate) fn compile_guest(sources: &Path, name: &str, flags: &[&str], folder: &Path) -> PathBuf {
    compile_guest_of(&sources.join("api.json"), &sources.join(name), flags, folder)
}

/// The same with a description of its own.
pub(crate) fn compile_guest_of(api: &Path, source: &Path, flags: &[&str], folder: &Path) -> PathBuf {
    let api = riverrun_bindgen::Api::read(api).unwrap_or_else(|error| panic!("{error}"));
    let stubs = api.write_guest_c(folder).unwrap();
    let sdk = root().join("guest");
    let guest = folder.join("guest.elf");
    let mut command = Command::new("riscv64-linux-gnu-gcc");
    command.args(["-O2", "-g", "-std=gnu11", "-nostdlib", "-static", "-ffreestanding", "-fno-stack-protector"]);
    command.args(["-Wall", "-Wextra", "-Werror", "-I"]).arg(folder).arg("-I").arg(sdk.join("include")).args(flags);
    command.arg("-T").arg(sdk.join("riverrun.ld")).arg(source).arg(&stubs[1]);
    command.args(["src/start.S", "src/memory.c"].map(|name| sdk.join(name))).arg("-o").arg(&guest);
    run(&mut command);
    guest
}

/// The guest with a libc.
pub(crate) fn libc_guest(folder: &Path) -> PathBuf {
    let guest = folder.join("libc.elf");
    let mut command = Command::new("riscv64-linux-gnu-gcc");
    command.args(["-O2", "-static", "-Wall", "-Wextra", "-Werror"]).arg(here().join("tests/guest/libc.c"));
    run(command.arg("-o").arg(&guest));
    guest
}

/// A folder with the file that it reads.
pub(crate) fn words(folder: &Path) -> PathBuf {
    let data = folder.join("data");
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("words"), "one\nthree\n").unwrap();
    data
}

/// Compilers for hosts, in C and C++.
pub(crate) const COMPILERS: [[&str; 2]; 2] = [["gcc", "g++"], ["clang-22", "clang++-22"]];

/// Compiles a host in C or C++ and links it with the shared library.
pub(crate) fn host(compiler: &str, flags: &[&str], source: &Path, folder: &Path) -> PathBuf {
    let name = format!("{compiler}{}", flags.concat().replace(['=', ',', '/'], "-"));
    let host = folder.join(format!("{}-{name}", source.file_stem().unwrap().to_string_lossy()));
    let mut command = Command::new(compiler);
    command.args(["-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]).args(flags);
    command.arg("-I").arg(here().join("include")).arg(source).arg("-o").arg(&host);
    // By the name that programs ask for.
    let library = folder.join("libriverrun.so.0");
    if !library.exists() {
        std::os::unix::fs::symlink(libraries().join("libriverrun_capi.so"), &library).unwrap();
    }
    command.arg(&library).arg(format!("-Wl,-rpath,{}", folder.display())).args(["-lm", "-lpthread"]);
    run(&mut command);
    host
}

/// Runs a host.
pub(crate) fn run_host(host: &Path, arguments: &[&OsStr]) -> Output {
    run(Command::new(host).args(arguments))
}
