//! The guest: started once, in a pool of machines that go back to that moment after each request.

use std::time::{Duration, Instant};

use riverrun::{Config, Engine, Error, Func, Linker, Pool, Program, Ptr};
use riverrun_linux::Linux;

use crate::Reply;

const GUEST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plugin"));

/// Idle machines that are kept: those beyond are made when many requests come at once.
const IDLE: usize = 64;
/// Memory that a machine may have.
const MEMORY: u64 = 32 << 20;

/// What one request may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Instructions: the same request takes as many on every host.
    pub fuel: u64,
    /// Time: how long a client waits at most, and how long a thread of the server is busy.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { fuel: 20_000_000, time: Duration::from_millis(50) }
    }
}

/// The plugin. Clones share their machines.
#[derive(Clone, Debug)]
pub struct Plugin {
    pool: Pool<Linux>,
    limits: Limits,
    room: Func<(u64,), Ptr<u8>>,
    handle: Func<(u64, u64), (u64, u64)>,
}

impl Plugin {
    /// Starts the plugin: runs its `main`, and takes the snapshot with which every request begins.
    ///
    /// `compiled` compiles it ahead of time, which takes some 20 seconds.
    ///
    /// # Errors
    /// If the plugin cannot be started, or this build has no compiler.
    pub fn new(compiled: bool, limits: Limits) -> Result<Plugin, Box<dyn std::error::Error + Send + Sync>> {
        let mut config = Config::new();
        config.memory_limit(MEMORY).stack_size(256 << 10);
        if compiled {
            compile(&mut config)?;
        }
        let engine = Engine::new(&config)?;
        let program = Program::new(&engine, GUEST)?;
        let mut linker = Linker::new(&engine);
        riverrun_linux::add_to_linker(&mut linker, |linux: &mut Linux| linux);
        // Nothing is granted: no files, no streams.
        let mut machine = linker.instantiate(&program, Linux::builder().args(["plugin"]).build())?;
        riverrun_linux::start(&mut machine, |linux| linux)?;
        machine.run()?;
        let (room, handle) = (machine.func("room")?, machine.func("handle")?);
        let snapshot = machine.snapshot()?;
        let linux = machine.data().save()?;
        let new = move || Ok(Linux::builder().restore(&linux)?);
        let pool = Pool::new(&linker, &snapshot, IDLE, new, |linux| Ok(linux.reset()?));
        Ok(Plugin { pool, limits, room, handle })
    }

    /// The same plugin with other limits.
    pub fn with_limits(&self, limits: Limits) -> Plugin {
        Plugin { limits, ..self.clone() }
    }

    /// Answers one request on a machine of its own. Whatever happens in it, the next request finds nothing of it.
    ///
    /// # Errors
    /// How the plugin failed, or that it has used up its [`Limits`].
    pub fn handle(&self, path: &str, body: &[u8]) -> Result<Reply, Error> {
        let mut machine = self.pool.get()?;
        machine.set_fuel(Some(self.limits.fuel));
        machine.set_deadline(Instant::now().checked_add(self.limits.time));
        let request = self.room.call(&mut *machine, ((path.len() + body.len()) as u64,))?.address();
        let memory = machine.memory_mut();
        memory.write(request, path.as_bytes())?;
        memory.write(request.wrapping_add(path.len() as u64), body)?;
        // A structure in C++: status and length in one register, the text's address in the other.
        let (head, text) = self.handle.call(&mut *machine, (path.len() as u64, body.len() as u64))?;
        let page = machine.memory().slice(text, head >> 32)?.to_vec();
        Ok(Reply { status: head as u16, page })
    }
}

#[cfg(feature = "compile")]
fn compile(config: &mut Config) -> Result<(), String> {
    config.compile(riverrun::CompileOptions { fuel: true, ..Default::default() });
    Ok(())
}

#[cfg(not(feature = "compile"))]
fn compile(_: &mut Config) -> Result<(), String> {
    Err("this build has no compiler: build it with --features compile".to_owned())
}
