//! Makes many machines of a program, in the interpreter or with compiled code, and reports what they take.

use anyhow::{Result, bail};
use peer_common::instances::{self, Host};
use riverrun::{Config, Engine, Func, Linker, Machine, Program};

fn main() -> Result<()> {
    let (path, arguments) = peer_common::arguments()?;
    let engine = Engine::new(&Config::new())?;
    let mut program = Program::from_file(&engine, &path)?;
    let count = match &arguments[1..] {
        [count] => count,
        [artifact, count] => {
            // SAFETY: the harness names a file that `riverrun compile` made.
            program = unsafe { program.with_artifact(artifact)? };
            count
        }
        _ => bail!("usage: peer-riverrun PROGRAM [ARTIFACT] COUNT"),
    };
    let linker = Linker::new(&engine);
    let touch = linker.instantiate(&program, ())?.func("touch")?;
    instances::report(&mut Machines { program, linker, touch }, count)
}

struct Machines {
    program: Program,
    linker: Linker<()>,
    touch: Func<(i64,), i64>,
}

impl Host for Machines {
    type Instance = Machine<()>;

    fn create(&mut self) -> Result<Machine<()>> {
        Ok(self.linker.instantiate(&self.program, ())?)
    }

    fn touch(&mut self, machine: &mut Machine<()>, x: i64) -> Result<i64> {
        Ok(self.touch.call(machine, (x,))?)
    }
}
