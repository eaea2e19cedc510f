//! riverrun's interpreter, by its command.

use anyhow::{Context, Result};

use crate::engine::{Clock, Engine, Ready, Setup, cargo_build};
use crate::engines::SUBJECT;
use crate::toolchain::{Target, first_line};

pub(crate) struct Riverrun {
    name: &'static str,
    configuration: &'static str,
    features: &'static [&'static str],
}

impl Riverrun {
    /// As users run it.
    pub(crate) const AS_IT_COMES: Riverrun =
        Riverrun { name: SUBJECT, configuration: "release build, fuel counted and limited", features: &[] };
    /// To see what counting costs.
    pub(crate) const UNCOUNTED: Riverrun = Riverrun {
        name: "riverrun-uncounted",
        configuration: "release build that does not count instructions",
        features: &["uncounted"],
    };
}

impl Engine for Riverrun {
    fn name(&self) -> &'static str {
        self.name
    }

    fn target(&self) -> Target {
        Target::Riscv64
    }

    fn prepare(&self, setup: &Setup) -> Result<Ready> {
        let root = setup.bench.parent().context("bench has no parent folder")?;
        let folder = setup.target_folder.join(self.name);
        let command = cargo_build(&root.join("Cargo.toml"), "riverrun-cli", "release", &folder, self.features, &[])?;
        let commit = first_line("git", &["-C", &root.to_string_lossy(), "describe", "--always", "--dirty"])?;
        Ok(Ready {
            // More fuel than any program uses: instructions are counted and the limit is checked.
            command: vec![
                command.into(),
                "run".into(),
                "--stats=json".into(),
                "--engine=interp".into(),
                "--fuel=1000000000000".into(),
                "--".into(),
            ],
            version: commit,
            configuration: self.configuration.into(),
            clock: Clock::Guest,
        })
    }
}
