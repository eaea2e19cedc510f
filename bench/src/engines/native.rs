//! The program compiled for this machine: the reference.

use anyhow::Result;

use crate::engine::{Clock, Engine, Ready, Setup};
use crate::toolchain::{Target, first_line, require};

pub(crate) struct Native;

impl Engine for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn target(&self) -> Target {
        Target::Native
    }

    fn prepare(&self, _setup: &Setup) -> Result<Ready> {
        require(&["gcc"], &["gcc", "libc6-dev"])?;
        Ok(Ready {
            command: Vec::new(),
            version: first_line("gcc", &["--version"])?,
            configuration: "the same C sources, compiled for this machine".into(),
            clock: Clock::Process,
        })
    }
}
