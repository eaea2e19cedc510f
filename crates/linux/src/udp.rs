//! UDP sockets of the host, to and from granted addresses.
//!
//! Invariants: a datagram goes to what [`Network::connectable`] gives, or back to an address that has sent one to a
//! socket that [`Network::bindable`] has given an address to listen at. Any other socket hears only those that it may
//! send to: what strangers send to the port that the host has given it is dropped here.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketType, ipproto};

use crate::events::READ;
use crate::halves::{Half, Received, Sender};
use crate::host_socket::HostSocket;
use crate::network::{Network, is_same};

/// Those that a socket may answer: the last who have sent to it.
const MAX_PEERS: usize = 1024;
/// Datagrams of strangers that one call drops.
const MAX_DROPPED: usize = 64;

/// A UDP socket.
#[derive(Debug)]
pub(crate) struct Udp {
    pub(crate) host: HostSocket,
    network: Arc<Network>,
    /// Whether it has a granted address to listen at.
    serves: AtomicBool,
    /// Whether the host takes datagrams for it from one address alone.
    is_connected: AtomicBool,
    /// Who has sent to it, if it serves.
    peers: Mutex<VecDeque<SocketAddr>>,
}

impl Udp {
    pub(crate) fn new(is_ipv6: bool, network: Arc<Network>) -> Result<Udp, Errno> {
        let host = HostSocket::new(is_ipv6, SocketType::DGRAM, ipproto::UDP)?;
        let (serves, is_connected, peers) = Default::default();
        Ok(Udp { host, network, serves, is_connected, peers })
    }

    /// The address that it may send to by this one.
    pub(crate) fn reachable(&self, address: SocketAddr) -> Option<SocketAddr> {
        let peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        let peer = peers.iter().rev().copied().find(|peer| is_same(*peer, address));
        peer.or_else(|| self.network.connectable(address))
    }

    /// Takes datagrams from this reachable address alone, and sends there what names no other; from and to any again for
    /// `None`.
    pub(crate) fn connect(&self, reachable: Option<SocketAddr>) -> Result<(), Errno> {
        self.host.count(Half::Incoming);
        self.host.count(Half::Outgoing);
        match reachable {
            Some(address) => rustix::net::connect(&self.host.fd, &address)?,
            None => rustix::net::connect_unspec(&self.host.fd)?,
        }
        self.is_connected.store(reachable.is_some(), Ordering::Relaxed);
        Ok(())
    }

    /// Takes an address: a granted one to listen at, or any port of the host's choice for what it sends; `false` for others.
    pub(crate) fn bind(&self, address: SocketAddr) -> Result<bool, Errno> {
        let granted = self.network.bindable(address);
        let is_any = address.port() == 0 && address.ip().is_unspecified();
        let Some(address) = granted.or(is_any.then_some(address)) else { return Ok(false) };
        rustix::net::bind(&self.host.fd, &address)?;
        self.serves.store(granted.is_some(), Ordering::Relaxed);
        Ok(true)
    }

    /// Whether the guest gets datagrams of this sender.
    fn hears(&self, sender: Option<SocketAddr>) -> bool {
        self.serves.load(Ordering::Relaxed) || sender.is_some_and(|sender| self.network.connectable(sender).is_some())
    }

    /// Notes that it may answer a sender.
    fn meets(&self, sender: Option<SocketAddr>) {
        let Some(sender) = sender.filter(|_| self.serves.load(Ordering::Relaxed)) else { return };
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if peers.iter().rev().any(|peer| is_same(*peer, sender)) {
            return;
        }
        if peers.len() == MAX_PEERS {
            peers.pop_front();
        }
        peers.push_back(sender);
    }

    /// The next datagram, or its beginning, and its sender.
    fn next(&self, buffer: &mut [u8], flags: RecvFlags) -> Result<(Received, Option<SocketAddr>), Errno> {
        let flags = flags | RecvFlags::DONTWAIT | RecvFlags::TRUNC;
        let (_, whole, sender) = rustix::net::recvfrom(&self.host.fd, &mut *buffer, flags)?;
        let sender = sender.and_then(|sender| sender.try_into().ok());
        let from = sender.map(Sender::Network);
        Ok((Received { len: whole.min(buffer.len()), whole, from, ..Received::default() }, sender))
    }

    /// Drops datagrams of strangers before the next one that is for the guest; `false` if there are more of them.
    fn drops_strangers(&self) -> bool {
        if self.serves.load(Ordering::Relaxed) || self.is_connected.load(Ordering::Relaxed) {
            return true;
        }
        for _ in 0..MAX_DROPPED {
            match self.next(&mut [0], RecvFlags::PEEK) {
                Ok((_, sender)) if !self.hears(sender) => drop(self.next(&mut [0], RecvFlags::empty())),
                _ => return true,
            }
        }
        false
    }

    /// What of `wanted` would not block, and what goes unasked.
    pub(crate) fn ready(&self, wanted: u16) -> u16 {
        let has_read = wanted & READ == 0 || self.drops_strangers();
        self.host.ready(if has_read { wanted } else { wanted & !READ })
    }

    /// Bytes of the next datagram.
    pub(crate) fn available(&self) -> Result<u64, Errno> {
        if self.drops_strangers() { self.host.available() } else { Ok(0) }
    }

    pub(crate) fn receive(&self, buffer: &mut [u8], stays: bool) -> Result<Received, Errno> {
        self.host.count(Half::Incoming);
        let flags = if stays { RecvFlags::PEEK } else { RecvFlags::empty() };
        for _ in 0..MAX_DROPPED {
            let (received, sender) = self.next(buffer, flags)?;
            if self.hears(sender) {
                self.meets(sender);
                return Ok(received);
            }
            if stays {
                let _ = self.next(&mut [0], RecvFlags::empty());
            }
        }
        Err(Errno::AGAIN)
    }

    /// Sends a datagram to a reachable address, or where it is connected to.
    pub(crate) fn send(&self, bytes: &[u8], to: Option<SocketAddr>) -> Result<usize, Errno> {
        self.host.count(Half::Outgoing);
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match to {
            Some(address) => rustix::net::sendto(&self.host.fd, bytes, flags, &address),
            None => rustix::net::send(&self.host.fd, bytes, flags),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    fn udp(connect: &[SocketAddr], listens: bool) -> Udp {
        let mut network = Network::default();
        connect.iter().for_each(|address| network.grant_connect(&address.to_string()).unwrap());
        if listens {
            network.grant_listen("0").unwrap();
        }
        Udp::new(false, Arc::new(network)).unwrap()
    }

    #[test]
    fn strangers_are_not_heard_by_a_socket_that_does_not_serve() {
        let [friend, stranger] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let friend_at = friend.local_addr().unwrap();
        let guest = udp(&[friend_at], false);
        assert_eq!(guest.reachable(stranger.local_addr().unwrap()), None);
        assert_eq!(guest.send(b"hello", guest.reachable(friend_at)), Ok(5));
        let guest_at = ("127.0.0.1", guest.host.own_address().unwrap().port());
        for n in 0..3 * MAX_DROPPED {
            stranger.send_to(&[n as u8], guest_at).unwrap();
        }
        assert_eq!(guest.ready(READ), 0);
        let mut buffer = [0; 8];
        while let Err(errno) = guest.receive(&mut buffer, true) {
            assert_eq!(errno, Errno::AGAIN);
            friend.send_to(b"friend", guest_at).unwrap();
        }
        assert!(guest.ready(READ) == READ && guest.available() == Ok(6));
        let received = guest.receive(&mut buffer, false).unwrap();
        assert!(received.from == Some(Sender::Network(friend_at)) && &buffer[..received.len] == b"friend");
    }

    #[test]
    fn one_that_serves_answers_the_last_who_have_sent() {
        let guest = udp(&[], true);
        assert_eq!(guest.bind("127.0.0.1:9".parse().unwrap()), Ok(false));
        assert_eq!(guest.bind("127.0.0.1:0".parse().unwrap()), Ok(true));
        let guest_at = guest.host.own_address().unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client_at = client.local_addr().unwrap();
        assert_eq!(guest.reachable(client_at), None);
        client.send_to(b"ask", guest_at).unwrap();
        assert_eq!(guest.receive(&mut [0; 8], false).unwrap().len, 3);
        assert_eq!(guest.reachable(client_at), Some(client_at));
        (0..MAX_PEERS).for_each(|n| guest.meets(Some(SocketAddr::from(([10, 0, 0, 1], n as u16)))));
        assert_eq!(guest.reachable(client_at), None);
    }
}
