//! Guests compiled by Zig: the tests of `riverrun cc` and `c++`, with PyPI's `ziglang` in the place of Debian's
//! compilers.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::{setup, workspace};

/// What has been tested.
const PACKAGE: &str = "ziglang==0.17.1";

/// `cargo xtask zig`: installs Zig into `target/zig/` and runs the tests on every engine. The first time takes
/// minutes, as Zig then builds a libc.
pub(crate) fn command(args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!("zig takes no arguments");
    }
    setup::ensure(&[setup::PIP, setup::LLVM])?;
    let site = install()?;
    // Compiles for the last engine.
    workspace::call(workspace::cargo().args(["build", "--release", "--package", "riverrun-compile"]))?;
    for engine in ["interp", "single-step", "compiled"] {
        let mut test = workspace::cargo();
        test.args(["test", "--release", "--package", "riverrun-cli", "--test", "suite", "toolchain::guests"]);
        test.env("PYTHONPATH", &site).env("ZIG_GLOBAL_CACHE_DIR", site.with_file_name("cache"));
        test.env("RIVERRUN_TEST_COMPILERS", "ziglang").env("RIVERRUN_TEST_ENGINE", engine);
        workspace::call(&mut test)?;
    }
    Ok(())
}

/// The folder in which Python finds Zig, which is installed there unless it is.
fn install() -> Result<PathBuf> {
    let folder = workspace::cargo_target_dir()?.join("zig");
    let site = folder.join(PACKAGE);
    if !site.exists() {
        // Whole, or not there.
        let unfinished = folder.join("unfinished");
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--upgrade", "--target"]).arg(&unfinished).arg(PACKAGE);
        workspace::stdout_of(&mut pip)?;
        fs::rename(&unfinished, &site)?;
    }
    Ok(site)
}

/// Zig's C compiler.
pub(crate) fn compiler() -> Result<Command> {
    let site = install()?;
    let mut compiler = Command::new("python3");
    compiler.args(["-m", "ziglang", "cc"]);
    compiler.env("PYTHONPATH", &site).env("ZIG_GLOBAL_CACHE_DIR", site.with_file_name("cache"));
    Ok(compiler)
}
