//! The two directions of a socket, and what comes by one.

use serde::{Deserialize, Serialize};

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
