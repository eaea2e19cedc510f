//! Options of sockets: `getsockopt` and `setsockopt`. What is not listed here is refused: some options reach further than a
//! grant, such as to other devices of the host's network.

use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt as host;

use crate::abi::{Layout, load_words};
use crate::call::{Call, Outcome, Stop};
use crate::halves::Half;
use crate::host_socket::HostSocket;
use crate::local_name::UNIX;
use crate::process::{PROCESS, USER};
use crate::refusal::Denial;
use crate::socket::{End, Socket};
use crate::socket_calls::{DATAGRAMS, INET, INET6, STREAM, TCP, UDP};

/// Levels of options: sockets of all families (`SOL_SOCKET`), IPv4, IPv6; [`TCP`] is one, too.
const SOCKET: u32 = 1;
const IPV4: u32 = 0;
const IPV6: u32 = 41;

/// Options of sockets of all families (`SO_`).
mod option {
    pub(super) const REUSE_ADDRESS: u32 = 2;
    pub(super) const TYPE: u32 = 3;
    pub(super) const ERROR: u32 = 4;
    pub(super) const BROADCAST: u32 = 6;
    pub(super) const SEND_BUFFER: u32 = 7;
    pub(super) const RECEIVE_BUFFER: u32 = 8;
    pub(super) const KEEP_ALIVE: u32 = 9;
    pub(super) const LINGER: u32 = 13;
    pub(super) const PEER_CREDENTIALS: u32 = 17;
    pub(super) const RECEIVE_TIMEOUT: u32 = 20;
    pub(super) const SEND_TIMEOUT: u32 = 21;
    pub(super) const ACCEPTS: u32 = 30;
    pub(super) const PROTOCOL: u32 = 38;
    pub(super) const DOMAIN: u32 = 39;
}

/// Options of TCP (`TCP_`).
mod tcp_option {
    pub(super) const NO_DELAY: u32 = 1;
    pub(super) const CORK: u32 = 3;
    pub(super) const KEEP_IDLE: u32 = 4;
    pub(super) const KEEP_INTERVAL: u32 = 5;
    pub(super) const KEEP_COUNT: u32 = 6;
    pub(super) const QUICK_ACKNOWLEDGE: u32 = 12;
    pub(super) const USER_TIMEOUT: u32 = 18;
}

/// The option of IPv6 that a socket has nothing to do with IPv4 (`IPV6_V6ONLY`).
const ONLY_IPV6: u32 = 26;
/// Whether errors of datagrams are told one by one (`IP_RECVERR`, `IPV6_RECVERR`). There are none to read: a socket that is
/// connected tells them by itself.
const TELLS_ERRORS: u32 = 11;
const TELLS_ERRORS_IPV6: u32 = 25;
/// The size of the buffer of a local socket, as Linux has it by default.
const BUFFER: u32 = 212_992;

fn unknown(level: u32, name: u32) -> Stop {
    Stop::Denied(Denial::Option { level, name })
}

/// An option's value.
fn value(socket: &Socket, level: u32, name: u32) -> Result<Layout, Stop> {
    let timeout = |span: Option<Duration>| Layout::new().timeval(span.unwrap_or_default());
    match (level, name) {
        (SOCKET, option::RECEIVE_TIMEOUT) => return Ok(timeout(socket.timeouts().incoming)),
        (SOCKET, option::SEND_TIMEOUT) => return Ok(timeout(socket.timeouts().outgoing)),
        _ => {}
    }
    match &socket.end {
        End::Tcp(tcp) => network_value(&tcp.host, true, level, name),
        End::Udp(udp) => network_value(&udp.host, false, level, name),
        End::Local(_) if level != SOCKET => Err(Errno::OPNOTSUPP.into()),
        End::Local(local) => Ok(match name {
            option::TYPE => Layout::new().u32(local.style.type_number()),
            option::DOMAIN => Layout::new().u32(UNIX),
            option::SEND_BUFFER | option::RECEIVE_BUFFER => Layout::new().u32(BUFFER),
            option::ERROR => Layout::new().u32(number(local.take_error())),
            option::PROTOCOL | option::REUSE_ADDRESS | option::KEEP_ALIVE | option::BROADCAST => Layout::new().u32(0),
            option::ACCEPTS => Layout::new().u32(local.listens().into()),
            option::LINGER => Layout::new().u64(0),
            option::PEER_CREDENTIALS if !local.listens() && !local.is_connected() => {
                Layout::new().u32(0).u32(u32::MAX).u32(u32::MAX)
            }
            option::PEER_CREDENTIALS => Layout::new().u32(PROCESS).u32(USER).u32(USER),
            _ => return Err(unknown(level, name)),
        }),
    }
}

/// An error as an option has it.
fn number(result: Result<(), Errno>) -> u32 {
    result.map_or_else(|errno| errno.raw_os_error() as u32, |()| 0)
}

fn network_value(socket: &HostSocket, is_tcp: bool, level: u32, name: u32) -> Result<Layout, Stop> {
    let fd = &socket.fd;
    let seconds = |span: Duration| u32::try_from(span.as_secs()).unwrap_or(u32::MAX);
    let value = match (level, name) {
        (TCP, _) if !is_tcp => return Err(unknown(level, name)),
        (SOCKET, option::TYPE) if is_tcp => STREAM,
        (SOCKET, option::TYPE) => DATAGRAMS,
        (SOCKET, option::DOMAIN) if socket.is_ipv6 => INET6,
        (SOCKET, option::DOMAIN) => INET,
        (SOCKET, option::PROTOCOL) if is_tcp => TCP,
        (SOCKET, option::PROTOCOL) => UDP,
        (SOCKET, option::ERROR) => number(host::socket_error(fd)?),
        (SOCKET, option::ACCEPTS) => host::socket_acceptconn(fd)?.into(),
        (SOCKET, option::REUSE_ADDRESS) => host::socket_reuseaddr(fd)?.into(),
        (SOCKET, option::KEEP_ALIVE) => host::socket_keepalive(fd)?.into(),
        (SOCKET, option::BROADCAST) => 0,
        (SOCKET, option::SEND_BUFFER) => host::socket_send_buffer_size(fd)? as u32,
        (SOCKET, option::RECEIVE_BUFFER) => host::socket_recv_buffer_size(fd)? as u32,
        (SOCKET, option::LINGER) => {
            let span = host::socket_linger(fd)?;
            return Ok(Layout::new().u32(span.is_some().into()).u32(seconds(span.unwrap_or_default())));
        }
        (TCP, tcp_option::NO_DELAY) => host::tcp_nodelay(fd)?.into(),
        (TCP, tcp_option::CORK) => host::tcp_cork(fd)?.into(),
        (TCP, tcp_option::KEEP_IDLE) => seconds(host::tcp_keepidle(fd)?),
        (TCP, tcp_option::KEEP_INTERVAL) => seconds(host::tcp_keepintvl(fd)?),
        (TCP, tcp_option::KEEP_COUNT) => host::tcp_keepcnt(fd)?,
        (TCP, tcp_option::QUICK_ACKNOWLEDGE) => host::tcp_quickack(fd)?.into(),
        (TCP, tcp_option::USER_TIMEOUT) => host::tcp_user_timeout(fd)?,
        (IPV6, ONLY_IPV6) if socket.is_ipv6 => 1,
        _ => return Err(unknown(level, name)),
    };
    Ok(Layout::new().u32(value))
}

pub(crate) fn getsockopt(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    let (address, length) = (call.args[3], call.args[4]);
    let room = usize::try_from(call.memory.read_u32(length)? as i32).map_err(|_| Errno::INVAL)?;
    let bytes = value(file.socket()?, call.uint(1), call.uint(2))?.into_bytes();
    let len = bytes.len().min(room);
    call.memory.write(address, &bytes[..len])?;
    call.memory.write_u32(length, len as u32)?;
    Ok(0)
}

/// The span in a `struct timeval`; `None` for zero, which is for ever.
fn timeout(call: &Call<'_>) -> Result<Option<Duration>, Stop> {
    const SIZE: u32 = 16;
    if call.uint(4) < SIZE {
        return Err(Errno::INVAL.into());
    }
    let [seconds, microseconds] = load_words(call.memory, call.args[3])?;
    let Some(microseconds) = u32::try_from(microseconds).ok().filter(|&part| part < 1_000_000) else {
        return Err(Errno::DOM.into());
    };
    // One before now waits not at all.
    let Ok(seconds) = u64::try_from(seconds as i64) else { return Ok(Some(Duration::from_nanos(1))) };
    Ok(Some(Duration::new(seconds, microseconds * 1000)).filter(|span| !span.is_zero()))
}

pub(crate) fn setsockopt(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    let socket = file.socket()?;
    let (level, name) = (call.uint(1), call.uint(2));
    if level != SOCKET && matches!(socket.end, End::Local(_)) {
        return Err(Errno::OPNOTSUPP.into());
    }
    if call.uint(4) < 4 {
        return Err(Errno::INVAL.into());
    }
    let value = call.memory.read_u32(call.args[3])?;
    match (level, name, &socket.end) {
        (SOCKET, option::RECEIVE_TIMEOUT, _) => socket.set_timeout(Half::Incoming, timeout(call)?),
        (SOCKET, option::SEND_TIMEOUT, _) => socket.set_timeout(Half::Outgoing, timeout(call)?),
        // Buffers are as the host has them.
        (SOCKET, option::BROADCAST | option::SEND_BUFFER | option::RECEIVE_BUFFER, _) => {}
        (SOCKET, option::REUSE_ADDRESS | option::KEEP_ALIVE | option::LINGER, End::Local(_)) => {}
        (SOCKET, option::TYPE | option::ERROR | option::ACCEPTS | option::PROTOCOL | option::DOMAIN, _) => {
            return Err(Errno::NOPROTOOPT.into());
        }
        (SOCKET, option::LINGER, End::Tcp(tcp)) => linger(call, &tcp.host, value != 0)?,
        (_, _, End::Tcp(tcp)) => set_network(&tcp.host, true, level, name, value)?,
        (_, _, End::Udp(udp)) => set_network(&udp.host, false, level, name, value)?,
        _ => return Err(unknown(level, name)),
    }
    Ok(0)
}

/// Whether closing a socket drops what has not been sent. It never waits for that: the host would.
fn linger(call: &Call<'_>, socket: &HostSocket, is_on: bool) -> Result<(), Stop> {
    if call.uint(4) < 8 {
        return Err(Errno::INVAL.into());
    }
    let seconds = call.memory.read_u32(call.args[3].wrapping_add(4))?;
    let drops = is_on && seconds == 0;
    Ok(host::set_socket_linger(&socket.fd, drops.then_some(Duration::ZERO))?)
}

fn set_network(socket: &HostSocket, is_tcp: bool, level: u32, name: u32, value: u32) -> Result<(), Stop> {
    let (fd, seconds) = (&socket.fd, Duration::from_secs(value.into()));
    match (level, name) {
        (TCP, _) if !is_tcp => return Err(unknown(level, name)),
        (IPV4, TELLS_ERRORS) if !is_tcp && !socket.is_ipv6 => {}
        (IPV6, TELLS_ERRORS_IPV6) if !is_tcp && socket.is_ipv6 => {}
        (SOCKET, option::REUSE_ADDRESS) => host::set_socket_reuseaddr(fd, value != 0)?,
        (SOCKET, option::KEEP_ALIVE) => host::set_socket_keepalive(fd, value != 0)?,
        (TCP, tcp_option::NO_DELAY) => host::set_tcp_nodelay(fd, value != 0)?,
        (TCP, tcp_option::CORK) => host::set_tcp_cork(fd, value != 0)?,
        (TCP, tcp_option::KEEP_IDLE) => host::set_tcp_keepidle(fd, seconds)?,
        (TCP, tcp_option::KEEP_INTERVAL) => host::set_tcp_keepintvl(fd, seconds)?,
        (TCP, tcp_option::KEEP_COUNT) => host::set_tcp_keepcnt(fd, value)?,
        (TCP, tcp_option::QUICK_ACKNOWLEDGE) => host::set_tcp_quickack(fd, value != 0)?,
        (TCP, tcp_option::USER_TIMEOUT) => host::set_tcp_user_timeout(fd, value)?,
        // It is so in any case.
        (IPV6, ONLY_IPV6) if socket.is_ipv6 && value != 0 => {}
        _ => return Err(unknown(level, name)),
    }
    Ok(())
}
