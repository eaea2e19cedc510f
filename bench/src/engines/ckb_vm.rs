//! CKB-VM's interpreter, the one in assembly.

use anyhow::Result;

use crate::engine::{Clock, Engine, Kind, Ready, Setup, build_peer};
use crate::toolchain::Target;

pub(crate) struct CkbVm;

impl Engine for CkbVm {
    fn name(&self) -> &'static str {
        "ckb-vm"
    }

    fn target(&self) -> Target {
        Target::CkbVm
    }

    fn kind(&self) -> Kind {
        Kind::Interpreter
    }

    fn prepare(&self, setup: &Setup) -> Result<Ready> {
        let command = build_peer(setup, "peer-ckb-vm", "release")?;
        Ok(Ready {
            command: vec![command.into(), "{program}".into()],
            environment: Vec::new(),
            translator: None,
            version: setup.crates.version("ckb-vm").to_owned(),
            configuration: "interpreter in assembly, version 2, fusion (MOP) on; cycles counted and limited".into(),
            clock: Clock::Guest,
        })
    }
}
