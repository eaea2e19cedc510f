//! An open socket, whatever it is connected to.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::events::READ;
use crate::halves::{Attached, Destination, Half, Received};
use crate::host_socket::HostSocket;
use crate::local::Local;
use crate::pair::Style;
use crate::tcp::Tcp;
use crate::udp::Udp;

/// What a socket is.
#[derive(Debug)]
pub(crate) enum End {
    Local(Local),
    Tcp(Tcp),
    Udp(Udp),
}

/// An open socket.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) end: End,
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
    pub(crate) fn new(end: End, timeouts: Timeouts) -> Socket {
        Socket { end, timeouts: Mutex::new(timeouts) }
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

    /// The host's, if it is one of those.
    pub(crate) fn host(&self) -> Option<&HostSocket> {
        match &self.end {
            End::Local(_) => None,
            End::Tcp(tcp) => Some(&tcp.host),
            End::Udp(udp) => Some(&udp.host),
        }
    }

    /// How long a call waits for these events.
    pub(crate) fn timeout(&self, events: u16) -> Option<Duration> {
        if events & READ != 0 { self.timeouts().incoming } else { self.timeouts().outgoing }
    }

    /// Whether it has no bounds between what was written.
    pub(crate) fn is_stream(&self) -> bool {
        match &self.end {
            End::Local(local) => local.style == Style::Stream,
            End::Tcp(_) => true,
            End::Udp(_) => false,
        }
    }

    /// Changes whenever something has been done that concerns one of these events.
    pub(crate) fn activity(&self, events: u16) -> u64 {
        match &self.end {
            End::Local(local) => local.activity(),
            End::Tcp(Tcp { host, .. }) | End::Udp(Udp { host, .. }) => host.activity(events),
        }
    }

    /// Bytes that can be read at once (`FIONREAD`).
    pub(crate) fn available(&self) -> Result<u64, Errno> {
        match &self.end {
            End::Local(local) => Ok(local.available()? as u64),
            End::Tcp(tcp) => tcp.host.available(),
            End::Udp(udp) => udp.available(),
        }
    }

    /// What of `wanted` would not block, and what goes unasked.
    pub(crate) fn ready(&self, wanted: u16) -> u16 {
        match &self.end {
            End::Local(local) => local.ready(wanted),
            End::Tcp(tcp) => tcp.host.ready(wanted),
            End::Udp(udp) => udp.ready(wanted),
        }
    }

    /// Reads, and leaves it there if it `stays`; `EAGAIN` if there is nothing yet.
    pub(crate) fn receive(&self, buffer: &mut [u8], stays: bool) -> Result<Received, Errno> {
        match &self.end {
            End::Local(local) => local.receive(buffer, stays),
            End::Tcp(tcp) => tcp.receive(buffer, stays),
            End::Udp(udp) => udp.receive(buffer, stays),
        }
    }

    /// Writes what there is room for, or a whole message; `EAGAIN` without room.
    pub(crate) fn send(&self, bytes: &[u8], with: &Attached) -> Result<usize, Errno> {
        match &self.end {
            End::Local(local) => local.send(bytes, with),
            End::Tcp(tcp) => tcp.send(bytes),
            End::Udp(udp) => match with.to {
                Some(Destination::Network(address)) => udp.send(bytes, Some(address)),
                Some(Destination::Local(_)) => Err(Errno::AFNOSUPPORT),
                None => udp.send(bytes, None),
            },
        }
    }

    pub(crate) fn shut_down(&self, halves: &[Half]) -> Result<(), Errno> {
        match &self.end {
            End::Local(local) => local.shut_down(halves),
            End::Tcp(Tcp { host, .. }) | End::Udp(Udp { host, .. }) => host.shut_down(halves)?,
        }
        Ok(())
    }
}
