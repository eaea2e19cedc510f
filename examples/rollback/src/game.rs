//! The guest.

use riverrun::{Config, Engine, Error, Func, LinkError, Linker, Machine, Perm, Program, Snapshot};

const GUEST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/paint"));

/// Cells of the field.
pub const WIDTH: usize = 96;
/// Cells of the field.
pub const HEIGHT: usize = 40;

/// The keys that a player holds, a bit each: left, right, up, down, throw.
pub type Keys = u32;

/// A game, at some frame.
pub struct Game {
    machine: Machine<()>,
    frame: Func<(Keys, Keys), ()>,
    field: u64,
    score: u64,
}

impl Game {
    /// An engine for games.
    ///
    /// # Errors
    /// If compiled code is asked for, and this build has no compiler.
    pub fn engine(single_step: bool, compiled: bool) -> Result<Engine, Error> {
        let mut config = Config::new();
        config.single_step(single_step).stack_size(64 << 10);
        if compiled {
            compile(&mut config)?;
        }
        Engine::new(&config)
    }

    /// A new game.
    ///
    /// # Errors
    /// If the guest cannot be run.
    pub fn new(engine: &Engine) -> Result<Game, Error> {
        let program = Program::new(engine, GUEST)?;
        let mut machine = Linker::new(engine).instantiate(&program, ())?;
        machine.run()?;
        let frame = machine.func("frame")?;
        let address = |name: &str| {
            let symbol = program.image().symbol(name);
            symbol.map(|symbol| symbol.address).ok_or_else(|| LinkError::NoFunction { name: name.to_owned() })
        };
        Ok(Game { frame, field: address("field")?, score: address("score")?, machine })
    }

    /// Plays a frame.
    ///
    /// # Errors
    /// If the guest traps.
    pub fn frame(&mut self, [first, second]: [Keys; 2]) -> Result<(), Error> {
        self.frame.call(&mut self.machine, (first, second))
    }

    /// The game as it is now. Costs in proportion to the pages written since the last snapshot.
    ///
    /// # Errors
    /// If the host has no memory.
    pub fn snapshot(&mut self) -> Result<Snapshot, Error> {
        self.machine.snapshot()
    }

    /// Goes back to a snapshot.
    ///
    /// # Errors
    /// If it is none of this game.
    pub fn reset(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        self.machine.reset(snapshot)
    }

    /// Who owns each cell, row by row: 0 for neither player, 1 or 2.
    ///
    /// # Errors
    /// If the guest has no field.
    pub fn field(&self) -> Result<&[u8], Error> {
        Ok(self.machine.memory().slice(self.field, (WIDTH * HEIGHT) as u64)?)
    }

    /// Cells of each player.
    ///
    /// # Errors
    /// If the guest has no score.
    pub fn score(&self) -> Result<[u32; 2], Error> {
        let memory = self.machine.memory();
        Ok([memory.read_u32(self.score + 4)?, memory.read_u32(self.score + 8)?])
    }

    /// A checksum of all that the guest remembers: memory that it can read, by address. What lies below the stack pointer
    /// between two calls belongs to no function, and engines differ there: compiled code keeps in registers what others
    /// save.
    ///
    /// # Errors
    /// If the guest has a region that it cannot read and says that it can.
    pub fn hash(&self) -> Result<u32, Error> {
        let (memory, stack) = (self.machine.memory(), self.machine.stack());
        let mut hash = crc32fast::Hasher::new();
        for region in memory.regions().iter().filter(|region| region.perm.contains(Perm::READ)) {
            let is_stack = stack.contains(&region.start);
            let start = if is_stack { self.machine.x(2).clamp(region.start, region.end) } else { region.start };
            hash.update(&start.to_le_bytes());
            hash.update(memory.slice(start, region.end - start)?);
        }
        Ok(hash.finalize())
    }
}

/// What a player holds in a frame. A player changes mind six times a second; the other player cannot predict the next
/// change.
pub fn keys(seed: u64, player: u32, frame: u64) -> Keys {
    let player = u64::from(player);
    let turn = frame.wrapping_add(5 * player) / 10;
    // SplitMix64's finaliser.
    let mut bits = seed ^ (player << 56) ^ turn;
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits >> 40) as Keys & 0b11111
}

#[cfg(feature = "compile")]
fn compile(config: &mut Config) -> Result<(), Error> {
    config.compile(riverrun::CompileOptions::default());
    Ok(())
}

#[cfg(not(feature = "compile"))]
fn compile(_: &mut Config) -> Result<(), Error> {
    Err(Error::Config("compiled code, which a build with `--features compile` has".to_owned()))
}
