//! An open socket, whatever it is connected to.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::pair::Pair;
use crate::poll::READ;

/// A direction of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Half {
    Incoming,
    Outgoing,
}

/// What has been read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    pub(crate) len: usize,
    /// Bytes of the message, of which the buffer may have taken a part.
    pub(crate) whole: usize,
}

/// An open socket.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) pair: Pair,
    /// How long calls wait that read and that write (`SO_RCVTIMEO`, `SO_SNDTIMEO`).
    timeouts: Mutex<Timeouts>,
}

/// `None` for ever.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Timeouts {
    pub(crate) incoming: Option<Duration>,
    pub(crate) outgoing: Option<Duration>,
}

impl Socket {
    pub(crate) fn new(pair: Pair, timeouts: Timeouts) -> Socket {
        Socket { pair, timeouts: Mutex::new(timeouts) }
    }

    pub(crate) fn timeouts(&self) -> Timeouts {
        *self.timeouts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_timeout(&self, half: Half, span: Option<Duration>) {
        let mut timeouts = self.timeouts.lock().unwrap_or_else(PoisonError::into_inner);
        match half {
            Half::Incoming => timeouts.incoming = span,
            Half::Outgoing => timeouts.outgoing = span,
        }
    }

    /// How long a call waits for these events.
    pub(crate) fn timeout(&self, events: u16) -> Option<Duration> {
        if events & READ != 0 { self.timeouts().incoming } else { self.timeouts().outgoing }
    }

    /// Whether it has no bounds between what was written.
    pub(crate) fn is_stream(&self) -> bool {
        self.pair.style == crate::pair::Style::Stream
    }

    pub(crate) fn activity(&self) -> u64 {
        self.pair.activity()
    }

    /// Bytes that can be read at once (`FIONREAD`).
    pub(crate) fn available(&self) -> Result<u64, Errno> {
        Ok(self.pair.available() as u64)
    }

    /// What of `wanted` would not block, and what goes unasked.
    pub(crate) fn ready(&self, wanted: u16) -> u16 {
        self.pair.ready(wanted)
    }

    /// Reads, and leaves it there if it `stays`; `EAGAIN` if there is nothing yet.
    pub(crate) fn receive(&self, buffer: &mut [u8], stays: bool) -> Result<Received, Errno> {
        self.pair.receive(buffer, stays)
    }

    /// Writes what there is room for, or a whole message; `EAGAIN` without room.
    pub(crate) fn send(&self, bytes: &[u8]) -> Result<usize, Errno> {
        self.pair.send(bytes)
    }

    pub(crate) fn shut_down(&self, half: Half) -> Result<(), Errno> {
        self.pair.shut_down(half);
        Ok(())
    }
}
