//! System calls on sockets.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV6};

use rustix::io::Errno;

use crate::abi::{Layout, open, signal};
use crate::call::{Call, MAX_BUFFERS, MAX_TRANSFER, Outcome, Stop, readable, writable};
use crate::descriptors::open_two;
use crate::events::{READ, WRITE};
use crate::halves::{Attached, Destination, Half, Received, Sender};
use crate::host_socket::HostSocket;
use crate::local::Local;
use crate::local_name::{LocalName, UNIX, local_address};
use crate::open_file::{Kind, OpenFile};
use crate::pair::Style;
use crate::pipes;
use crate::refusal::Denial;
use crate::requests::On;
use crate::socket::{End, Socket, Timeouts};
use crate::tcp::Tcp;
use crate::udp::Udp;

/// Families of addresses (`AF_`).
pub(crate) const INET: u32 = 2;
pub(crate) const INET6: u32 = 10;
/// Types of sockets (`SOCK_`).
pub(crate) const STREAM: u32 = 1;
pub(crate) const DATAGRAMS: u32 = 2;
/// Protocols (`IPPROTO_`).
pub(crate) const TCP: u32 = 6;
pub(crate) const UDP: u32 = 17;
/// One more than the highest type of sockets.
const TYPES: u32 = 11;
/// Flags in a socket's type.
const TYPE_FLAGS: u32 = open::NON_BLOCKING | open::CLOSE_ON_EXEC;
/// Bytes that are copied at once between a socket and the guest.
const STEP: u64 = 256 << 10;

/// Flags of calls that send or receive (`MSG_`).
pub(crate) mod flag {
    pub(crate) const OUT_OF_BAND: u32 = 1;
    pub(crate) const PEEK: u32 = 2;
    pub(crate) const CONTROL_TRUNCATED: u32 = 8;
    pub(crate) const TRUNCATED: u32 = 0x20;
    pub(crate) const DO_NOT_WAIT: u32 = 0x40;
    pub(crate) const WAIT_FOR_ALL: u32 = 0x100;
    pub(crate) const ERROR_QUEUE: u32 = 0x2000;
    pub(crate) const NO_SIGNAL: u32 = 0x4000;
    pub(crate) const CLOSE_ON_EXEC: u32 = 0x4000_0000;
}

/// A part of the guest's memory that a call reads or writes: its address and length.
pub(crate) type Buffer = (u64, u64);

/// `most` bytes of buffers behind their first `skip`, as the parts of each.
fn parts(buffers: &[Buffer], mut skip: u64, mut most: u64) -> impl Iterator<Item = Buffer> {
    buffers.iter().filter_map(move |&(base, len)| {
        let skipped = skip.min(len);
        let part = (len - skipped).min(most);
        (skip, most) = (skip - skipped, most - part);
        (part != 0).then_some((base.wrapping_add(skipped), part))
    })
}

impl OpenFile {
    /// `ENOTSOCK` if it is something else.
    pub(crate) fn socket(&self) -> Result<&Socket, Stop> {
        match &self.kind {
            Kind::Socket(socket) => Ok(socket),
            _ => Err(Errno::NOTSOCK.into()),
        }
    }
}

impl Call<'_> {
    /// The buffers that `count` structures at an address describe (`struct iovec`).
    pub(crate) fn buffers(&self, address: u64, count: u64) -> Result<Vec<Buffer>, Stop> {
        if count > MAX_BUFFERS {
            return Err(Errno::INVAL.into());
        }
        let mut left = MAX_TRANSFER;
        let mut buffers = Vec::new();
        for n in 0..count {
            let [base, len] = crate::abi::load_words(self.memory, address.wrapping_add(16 * n))?;
            if i64::try_from(len).is_err() {
                return Err(Errno::INVAL.into());
            }
            buffers.push((base, len.min(left)));
            left -= len.min(left);
        }
        Ok(buffers)
    }

    /// Up to `most` bytes of buffers, without the first `skip`; fewer if the guest may not read more.
    fn gather(&self, buffers: &[Buffer], skip: u64, most: u64) -> Result<Vec<u8>, Stop> {
        let mut bytes = Vec::new();
        for (base, len) in parts(buffers, skip, most) {
            let there = match readable(self.memory, base, len) {
                Err(stop) if bytes.is_empty() => return Err(stop),
                there => there.unwrap_or(0),
            };
            bytes.extend(self.memory.slice(base, there)?);
            if there < len {
                break;
            }
        }
        Ok(bytes)
    }

    /// Writes bytes to buffers, behind their first `skip`.
    fn scatter(&mut self, buffers: &[Buffer], skip: u64, mut bytes: &[u8]) -> Result<(), Stop> {
        for (base, len) in parts(buffers, skip, bytes.len() as u64) {
            let (part, rest) = bytes.split_at(len as usize);
            self.memory.write(base, part)?;
            bytes = rest;
        }
        Ok(())
    }

    /// How many bytes of buffers the guest may write to, `most` at most; an error if not even the first one.
    fn room(&mut self, buffers: &[Buffer], skip: u64, most: u64) -> Result<u64, Stop> {
        let mut room = 0;
        for (base, len) in parts(buffers, skip, most) {
            let there = match writable(self.memory, base, len) {
                Err(stop) if room == 0 => return Err(stop),
                there => there.unwrap_or(0),
            };
            room += there;
            if there < len {
                break;
            }
        }
        Ok(room)
    }

    /// Stores a socket's address where the guest has room for it; `length` is the address of that room's size.
    pub(crate) fn store_address(&mut self, address: u64, length: u64, bytes: &[u8]) -> Result<(), Stop> {
        if address == 0 {
            return Ok(());
        }
        let room = self.memory.read_u32(length)?;
        if i32::try_from(room).is_err() {
            return Err(Errno::INVAL.into());
        }
        self.memory.write(address, &bytes[..bytes.len().min(room as usize)])?;
        self.memory.write_u32(length, bytes.len() as u32)?;
        Ok(())
    }
}

/// Sends what is in buffers.
pub(crate) fn send(call: &mut Call<'_>, file: &OpenFile, buffers: &[Buffer], flags: u32) -> Outcome {
    send_with(call, file, buffers, flags, Attached::default())
}

/// Sends what is in buffers, and what goes with it.
pub(crate) fn send_with(
    call: &mut Call<'_>,
    file: &OpenFile,
    buffers: &[Buffer],
    flags: u32,
    with: Attached,
) -> Outcome {
    let socket = file.socket()?;
    if flags & flag::OUT_OF_BAND != 0 {
        return Err(Errno::OPNOTSUPP.into());
    }
    let would_wait = |stop| match flags & flag::DO_NOT_WAIT {
        0 => file.would_wait(stop, WRITE),
        _ => stop,
    };
    let result = match socket.is_stream() {
        true => send_bytes(call, socket, buffers, with, would_wait),
        false => {
            let most = buffers.iter().map(|&(_, len)| len).sum::<u64>().min(pipes::CAPACITY as u64);
            let message = call.gather(buffers, 0, most)?;
            if (message.len() as u64) < most {
                // A part of it would be another message.
                return Err(Errno::FAULT.into());
            }
            socket.send(&message, &with).map(|sent| sent as u64).map_err(|errno| would_wait(errno.into()))
        }
    };
    if result == Err(Errno::PIPE.into()) && call.done == 0 && socket.is_stream() && flags & flag::NO_SIGNAL == 0 {
        call.linux.raise(signal::SIGPIPE);
    }
    result
}

/// Sends all bytes, if it may wait for room.
fn send_bytes(
    call: &mut Call<'_>,
    socket: &Socket,
    buffers: &[Buffer],
    mut with: Attached,
    would_wait: impl Fn(Stop) -> Stop,
) -> Outcome {
    let total = buffers.iter().map(|&(_, len)| len).sum::<u64>();
    loop {
        if call.done != 0 {
            // They have gone with the first part.
            with.files.clear();
        }
        let sent = call.gather(buffers, call.done, STEP).and_then(|part| Ok(socket.send(&part, &with)?));
        match sent {
            Ok(sent) => call.done += sent as u64,
            Err(Stop::Errno(Errno::AGAIN)) => return Err(would_wait(Errno::AGAIN.into())),
            Err(stop) => return Err(stop),
        }
        if call.done >= total || call.patience.check().is_err() {
            return Ok(call.done);
        }
    }
}

/// Receives into buffers. What has come, of how long a message.
pub(crate) fn receive_some(
    call: &mut Call<'_>,
    file: &OpenFile,
    buffers: &[Buffer],
    flags: u32,
) -> Result<Received, Stop> {
    let socket = file.socket()?;
    if flags & flag::OUT_OF_BAND != 0 {
        // There never is any.
        return Err(Errno::INVAL.into());
    }
    if flags & flag::ERROR_QUEUE != 0 {
        return Err(Errno::AGAIN.into());
    }
    let stays = flags & flag::PEEK != 0;
    let would_wait = |stop| match flags & flag::DO_NOT_WAIT {
        0 => file.would_wait(stop, READ),
        _ => stop,
    };
    let wanted = buffers.iter().map(|&(_, len)| len).sum::<u64>();
    let waits_for_all = flags & flag::WAIT_FOR_ALL != 0 && socket.is_stream() && !stays;
    loop {
        let room = call.room(buffers, call.done, STEP)?;
        let mut bytes = vec![0; room as usize];
        let received = match socket.receive(&mut bytes, stays) {
            Ok(received) => received,
            Err(errno) => return Err(would_wait(errno.into())),
        };
        call.scatter(buffers, call.done, &bytes[..received.len])?;
        let total = call.done + received.len as u64;
        let is_open = received.len != 0 && received.files.is_empty();
        let goes_on = waits_for_all && is_open && total < wanted && call.patience.check().is_ok();
        if !goes_on {
            return Ok(Received { len: total as usize, ..received });
        }
        call.done = total;
    }
}

/// Receives into buffers; how many bytes.
pub(crate) fn receive(call: &mut Call<'_>, file: &OpenFile, buffers: &[Buffer], flags: u32) -> Outcome {
    receive_from(call, file, buffers, flags).map(|(len, _)| len)
}

/// Receives into buffers; how many bytes, and the sender's address, which has no bytes if the socket tells none.
fn receive_from(call: &mut Call<'_>, file: &OpenFile, buffers: &[Buffer], flags: u32) -> Result<(u64, Vec<u8>), Stop> {
    let Received { len, whole, from, .. } = receive_some(call, file, buffers, flags)?;
    let tells_whole = flags & flag::TRUNCATED != 0 && !file.socket()?.is_stream();
    Ok((if tells_whole { whole } else { len } as u64, from.map(sender_bytes).unwrap_or_default()))
}

pub(crate) fn socketpair(call: &mut Call<'_>) -> Outcome {
    let kind = call.uint(1);
    let flags = kind & TYPE_FLAGS;
    if call.uint(0) != UNIX {
        return Err(Errno::OPNOTSUPP.into());
    }
    let style = local_style(kind & !TYPE_FLAGS, call.uint(2))?;
    call.linux.descriptors.check_pipes(4)?;
    let file = |local| (Kind::Socket(Socket::new(End::Local(local), Timeouts::default())), open::READ_WRITE | flags);
    open_two(call, call.args[3], Local::both(style).map(file))
}

/// The style of a local socket of this type and protocol.
fn local_style(kind: u32, protocol: u32) -> Result<Style, Stop> {
    let style = Style::of_type(kind).ok_or(match kind {
        0..TYPES => Errno::SOCKTNOSUPPORT,
        _ => Errno::INVAL,
    })?;
    match protocol {
        0 | UNIX => Ok(style),
        _ => Err(Errno::PROTONOSUPPORT.into()),
    }
}

pub(crate) fn socket(call: &mut Call<'_>) -> Outcome {
    let (family, kind) = (call.uint(0), call.uint(1));
    let (flags, kind) = (kind & TYPE_FLAGS, kind & !TYPE_FLAGS);
    let network = &call.linux.network;
    match (family, kind, call.uint(2)) {
        (_, TYPES.., _) => return Err(Errno::INVAL.into()),
        (INET | INET6, STREAM | DATAGRAMS, _) if network.is_empty() => return Err(Stop::Denied(Denial::Network)),
        // Programs try the other family then.
        (INET | INET6, STREAM | DATAGRAMS, _) if !network.has_family(family == INET6) => {
            return Err(Errno::AFNOSUPPORT.into());
        }
        (INET | INET6, STREAM, 0 | TCP) | (INET | INET6, DATAGRAMS, 0 | UDP) => {}
        (INET | INET6, STREAM, _) => return Err(Errno::PROTONOSUPPORT.into()),
        (INET | INET6, ..) => return Err(Stop::Denied(Denial::Protocol)),
        (UNIX, kind, protocol) => {
            let style = local_style(kind, protocol)?;
            let local = Local::new(style);
            call.linux.descriptors.check_pipes(local.ends())?;
            return open_socket(call, End::Local(local), Timeouts::default(), flags);
        }
        _ => return Err(Stop::Denied(Denial::Family(family))),
    }
    let network = network.clone();
    call.linux.descriptors.check_free()?;
    let end = match kind {
        STREAM => End::Tcp(Tcp::new(family == INET6)?),
        _ => End::Udp(Udp::new(family == INET6, network)?),
    };
    open_socket(call, end, Timeouts::default(), flags)
}

fn open_socket(call: &mut Call<'_>, end: End, timeouts: Timeouts, flags: u32) -> Outcome {
    let socket = Socket::new(end, timeouts);
    Ok(call.linux.descriptors.open(Kind::Socket(socket), open::READ_WRITE | flags)? as u64)
}

/// The structure with the address of who has sent something.
pub(crate) fn sender_bytes(sender: Sender) -> Vec<u8> {
    match sender {
        Sender::Network(address) => address_bytes(address),
        Sender::Local(name) => local_address(Some(&name)),
    }
}

/// A structure with the address of a socket of the network: `struct sockaddr_in`, `struct sockaddr_in6`.
fn address_bytes(address: SocketAddr) -> Vec<u8> {
    let layout = |family: u32| Layout::new().u16(family as u16).bytes(&address.port().to_be_bytes());
    match address {
        SocketAddr::V4(address) => layout(INET).bytes(&address.ip().octets()).zeros_to(16).into_bytes(),
        SocketAddr::V6(address) => {
            layout(INET6).u32(0).bytes(&address.ip().octets()).u32(address.scope_id()).into_bytes()
        }
    }
}

impl Call<'_> {
    /// The address for a socket of the host in a structure of this size.
    fn socket_address(&self, host: &HostSocket, at: u64, size: u32) -> Result<SocketAddr, Stop> {
        /// Bytes of the longest structure (`struct sockaddr_storage`).
        const LONGEST: u32 = 128;
        if size > LONGEST {
            return Err(Errno::INVAL.into());
        }
        let bytes = self.memory.slice(at, size.into())?;
        let family = bytes.first_chunk().map(|family| u32::from(u16::from_le_bytes(*family)));
        let port = |bytes: &[u8]| u16::from_be_bytes([bytes[2], bytes[3]]);
        match (family.ok_or(Errno::INVAL)?, host.is_ipv6) {
            (INET, false) => {
                let bytes: &[u8; 16] = bytes.first_chunk().ok_or(Errno::INVAL)?;
                let ip = Ipv4Addr::new(bytes[4], bytes[5], bytes[6], bytes[7]);
                Ok(SocketAddr::from((ip, port(bytes))))
            }
            (INET6, true) => {
                let bytes: &[u8; 28] = bytes.first_chunk().ok_or(Errno::INVAL)?;
                let ip: [u8; 16] = std::array::from_fn(|n| bytes[8 + n]);
                let scope = u32::from_le_bytes(std::array::from_fn(|n| bytes[24 + n]));
                Ok(SocketAddrV6::new(ip.into(), port(bytes), 0, scope).into())
            }
            _ => Err(Errno::AFNOSUPPORT.into()),
        }
    }

    /// Whether a socket for datagrams is to be connected to nothing any more.
    fn disconnects(&self) -> Result<bool, Stop> {
        const UNSPECIFIED: [u8; 2] = [0; 2];
        Ok(self.uint(2) >= 2 && self.memory.slice(self.args[1], 2)? == UNSPECIFIED)
    }

    /// The address that a UDP socket is to be connected to; `None` for none any more.
    fn reachable_to_connect(&self, udp: &Udp) -> Result<Option<SocketAddr>, Stop> {
        if self.disconnects()? {
            return Ok(None);
        }
        let (at, size) = (self.args[1], self.uint(2));
        let address = self.socket_address(&udp.host, at, size)?;
        udp.reachable(address).map(Some).ok_or(Stop::Denied(Denial::Connect(address)))
    }
}

pub(crate) fn bind(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    let (at, size) = (call.args[1], call.uint(2));
    let (address, is_granted) = match &file.socket()?.end {
        End::Local(local) => return call.bind_local(local, at, size).map(|()| 0),
        End::Tcp(tcp) => {
            let address = call.socket_address(&tcp.host, at, size)?;
            match call.linux.network.bindable(address) {
                Some(granted) => (address, tcp.bind(granted).map(|()| true)?),
                None => (address, false),
            }
        }
        End::Udp(udp) => {
            let address = call.socket_address(&udp.host, at, size)?;
            (address, udp.bind(address)?)
        }
    };
    if is_granted { Ok(0) } else { Err(Stop::Denied(Denial::Bind(address))) }
}

pub(crate) fn listen(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    let listening = match &file.socket()?.end {
        End::Local(local) => local.listen(call.int(1)),
        End::Tcp(tcp) => tcp.listen(call.int(1)),
        End::Udp(_) => Err(Errno::OPNOTSUPP),
    };
    match listening {
        Err(Errno::ACCESS) => Err(Stop::Denied(Denial::Listen)),
        Err(errno) => Err(errno.into()),
        Ok(()) => Ok(0),
    }
}

fn accept_with(call: &mut Call<'_>, flags: u32) -> Outcome {
    let file = call.file(0)?;
    let socket = file.socket()?;
    call.linux.descriptors.check_free()?;
    let accepted = match &socket.end {
        End::Local(local) => {
            let accepted = local.accept();
            let accepted = accepted.map_err(|errno| match errno {
                Errno::AGAIN if local.is_shut() && file.blocking() => Errno::INVAL,
                errno => errno,
            });
            accepted.map(|(accepted, peer)| (End::Local(accepted), Some(local_address(peer.as_ref()))))
        }
        End::Tcp(tcp) => tcp.accept().map(|(accepted, peer)| (End::Tcp(accepted), peer.map(address_bytes))),
        End::Udp(_) => Err(Errno::OPNOTSUPP),
    };
    let (accepted, peer) = accepted.map_err(|errno| file.would_wait(errno.into(), READ))?;
    if let Some(peer) = peer {
        call.store_address(call.args[1], call.args[2], &peer)?;
    }
    let timeouts = if let End::Local(_) = accepted { Timeouts::default() } else { socket.timeouts() };
    open_socket(call, accepted, timeouts, flags)
}

pub(crate) fn accept(call: &mut Call<'_>) -> Outcome {
    accept_with(call, 0)
}

pub(crate) fn accept4(call: &mut Call<'_>) -> Outcome {
    let flags = call.only(3, TYPE_FLAGS)?;
    accept_with(call, flags)
}

pub(crate) fn connect(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    let connected = match &file.socket()?.end {
        End::Local(local) => return connect_local(call, &file, local),
        End::Tcp(tcp) => {
            let address = call.socket_address(&tcp.host, call.args[1], call.uint(2))?;
            let granted = call.linux.network.connectable(address).ok_or(Stop::Denied(Denial::Connect(address)))?;
            tcp.connect(granted)
        }
        End::Udp(udp) => udp.connect(call.reachable_to_connect(udp)?),
    };
    // What another thread waits for can come now, though the call fails.
    call.linux.files_have_changed();
    match connected {
        // The host says how it went when it is asked again.
        Err(Errno::INPROGRESS | Errno::ALREADY) if file.blocking() => {
            let (streams, span) = file.awaited(WRITE);
            call.wait(On::Files { streams }, span)?;
            Err(Errno::INPROGRESS.into())
        }
        Err(errno) => Err(errno.into()),
        Ok(()) => Ok(0),
    }
}

fn connect_local(call: &mut Call<'_>, file: &OpenFile, local: &Local) -> Outcome {
    if local.style == Style::Datagrams && call.disconnects()? {
        local.disconnect();
        return Ok(0);
    }
    let other = call.named_local(call.args[1], call.uint(2), local.style)?;
    // As many ends as it and who accepts it will have.
    let ends = if local.style == Style::Datagrams { 1 } else { 4 };
    call.linux.descriptors.check_pipes(ends)?;
    let connected = local.connect(other.local().ok_or(Errno::CONNREFUSED)?);
    connected.map_err(|errno| file.would_wait(errno.into(), WRITE))?;
    Ok(0)
}

pub(crate) fn shutdown(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    let halves: &[Half] = match call.uint(1) {
        0 => &[Half::Incoming],
        1 => &[Half::Outgoing],
        2 => &[Half::Incoming, Half::Outgoing],
        _ => return Err(Errno::INVAL.into()),
    };
    file.socket()?.shut_down(halves)?;
    Ok(0)
}

/// Stores the address of a socket, or its peer's.
fn name(
    call: &mut Call<'_>,
    of_host: impl Fn(&HostSocket) -> Result<SocketAddr, Errno>,
    of_local: impl Fn(&Local) -> Result<Option<LocalName>, Errno>,
) -> Outcome {
    let bytes = match &call.file(0)?.socket()?.end {
        End::Local(local) => local_address(of_local(local)?.as_ref()),
        End::Tcp(Tcp { host, .. }) | End::Udp(Udp { host, .. }) => address_bytes(of_host(host)?),
    };
    if call.args[1] == 0 {
        return Err(Errno::FAULT.into());
    }
    call.store_address(call.args[1], call.args[2], &bytes)?;
    Ok(0)
}

pub(crate) fn getsockname(call: &mut Call<'_>) -> Outcome {
    name(call, HostSocket::own_address, |local| Ok(local.name()))
}

pub(crate) fn getpeername(call: &mut Call<'_>) -> Outcome {
    name(call, HostSocket::peer_address, Local::peer)
}

/// Where something is to be sent, if it goes to the address that is given; TCP does not look at it.
pub(crate) fn destination(call: &Call<'_>, file: &OpenFile, at: u64, size: u32) -> Result<Option<Destination>, Stop> {
    match &file.socket()?.end {
        End::Tcp(_) => Ok(None),
        _ if at == 0 || size == 0 => Ok(None),
        End::Local(local) => {
            call.memory.slice(at, u64::from(size))?;
            match local.style {
                Style::Stream if local.is_connected() => Err(Errno::ISCONN.into()),
                Style::Stream => Err(Errno::OPNOTSUPP.into()),
                Style::Packets => Ok(None),
                Style::Datagrams => {
                    let other = call.named_local(at, size, Style::Datagrams)?;
                    let to = other.local().ok_or(Errno::CONNREFUSED)?.takes_datagrams()?;
                    Ok(Some(Destination::Local(to)))
                }
            }
        }
        End::Udp(udp) => {
            let address = call.socket_address(&udp.host, at, size)?;
            let reachable = udp.reachable(address).ok_or(Stop::Denied(Denial::Send(address)))?;
            Ok(Some(Destination::Network(reachable)))
        }
    }
}

pub(crate) fn sendto(call: &mut Call<'_>) -> Outcome {
    let [_, address, len, _, to, _] = call.args;
    let file = call.file(0)?;
    let to = destination(call, &file, to, call.uint(5))?;
    let with = Attached { to, ..Attached::default() };
    send_with(call, &file, &[(address, len.min(MAX_TRANSFER))], call.uint(3), with)
}

pub(crate) fn recvfrom(call: &mut Call<'_>) -> Outcome {
    let [_, address, len, _, from, length] = call.args;
    let file = call.file(0)?;
    let (received, sender) = receive_from(call, &file, &[(address, len.min(MAX_TRANSFER))], call.uint(3))?;
    call.store_address(from, length, &sender)?;
    Ok(received)
}
