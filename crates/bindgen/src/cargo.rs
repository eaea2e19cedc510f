//! Building guests in Rust: by Cargo, for a target without an operating system.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::toolchain::{BuildError, run};

/// The target of guests in Rust.
const TARGET: &str = "riscv64gc-unknown-none-elf";
/// Target features that riverrun has beyond those of the target.
const FEATURES: &str = "-Ctarget-feature=+zba,+zbb,+zbs";

/// Variables by which Cargo configures the host's build; they must not reach the guest's.
const FOR_THE_HOST: [&str; 4] =
    ["RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_TARGET", "CARGO_UNSTABLE_BUILD_STD"];

/// Builds the executable `name` of the package in `package`, with artifacts and generated files in `folder`. Returns the
/// executable's path; a make rule beside it lists its sources.
pub(crate) fn build(package: &Path, name: &str, flags: &[OsString], folder: &Path) -> Result<PathBuf, BuildError> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    if !has_target(&rustc) {
        return Err(BuildError::NoTarget { target: TARGET });
    }
    let folder = std::path::absolute(folder).map_err(|source| BuildError::Io { path: folder.to_owned(), source })?;
    let target = folder.join(format!("{name}-cargo"));
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Cargo searches for its configuration from this folder upward.
    command.current_dir(package).args(["build", "--release", "--target", TARGET, "--bin", name]);
    command.arg("--target-dir").arg(&target);
    for variable in FOR_THE_HOST {
        command.env_remove(variable);
    }
    let mut encoded = OsString::from(FEATURES);
    for flag in flags {
        encoded.push("\x1f");
        encoded.push(flag);
    }
    run(command.env("CARGO_ENCODED_RUSTFLAGS", encoded).env("RIVERRUN_BINDINGS", &folder))?;
    Ok(target.join(TARGET).join("release").join(name))
}

fn has_target(rustc: &OsStr) -> bool {
    let mut command = Command::new(rustc);
    let output = command.args(["--print", "target-libdir", "--target", TARGET]).output();
    output.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}
