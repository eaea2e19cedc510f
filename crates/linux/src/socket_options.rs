//! Options of sockets: `getsockopt` and `setsockopt`.

use std::time::Duration;

use rustix::io::Errno;

use crate::abi::{Layout, load_words};
use crate::call::{Call, Outcome, Stop};
use crate::process::{PROCESS, USER};
use crate::refusal::Denial;
use crate::socket::{Half, Socket};
use crate::socket_calls::UNIX;

/// The level of options that sockets of all families have (`SOL_SOCKET`).
const SOCKET: u32 = 1;

/// Options of that level (`SO_`).
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

/// The size of a buffer, as Linux has it by default.
const BUFFER: u32 = 212_992;

fn half(name: u32) -> Half {
    if name == option::RECEIVE_TIMEOUT { Half::Incoming } else { Half::Outgoing }
}

/// An option's value.
fn value(socket: &Socket, level: u32, name: u32) -> Result<Layout, Stop> {
    let layout = Layout::new();
    if level != SOCKET {
        return Err(Errno::OPNOTSUPP.into());
    }
    Ok(match name {
        option::TYPE => layout.u32(socket.pair.style.type_number()),
        option::DOMAIN => layout.u32(UNIX),
        option::SEND_BUFFER | option::RECEIVE_BUFFER => layout.u32(BUFFER),
        option::ERROR
        | option::PROTOCOL
        | option::ACCEPTS
        | option::REUSE_ADDRESS
        | option::KEEP_ALIVE
        | option::BROADCAST => layout.u32(0),
        option::LINGER => layout.u64(0),
        option::PEER_CREDENTIALS => layout.u32(PROCESS).u32(USER).u32(USER),
        option::RECEIVE_TIMEOUT => layout.timeval(socket.timeouts().incoming.unwrap_or_default()),
        option::SEND_TIMEOUT => layout.timeval(socket.timeouts().outgoing.unwrap_or_default()),
        _ => return Err(Stop::Denied(Denial::Option { level, name })),
    })
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
    if level != SOCKET {
        return Err(Errno::OPNOTSUPP.into());
    }
    if call.uint(4) < 4 {
        return Err(Errno::INVAL.into());
    }
    call.memory.slice(call.args[3], 4)?;
    match name {
        option::RECEIVE_TIMEOUT | option::SEND_TIMEOUT => socket.set_timeout(half(name), timeout(call)?),
        // They change nothing within a machine.
        option::REUSE_ADDRESS
        | option::BROADCAST
        | option::SEND_BUFFER
        | option::RECEIVE_BUFFER
        | option::KEEP_ALIVE
        | option::LINGER => {}
        option::TYPE | option::ERROR | option::ACCEPTS | option::PROTOCOL | option::DOMAIN => {
            return Err(Errno::NOPROTOOPT.into());
        }
        _ => return Err(Stop::Denied(Denial::Option { level, name })),
    }
    Ok(0)
}
