//! riverrun's machines.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use riverrun::{AsyncCaller, CompileOptions, Config, Engine, Func, Linker, Machine, Program};

use crate::measure::{Host, Wait};

pub(crate) struct Machines {
    linker: Linker<Wait>,
    program: Program,
}

impl Machines {
    /// Of the guest, compiled or not.
    pub(crate) fn new(compiled: bool) -> Result<Machines> {
        let engine = Engine::new(&Config::new())?;
        let mut linker = Linker::new(&engine);
        linker.func_async("later", |caller: AsyncCaller<'_, Wait>, (x,): (i64,)| {
            Box::pin(async move {
                caller.data().wait().await;
                Ok(x)
            })
        })?;
        let folder = tempfile::tempdir()?;
        let elf = folder.path().join("guest.elf");
        let status = Command::new("riscv64-linux-gnu-gcc")
            .args(["-O2", "-static", "-fno-pie", "-no-pie", "-nostdlib", "-ffreestanding", "-mno-relax"])
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("guest.c"))
            .arg("-o")
            .arg(&elf)
            .status()
            .context("riscv64-linux-gnu-gcc: apt install gcc-riscv64-linux-gnu")?;
        ensure!(status.success(), "guest.c does not compile");
        let mut program = Program::from_file(&engine, &elf)?;
        if compiled {
            (program, _) = program.compile_to(&CompileOptions::default(), folder.path().join("guest.rro"))?;
        }
        Ok(Machines { linker, program })
    }
}

impl Host for Machines {
    type Instance = (Machine<Wait>, Func<(i64,), i64>);

    async fn create(&mut self, wait: Wait) -> Result<Self::Instance> {
        let mut machine = self.linker.instantiate(&self.program, wait)?;
        let ask = machine.func("ask")?;
        Ok((machine, ask))
    }

    async fn ask((machine, ask): &mut Self::Instance, x: i64) -> Result<i64> {
        Ok(ask.call_async(machine, (x,)).await?)
    }
}
