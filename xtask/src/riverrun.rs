//! The command as the chores run it: its build, and its engines.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::workspace;

/// An engine of `riverrun run`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Interp,
    Compiled,
    SingleStep,
}

impl Engine {
    const ALL: [Engine; 3] = [Engine::Interp, Engine::Compiled, Engine::SingleStep];

    /// The engine of an option's value.
    ///
    /// # Errors
    /// If there is no value, or no such engine.
    pub(crate) fn named(name: Option<&String>) -> Result<Engine> {
        let found = Engine::ALL.into_iter().find(|engine| name.is_some_and(|name| name == engine.name()));
        found.context("--engine takes interp, compiled or single-step")
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Engine::Interp => "interp",
            Engine::Compiled => "compiled",
            Engine::SingleStep => "single-step",
        }
    }

    /// The options that choose it.
    pub(crate) fn options(self) -> &'static [&'static str] {
        match self {
            Engine::Interp => &["--engine=interp"],
            Engine::Compiled => &["--compile", "--engine=compiled"],
            Engine::SingleStep => &["--single-step"],
        }
    }
}

/// Builds the optimised command, and with the compiler also `riverrun-compile`, which takes LLVM. The command alone is another
/// build than both together.
pub(crate) fn build(with_compiler: bool) -> Result<PathBuf> {
    let compiler: &[&str] = if with_compiler { &["--package", "riverrun-compile"] } else { &[] };
    workspace::call(workspace::cargo().args(["build", "--release", "--package", "riverrun-cli"]).args(compiler))?;
    Ok(workspace::cargo_target_dir()?.join("release/riverrun"))
}
