//! PolkaVM, of which the compiler and the interpreter are measured.

use anyhow::Result;

use crate::engine::{Clock, Engine, Kind, Ready, Setup, build_peer};
use crate::toolchain::Target;

pub(crate) struct PolkaVm {
    name: &'static str,
    kind: Kind,
    option: Option<&'static str>,
    about: &'static str,
}

impl PolkaVm {
    /// Its own compiler, in a sandbox that is a process of its own.
    pub(crate) const COMPILER: PolkaVm = PolkaVm {
        name: "polkavm",
        kind: Kind::Compiler,
        option: None,
        about: "compiler, sandboxed in a process of its own, whose time is taken",
    };
    /// Its interpreter.
    pub(crate) const INTERPRETER: PolkaVm =
        PolkaVm { name: "polkavm-interp", kind: Kind::Interpreter, option: Some("--interpret"), about: "interpreter" };
}

impl Engine for PolkaVm {
    fn name(&self) -> &'static str {
        self.name
    }

    fn target(&self) -> Target {
        Target::PolkaVm
    }

    fn kind(&self) -> Kind {
        self.kind
    }

    fn prepare(&self, setup: &Setup) -> Result<Ready> {
        let peer = build_peer(setup, "peer-polkavm", "release")?;
        let mut command = vec![peer.clone().into()];
        command.extend(self.option.map(Into::into));
        command.push("{artifact}".into());
        Ok(Ready {
            command,
            environment: Vec::new(),
            // Its linker translates RISC-V to its own byte code; the compiler runs when a program is loaded.
            translator: Some(vec![peer.into(), "--link".into(), "{program}".into(), "{artifact}".into()]),
            version: setup.crates.version("polkavm").to_owned(),
            configuration: format!("{}; gas counted and limited, once a block", self.about),
            clock: Clock::Guest,
        })
    }
}
