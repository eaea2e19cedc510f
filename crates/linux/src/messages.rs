//! Messages on sockets (`sendmsg`, `recvmsg`, and many at once by `sendmmsg`, `recvmmsg`): buffers, addresses, and
//! descriptors that come with them (`SCM_RIGHTS`).

use rustix::io::Errno;

use crate::abi::{Layout, Timespec, load_words};
use crate::call::{Call, MAX_BUFFERS, Outcome, Stop};
use crate::halves::{Attached, Received};
use crate::open_file::OpenFile;
use crate::refusal::Denial;
use crate::requests::{Ended, Resumed};
use crate::rights::Carried;
use crate::socket_calls::{Buffer, destination, flag, receive_some, send_with, sender_bytes};

/// Bytes of a control message's header (`struct cmsghdr`), to which control messages are aligned in part.
const HEADER: u64 = 16;
const ALIGNMENT: u64 = 8;
/// Bytes of control messages at most.
const MAX_CONTROL: u64 = 16 << 10;
/// The level and the type of control messages with descriptors (`SOL_SOCKET`, `SCM_RIGHTS`).
const SOCKET: u32 = 1;
const RIGHTS: u32 = 1;
/// Descriptors in a message at most, as in Linux.
const MAX_FILES: usize = 253;

/// `struct msghdr`.
struct Message {
    at: u64,
    name: u64,
    name_len: u32,
    buffers: Vec<Buffer>,
    control: u64,
    control_len: u64,
}

impl Message {
    fn load(call: &Call<'_>, at: u64) -> Result<Message, Stop> {
        let [name, name_len, buffers, count, control, control_len, _] = load_words(call.memory, at)?;
        if count > MAX_BUFFERS {
            return Err(Errno::MSGSIZE.into());
        }
        let buffers = call.buffers(buffers, count)?;
        Ok(Message { at, name, name_len: name_len as u32, buffers, control, control_len })
    }

    /// The files whose descriptors are sent in control messages. There are no others.
    fn files_to_send(&self, call: &Call<'_>, is_local: bool) -> Result<Vec<Carried>, Stop> {
        let mut files: Vec<Carried> = Vec::new();
        if self.control == 0 {
            return Ok(files);
        }
        if self.control_len > MAX_CONTROL {
            return Err(Errno::NOBUFS.into());
        }
        let mut at = 0;
        while at + HEADER <= self.control_len {
            let header = self.control.wrapping_add(at);
            let len = call.memory.read_u64(header)?;
            let [level, kind] = [8, 12].map(|offset| call.memory.read_u32(header.wrapping_add(offset)));
            if len < HEADER || len > self.control_len - at {
                return Err(Errno::INVAL.into());
            }
            match (level?, kind?) {
                (SOCKET, RIGHTS) if is_local => {}
                (SOCKET, RIGHTS) => return Err(Stop::Denied(Denial::Rights)),
                (level, kind) => return Err(Stop::Denied(Denial::Control { level, kind })),
            }
            for n in 0..(len - HEADER) / 4 {
                let descriptor = call.memory.read_u32(header.wrapping_add(HEADER + 4 * n))?;
                let file = call.linux.descriptors.get(descriptor as i32)?;
                // Pipes that carry their own sockets would never be freed.
                if file.local().is_some() {
                    return Err(Stop::Denied(Denial::Local));
                }
                files.push(file);
            }
            at += len.next_multiple_of(ALIGNMENT);
        }
        if files.len() > MAX_FILES {
            return Err(Errno::INVAL.into());
        }
        if !files.is_empty() {
            call.linux.descriptors.check_on_their_way(files.len())?;
        }
        Ok(files)
    }

    /// Opens descriptors of files that have come, as many as there is room for in control messages; bytes of the
    /// message that has them, and whether there are more files.
    fn take_files(&self, call: &mut Call<'_>, files: Vec<Carried>, flags: u32) -> Result<(u64, bool), Stop> {
        let room = self.control_len.checked_sub(HEADER).filter(|_| self.control != 0).map_or(0, |room| room / 4);
        let wanted = files.len();
        let mut opened = Layout::new();
        let mut count = 0;
        let files = files.into_iter().filter_map(|file| file.downcast::<OpenFile>().ok());
        for file in files.take(room.min(MAX_FILES as u64) as usize) {
            let Ok(descriptor) = call.linux.descriptors.share(file, flags & flag::CLOSE_ON_EXEC != 0) else { break };
            opened = opened.u32(descriptor as u32);
            count += 1;
        }
        if count == 0 {
            return Ok((0, wanted != 0));
        }
        let len = HEADER + 4 * count;
        Layout::new().u64(len).u32(SOCKET).u32(RIGHTS).bytes(&opened.into_bytes()).store(call.memory, self.control)?;
        Ok((len.next_multiple_of(ALIGNMENT).min(self.control_len), count < wanted as u64))
    }
}

/// Sends the message of the structure at an address.
fn send_message(call: &mut Call<'_>, file: &OpenFile, at: u64, flags: u32) -> Outcome {
    let is_local = file.socket()?.host().is_none();
    let message = Message::load(call, at)?;
    let files = message.files_to_send(call, is_local)?;
    let to = destination(call, file, message.name, message.name_len)?;
    send_with(call, file, &message.buffers, flags, Attached { to, files })
}

pub(crate) fn sendmsg(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    send_message(call, &file, call.args[1], call.uint(2))
}

/// Receives a message by the structure at an address.
fn receive_message(call: &mut Call<'_>, file: &OpenFile, at: u64, flags: u32) -> Outcome {
    const NAME_LEN: u64 = 8;
    const CONTROL_LEN: u64 = 40;
    const FLAGS: u64 = 48;
    file.socket()?;
    let message = Message::load(call, at)?;
    let Received { len, whole, from, files } = receive_some(call, file, &message.buffers, flags)?;
    let is_cut = whole > len && !file.socket()?.is_stream();
    let sender = from.map(sender_bytes).unwrap_or_default();
    call.store_address(message.name, message.at.wrapping_add(NAME_LEN), &sender)?;
    let (control_len, lacks_room) = message.take_files(call, files, flags)?;
    let told = [(is_cut, flag::TRUNCATED), (lacks_room, flag::CONTROL_TRUNCATED)];
    let told = told.iter().map(|&(is_so, flag)| if is_so { flag } else { 0 }).sum::<u32>();
    call.memory.write_u64(message.at.wrapping_add(CONTROL_LEN), control_len)?;
    call.memory.write_u32(message.at.wrapping_add(FLAGS), told | flags & flag::CLOSE_ON_EXEC)?;
    Ok(if is_cut && flags & flag::TRUNCATED != 0 { whole } else { len } as u64)
}

pub(crate) fn recvmsg(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    receive_message(call, &file, call.args[1], call.uint(2))
}

/// Moves the messages of up to `count` structures (`struct mmsghdr`) one by one, by a function that gets each one's address
/// and its number; how many. A wait ends behind those that have been moved, and in the midst of one that is moved in part.
fn each_message(
    call: &mut Call<'_>,
    count: u64,
    mut move_one: impl FnMut(&mut Call<'_>, u64, u64) -> Outcome,
    mut is_enough: impl FnMut(&Call<'_>) -> bool,
) -> Outcome {
    /// Bytes of a structure, and of the `struct msghdr` that it begins with.
    const SIZE: u64 = 64;
    const LEN: u64 = 56;
    let is_over = matches!(call.resumed, Some(Resumed { why: Ended::Interrupted | Ended::TimedOut, .. }));
    let mut moved = call.done;
    while moved < count {
        let at = call.args[1].wrapping_add(SIZE * moved);
        call.done = call.part;
        let outcome = move_one(call, at, moved);
        let part = std::mem::replace(&mut call.done, moved);
        let waits = matches!(outcome, Err(Stop::WouldWait { .. })) && !is_over;
        let len = match outcome {
            Ok(len) => len,
            // What has been moved counts, of the last one, too: what is wrong shows in the next call.
            Err(_) if !waits && part != 0 => part,
            Err(_) if !waits && moved != 0 => break,
            Err(stop) => {
                call.part = part;
                return Err(stop);
            }
        };
        call.part = 0;
        call.memory.write_u32(at.wrapping_add(LEN), len as u32)?;
        moved += 1;
        call.done = moved;
        if is_enough(call) || call.patience.check().is_err() {
            break;
        }
    }
    Ok(moved)
}

pub(crate) fn sendmmsg(call: &mut Call<'_>) -> Outcome {
    let (file, flags) = (call.file(0)?, call.uint(3));
    let count = u64::from(call.uint(2)).min(MAX_BUFFERS);
    file.socket()?;
    each_message(call, count, |call, at, _| send_message(call, &file, at, flags), |_| false)
}

/// The timeout also ends a wait for the next message: on Linux it is looked at between messages alone.
pub(crate) fn recvmmsg(call: &mut Call<'_>) -> Outcome {
    const WAIT_FOR_ONE: u32 = 0x1_0000;
    let (file, flags) = (call.file(0)?, call.uint(3));
    file.socket()?;
    let span = call.timeout(4)?;
    let end = span.and_then(|span| call.end_of(Some(span)));
    let receive = |call: &mut Call<'_>, at: u64, moved: u64| {
        let only_first = if flags & WAIT_FOR_ONE != 0 && moved != 0 { flag::DO_NOT_WAIT } else { 0 };
        let outcome = receive_message(call, &file, at, flags & !WAIT_FOR_ONE | only_first);
        match (outcome, span) {
            (Err(Stop::WouldWait { streams, span: own }), Some(span)) => {
                Err(Stop::WouldWait { streams, span: Some(own.map_or(span, |own| own.min(span))) })
            }
            (outcome, _) => outcome,
        }
    };
    let moved = each_message(call, call.uint(2).into(), receive, |call| end.is_some_and(|end| end <= call.uptime()))?;
    if let Some(end) = end {
        let left = Timespec::from(end.saturating_sub(call.uptime()));
        Layout::new().timespec(left).store(call.memory, call.args[4])?;
    }
    Ok(moved)
}
