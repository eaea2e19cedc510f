//! Engines: a configuration that programs and machines share.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "compile")]
use riverrun_aot::CompileOptions;
use riverrun_vm::{AddressSpace, PAGE_SIZE};

use crate::error::Error;
use crate::tier_up::TierUp;

/// The largest stack of a guest, in bytes.
const STACK_LIMIT: u64 = 1 << 30;

/// How programs are run. Start from [`Config::new`] and change what should differ.
///
/// ```
/// let mut config = riverrun::Config::new();
/// config.memory_limit(64 << 20).stack_size(256 << 10);
/// let engine = riverrun::Engine::new(&config)?;
/// # Ok::<(), riverrun::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) address_bits: u32,
    pub(crate) memory_limit: u64,
    pub(crate) mapping_limit: usize,
    pub(crate) stack_size: u64,
    pub(crate) code_limit: u64,
    pub(crate) single_step: bool,
    pub(crate) exits_at_polls: bool,
    pub(crate) call_depth: u32,
    pub(crate) cache: Option<PathBuf>,
    pub(crate) tier_up: Option<TierUp>,
    #[cfg(feature = "compile")]
    pub(crate) compile: Option<CompileOptions>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            address_bits: AddressSpace::MAX_BITS,
            memory_limit: u64::MAX,
            mapping_limit: riverrun_vm::MAPPING_LIMIT,
            stack_size: 8 << 20,
            code_limit: 256 << 20,
            single_step: false,
            exits_at_polls: false,
            call_depth: 64,
            cache: None,
            tier_up: None,
            #[cfg(feature = "compile")]
            compile: None,
        }
    }
}

impl Config {
    /// The defaults: memory limited only by the guest's 4 GiB of addresses, 8 MiB of stack, 256 MiB of decoded code, the
    /// interpreter, 64 nested calls between host and guest.
    pub fn new() -> Config {
        Config::default()
    }

    /// Bytes of memory that a guest may have, image and stack included.
    pub fn memory_limit(&mut self, bytes: u64) -> &mut Config {
        self.memory_limit = bytes;
        self
    }

    /// Bits of a guest's addresses, 26 to 32; 32 by default. A machine takes 2^`bits` bytes of the process's address space,
    /// most of which are no memory: fewer bits are for processes that may not have 4 GiB for each of their machines
    /// (`RLIMIT_AS`), or that have some ten thousand of them. Addresses count modulo 2^`bits` in every engine. Each memory
    /// access of the guest may take one instruction more than with 32 bits.
    ///
    /// Program, stack, heap and mappings have to fit. Compiled code is for machines of one size, and so are snapshots.
    ///
    /// ```
    /// use riverrun::{Config, Engine, Linker, Program};
    ///
    /// let mut config = Config::new();
    /// config.address_bits(26).stack_size(1 << 20);
    /// let engine = Engine::new(&config)?;
    /// let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// let mut machine = Linker::new(&engine).instantiate(&program, ())?;
    /// assert!(machine.stack().end < 64 << 20);
    /// assert_eq!(machine.run()?, 42);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn address_bits(&mut self, bits: u32) -> &mut Config {
        self.address_bits = bits;
        self
    }

    /// Pieces that a guest may split its memory into, 4,096 by default: each range of pages with the same
    /// permissions is one, and each hole between two; what the guest changes within its program's image is more
    /// pieces. The host's kernel keeps at most a mapping for each, of which a
    /// process has about 65,000 (`vm.max_map_count`), for all its machines and itself. Beyond the limit the
    /// guest's own changes of its memory fail ([`crate::MapError::Pieces`]), and machines whose program
    /// needs more are not made.
    ///
    /// ```
    /// let mut config = riverrun::Config::new();
    /// config.mapping_limit(256);
    /// # riverrun::Engine::new(&config)?;
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn mapping_limit(&mut self, pieces: usize) -> &mut Config {
        self.mapping_limit = pieces;
        self
    }

    /// Bytes of a guest's stack, rounded up to pages: at most 1 GiB.
    pub fn stack_size(&mut self, bytes: u64) -> &mut Config {
        self.stack_size = bytes;
        self
    }

    /// Bytes that a program's decoded code may take, approximately: once for the interpreter, and once for each compiled
    /// code of it, beside which the interpreter runs what is not compiled. Beyond the limit, code that has not run before
    /// runs in the reference interpreter, which is slow. An instruction that has run takes about 32 bytes.
    pub fn code_limit(&mut self, bytes: u64) -> &mut Config {
        self.code_limit = bytes;
        self
    }

    /// How deep runs of the guest may nest: a host function that calls back into the guest begins a nested run. Each takes
    /// some KiB of the host's stack, besides the frames of host functions. At least 1, which lets no host function call
    /// the guest.
    pub fn call_depth(&mut self, runs: u32) -> &mut Config {
        self.call_depth = runs;
        self
    }

    /// Runs every instruction in the reference interpreter: slow, for comparison with the other engines.
    pub fn single_step(&mut self, on: bool) -> &mut Config {
        self.single_step = on;
        self
    }

    /// Has compiled code exit at most of its polls, as if it was interrupted there each time: for tests.
    #[doc(hidden)]
    pub fn exit_at_polls(&mut self, on: bool) -> &mut Config {
        self.exits_at_polls = on;
        self
    }
}

impl Config {
    /// The addresses of its guests. Engines have none that is out of range.
    pub(crate) fn space(&self) -> AddressSpace {
        AddressSpace::new(self.address_bits).unwrap_or(AddressSpace::LARGEST)
    }

    /// The pages of a guest's stack.
    pub(crate) fn stack(&self) -> Range<u64> {
        let top = self.space().stack_top();
        top.saturating_sub(self.stack_size.next_multiple_of(PAGE_SIZE))..top
    }

    /// What is out of range, in words.
    fn problem(&self) -> Option<String> {
        let (bits, size) = (self.address_bits, self.stack_size);
        let (fewest, most) = (AddressSpace::MIN_BITS, AddressSpace::MAX_BITS);
        if AddressSpace::new(bits).is_none() {
            return Some(format!(
                "addresses of {bits} bits; they may have {fewest} to {most} (`Config::address_bits`)"
            ));
        }
        if size == 0 || size > STACK_LIMIT {
            return Some(format!("a stack of {size} bytes; it may have 1 to {STACK_LIMIT}"));
        }
        if self.call_depth == 0 {
            return Some("no run of a guest: `Config::call_depth` is at least 1".into());
        }
        let all = self.space().size();
        let too_much = |what, remedy| {
            Some(format!(
                "{what} where addresses of {bits} bits leave a guest {all}: raise `Config::address_bits`, or {remedy}"
            ))
        };
        // A half is left for everything else.
        if size > all / 2 {
            return too_much(format!("a stack of {size} bytes"), "lower `Config::stack_size` to half of that");
        }
        if self.space().is_masked() && self.memory_limit != u64::MAX && self.memory_limit > all {
            let limit = self.memory_limit;
            return too_much(format!("a limit of {limit} bytes of memory"), "lower `Config::memory_limit`");
        }
        None
    }

    /// Keeps compiled code in a folder: programs use the code that they find there, and `Config::compile` (feature
    /// `compile`) writes its results there. All other programs run in the interpreter. The command's cache is
    /// `$XDG_CACHE_HOME/riverrun`; both may use the same folder.
    ///
    /// ```
    /// # let folder = std::env::temp_dir().join("riverrun-example-cache");
    /// let mut config = riverrun::Config::new();
    /// // SAFETY: only this user can write there.
    /// unsafe { config.cache(folder) };
    /// let engine = riverrun::Engine::new(&config)?;
    /// let program = riverrun::Program::new(&engine, riverrun::doc::TINY)?;
    /// assert!(!program.is_compiled(), "the folder is empty");
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    ///
    /// # Safety
    /// Compiled code runs with all rights of the host: only users and processes that have these rights may be able to write
    /// to the folder, or create it.
    pub unsafe fn cache(&mut self, folder: impl AsRef<Path>) -> &mut Config {
        self.cache = Some(folder.as_ref().to_owned());
        self
    }

    /// Compiles programs while they run: the interpreter begins, and a process in the background compiles the functions
    /// that turn out to be hot, as often as that is worthwhile: quickly first, and by LLVM once a program has run for long.
    /// All machines of a program share its compiled code, and use it from the next point on where the dispatcher has
    /// control. Programs for which the [cache](Config::cache) has whole code use that. Otherwise the cache keeps the
    /// profile ([`Program::keep_profile`](crate::Program::keep_profile)) and what was compiled by it, with which the
    /// next start begins; a compiler that runs when the process ends finishes its work for that.
    ///
    /// The code is as the command compiles it by default: it counts no instructions unless [`TierUp::fuel`] asks for it, so
    /// that machines with a limit of fuel are interpreted; it is not precise. If the compiler fails, programs stay
    /// interpreted:
    /// [`Program::tier_up`](crate::Program::tier_up) says why.
    ///
    /// Functions that were looked up ([`Machine::func`](crate::Machine::func)) before their code was compiled are called
    /// somewhat slower than those that are looked up afterwards.
    ///
    /// ```
    /// use riverrun::{Config, Engine, Program, TierUp};
    ///
    /// let mut config = Config::new();
    /// // SAFETY: the command, and with it this program, is installed where only the administrator can write.
    /// unsafe { config.tier_up(TierUp::new("riverrun-compile")) };
    /// let program = Program::new(&Engine::new(&config)?, riverrun::doc::TINY)?;
    /// assert_eq!(program.tier_up().map(|statistics| statistics.compilations), Some(0), "it has not run yet");
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    ///
    /// # Safety
    /// Compiled code runs with all rights of the host: the compiler must be riverrun's, and only users and processes with
    /// the host's rights may be able to replace it, or write to the folder for temporary files of this user.
    pub unsafe fn tier_up(&mut self, tier_up: TierUp) -> &mut Config {
        self.tier_up = Some(tier_up);
        self
    }

    /// Compiles every program as it is loaded, unless the [cache](Config::cache) has its code; for most
    /// of them that takes seconds. Without a cache the code is lost with the program. A program that takes more work
    /// than [`CompileOptions::max_work`] runs in the interpreter: [`Program::is_compiled`](crate::Program::is_compiled)
    /// tells.
    ///
    /// Code that does not count instructions ([`CompileOptions::fuel`]) is not used by machines that have
    /// a limit of fuel.
    ///
    /// ```
    /// use riverrun::{CompileOptions, Config, Engine, Program};
    ///
    /// let mut config = Config::new();
    /// config.compile(CompileOptions::default());
    /// let program = Program::new(&Engine::new(&config)?, riverrun::doc::TINY)?;
    /// assert!(program.is_compiled());
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    #[cfg(feature = "compile")]
    pub fn compile(&mut self, options: CompileOptions) -> &mut Config {
        self.compile = Some(options);
        self
    }
}

/// The common configuration of programs and machines. Cheap to clone; clones are the same engine.
#[derive(Clone, Debug)]
pub struct Engine {
    pub(crate) config: Arc<Config>,
}

impl Engine {
    /// An engine of this configuration.
    ///
    /// # Errors
    /// [`Error::Config`] if a setting is out of range, or does not fit the guest's addresses.
    pub fn new(config: &Config) -> Result<Engine, Error> {
        match config.problem() {
            Some(problem) => Err(Error::Config(problem)),
            None => Ok(Engine { config: Arc::new(config.clone()) }),
        }
    }
}
