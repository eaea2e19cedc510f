//! TCP sockets of the host, to and from granted addresses.
//!
//! Invariants: a socket connects to what [`Network::connectable`](crate::network::Network::connectable) gives alone, and
//! listens only after it was bound to what [`Network::bindable`](crate::network::Network::bindable) gives.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketType, ipproto};

use crate::halves::{Half, Received};
use crate::host_socket::{FLAGS, HostSocket};

/// Connections that wait to be accepted.
const MAX_BACKLOG: i32 = 128;

/// A TCP socket.
#[derive(Debug)]
pub(crate) struct Tcp {
    pub(crate) host: HostSocket,
    /// Whether it has a granted address to listen at.
    is_bound: AtomicBool,
}

impl Tcp {
    fn of(host: HostSocket) -> Tcp {
        Tcp { host, is_bound: AtomicBool::new(false) }
    }

    pub(crate) fn new(is_ipv6: bool) -> Result<Tcp, Errno> {
        HostSocket::new(is_ipv6, SocketType::STREAM, ipproto::TCP).map(Tcp::of)
    }

    /// Begins to connect to a granted address, or tells how far it is.
    pub(crate) fn connect(&self, granted: SocketAddr) -> Result<(), Errno> {
        self.host.count(Half::Incoming);
        self.host.count(Half::Outgoing);
        rustix::net::connect(&self.host.fd, &granted)
    }

    /// Takes a granted address.
    pub(crate) fn bind(&self, granted: SocketAddr) -> Result<(), Errno> {
        rustix::net::bind(&self.host.fd, &granted)?;
        self.is_bound.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Listens at the address that it has; `EACCES` if it has none. The host would give it one.
    pub(crate) fn listen(&self, backlog: i32) -> Result<(), Errno> {
        self.host.count(Half::Incoming);
        match self.is_bound.load(Ordering::Relaxed) {
            true => rustix::net::listen(&self.host.fd, backlog.clamp(0, MAX_BACKLOG)),
            false => Err(Errno::ACCESS),
        }
    }

    /// The next connection, and from where; `EAGAIN` if there is none.
    pub(crate) fn accept(&self) -> Result<(Tcp, Option<SocketAddr>), Errno> {
        self.host.count(Half::Incoming);
        let (fd, peer) = rustix::net::acceptfrom_with(&self.host.fd, FLAGS)?;
        Ok((Tcp::of(HostSocket::of(fd, self.host.is_ipv6)), peer.and_then(|peer| peer.try_into().ok())))
    }

    pub(crate) fn receive(&self, buffer: &mut [u8], stays: bool) -> Result<Received, Errno> {
        self.host.count(Half::Incoming);
        let flags = if stays { RecvFlags::PEEK } else { RecvFlags::empty() };
        let (len, _) = rustix::net::recv(&self.host.fd, &mut *buffer, flags | RecvFlags::DONTWAIT)?;
        Ok(Received { len: len.min(buffer.len()), whole: len, ..Received::default() })
    }

    pub(crate) fn send(&self, bytes: &[u8]) -> Result<usize, Errno> {
        self.host.count(Half::Outgoing);
        // No other flag goes to the host: one could connect to another address.
        rustix::net::send(&self.host.fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)
    }
}
