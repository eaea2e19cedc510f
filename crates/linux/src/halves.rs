//! The two directions of a socket, and what goes and comes by them.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::local_name::LocalName;
use crate::pipes::Pipe;
use crate::rights::Carried;

/// A direction of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Half {
    Incoming,
    Outgoing,
}

/// Where something is sent.
pub(crate) enum Destination {
    /// To a reachable address.
    Network(SocketAddr),
    /// To a local socket, which reads this.
    Local(Pipe),
}

/// What goes with bytes that are sent.
#[derive(Default)]
pub(crate) struct Attached {
    /// Where they go, if it is not what the socket is connected to.
    pub(crate) to: Option<Destination>,
    /// Files that the receiver gets.
    pub(crate) files: Vec<Carried>,
}

/// Who has sent something.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    Network(SocketAddr),
    Local(LocalName),
}

/// What has been read.
#[derive(Default)]
pub(crate) struct Received {
    pub(crate) len: usize,
    /// Bytes of the message, of which the buffer may have taken a part.
    pub(crate) whole: usize,
    /// Who has sent it; `None` for who has no name, or where the socket does not tell.
    pub(crate) from: Option<Sender>,
    /// Files that have come with it.
    pub(crate) files: Vec<Carried>,
}
