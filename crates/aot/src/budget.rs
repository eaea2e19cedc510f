//! How much work a compilation may be: counted, not timed, so that the same program meets its limit everywhere.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::CompileError;
use crate::options::CompileOptions;

/// Blocks and instructions that analysis may visit for each instruction that LLVM may be given, which takes LLVM as long.
const VISITS: u64 = 128;
/// Instructions of a function whose square takes LLVM as long as they do.
const LONG: usize = 4 << 10;

/// What is left of a limit on work. Threads share it; what they spend together does not depend on their order.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    unit: u64,
    spent: AtomicU64,
}

impl Budget {
    /// For the analysis of a program.
    pub(crate) fn of_analysis(options: &CompileOptions) -> Budget {
        Budget { limit: options.max_work, unit: VISITS, spent: AtomicU64::new(0) }
    }

    /// For what LLVM is given.
    pub(crate) fn of_llvm(options: &CompileOptions) -> Budget {
        Budget { limit: options.max_work, unit: 1, spent: AtomicU64::new(0) }
    }

    /// Takes off work; false if there was not enough left. Then the caller stops early, with a result that says nothing:
    /// [`Budget::check`] refuses it.
    #[must_use]
    pub(crate) fn spend(&self, work: usize) -> bool {
        let before = self.spent.fetch_add(work as u64, Ordering::Relaxed);
        before.saturating_add(work as u64) <= self.limit.saturating_mul(self.unit)
    }

    /// # Errors
    /// [`CompileError::Work`] if more was spent than there was.
    pub(crate) fn check(&self) -> Result<(), CompileError> {
        match self.spend(0) {
            true => Ok(()),
            false => Err(CompileError::Work { limit: self.limit }),
        }
    }
}

/// That of the default options, for the analysis.
#[cfg(test)]
impl Default for Budget {
    fn default() -> Budget {
        Budget::of_analysis(&CompileOptions::default())
    }
}

/// What a function costs LLVM, whose time grows with the square of long ones; jumps by register have so many `targets`.
pub(crate) fn work(instructions: usize, targets: usize) -> usize {
    instructions + instructions.saturating_mul(instructions) / LONG + targets
}
