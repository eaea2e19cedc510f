//! Limits of one call or slice.

use std::time::Instant;

/// A call's own limits, in addition to those of its machine; the tighter ones apply.
///
/// ```
/// use std::time::Duration;
///
/// let limits = riverrun::CallLimits::new().fuel(10_000).timeout(Duration::from_millis(5));
/// assert_eq!(limits.fuel, Some(10_000));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct CallLimits {
    /// Instructions that the call may execute.
    pub fuel: Option<u64>,
    /// Until when it may run.
    pub deadline: Option<Instant>,
}

impl CallLimits {
    /// No limits.
    pub fn new() -> CallLimits {
        CallLimits::default()
    }

    /// Instructions that the call may execute.
    pub fn fuel(self, instructions: u64) -> CallLimits {
        CallLimits { fuel: Some(instructions), ..self }
    }

    /// Until when it may run.
    pub fn deadline(self, deadline: Instant) -> CallLimits {
        CallLimits { deadline: Some(deadline), ..self }
    }

    /// How long it may run from now on.
    pub fn timeout(self, time: std::time::Duration) -> CallLimits {
        CallLimits { deadline: Instant::now().checked_add(time), ..self }
    }
}
