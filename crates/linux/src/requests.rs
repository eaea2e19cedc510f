//! What system calls ask of the scheduler of threads in place of a result.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum On {
    /// The time.
    Time,
    /// A wake-up of the futex at this address, with one of these bits.
    Futex { address: u64, bits: u32 },
    /// A signal of this set, or one that has a handler.
    Signal { set: u64 },
    /// A change of files. These of the host's standard streams can bring it (bit 0: input), its sockets ([`SOCKETS`])
    /// or those who hold locks of its files ([`LOCKS`]).
    Files { streams: u8 },
}

/// The bit that stands for the host's sockets, each of which knows what is awaited of it.
pub(crate) const SOCKETS: u8 = 8;
/// The bit of the first standard stream of which only its end is awaited; those of the others follow.
pub(crate) const ENDS: u8 = 16;

impl On {
    /// Whether signal `number` is what is waited for.
    pub(crate) fn awaits(self, number: u32) -> bool {
        matches!(self, On::Signal { set } if set >> (number - 1) & 1 != 0)
    }
}

/// A wait of a thread within a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wait {
    pub(crate) on: On,
    /// The uptime at which it ends by itself.
    pub(crate) until: Option<Duration>,
    /// pc and sp of the call.
    pub(crate) place: (u64, u64),
    /// The call's number.
    pub(crate) call: u64,
    /// Waits that have begun before it.
    pub(crate) order: u64,
    /// Bytes that the call has moved before, or messages if it moves several.
    pub(crate) done: u64,
    /// Bytes of the next one of these.
    pub(crate) part: u64,
}

/// Why a wait has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ended {
    /// What it was for has come.
    Woken,
    TimedOut,
    /// By a signal.
    Interrupted,
    /// It may have come: the call is to look, and may wait on.
    Again,
}

/// The bit that stands for locks of the host's files, whose end nobody tells.
pub(crate) const LOCKS: u8 = 128;

/// How a call goes on that has waited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resumed {
    pub(crate) why: Ended,
    /// As in its wait.
    pub(crate) until: Option<Duration>,
    pub(crate) done: u64,
    pub(crate) part: u64,
}

/// A thread that is to begin.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NewThread {
    pub(crate) id: u32,
    /// Its sp; `None` for its maker's.
    pub(crate) stack: Option<u64>,
    /// Its tp; `None` for its maker's.
    pub(crate) tls: Option<u64>,
    pub(crate) clear_id_at: u64,
}
