//! CKB-VM's interpreter, the one in assembly.

use anyhow::Result;

use crate::engine::{Clock, Engine, Kind, Ready, Setup, cargo_build};
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
        let folder = setup.target_folder.join("ckb-vm");
        let command = cargo_build(&setup.bench.join("Cargo.toml"), "peer-ckb-vm", "release", &folder, &[], &[])?;
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
