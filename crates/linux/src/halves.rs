//! The two directions of a socket, and what comes by one.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::rights::Carried;

/// A direction of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Half {
    Incoming,
    Outgoing,
}

/// What goes with bytes that are sent.
#[derive(Default)]
pub(crate) struct Attached {
    /// The reachable address that they go to, if it is not the one that the socket is connected to.
    pub(crate) to: Option<SocketAddr>,
    /// Files that the receiver gets.
    pub(crate) files: Vec<Carried>,
}

/// What has been read.
#[derive(Default)]
pub(crate) struct Received {
    pub(crate) len: usize,
    /// Bytes of the message, of which the buffer may have taken a part.
    pub(crate) whole: usize,
    /// Who has sent it, if that is not known from the socket.
    pub(crate) from: Option<SocketAddr>,
    /// Files that have come with it.
    pub(crate) files: Vec<Carried>,
}
