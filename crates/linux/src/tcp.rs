//! TCP sockets of the host, to and from granted addresses.
//!
//! Each is non-blocking, whatever it is to the guest: a call that finds nothing, or no room, notes what it waits for, and
//! the scheduler asks the host for that while other threads run. Invariants: a socket connects to what
//! [`Network::connectable`](crate::network::Network::connectable) gives alone, and listens only after it was bound to what
//! [`Network::bindable`](crate::network::Network::bindable) gives; its buffers keep the sizes that the host gives them.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, ipproto, sockopt};

use crate::events::{HUP, READ, READ_HUP, WRITE};
use crate::halves::{Half, Received};

const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);
/// Connections that wait to be accepted.
const MAX_BACKLOG: i32 = 128;

/// A TCP socket.
#[derive(Debug)]
pub(crate) struct Tcp {
    pub(crate) fd: OwnedFd,
    pub(crate) is_ipv6: bool,
    /// Whether it has a granted address to listen at.
    is_bound: AtomicBool,
    /// The events that calls wait for, as `poll` has them, [`HUP`] among them; 0 for none.
    awaited: AtomicU16,
    /// Count what has been done with either direction.
    incoming: AtomicU64,
    outgoing: AtomicU64,
}

impl Tcp {
    fn of(fd: OwnedFd, is_ipv6: bool) -> Tcp {
        let (awaited, incoming, outgoing) = Default::default();
        Tcp { fd, is_ipv6, is_bound: AtomicBool::new(false), awaited, incoming, outgoing }
    }

    pub(crate) fn new(is_ipv6: bool) -> Result<Tcp, Errno> {
        let family = if is_ipv6 { AddressFamily::INET6 } else { AddressFamily::INET };
        let fd = rustix::net::socket_with(family, SocketType::STREAM, FLAGS, Some(ipproto::TCP))?;
        if is_ipv6 {
            // An address of IPv4 by another name would be another grant.
            sockopt::set_ipv6_v6only(&fd, true)?;
        }
        Ok(Tcp::of(fd, is_ipv6))
    }

    fn acts(&self, half: Half) {
        let counter = if half == Half::Incoming { &self.incoming } else { &self.outgoing };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Changes whenever something has been done that concerns one of these events.
    pub(crate) fn activity(&self, events: u16) -> u64 {
        let count =
            |counter: &AtomicU64, concerned| if events & concerned == 0 { 0 } else { counter.load(Ordering::Relaxed) };
        count(&self.incoming, !WRITE).wrapping_add(count(&self.outgoing, !(READ | READ_HUP)))
    }

    /// Begins to connect to a granted address, or tells how far it is.
    pub(crate) fn connect(&self, granted: SocketAddr) -> Result<(), Errno> {
        self.acts(Half::Incoming);
        self.acts(Half::Outgoing);
        rustix::net::connect(&self.fd, &granted)
    }

    /// Takes a granted address.
    pub(crate) fn bind(&self, granted: SocketAddr) -> Result<(), Errno> {
        rustix::net::bind(&self.fd, &granted)?;
        self.is_bound.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Listens at the address that it has; `EACCES` if it has none. The host would give it one.
    pub(crate) fn listen(&self, backlog: i32) -> Result<(), Errno> {
        self.acts(Half::Incoming);
        match self.is_bound.load(Ordering::Relaxed) {
            true => rustix::net::listen(&self.fd, backlog.clamp(0, MAX_BACKLOG)),
            false => Err(Errno::ACCESS),
        }
    }

    /// The next connection, and from where; `EAGAIN` if there is none.
    pub(crate) fn accept(&self) -> Result<(Tcp, Option<SocketAddr>), Errno> {
        self.acts(Half::Incoming);
        let (fd, peer) = rustix::net::acceptfrom_with(&self.fd, FLAGS)?;
        Ok((Tcp::of(fd, self.is_ipv6), peer.and_then(|peer| peer.try_into().ok())))
    }

    pub(crate) fn own_address(&self) -> Result<SocketAddr, Errno> {
        rustix::net::getsockname(&self.fd)?.try_into().map_err(|_| Errno::INVAL)
    }

    pub(crate) fn peer_address(&self) -> Result<SocketAddr, Errno> {
        rustix::net::getpeername(&self.fd)?.ok_or(Errno::NOTCONN)?.try_into().map_err(|_| Errno::NOTCONN)
    }

    /// What it is called in messages.
    pub(crate) fn shown(&self) -> String {
        let shown = |address: Result<SocketAddr, Errno>| address.map_or("?".to_owned(), |address| address.to_string());
        match self.peer_address() {
            Ok(peer) => format!("from {} to {peer}", shown(self.own_address())),
            Err(_) => format!("at {}", shown(self.own_address())),
        }
    }

    pub(crate) fn available(&self) -> Result<u64, Errno> {
        rustix::io::ioctl_fionread(&self.fd)
    }

    /// What of `wanted` would not block, and what goes unasked.
    pub(crate) fn ready(&self, wanted: u16) -> u16 {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let asked = PollFlags::from_bits_retain(wanted & (READ | WRITE | READ_HUP));
        let mut entry = [PollFd::new(&self.fd, asked)];
        match poll(&mut entry, Some(&now)) {
            Ok(_) => entry[0].revents().bits(),
            Err(_) => 0,
        }
    }

    /// Notes that a call waits for these events.
    pub(crate) fn await_events(&self, events: u16) {
        self.awaited.fetch_or(events & (READ | WRITE | READ_HUP) | HUP, Ordering::Relaxed);
    }

    /// What is asked of the host for calls that wait, if any does.
    pub(crate) fn asked(&self) -> Option<PollFd<'_>> {
        match self.awaited.load(Ordering::Relaxed) {
            0 => None,
            events => Some(PollFd::new(&self.fd, PollFlags::from_bits_retain(events & !HUP))),
        }
    }

    /// Forgets what calls wait for, because all are made again.
    pub(crate) fn forget_awaited(&self) {
        self.awaited.store(0, Ordering::Relaxed);
    }

    pub(crate) fn receive(&self, buffer: &mut [u8], stays: bool) -> Result<Received, Errno> {
        self.acts(Half::Incoming);
        let flags = if stays { RecvFlags::PEEK } else { RecvFlags::empty() };
        let (len, _) = rustix::net::recv(&self.fd, &mut *buffer, flags | RecvFlags::DONTWAIT)?;
        Ok(Received { len: len.min(buffer.len()), whole: len })
    }

    pub(crate) fn send(&self, bytes: &[u8]) -> Result<usize, Errno> {
        self.acts(Half::Outgoing);
        // No other flag goes to the host: one could connect to another address.
        rustix::net::send(&self.fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)
    }

    pub(crate) fn shut_down(&self, halves: &[Half]) -> Result<(), Errno> {
        halves.iter().for_each(|&half| self.acts(half));
        // Both at once: after the first alone, one that listens could not do the second.
        let how = match halves {
            [Half::Incoming] => Shutdown::Read,
            [Half::Outgoing] => Shutdown::Write,
            _ => Shutdown::Both,
        };
        rustix::net::shutdown(&self.fd, how)
    }
}
