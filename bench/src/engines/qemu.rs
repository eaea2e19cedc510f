//! QEMU's user-mode emulation, which translates to machine code as it runs.

use anyhow::Result;

use crate::engine::{Clock, Engine, Ready, Setup};
use crate::toolchain::{Target, first_line, require};

pub(crate) struct Qemu;

impl Engine for Qemu {
    fn name(&self) -> &'static str {
        "qemu"
    }

    fn target(&self) -> Target {
        Target::Riscv64
    }

    fn prepare(&self, _setup: &Setup) -> Result<Ready> {
        require(&["qemu-riscv64"], &["qemu-user"])?;
        Ok(Ready {
            command: vec!["qemu-riscv64".into()],
            version: first_line("qemu-riscv64", &["--version"])?,
            configuration: "qemu-riscv64 as it comes (a translator, not an interpreter); instructions not counted"
                .into(),
            clock: Clock::Process,
        })
    }
}
