//! A socket of the host: what those for TCP and for UDP have in common.
//!
//! The host's socket never blocks, even if the guest's does. A call that would block records the events that it waits for;
//! the scheduler polls the host for these while other guest threads run. Buffers keep the host's default sizes.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, Protocol, Shutdown, SocketFlags, SocketType, sockopt};

use crate::events::{HUP, READ, READ_HUP, WRITE};
use crate::halves::Half;

pub(crate) const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

/// A socket of the host.
#[derive(Debug)]
pub(crate) struct HostSocket {
    pub(crate) fd: OwnedFd,
    pub(crate) is_ipv6: bool,
    /// The events that blocked calls wait for, a mask as in `poll` that includes [`HUP`]; 0 if no call is blocked.
    awaited: AtomicU16,
    /// Operations so far in each direction, which edge-triggered `epoll` compares.
    incoming: AtomicU64,
    outgoing: AtomicU64,
}

impl HostSocket {
    pub(crate) fn of(fd: OwnedFd, is_ipv6: bool) -> HostSocket {
        let (awaited, incoming, outgoing) = Default::default();
        HostSocket { fd, is_ipv6, awaited, incoming, outgoing }
    }

    pub(crate) fn new(is_ipv6: bool, kind: SocketType, protocol: Protocol) -> Result<HostSocket, Errno> {
        let family = if is_ipv6 { AddressFamily::INET6 } else { AddressFamily::INET };
        let fd = rustix::net::socket_with(family, kind, FLAGS, Some(protocol))?;
        if is_ipv6 {
            // An address of IPv4 by another name would be another grant.
            sockopt::set_ipv6_v6only(&fd, true)?;
        }
        Ok(HostSocket::of(fd, is_ipv6))
    }

    /// Counts an operation in one direction.
    pub(crate) fn count(&self, half: Half) {
        let counter = if half == Half::Incoming { &self.incoming } else { &self.outgoing };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// A number that changes with each operation that can cause one of these events.
    pub(crate) fn activity(&self, events: u16) -> u64 {
        let count =
            |counter: &AtomicU64, concerned| if events & concerned == 0 { 0 } else { counter.load(Ordering::Relaxed) };
        count(&self.incoming, !WRITE).wrapping_add(count(&self.outgoing, !(READ | READ_HUP)))
    }

    pub(crate) fn own_address(&self) -> Result<SocketAddr, Errno> {
        rustix::net::getsockname(&self.fd)?.try_into().map_err(|_| Errno::INVAL)
    }

    pub(crate) fn peer_address(&self) -> Result<SocketAddr, Errno> {
        rustix::net::getpeername(&self.fd)?.ok_or(Errno::NOTCONN)?.try_into().map_err(|_| Errno::NOTCONN)
    }

    /// The name of this socket in messages.
    pub(crate) fn shown(&self) -> String {
        let shown = |address: Result<SocketAddr, Errno>| address.map_or("?".to_owned(), |address| address.to_string());
        match self.peer_address() {
            Ok(peer) => format!("from {} to {peer}", shown(self.own_address())),
            Err(_) => format!("at {}", shown(self.own_address())),
        }
    }

    /// Bytes that can be read at once.
    pub(crate) fn available(&self) -> Result<u64, Errno> {
        rustix::io::ioctl_fionread(&self.fd)
    }

    /// The events of `wanted` that are ready now, and errors and hang-ups, which `poll` always reports.
    pub(crate) fn ready(&self, wanted: u16) -> u16 {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let asked = PollFlags::from_bits_retain(wanted & (READ | WRITE | READ_HUP));
        let mut entry = [PollFd::new(&self.fd, asked)];
        match poll(&mut entry, Some(&now)) {
            Ok(_) => entry[0].revents().bits(),
            Err(_) => 0,
        }
    }

    /// Records that a call is blocked until one of these events.
    pub(crate) fn await_events(&self, events: u16) {
        self.awaited.fetch_or(events & (READ | WRITE | READ_HUP) | HUP, Ordering::Relaxed);
    }

    /// The host's `poll` entry for blocked calls; `None` if no call is blocked.
    pub(crate) fn asked(&self) -> Option<PollFd<'_>> {
        match self.awaited.load(Ordering::Relaxed) {
            0 => None,
            events => Some(PollFd::new(&self.fd, PollFlags::from_bits_retain(events & !HUP))),
        }
    }

    /// Forgets the events of blocked calls: the scheduler retries all of these.
    pub(crate) fn forget_awaited(&self) {
        self.awaited.store(0, Ordering::Relaxed);
    }

    pub(crate) fn shut_down(&self, halves: &[Half]) -> Result<(), Errno> {
        halves.iter().for_each(|&half| self.count(half));
        // Both at once: after the first alone, one that listens could not do the second.
        let how = match halves {
            [Half::Incoming] => Shutdown::Read,
            [Half::Outgoing] => Shutdown::Write,
            _ => Shutdown::Both,
        };
        rustix::net::shutdown(&self.fd, how)
    }
}
