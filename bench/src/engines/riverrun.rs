//! riverrun's interpreter, by its command.

use anyhow::{Context, Result};

use crate::engine::{Clock, Engine, Ready, Setup, cargo_build};
use crate::engines::SUBJECT;
use crate::toolchain::{Target, first_line};

pub(crate) struct Riverrun;

impl Engine for Riverrun {
    fn name(&self) -> &'static str {
        SUBJECT
    }

    fn target(&self) -> Target {
        Target::Riscv64
    }

    fn prepare(&self, setup: &Setup) -> Result<Ready> {
        let root = setup.bench.parent().context("bench has no parent folder")?;
        let folder = setup.target_folder.join("riverrun");
        let command = cargo_build(&root.join("Cargo.toml"), "riverrun-cli", "release", &folder, &[])?;
        let commit = first_line("git", &["-C", &root.to_string_lossy(), "describe", "--always", "--dirty"])?;
        Ok(Ready {
            // More fuel than any program uses: instructions are counted and the limit is checked.
            command: vec![
                command.into(),
                "run".into(),
                "--stats=json".into(),
                "--fuel=1000000000000".into(),
                "--".into(),
            ],
            version: commit,
            configuration: "release build, fuel counted and limited".into(),
            clock: Clock::Guest,
        })
    }
}
