//! Options, events and statistics of the guest heap.

use std::fmt;
use std::sync::Arc;

/// Bytes of address space that a heap reserves by default.
const LIMIT: u64 = 2 << 30;

type Log = dyn Fn(&HeapEvent) + Send + Sync;

/// How guests' heaps behave. Start from [`HeapOptions::new`] and change what should differ.
///
/// ```
/// let mut options = riverrun::HeapOptions::new();
/// options.limit(64 << 20).record_sites(true).log(|event| eprintln!("{event}"));
/// ```
#[derive(Clone)]
pub struct HeapOptions {
    pub(super) limit: u64,
    pub(super) record_sites: bool,
    pub(super) log: Option<Arc<Log>>,
}

impl Default for HeapOptions {
    fn default() -> HeapOptions {
        HeapOptions { limit: LIMIT, record_sites: false, log: None }
    }
}

impl fmt::Debug for HeapOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeapOptions")
            .field("limit", &self.limit)
            .field("record_sites", &self.record_sites)
            .field("log", &self.log.is_some())
            .finish()
    }
}

impl HeapOptions {
    /// The defaults: as much as the machine's memory allows, within 2 GiB of addresses; no call sites, no
    /// log.
    pub fn new() -> HeapOptions {
        HeapOptions::default()
    }

    /// Bytes that the heap may have, rounded down to pages, within what the machine may have
    /// ([`crate::Config::memory_limit`]). So many addresses are set aside when the heap is first used, or
    /// the largest gap that there is.
    pub fn limit(&mut self, bytes: u64) -> &mut HeapOptions {
        self.limit = bytes;
        self
    }

    /// Records for every block which calls led to its allocation and to its being freed, for [`crate::HeapError`]. This
    /// makes the heap some hundred times slower, and takes about a kilobyte of the host's memory for each of the last
    /// 65,536 blocks.
    pub fn record_sites(&mut self, on: bool) -> &mut HeapOptions {
        self.record_sites = on;
        self
    }

    /// Calls `log` after every use of the heap.
    pub fn log(&mut self, log: impl Fn(&HeapEvent) + Send + Sync + 'static) -> &mut HeapOptions {
        self.log = Some(Arc::new(log));
        self
    }
}

/// A use of a heap that has succeeded, or has found no room. Its `Display` is a line such as
/// `malloc(1024) = 0x40000400`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeapEvent {
    /// A block was asked for.
    Allocate {
        /// Bytes.
        size: u64,
        /// The alignment that was asked for; 1 for none.
        alignment: u64,
        /// Whether its bytes were to be zero.
        zeroed: bool,
        /// Its address, or 0 where there was no room.
        address: u64,
    },
    /// A block was to have another size.
    Resize {
        /// Its address before.
        old: u64,
        /// Bytes.
        size: u64,
        /// Its address now, or 0 where there was no room.
        address: u64,
    },
    /// A block was freed.
    Free {
        /// Its address.
        address: u64,
    },
}

impl fmt::Display for HeapEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            HeapEvent::Allocate { size, zeroed: true, address, .. } => write!(f, "calloc({size}) = {address:#x}"),
            HeapEvent::Allocate { size, alignment: 0 | 1, address, .. } => write!(f, "malloc({size}) = {address:#x}"),
            HeapEvent::Allocate { size, alignment, address, .. } => {
                write!(f, "aligned_alloc({alignment}, {size}) = {address:#x}")
            }
            HeapEvent::Resize { old, size, address } => write!(f, "realloc({old:#x}, {size}) = {address:#x}"),
            HeapEvent::Free { address } => write!(f, "free({address:#x})"),
        }
    }
}

/// How a heap is used. Sizes are in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeapStatistics {
    /// Blocks in use.
    pub blocks: u64,
    /// Requested bytes of blocks in use.
    pub requested: u64,
    /// Bytes that blocks in use take.
    pub taken: u64,
    /// The maximum of [`HeapStatistics::requested`] so far.
    pub peak_requested: u64,
    /// Bytes that the heap has mapped; this never shrinks.
    pub mapped: u64,
    /// Bytes of mapped pages without blocks.
    pub free_pages: u64,
    /// The longest run of such pages: larger blocks make the heap grow.
    pub longest_free: u64,
    /// Blocks allocated so far, blocks that have changed their size where they stand among them.
    pub allocations: u64,
}

impl HeapStatistics {
    /// The overhead at the peak: the fraction, 0 to 1, of the heap's memory that was not requested when
    /// [`HeapStatistics::requested`] was largest. It consists of rounding and of gaps between blocks. For glibc it is
    /// between 0.05 and 0.3 in most programs.
    ///
    /// ```
    /// # use riverrun::{Config, Engine, Linker, Program};
    /// # let engine = Engine::new(&Config::new())?;
    /// # let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// # let mut machine = Linker::new(&engine).instantiate(&program, ())?;
    /// let mut heap = machine.heap();
    /// for _ in 0..1000 {
    ///     heap.allocate(1000)?;
    /// }
    /// assert!(heap.statistics().fragmentation() < 0.2);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn fragmentation(&self) -> f64 {
        if self.mapped == 0 { 0.0 } else { 1.0 - self.peak_requested as f64 / self.mapped as f64 }
    }
}
