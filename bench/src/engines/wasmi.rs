//! wasmi, a WebAssembly interpreter in Rust.

use anyhow::Result;

use crate::engine::{Clock, Engine, Kind, Ready, Setup, build_peer};
use crate::toolchain::Target;

pub(crate) struct Wasmi;

impl Engine for Wasmi {
    fn name(&self) -> &'static str {
        "wasmi"
    }

    fn target(&self) -> Target {
        Target::Wasm32Wide
    }

    fn kind(&self) -> Kind {
        Kind::Interpreter
    }

    fn prepare(&self, setup: &Setup) -> Result<Ready> {
        let command = build_peer(setup, "peer-wasmi", "peer")?;
        Ok(Ready {
            command: vec![command.into(), "{program}".into()],
            environment: Vec::new(),
            translator: None,
            version: setup.crates.version("wasmi").to_owned(),
            configuration: "default features, wide arithmetic, fat LTO, one codegen unit; fuel not counted".into(),
            clock: Clock::Guest,
        })
    }
}
