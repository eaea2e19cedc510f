//! Makes many machines of a program, in the interpreter or with compiled code, and reports what they take.

use anyhow::{Context, Result, bail, ensure};
use peer_common::instances::{self, Host};
use riverrun::{Config, Engine, Func, Linker, Machine, Perm, Pool, Program, Snapshot};

fn main() -> Result<()> {
    let (path, arguments) = peer_common::arguments()?;
    let mut config = Config::new();
    if let Ok(bits) = std::env::var("PEER_ADDRESS_BITS") {
        config.address_bits(bits.parse().context("PEER_ADDRESS_BITS")?);
    }
    let engine = Engine::new(&config)?;
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
    let mut first = linker.instantiate(&program, ())?;
    let touch = first.func("touch")?;
    let pool = Pool::new(&linker, &first.snapshot()?, 1, || Ok(()), |()| Ok(()));
    first.memory_mut().map(LARGE, LARGE_LEN, Perm::READ | Perm::WRITE)?;
    for page in (LARGE..LARGE + LARGE_LEN).step_by(PAGE) {
        first.memory_mut().write_u64(page, page)?;
    }
    let saved = first.snapshot()?;
    instances::report(&mut Machines { program, linker, touch, pool, large: first, saved, frame: 0 }, count)
}

/// Where the instance that is forked and saved has its memory: above the program, in small address spaces, too.
const LARGE: u64 = 1 << 25;
const LARGE_LEN: u64 = 1 << 20;
const PAGE: usize = riverrun::PAGE_SIZE as usize;
/// Pages that are written between two snapshots.
const WRITTEN: usize = 20;

struct Machines {
    program: Program,
    linker: Linker<()>,
    touch: Func<(i64,), i64>,
    pool: Pool<()>,
    large: Machine<()>,
    saved: Snapshot,
    frame: u64,
}

impl Machines {
    /// Writes to pages of the large instance.
    fn write(&mut self) -> Result<()> {
        self.frame += 1;
        for page in (LARGE..).step_by(PAGE).take(WRITTEN) {
            self.large.memory_mut().write_u64(page, self.frame)?;
        }
        Ok(())
    }

    /// What the last of these pages has.
    fn written(&self) -> Result<u64> {
        Ok(self.large.memory().read_u64(LARGE + ((WRITTEN - 1) * PAGE) as u64)?)
    }
}

impl Host for Machines {
    type Instance = Machine<()>;

    fn create(&mut self) -> Result<Machine<()>> {
        Ok(self.linker.instantiate(&self.program, ())?)
    }

    fn touch(&mut self, machine: &mut Machine<()>, x: i64) -> Result<i64> {
        Ok(self.touch.call(machine, (x,))?)
    }

    fn recycle(&mut self, x: i64) -> Result<Option<i64>> {
        let mut machine = self.pool.get()?;
        Ok(Some(self.touch.call(&mut machine, (x,))?))
    }

    fn fork(&mut self, x: i64) -> Result<Option<i64>> {
        let mut fork = self.large.fork(())?;
        Ok(Some(self.touch.call(&mut fork, (x,))?))
    }

    fn save(&mut self) -> Result<Option<()>> {
        self.write()?;
        self.saved = self.large.snapshot()?;
        Ok(Some(()))
    }

    fn go_back(&mut self) -> Result<Option<()>> {
        let before = self.written()?;
        self.write()?;
        self.large.reset(&self.saved).context("going back")?;
        ensure!(self.written()? == before, "a page is not as it was");
        Ok(Some(()))
    }
}
