//! Building guests in Rust: by Cargo, for a target without an operating system, or for Linux.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::toolchain::{BuildError, run};

/// What guests in Rust are compiled for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Platform {
    /// No operating system: `core` and `alloc`.
    Bare,
    /// Linux and its C library: `std`.
    Linux,
}

impl Platform {
    /// The target's name.
    fn target(self) -> &'static str {
        match self {
            Platform::Bare => "riscv64gc-unknown-none-elf",
            Platform::Linux => "riscv64gc-unknown-linux-gnu",
        }
    }

    /// Flags of rustc: features that riverrun has beyond those of the target, and for Linux a static executable whose `main`
    /// the crate `riverrun-guest` wraps, so that its functions can be called afterwards.
    fn flags(self) -> &'static [&'static str] {
        match self {
            Platform::Bare => &["-Ctarget-feature=+zba,+zbb,+zbs"],
            Platform::Linux => &[
                "-Ctarget-feature=+zba,+zbb,+zbs,+crt-static",
                "-Crelocation-model=static",
                "-Clink-arg=-Wl,--wrap=main",
            ],
        }
    }
}

/// The variable by which Cargo is told the linker for Linux, and what it is if the variable is not set.
const LINKER: (&str, &str) = ("CARGO_TARGET_RISCV64GC_UNKNOWN_LINUX_GNU_LINKER", "riscv64-linux-gnu-gcc");

/// Variables by which Cargo configures the host's build; they must not reach the guest's.
const FOR_THE_HOST: [&str; 4] =
    ["RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_TARGET", "CARGO_UNSTABLE_BUILD_STD"];

/// Builds the executable `name` of the package in `package`, with artifacts and generated files in `folder`. Returns the
/// executable's path; a make rule beside it lists its sources.
pub(crate) fn build(
    package: &Path,
    platform: Platform,
    name: &str,
    flags: &[OsString],
    folder: &Path,
) -> Result<PathBuf, BuildError> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let target = platform.target();
    if !has_target(&rustc, target) {
        return Err(BuildError::NoTarget { target });
    }
    let folder = std::path::absolute(folder).map_err(|source| BuildError::Io { path: folder.to_owned(), source })?;
    let artifacts = folder.join(format!("{name}-cargo"));
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Cargo searches for its configuration from this folder upward.
    command.current_dir(package).args(["build", "--release", "--target", target, "--bin", name]);
    command.arg("--target-dir").arg(&artifacts);
    for variable in FOR_THE_HOST {
        command.env_remove(variable);
    }
    if let (Platform::Linux, None) = (platform, env::var_os(LINKER.0)) {
        if !is_command(LINKER.1) {
            return Err(BuildError::NoCompiler { tried: vec![LINKER.1.to_owned()] });
        }
        command.env(LINKER.0, LINKER.1);
    }
    let flags = platform.flags().iter().map(OsStr::new).chain(flags.iter().map(OsString::as_os_str));
    let encoded = flags.collect::<Vec<_>>().join(OsStr::new("\x1f"));
    run(command.env("CARGO_ENCODED_RUSTFLAGS", encoded).env("RIVERRUN_BINDINGS", &folder))?;
    Ok(artifacts.join(target).join("release").join(name))
}

fn has_target(rustc: &OsStr, target: &str) -> bool {
    let mut command = Command::new(rustc);
    let output = command.args(["--print", "target-libdir", "--target", target]).output();
    output.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

fn is_command(name: &str) -> bool {
    Command::new(name)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}
