//! QEMU's user-mode emulation, which translates to machine code as it runs.

use anyhow::Result;

use crate::engine::{Clock, Engine, Kind, Ready, Setup, words};
use crate::toolchain::{Target, first_line, require};

pub(crate) struct Qemu;

impl Engine for Qemu {
    fn name(&self) -> &'static str {
        "qemu"
    }

    fn target(&self) -> Target {
        Target::Riscv64
    }

    fn kind(&self) -> Kind {
        Kind::Compiler
    }

    fn prepare(&self, _setup: &Setup) -> Result<Ready> {
        require(&["qemu-riscv64"], &["qemu-user"])?;
        Ok(Ready {
            command: words(&["qemu-riscv64", "-cpu", "rv64,zba=true,zbb=true,zbs=true", "{program}"]),
            environment: Vec::new(),
            translator: None,
            version: first_line("qemu-riscv64", &["--version"])?,
            configuration: "qemu-riscv64 (translates as it runs); instructions not counted".into(),
            clock: Clock::Process,
        })
    }
}
