//! System calls on sockets.

use rustix::io::Errno;

use crate::abi::{Layout, open, signal};
use crate::call::{Call, MAX_TRANSFER, Outcome, Stop, readable, writable};
use crate::descriptors::open_two;
use crate::io::MAX_BUFFERS;
use crate::open_file::{Kind, OpenFile};
use crate::pair::{Pair, Style};
use crate::pipes;
use crate::poll::{READ, WRITE};
use crate::refusal::Denial;
use crate::socket::{Half, Received, Socket, Timeouts};

/// Families of addresses (`AF_`).
pub(crate) const UNIX: u32 = 1;
/// One more than the highest type of sockets.
const TYPES: u32 = 11;
/// Flags in a socket's type.
const TYPE_FLAGS: u32 = open::NON_BLOCKING | open::CLOSE_ON_EXEC;
/// Bytes that are copied at once between a socket and the guest.
const STEP: u64 = 256 << 10;

/// Flags of calls that send or receive (`MSG_`).
mod flag {
    pub(super) const OUT_OF_BAND: u32 = 1;
    pub(super) const PEEK: u32 = 2;
    pub(super) const TRUNCATED: u32 = 0x20;
    pub(super) const DO_NOT_WAIT: u32 = 0x40;
    pub(super) const WAIT_FOR_ALL: u32 = 0x100;
    pub(super) const NO_SIGNAL: u32 = 0x4000;
}

/// Parts of the guest's memory that a call reads or writes one after the other: addresses and lengths.
pub(crate) type Buffers = Vec<(u64, u64)>;

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
    pub(crate) fn buffers(&self, address: u64, count: u64) -> Result<Buffers, Stop> {
        if count > MAX_BUFFERS {
            return Err(Errno::INVAL.into());
        }
        let mut left = MAX_TRANSFER;
        let mut buffers = Buffers::new();
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
    fn gather(&self, buffers: &Buffers, mut skip: u64, most: u64) -> Result<Vec<u8>, Stop> {
        let mut bytes = Vec::new();
        for &(base, len) in buffers {
            if len <= skip {
                skip -= len;
                continue;
            }
            let wanted = (len - skip).min(most - bytes.len() as u64);
            let base = base.wrapping_add(std::mem::take(&mut skip));
            match readable(self.memory, base, wanted) {
                Ok(there) => bytes.extend(self.memory.slice(base, there)?),
                Err(_) if !bytes.is_empty() => break,
                Err(stop) => return Err(stop),
            }
            if bytes.len() as u64 >= most {
                break;
            }
        }
        Ok(bytes)
    }

    /// Writes bytes to buffers, behind their first `skip`.
    fn scatter(&mut self, buffers: &Buffers, mut skip: u64, mut bytes: &[u8]) -> Result<(), Stop> {
        for &(base, len) in buffers {
            if len <= skip {
                skip -= len;
                continue;
            }
            let (part, rest) = bytes.split_at(bytes.len().min((len - skip) as usize));
            self.memory.write(base.wrapping_add(std::mem::take(&mut skip)), part)?;
            bytes = rest;
        }
        Ok(())
    }

    /// How many bytes of buffers the guest may write to, `most` at most; an error if not even the first one.
    fn room(&mut self, buffers: &Buffers, mut skip: u64, most: u64) -> Result<u64, Stop> {
        let mut room = 0;
        for &(base, len) in buffers {
            if len <= skip {
                skip -= len;
                continue;
            }
            let wanted = (len - skip).min(most - room);
            match writable(self.memory, base.wrapping_add(std::mem::take(&mut skip)), wanted) {
                Ok(there) => room += there,
                Err(_) if room > 0 => break,
                Err(stop) => return Err(stop),
            }
            if room >= most {
                break;
            }
        }
        Ok(room)
    }

    /// Stores a socket's address where the guest has room for it; `length` is the address of that room's size.
    fn store_address(&mut self, address: u64, length: u64, bytes: &[u8]) -> Result<(), Stop> {
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
pub(crate) fn send(call: &mut Call<'_>, file: &OpenFile, buffers: &Buffers, flags: u32) -> Outcome {
    let socket = file.socket()?;
    if flags & flag::OUT_OF_BAND != 0 {
        return Err(Errno::OPNOTSUPP.into());
    }
    let would_wait = |stop| match flags & flag::DO_NOT_WAIT {
        0 => file.would_wait(stop, WRITE),
        _ => stop,
    };
    let result = match socket.is_stream() {
        true => send_bytes(call, socket, buffers, would_wait),
        false => {
            let message = call.gather(buffers, 0, pipes::CAPACITY as u64)?;
            socket.send(&message).map(|sent| sent as u64).map_err(|errno| would_wait(errno.into()))
        }
    };
    if result == Err(Errno::PIPE.into()) && socket.is_stream() && flags & flag::NO_SIGNAL == 0 {
        call.linux.raise(signal::SIGPIPE);
    }
    result
}

/// Sends all bytes, if it may wait for room.
fn send_bytes(call: &mut Call<'_>, socket: &Socket, buffers: &Buffers, would_wait: impl Fn(Stop) -> Stop) -> Outcome {
    let total = buffers.iter().map(|&(_, len)| len).sum::<u64>();
    loop {
        let sent = call.gather(buffers, call.done, STEP).and_then(|part| Ok(socket.send(&part)?));
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
fn receive_some(call: &mut Call<'_>, file: &OpenFile, buffers: &Buffers, flags: u32) -> Result<Received, Stop> {
    let socket = file.socket()?;
    if flags & flag::OUT_OF_BAND != 0 {
        // There never is any.
        return Err(Errno::INVAL.into());
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
        let goes_on = waits_for_all && received.len != 0 && total < wanted && call.patience.check().is_ok();
        if !goes_on {
            return Ok(Received { len: total as usize, whole: received.whole });
        }
        call.done = total;
    }
}

/// Receives into buffers; how many bytes.
pub(crate) fn receive(call: &mut Call<'_>, file: &OpenFile, buffers: &Buffers, flags: u32) -> Outcome {
    let Received { len, whole } = receive_some(call, file, buffers, flags)?;
    let tells_whole = flags & flag::TRUNCATED != 0 && !file.socket()?.is_stream();
    Ok(if tells_whole { whole } else { len } as u64)
}

pub(crate) fn socketpair(call: &mut Call<'_>) -> Outcome {
    let kind = call.uint(1);
    let flags = kind & TYPE_FLAGS;
    if call.uint(0) != UNIX {
        return Err(Errno::OPNOTSUPP.into());
    }
    let style = Style::of_type(kind & !TYPE_FLAGS).ok_or(match kind & !TYPE_FLAGS {
        0..TYPES => Errno::SOCKTNOSUPPORT,
        _ => Errno::INVAL,
    })?;
    if !matches!(call.uint(2), 0 | UNIX) {
        return Err(Errno::PROTONOSUPPORT.into());
    }
    call.linux.descriptors.check_pipes(4)?;
    let file = |pair| (Kind::Socket(Socket::new(pair, Timeouts::default())), open::READ_WRITE | flags);
    open_two(call, call.args[3], Pair::both(style).map(file))
}

pub(crate) fn shutdown(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    let halves: &[Half] = match call.uint(1) {
        0 => &[Half::Incoming],
        1 => &[Half::Outgoing],
        2 => &[Half::Incoming, Half::Outgoing],
        _ => return Err(Errno::INVAL.into()),
    };
    let socket = file.socket()?;
    halves.iter().try_for_each(|&half| socket.shut_down(half))?;
    Ok(0)
}

/// The address of a socket of a pair, which has no name, and its peer's.
fn unnamed(call: &mut Call<'_>) -> Outcome {
    call.file(0)?.socket()?;
    let bytes = Layout::new().u16(UNIX as u16).into_bytes();
    if call.args[1] == 0 {
        return Err(Errno::FAULT.into());
    }
    call.store_address(call.args[1], call.args[2], &bytes)?;
    Ok(0)
}

pub(crate) fn getsockname(call: &mut Call<'_>) -> Outcome {
    unnamed(call)
}

pub(crate) fn getpeername(call: &mut Call<'_>) -> Outcome {
    unnamed(call)
}

/// That a socket of a pair is connected, whatever address it is given.
fn check_no_address(call: &Call<'_>, address: u64, length: u32) -> Result<(), Stop> {
    match address {
        0 => Ok(()),
        _ if length == 0 => Ok(()),
        _ => {
            call.memory.slice(address, u64::from(length))?;
            Err(Errno::ISCONN.into())
        }
    }
}

pub(crate) fn sendto(call: &mut Call<'_>) -> Outcome {
    let [_, address, len, _, to, _] = call.args;
    let file = call.file(0)?;
    file.socket()?;
    check_no_address(call, to, call.uint(5))?;
    send(call, &file, &vec![(address, len.min(MAX_TRANSFER))], call.uint(3))
}

pub(crate) fn recvfrom(call: &mut Call<'_>) -> Outcome {
    let [_, address, len, _, from, length] = call.args;
    let file = call.file(0)?;
    let received = receive(call, &file, &vec![(address, len.min(MAX_TRANSFER))], call.uint(3))?;
    // Peers have no names.
    call.store_address(from, length, &[])?;
    Ok(received)
}

/// `struct msghdr`.
struct Message {
    at: u64,
    name: u64,
    name_len: u32,
    buffers: Buffers,
    control: u64,
    control_len: u64,
}

impl Message {
    fn load(call: &Call<'_>) -> Result<Message, Stop> {
        let at = call.args[1];
        let [name, name_len, buffers, count, control, control_len, _] = crate::abi::load_words(call.memory, at)?;
        if count > MAX_BUFFERS {
            return Err(Errno::MSGSIZE.into());
        }
        let buffers = call.buffers(buffers, count)?;
        Ok(Message { at, name, name_len: name_len as u32, buffers, control, control_len })
    }

    /// Descriptors and the like cannot be sent.
    fn check_control(&self, call: &Call<'_>) -> Result<(), Stop> {
        const HEADER: u64 = 16;
        const SOCKET: u32 = 1;
        const RIGHTS: u32 = 1;
        if self.control == 0 || self.control_len < HEADER {
            return Ok(());
        }
        let level = call.memory.read_u32(self.control.wrapping_add(8))?;
        let kind = call.memory.read_u32(self.control.wrapping_add(12))?;
        Err(Stop::Denied(match (level, kind) {
            (SOCKET, RIGHTS) => Denial::Rights,
            _ => Denial::Control { level, kind },
        }))
    }
}

pub(crate) fn sendmsg(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    file.socket()?;
    let message = Message::load(call)?;
    message.check_control(call)?;
    check_no_address(call, message.name, message.name_len)?;
    send(call, &file, &message.buffers, call.uint(2))
}

pub(crate) fn recvmsg(call: &mut Call<'_>) -> Outcome {
    const NAME_LEN: u64 = 8;
    const CONTROL_LEN: u64 = 40;
    const FLAGS: u64 = 48;
    let file = call.file(0)?;
    file.socket()?;
    let message = Message::load(call)?;
    let flags = call.uint(2);
    let Received { len, whole } = receive_some(call, &file, &message.buffers, flags)?;
    let is_cut = whole > len && !file.socket()?.is_stream();
    if message.name != 0 {
        call.memory.write_u32(message.at.wrapping_add(NAME_LEN), 0)?;
    }
    call.memory.write_u64(message.at.wrapping_add(CONTROL_LEN), 0)?;
    call.memory.write_u32(message.at.wrapping_add(FLAGS), if is_cut { flag::TRUNCATED } else { 0 })?;
    Ok(if is_cut && flags & flag::TRUNCATED != 0 { whole } else { len } as u64)
}
