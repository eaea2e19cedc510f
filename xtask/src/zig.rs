//! Guests compiled by Zig: the tests of `riverrun cc` and `c++`, with PyPI's `ziglang` in the place of Debian's
//! compilers.

use std::fs;
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
    let folder = workspace::cargo_target_dir()?.join("zig");
    let site = folder.join(PACKAGE);
    if !site.exists() {
        // Whole, or not there.
        let unfinished = folder.join("unfinished");
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--upgrade", "--target"]).arg(&unfinished).arg(PACKAGE);
        workspace::call(&mut pip)?;
        fs::rename(&unfinished, &site)?;
    }
    // Compiles for the last engine.
    workspace::call(workspace::cargo().args(["build", "--release", "--package", "riverrun-compile"]))?;
    for engine in ["interp", "single-step", "compiled"] {
        let mut test = workspace::cargo();
        test.args(["test", "--release", "--package", "riverrun-cli", "--test", "toolchain", "guests"]);
        test.env("PYTHONPATH", &site).env("ZIG_GLOBAL_CACHE_DIR", folder.join("cache"));
        test.env("RIVERRUN_TEST_COMPILERS", "ziglang").env("RIVERRUN_TEST_ENGINE", engine);
        workspace::call(&mut test)?;
    }
    Ok(())
}
