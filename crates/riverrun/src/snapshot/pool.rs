//! Pools: machines made from one snapshot, which go back to it after each use.
//!
//! A [`PooledMachine`] is restored when it is dropped, so that an idle machine holds nothing of its last user. Invariant:
//! an idle machine's guest and limits are as those of a new machine, and no handle can interrupt it.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::call::func::HasInstance;
use crate::error::{Error, HostError};
use crate::instance::Instance;
use crate::linker::Linker;
use crate::machine::Machine;
use crate::snapshot::Snapshot;

type New<T> = dyn Fn() -> Result<T, HostError> + Send + Sync;
type Reset<T> = dyn Fn(&mut T) -> Result<(), HostError> + Send + Sync;

/// Machines that start from one snapshot, used again and again, from any number of threads. Clones are the same pool.
///
/// ```
/// use riverrun::{Config, Engine, Linker, Pool, Program};
///
/// let engine = Engine::new(&Config::new())?;
/// let program = Program::new(&engine, riverrun::doc::ADDER)?;
/// let linker = Linker::new(&engine);
/// let snapshot = linker.instantiate(&program, 0)?.snapshot()?;
/// // A new machine's own state is 0; a returned one's is put back to 0.
/// let pool = Pool::new(&linker, &snapshot, 16, || Ok(0), |requests| {
///     *requests = 0;
///     Ok(())
/// });
/// for _ in 0..3 {
///     let mut machine = pool.get()?;
///     let add = machine.func::<(i32, i32), i32>("add")?;
///     assert_eq!(add.call(&mut machine, (40, 2))?, 42);
///     *machine.data_mut() += 1;
///     assert_eq!(*machine.data(), 1);
/// }
/// assert_eq!(pool.idle(), 1);
/// # Ok::<(), riverrun::Error>(())
/// ```
pub struct Pool<T>(Arc<Shared<T>>);

struct Shared<T> {
    /// A number that no other pool has, or has had.
    number: u64,
    linker: Linker<T>,
    snapshot: Snapshot,
    limit: usize,
    new: Box<New<T>>,
    reset: Box<Reset<T>>,
    idle: Mutex<Vec<Machine<T>>>,
}

impl<T> Clone for Pool<T> {
    fn clone(&self) -> Pool<T> {
        Pool(self.0.clone())
    }
}

impl<T> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("snapshot", &self.0.snapshot)
            .field("idle", &self.idle())
            .field("limit", &self.0.limit)
            .finish_non_exhaustive()
    }
}

impl<T> Pool<T> {
    /// A pool that keeps at most `idle` machines for later. It makes more whenever more are asked for at once.
    ///
    /// `new` makes the host's own state for a new machine. `reset` puts that of a returned machine back; if it fails or
    /// panics, the machine is dropped.
    pub fn new(
        linker: &Linker<T>,
        snapshot: &Snapshot,
        idle: usize,
        new: impl Fn() -> Result<T, HostError> + Send + Sync + 'static,
        reset: impl Fn(&mut T) -> Result<(), HostError> + Send + Sync + 'static,
    ) -> Pool<T> {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        Pool(Arc::new(Shared {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            linker: linker.clone(),
            snapshot: snapshot.clone(),
            limit: idle,
            new: Box::new(new),
            reset: Box::new(reset),
            idle: Mutex::new(Vec::new()),
        }))
    }

    /// A machine at the snapshot, which returns to the pool when it is dropped.
    ///
    /// # Errors
    /// If no machine is idle and a new one cannot be made: as [`Linker::instantiate_from`], or [`Error::Data`] with what
    /// the pool's `new` says.
    pub fn get(&self) -> Result<PooledMachine<T>, Error> {
        // The lock ends before a machine is made.
        let idle = self.0.idle().pop();
        let machine = match idle {
            Some(machine) => machine,
            None => {
                let data = (self.0.new)().map_err(Error::Data)?;
                let mut machine = self.0.linker.instantiate_from(&self.0.snapshot, data)?;
                machine.instance_mut().pool = self.0.number;
                machine
            }
        };
        Ok(PooledMachine { machine: ManuallyDrop::new(machine), pool: self.clone() })
    }

    /// Takes a machine of this pool back from [`PooledMachine::into_machine`], as if that had been dropped. Any other
    /// machine is dropped: its data is not what the pool's `new` has made.
    ///
    /// ```
    /// # use riverrun::{Config, Engine, Linker, Pool, Program};
    /// # let engine = Engine::new(&Config::new())?;
    /// # let program = Program::new(&engine, riverrun::doc::ADDER)?;
    /// # let linker = Linker::new(&engine);
    /// # let snapshot = linker.instantiate(&program, ())?.snapshot()?;
    /// let pool = Pool::new(&linker, &snapshot, 16, || Ok(()), |_| Ok(()));
    /// let machine = pool.get()?.into_machine();
    /// assert_eq!(pool.idle(), 0);
    /// pool.put(machine);
    /// assert_eq!(pool.idle(), 1);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn put(&self, machine: Machine<T>) {
        drop(PooledMachine { machine: ManuallyDrop::new(machine), pool: self.clone() });
    }

    /// How many machines are idle.
    pub fn idle(&self) -> usize {
        self.0.idle().len()
    }

    /// The snapshot at which machines start.
    pub fn snapshot(&self) -> &Snapshot {
        &self.0.snapshot
    }
}

impl<T> Shared<T> {
    fn idle(&self) -> MutexGuard<'_, Vec<Machine<T>>> {
        // No operation on the list panics between two changes of it.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a used machine as a new one; false if that is impossible.
    fn recycle(&self, machine: &mut Machine<T>) -> bool {
        // The panic may have left anything half done. Hosts can exchange a pool's machine for another one.
        if thread::panicking() || machine.instance_mut().pool != self.number {
            return false;
        }
        let reset = || (self.reset)(machine.data_mut());
        if !matches!(catch_unwind(AssertUnwindSafe(reset)), Ok(Ok(()))) {
            return false;
        }
        machine.recycle(&self.snapshot).is_ok()
    }
}

/// A machine of a [`Pool`], to which it returns when it is dropped.
pub struct PooledMachine<T> {
    machine: ManuallyDrop<Machine<T>>,
    pool: Pool<T>,
}

impl<T> PooledMachine<T> {
    /// The machine, which does not return to the pool by itself any more: see [`Pool::put`].
    pub fn into_machine(self) -> Machine<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: neither field is used after this, nor dropped again.
        let (machine, pool) = unsafe { (ManuallyDrop::take(&mut this.machine), std::ptr::read(&this.pool)) };
        drop(pool);
        machine
    }
}

impl<T: fmt::Debug> fmt::Debug for PooledMachine<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PooledMachine").field(&*self.machine).finish()
    }
}

impl<T> Deref for PooledMachine<T> {
    type Target = Machine<T>;

    fn deref(&self) -> &Machine<T> {
        &self.machine
    }
}

impl<T> DerefMut for PooledMachine<T> {
    fn deref_mut(&mut self) -> &mut Machine<T> {
        &mut self.machine
    }
}

impl<T: 'static> HasInstance for PooledMachine<T> {
    type Data = T;

    #[allow(private_interfaces)]
    fn instance(&mut self) -> NonNull<Instance<T>> {
        self.machine.instance
    }
}

impl<T> Drop for PooledMachine<T> {
    fn drop(&mut self) {
        // SAFETY: the field is not used after this.
        let mut machine = unsafe { ManuallyDrop::take(&mut self.machine) };
        let shared = &self.pool.0;
        if shared.recycle(&mut machine) {
            let mut idle = shared.idle();
            if idle.len() < shared.limit {
                idle.push(machine);
            }
        }
        // The machine is dropped here, without the lock.
    }
}
