//! How programs are compiled while they run, and what is told about it.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a compilation may take.
const MAX_TIME: Duration = Duration::from_secs(120);

/// How programs are compiled while they run: [`Config::tier_up`](crate::Config::tier_up).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierUp {
    pub(super) compiler: PathBuf,
    pub(crate) fuel: bool,
    pub(super) max_time: Duration,
}

impl TierUp {
    /// By this compiler: the program `riverrun-compile`, which comes with the command. A name without a slash is searched
    /// for as commands are.
    pub fn new(compiler: impl AsRef<Path>) -> TierUp {
        TierUp { compiler: compiler.as_ref().to_owned(), fuel: false, max_time: MAX_TIME }
    }

    /// Whether the code counts instructions. Machines with a limit of fuel use no other; it is somewhat slower.
    pub fn fuel(self, fuel: bool) -> TierUp {
        TierUp { fuel, ..self }
    }
}

/// What was compiled of a program while it ran: [`Program::tier_up`](crate::Program::tier_up).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TierUpStatistics {
    /// Samples of interpreted code so far, each of 524,288 instructions, earlier runs included that are in the cache.
    pub samples: u64,
    /// Compilations that were successful, in this process.
    pub compilations: usize,
    /// Functions that have compiled code now.
    pub functions: usize,
    /// How long the compiler has run, in this process.
    pub time: Duration,
    /// Whether the compiler is running.
    pub is_compiling: bool,
    /// Whether the code is quick code, which LLVM's follows.
    pub is_quick: bool,
    /// When there was the present code, after the program was loaded.
    pub since: Duration,
    /// Why nothing is compiled any more, if that is so.
    pub failure: Option<String>,
}
