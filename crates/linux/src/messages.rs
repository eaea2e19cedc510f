//! Messages on sockets (`sendmsg`, `recvmsg`): buffers, addresses, and descriptors that come with them (`SCM_RIGHTS`).

use rustix::io::Errno;

use crate::abi::{Layout, load_words};
use crate::call::{Call, MAX_BUFFERS, Outcome, Stop};
use crate::halves::{Attached, Received};
use crate::open_file::{Kind, OpenFile};
use crate::refusal::Denial;
use crate::rights::Carried;
use crate::socket_calls::{Buffer, address_bytes, destination, flag, receive_some, send_with};

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
    fn load(call: &Call<'_>) -> Result<Message, Stop> {
        let at = call.args[1];
        let [name, name_len, buffers, count, control, control_len, _] = load_words(call.memory, at)?;
        if count > MAX_BUFFERS {
            return Err(Errno::MSGSIZE.into());
        }
        let buffers = call.buffers(buffers, count)?;
        Ok(Message { at, name, name_len: name_len as u32, buffers, control, control_len })
    }

    /// The files whose descriptors are sent in control messages. There are no others.
    fn files_to_send(&self, call: &Call<'_>, is_pair: bool) -> Result<Vec<Carried>, Stop> {
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
                (SOCKET, RIGHTS) if is_pair => {}
                (SOCKET, RIGHTS) => return Err(Stop::Denied(Denial::Rights)),
                (level, kind) => return Err(Stop::Denied(Denial::Control { level, kind })),
            }
            for n in 0..(len - HEADER) / 4 {
                let descriptor = call.memory.read_u32(header.wrapping_add(HEADER + 4 * n))?;
                let file = call.linux.descriptors.get(descriptor as i32)?;
                // Pipes that carry their own sockets would never be freed.
                if matches!(&file.kind, Kind::Socket(socket) if socket.host().is_none()) {
                    return Err(Stop::Denied(Denial::Pair));
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

    /// Opens descriptors of files that have come, as many as there is room for in control messages; bytes of the message that
    /// has them, and whether there are more files.
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

pub(crate) fn sendmsg(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    let is_pair = file.socket()?.host().is_none();
    let message = Message::load(call)?;
    let files = message.files_to_send(call, is_pair)?;
    let to = destination(call, &file, message.name, message.name_len)?;
    send_with(call, &file, &message.buffers, call.uint(2), Attached { to, files })
}

pub(crate) fn recvmsg(call: &mut Call<'_>) -> Outcome {
    const NAME_LEN: u64 = 8;
    const CONTROL_LEN: u64 = 40;
    const FLAGS: u64 = 48;
    let file = call.file(0)?;
    file.socket()?;
    let message = Message::load(call)?;
    let flags = call.uint(2);
    let Received { len, whole, from, files } = receive_some(call, &file, &message.buffers, flags)?;
    let is_cut = whole > len && !file.socket()?.is_stream();
    let sender = from.map(address_bytes).unwrap_or_default();
    call.store_address(message.name, message.at.wrapping_add(NAME_LEN), &sender)?;
    let (control_len, lacks_room) = message.take_files(call, files, flags)?;
    let told = [(is_cut, flag::TRUNCATED), (lacks_room, flag::CONTROL_TRUNCATED)];
    let told = told.iter().map(|&(is_so, flag)| if is_so { flag } else { 0 }).sum::<u32>();
    call.memory.write_u64(message.at.wrapping_add(CONTROL_LEN), control_len)?;
    call.memory.write_u32(message.at.wrapping_add(FLAGS), told | flags & flag::CLOSE_ON_EXEC)?;
    Ok(if is_cut && flags & flag::TRUNCATED != 0 { whole } else { len } as u64)
}
