//! Snapshots: a machine's guest at one moment, from which any number of machines are made.
//!
//! A [`Snapshot`] holds all that a guest can observe of itself: memory, hart, the heap's records. What belongs to the host
//! (its own state `T`, limits, the linker) does not come from a snapshot. Invariant: a snapshot is taken of a machine that
//! is not running, so its hart is committed and no host frame holds anything of the guest: every engine can continue it.

mod file;
mod pool;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use riverrun_vm::MapError;

use crate::alarm::Alarm;
use crate::error::Error;
use crate::exhausted::resource;
use crate::guest::Guest;
use crate::instance::Instance;
use crate::linker::Linker;
use crate::machine::Machine;
use crate::program::Program;

pub use crate::snapshot_error::SnapshotError;
pub use pool::{Pool, PooledMachine};

/// A guest at one moment: its memory, registers and heap, shared by any number of machines and threads. Cheap to clone.
///
/// The usual one is taken after a program's `main`, so that its start-up is paid once:
///
/// ```
/// use riverrun::{Config, Engine, Linker, Program};
///
/// let engine = Engine::new(&Config::new())?;
/// let program = Program::new(&engine, riverrun::doc::TINY)?;
/// let linker = Linker::new(&engine);
/// let mut first = linker.instantiate(&program, "the first one's state")?;
/// first.set_x(5, 7);
/// let snapshot = first.snapshot()?;
/// first.set_x(5, 8);
///
/// let mut second = linker.instantiate_from(&snapshot, "another state")?;
/// assert_eq!((first.x(5), second.x(5)), (8, 7));
/// assert_eq!(second.run()?, 42);
///
/// first.reset(&snapshot)?;
/// assert_eq!(first.x(5), 7);
/// # Ok::<(), riverrun::Error>(())
/// ```
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) program: Program,
    pub(crate) guest: Arc<Guest>,
    sections: Arc<BTreeMap<String, Arc<[u8]>>>,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("program", &self.program)
            .field("pc", &self.guest.hart.pc)
            .field("used", &self.guest.memory.used())
            .field("sections", &self.sections.keys())
            .finish_non_exhaustive()
    }
}

impl Snapshot {
    pub(crate) fn new(program: Program, guest: Guest) -> Snapshot {
        Snapshot { program, guest: Arc::new(guest), sections: Arc::default() }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The same guest for another loaded form of the same file, for example one with compiled code or of another
    /// [`Engine`](crate::Engine).
    ///
    /// # Errors
    /// [`SnapshotError::OtherProgram`] if the files differ, [`SnapshotError::AddressBits`] if its machines have more or
    /// fewer addresses.
    ///
    /// ```
    /// # use riverrun::{Config, Engine, Linker, Program};
    /// # let engine = Engine::new(&Config::new())?;
    /// # let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// let snapshot = Linker::new(&engine).instantiate(&program, ())?.snapshot()?;
    /// let exact = Engine::new(Config::new().single_step(true))?;
    /// let snapshot = snapshot.for_program(&Program::new(&exact, riverrun::doc::TINY)?)?;
    /// assert_eq!(Linker::new(&exact).instantiate_from(&snapshot, ())?.run()?, 42);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn for_program(&self, program: &Program) -> Result<Snapshot, Error> {
        self.check(program)?;
        Ok(Snapshot { program: program.clone(), ..self.clone() })
    }

    /// Whether machines of this program can have the guest.
    fn check(&self, program: &Program) -> Result<(), SnapshotError> {
        if !self.program.is_same_file(program) {
            return Err(SnapshotError::OtherProgram);
        }
        check_space(self.program.engine().config.address_bits, program)
    }

    /// The snapshot with bytes of the host's under a name, in place of those that had the name before: a personality's
    /// state, or a saved form of the host's own.
    ///
    /// ```
    /// # use riverrun::{Config, Engine, Linker, Program};
    /// # let engine = Engine::new(&Config::new())?;
    /// # let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// # let mut machine = Linker::new(&engine).instantiate(&program, ())?;
    /// let snapshot = machine.snapshot()?.with_section("game.level", 3_u32.to_le_bytes());
    /// assert_eq!(snapshot.section("game.level"), Some(&3_u32.to_le_bytes()[..]));
    /// assert_eq!(snapshot.section("game.lives"), None);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn with_section(&self, name: &str, bytes: impl Into<Arc<[u8]>>) -> Snapshot {
        let mut sections = (*self.sections).clone();
        sections.insert(name.to_owned(), bytes.into());
        Snapshot { sections: Arc::new(sections), ..self.clone() }
    }

    /// The bytes that the host has added under this name.
    pub fn section(&self, name: &str) -> Option<&[u8]> {
        self.sections.get(name).map(|bytes| &**bytes)
    }

    /// All sections that the host has added, by name.
    pub fn sections(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.sections.iter().map(|(name, bytes)| (&**name, &**bytes))
    }
}

/// Whether machines of this program have addresses of so many bits: a guest's own do not fit another size.
fn check_space(found: u32, program: &Program) -> Result<(), SnapshotError> {
    match program.engine().config.address_bits {
        wanted if wanted == found => Ok(()),
        wanted => Err(SnapshotError::AddressBits { found, wanted }),
    }
}

impl<T> Linker<T> {
    /// Makes a machine that continues where the snapshot was taken. It has this linker's host functions and no limits of
    /// fuel or time.
    ///
    /// # Errors
    /// As [`Linker::instantiate`].
    ///
    /// ```
    /// # use riverrun::{Config, Engine, Linker, Program};
    /// # let engine = Engine::new(&Config::new())?;
    /// # let program = Program::new(&engine, riverrun::doc::ADDER)?;
    /// # let linker = Linker::new(&engine);
    /// let snapshot = linker.instantiate(&program, 0)?.snapshot()?;
    /// let mut machines = Vec::new();
    /// for number in 0..3 {
    ///     machines.push(linker.instantiate_from(&snapshot, number)?);
    /// }
    /// let add = machines[2].func::<(i32, i32), i32>("add")?;
    /// assert_eq!(add.call(&mut machines[2], (40, 2))?, 42);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn instantiate_from(&self, snapshot: &Snapshot, data: T) -> Result<Machine<T>, Error> {
        Machine::make(self, &snapshot.program, Some(&snapshot.guest), data)
    }
}

impl<T> Machine<T> {
    /// The guest as it is now. Takes the heap's records too; not the host's own state, nor limits of fuel and time.
    ///
    /// The first snapshot of a machine copies all pages that the guest has written. Objects on the guest heap that the host
    /// owns ([`GuestBox`](crate::GuestBox) and others) stay this machine's: a machine made from the snapshot has their
    /// blocks, in use, without an object for them.
    ///
    /// # Errors
    /// [`Error::Resource`] if the host has no memory, [`SnapshotError::Running`] while a host function runs.
    pub fn snapshot(&mut self) -> Result<Snapshot, Error> {
        self.must_not_run()?;
        // SAFETY: the machine is borrowed uniquely. This commits the guest's position.
        unsafe { Instance::forget_ready(self.instance) };
        self.heap();
        let instance = self.instance_mut();
        let memory = instance.window.save(instance.program.memory());
        let memory = memory.map_err(|source| resource("memory for a snapshot", source))?;
        let guest = Guest {
            memory,
            hart: instance.window.state().hart.clone(),
            heap: instance.heap.records(),
            stack: instance.stack.clone(),
            lost: instance.lost,
            is_suspended: instance.is_suspended,
            is_initializing: instance.is_initializing,
            guards_floats: instance.guards_floats,
        };
        Ok(Snapshot::new(instance.program.clone(), guest))
    }

    /// Puts the guest back to where the snapshot was taken: of this machine, or of another one of the same program. The
    /// host's own state and the machine's limits stay as they are.
    ///
    /// Objects on the guest heap that the host has made since the snapshot ([`GuestBox`](crate::GuestBox) and others) have
    /// lost their blocks, and must be dropped before.
    ///
    /// # Errors
    /// [`SnapshotError::OtherProgram`], [`SnapshotError::AddressBits`], [`SnapshotError::Running`], [`Error::Map`] if
    /// the snapshot needs more than this machine's limit of memory: nothing has changed then. [`Error::Resource`] if
    /// the host refuses: the guest may be neither as it was nor as in the snapshot then, and is only good for being
    /// dropped.
    pub fn reset(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        self.must_not_run()?;
        snapshot.check(self.program())?;
        self.restore(&snapshot.guest)
    }

    /// Another machine whose guest is as this one's now, with the same host functions: [`Machine::snapshot`] and
    /// [`Linker::instantiate_from`] in one.
    ///
    /// # Errors
    /// As those.
    ///
    /// ```
    /// # use riverrun::{Config, Engine, Linker, Program};
    /// # let engine = Engine::new(&Config::new())?;
    /// # let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// let mut machine = Linker::new(&engine).instantiate(&program, "parent")?;
    /// machine.set_x(5, 7);
    /// let mut fork = machine.fork("child")?;
    /// assert_eq!((fork.x(5), *fork.data()), (7, "child"));
    /// assert_eq!((fork.run()?, machine.run()?), (42, 42));
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn fork(&mut self, data: T) -> Result<Machine<T>, Error> {
        let snapshot = self.snapshot()?;
        self.linker().instantiate_from(&snapshot, data)
    }

    /// Makes the machine as new, but for the host's own state: at the snapshot, without limits, and with no handle that
    /// can interrupt it, nor an object on its heap that reaches it.
    pub(crate) fn recycle(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        self.must_not_run()?;
        snapshot.check(self.program())?;
        self.set_deadline(None);
        if self.instance().fuel.is_some() {
            self.set_fuel(None);
        }
        let instance = self.instance_mut();
        instance.renew_interruption();
        if instance.heap.disown_objects() {
            instance.window.renew_id();
        }
        self.restore(&snapshot.guest)
    }

    /// The linker that it was made with.
    fn linker(&self) -> Linker<T> {
        let instance = self.instance();
        Linker {
            engine: instance.program.engine().clone(),
            ecall: instance.ecall.clone(),
            alarm: instance.alarm_handler.clone(),
            trap: instance.trap_handler.clone(),
            harts: instance.hart_handler.clone(),
            registry: instance.registry.clone(),
            heap: instance.heap.options().clone(),
        }
    }

    fn must_not_run(&self) -> Result<(), SnapshotError> {
        // SAFETY: the instance lives as long as the machine.
        match unsafe { Instance::depth(self.instance) } {
            0 => Ok(()),
            _ => Err(SnapshotError::Running),
        }
    }

    /// Gives the machine a guest of its own program.
    pub(crate) fn restore(&mut self, guest: &Guest) -> Result<(), Error> {
        let instance = self.instance_mut();
        instance.window.restore(&guest.memory, instance.program.memory()).map_err(|error| match error {
            MapError::Host(source) => resource("memory for a machine", source),
            error => error.into(),
        })?;
        instance.heap.set_records(&guest.heap);
        instance.stack = guest.stack.clone();
        instance.lost = guest.lost;
        instance.last_words = None;
        // The host's state may have timers: its handler sets the alarm anew.
        let may_have_alarm = guest.is_suspended && instance.alarm_handler.is_some();
        instance.is_suspended = guest.is_suspended;
        instance.is_initializing = guest.is_initializing;
        // SAFETY: the machine is borrowed uniquely, and no guest runs on it.
        unsafe {
            Instance::set_alarm(self.instance, may_have_alarm.then_some(Alarm::Executed(0)));
            Instance::replace_hart(self.instance, &guest.hart);
            if guest.is_suspended || guest.lost.is_some() {
                Instance::forget_ready(self.instance);
            }
        }
        if guest.guards_floats {
            // SAFETY: the machine is borrowed uniquely.
            unsafe { Instance::guard_floats(self.instance) };
        }
        Ok(())
    }
}
