//! The program compiled for this machine: the reference.

use anyhow::Result;

use crate::engine::{Clock, Engine, Kind, Ready, Setup, words};
use crate::engines::REFERENCE;
use crate::toolchain::Target;

pub(crate) struct Native {
    name: &'static str,
    target: Target,
}

impl Native {
    /// In the instructions of every x86-64.
    pub(crate) const PLAIN: Native = Native { name: REFERENCE, target: Target::Native };
    /// In all of this machine's instructions.
    pub(crate) const TUNED: Native = Native { name: "native-tuned", target: Target::NativeTuned };
}

impl Engine for Native {
    fn name(&self) -> &'static str {
        self.name
    }

    fn target(&self) -> Target {
        self.target
    }

    fn kind(&self) -> Kind {
        Kind::Compiler
    }

    fn prepare(&self, _setup: &Setup) -> Result<Ready> {
        Ok(Ready {
            command: words(&["{program}"]),
            environment: Vec::new(),
            translator: None,
            version: String::new(),
            configuration: "the same C sources, compiled for this machine".into(),
            clock: Clock::Process,
        })
    }
}
