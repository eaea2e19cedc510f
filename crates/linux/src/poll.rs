//! Waiting for files to be ready (`ppoll`, `pselect6`), and `ioctl`.

use std::sync::Arc;
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::termios::tcgetwinsize;

use crate::abi::{Layout, Timespec, load_words, open};
use crate::call::{Call, Outcome, Patience, Stop};
use crate::descriptors::Descriptors;
use crate::events::{ERR, HUP, NVAL, READ, WRITE};
use crate::interests::{Interest, Interests};
use crate::open_file::{Kind, OpenFile};
use crate::requests::On;

/// What of `wanted` would not block, and what goes unasked.
/// `signals` are those that wait for the thread that asks.
pub(crate) fn ready(file: &OpenFile, wanted: u16, signals: u64) -> u16 {
    let when = |ready: bool, events: u16| if ready { events } else { 0 };
    match &file.kind {
        Kind::PipeReader(pipe) => when(pipe.is_ready(), READ & wanted) | when(pipe.is_hung_up(), HUP),
        Kind::PipeWriter(pipe) => when(pipe.is_ready(), WRITE & wanted) | when(pipe.is_hung_up(), ERR),
        Kind::Stream(stream) => {
            let flags = [(READ, PollFlags::IN), (WRITE, PollFlags::OUT)];
            let asked = flags.into_iter().filter(|(events, _)| wanted & events != 0);
            let came = stream.poll(asked.fold(PollFlags::empty(), |all, (_, flag)| all | flag));
            let of = |(events, flag)| when(came.contains(flag), events);
            let ends = [(HUP, PollFlags::HUP), (ERR, PollFlags::ERR)];
            flags.map(of).into_iter().fold(0, |all, events| all | events & wanted)
                | ends.map(of).into_iter().sum::<u16>()
        }
        Kind::Event(event) => when(event.is_readable(), READ & wanted) | when(event.is_writable(), WRITE & wanted),
        Kind::Timer(timer) => when(timer.is_readable(), READ & wanted),
        Kind::Signals(file) => when(file.set() & signals != 0, READ & wanted),
        Kind::Socket(socket) => socket.ready(wanted),
        // See `scan`.
        Kind::Epoll(_) => 0,
        Kind::Process => 0,
        Kind::Reader(_) => READ & wanted,
        Kind::Writer(_) => WRITE & wanted,
        Kind::Regular(_) | Kind::Directory(_) | Kind::Memory(_) | Kind::Virtual(_) | Kind::Device(_) => {
            (READ | WRITE) & wanted
        }
    }
}

/// A descriptor and the events that are asked of it, or have come.
type Entry = (i32, u16);

fn scan(descriptors: &Descriptors, wanted: &[Entry], signals: u64, patience: Patience<'_>) -> Result<Vec<u16>, Stop> {
    let ready = |&(fd, events): &Entry| {
        Ok(match descriptors.get_for_use(fd) {
            _ if fd < 0 => 0,
            Ok(file) => match &file.kind {
                Kind::Epoll(interests) if events & READ != 0 => {
                    // What it watches may be as much again as all of `wanted`.
                    patience.check()?;
                    if is_any_ready(descriptors, interests, signals) { READ } else { 0 }
                }
                _ => ready(&file, events, signals),
            },
            Err(_) => NVAL,
        })
    };
    wanted.iter().map(ready).collect()
}

/// Whether a file is ready that an epoll descriptor watches.
fn is_any_ready(descriptors: &Descriptors, interests: &Interests, signals: u64) -> bool {
    descriptors.watched(interests).iter().any(|(file, events)| ready(file, *events, signals) & events != 0)
}

impl Descriptors {
    /// The host's streams that can become ready for what is asked of them, as [`On::Files`] has them.
    fn streams(&self, wanted: &[Entry]) -> u8 {
        let of_file = |file: &OpenFile, events: u16| file.await_events(Some(events));
        let stream = |&(fd, events): &Entry| match self.get(fd) {
            Ok(file) => match &file.kind {
                Kind::Epoll(interests) if events & READ != 0 => {
                    let watched = self.watched(interests);
                    watched.iter().fold(0, |all, (file, events)| all | of_file(file, *events))
                }
                _ => of_file(&file, events),
            },
            Err(_) => 0,
        };
        wanted.iter().map(stream).fold(0, |all, stream| all | stream)
    }

    /// The files that an epoll descriptor watches, and for what.
    fn watched(&self, interests: &Interests) -> Vec<(Arc<OpenFile>, u16)> {
        let file = |(&fd, interest): (&i32, &Interest)| {
            let file = self.get(fd).ok().filter(|file| file.number() == interest.file)?;
            // One that was to be told once, and has been, has no events.
            (interest.events != 0).then_some((file, interest.events as u16))
        };
        interests.lock().iter().filter_map(file).collect()
    }
}

impl Call<'_> {
    /// The time span at argument `n`; `None` for a null pointer.
    pub(crate) fn timeout(&self, n: usize) -> Result<Option<Duration>, Stop> {
        match self.args[n] {
            0 => Ok(None),
            address => Ok(Some(Timespec::load(self.memory, address)?.span()?)),
        }
    }

    /// Waits until one of `wanted` is ready or the timeout of argument `timeout` has passed, and stores there what is left
    /// of it.
    fn wait_for(&mut self, wanted: &[Entry], timeout: usize) -> Result<Vec<u16>, Stop> {
        let span = self.timeout(timeout)?;
        let end = span.and_then(|span| self.end_of(Some(span)));
        let events = scan(&self.linux.descriptors, wanted, self.linux.pending_signals(), self.patience)?;
        let waited = match events.iter().all(|&events| events == 0) {
            true => self.wait(On::Files { streams: self.linux.descriptors.streams(wanted) }, span).map(drop),
            false => Ok(()),
        };
        if !matches!(waited, Err(Stop::Wait(_)))
            && let Some(end) = end
        {
            let left = Timespec::from(end.saturating_sub(self.uptime()));
            // Where it cannot be stored, Linux says nothing either.
            let _ = Layout::new().timespec(left).store(self.memory, self.args[timeout]);
        }
        waited.map(|()| events)
    }
}

pub(crate) fn ppoll(call: &mut Call<'_>) -> Outcome {
    /// Bytes of `struct pollfd`.
    const SIZE: u64 = 8;
    let [address, count, ..] = call.args;
    if count > call.linux.descriptors.limit() as u64 {
        return Err(Errno::INVAL.into());
    }
    let table = call.memory.slice(address, SIZE * count)?.chunks_exact(SIZE as usize);
    let wanted: Vec<Entry> = table
        .map(|entry| {
            let fd = i32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]);
            (fd, u16::from_le_bytes([entry[4], entry[5]]))
        })
        .collect();
    call.memory.slice_mut(address, SIZE * count)?;
    call.block_signals(call.args[3], call.args[4])?;
    let events = call.wait_for(&wanted, 2)?;
    for (n, events) in events.iter().enumerate() {
        call.memory.write(address + SIZE * n as u64 + 6, &events.to_le_bytes())?;
    }
    Ok(events.iter().filter(|&&events| events != 0).count() as u64)
}

pub(crate) fn pselect6(call: &mut Call<'_>) -> Outcome {
    let count = usize::try_from(call.int(0)).map_err(|_| Errno::INVAL)?.min(call.linux.descriptors.most());
    let bytes = count.div_ceil(64) * 8;
    let mut sets: [Option<Vec<u8>>; 3] = Default::default();
    for (set, &address) in sets.iter_mut().zip(&call.args[1..4]) {
        if address != 0 {
            *set = Some(call.memory.slice_mut(address, bytes as u64)?.to_vec());
        }
    }
    let events = [READ, WRITE, 0];
    let mut wanted = Vec::new();
    for fd in 0..count {
        let is_in = |set: &Option<Vec<u8>>| set.as_ref().is_some_and(|set| set[fd / 8] >> (fd % 8) & 1 != 0);
        let asked = sets.iter().zip(events).filter(|(set, _)| is_in(set));
        if let Some(events) = asked.map(|(_, events)| events).reduce(|all, events| all | events) {
            call.linux.descriptors.get(fd as i32)?;
            wanted.push((fd as i32, events));
        }
    }
    if call.args[5] != 0 {
        let [mask, size] = load_words(call.memory, call.args[5])?;
        call.block_signals(mask, size)?;
    }
    let ready = call.wait_for(&wanted, 4)?;
    // What has gone wrong can be read, and ends a wait for writing.
    let outcomes = [READ | HUP | ERR | NVAL, WRITE | ERR | NVAL, NVAL];
    let mut total = 0;
    for ((set, outcome), &address) in sets.into_iter().zip(outcomes).zip(&call.args[1..4]) {
        let Some(asked) = set else { continue };
        let mut result = vec![0; bytes];
        for ((fd, _), events) in wanted.iter().zip(&ready) {
            let (byte, bit) = (*fd as usize / 8, 1 << (fd % 8));
            if asked[byte] & bit != 0 && events & outcome != 0 {
                result[byte] |= bit;
                total += 1;
            }
        }
        call.memory.write(address, &result)?;
    }
    Ok(total)
}

pub(crate) fn ioctl(call: &mut Call<'_>) -> Outcome {
    const GET_TERMINAL: u32 = 0x5401;
    const GET_WINDOW_SIZE: u32 = 0x5413;
    const AVAILABLE: u32 = 0x541b;
    const SET_NON_BLOCKING: u32 = 0x5421;
    const KEEP_ON_EXEC: u32 = 0x5450;
    const CLOSE_ON_EXEC: u32 = 0x5451;
    let (file, address) = (call.file(0)?, call.args[2]);
    // What files of all kinds know.
    match call.uint(1) {
        SET_NON_BLOCKING => {
            let on = call.memory.read_u32(address)? != 0;
            let others = file.status() & !open::NON_BLOCKING;
            file.set_status(others | if on { open::NON_BLOCKING } else { 0 })?;
            return Ok(0);
        }
        request @ (KEEP_ON_EXEC | CLOSE_ON_EXEC) => {
            call.linux.descriptors.set_close_on_exec(call.args[0] as i32, request == CLOSE_ON_EXEC)?;
            return Ok(0);
        }
        AVAILABLE => {
            let available = match &file.kind {
                Kind::PipeReader(pipe) => pipe.available() as u64,
                Kind::PipeWriter(pipe) => pipe.waiting() as u64,
                Kind::Socket(socket) => socket.available()?,
                Kind::Stream(stream) => rustix::io::ioctl_fionread(stream.fd)?,
                Kind::Memory(file) => file.len().wrapping_sub(file.position()),
                Kind::Virtual(file) => file.len()?.wrapping_sub(file.position()),
                Kind::Regular(_) => {
                    let fd = file.regular()?;
                    (rustix::fs::fstat(fd)?.st_size as u64).wrapping_sub(rustix::fs::tell(fd)?)
                }
                _ => return Err(Errno::NOTTY.into()),
            };
            return Layout::new().u32(available as u32).store(call.memory, address);
        }
        _ => {}
    }
    let terminal = match &file.kind {
        Kind::Stream(stream) if rustix::termios::isatty(stream.fd) => stream.fd,
        _ => return Err(Errno::NOTTY.into()),
    };
    match call.uint(1) {
        GET_TERMINAL => default_terminal().store(call.memory, address),
        GET_WINDOW_SIZE => {
            let size = tcgetwinsize(terminal)?;
            let layout = Layout::new().u16(size.ws_row).u16(size.ws_col).u16(size.ws_xpixel).u16(size.ws_ypixel);
            layout.store(call.memory, address)
        }
        _ => Err(Errno::NOTTY.into()),
    }
}

/// `struct termios` of a terminal as it comes: lines are edited and echoed.
fn default_terminal() -> Layout {
    const CRNL_AND_FLOW: u32 = 0o2400;
    const POST_PROCESS_NEWLINES: u32 = 0o5;
    const SPEED_38400_8_BITS_READ: u32 = 0o277;
    const EDIT_ECHO_SIGNALS: u32 = 0o105073;
    const KEYS: [u8; 17] = [3, 28, 127, 21, 4, 0, 1, 0, 17, 19, 26, 0, 18, 15, 23, 22, 0];
    let flags = [CRNL_AND_FLOW, POST_PROCESS_NEWLINES, SPEED_38400_8_BITS_READ, EDIT_ECHO_SIGNALS];
    flags.into_iter().fold(Layout::new(), Layout::u32).u8(0).bytes(&KEYS).zeros_to(36)
}
