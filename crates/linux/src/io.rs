//! System calls that read, write and copy.

use std::ops::Range;
use std::sync::Arc;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::Linux;
use crate::abi::{load_words, open, signal};
use crate::call::{Call, MAX_BUFFERS, MAX_TRANSFER, Outcome, Patience, Stop, readable};
use crate::events::WRITE;
use crate::files;
use crate::memory_file::Allocation;
use crate::open_file::{Directory, DirectoryPlace, Kind, OpenFile};
use crate::pipes;
use crate::shared_mappings::{FileId, size};
use crate::socket_calls::{self, Buffer};

/// A position by which calls take the file's own.
const OWN_POSITION: u64 = u64::MAX;
/// The descriptor of standard error.
pub(crate) const STANDARD_ERROR: i32 = 2;
/// The buffer of a copy between two files.
const COPY_STEP: u64 = 64 << 10;

impl Call<'_> {
    fn read_into(&mut self, file: &OpenFile, address: u64, len: u64, at: Option<u64>) -> Outcome {
        let patience = self.patience;
        let len = crate::call::writable(self.memory, address, len)?;
        if let Kind::Signals(signals) = &file.kind {
            return match at {
                Some(_) => Err(Errno::SPIPE.into()),
                None => self.read_signals(file, signals.set(), address, len),
            };
        }
        if !self.linux.mappings.is_empty() {
            let start = at.unwrap_or_else(|| file.position());
            self.write_back(&file.kind, &(start..start.saturating_add(len)))?;
        }
        let buffer = self.memory.slice_mut(address, len)?;
        Ok(file.read(buffer, at, &mut self.linux.random, patience)? as u64)
    }

    fn write_from(&mut self, file: &OpenFile, address: u64, len: u64, at: Option<u64>) -> Outcome {
        let len = readable(self.memory, address, len)?;
        let step = self.most_changed(&file.kind);
        let mut total = 0;
        loop {
            let part = step.min(len - total);
            let before = if self.linux.mappings.is_empty() { None } else { size(&file.kind)? };
            let bytes = self.memory.slice(address + total, part)?;
            let at = at.map(|at| at.saturating_add(total));
            let written = match write_bytes(file, bytes, at, self.patience, self.args[0], self.linux) {
                Err(_) if total > 0 => return Ok(total),
                written => self.signal_failure(written)? as u64,
            };
            let changed = match before {
                None => 0..0,
                Some(before) => written_part(file, at, before, written)?,
            };
            self.has_changed(file, &changed)?;
            total += written;
            if total >= len || written < part || self.patience.check().is_err() {
                return Ok(total);
            }
        }
    }

    /// Writes buffers in one piece, as pipes take few bytes.
    fn write_at_once(&mut self, file: &OpenFile, buffers: &[Buffer], total: u64) -> Outcome {
        let mut bytes = Vec::new();
        for &(address, len) in buffers {
            bytes.extend(self.memory.slice(address, len)?);
        }
        let written = write_bytes(file, &bytes, None, self.patience, self.args[0], self.linux);
        let written = self.signal_failure(written)? as u64;
        self.written(file, written, written == total)
    }

    /// Notes that a part of a file has been written to.
    fn has_changed(&mut self, file: &OpenFile, part: &Range<u64>) -> Result<(), Stop> {
        if let Kind::Memory(file) = &file.kind {
            file.inode.touch(self.real_time());
        }
        self.refresh(&file.kind, part)
    }

    /// Sends the signal of some failed writes: SIGPIPE without a reader, SIGXFSZ beyond the limit on sizes.
    pub(crate) fn signal_failure<T>(&mut self, result: Result<T, Stop>) -> Result<T, Stop> {
        match result {
            Err(Stop::Errno(Errno::PIPE)) => self.linux.raise(signal::SIGPIPE),
            Err(Stop::Errno(Errno::FBIG)) => self.linux.raise(signal::SIGXFSZ),
            _ => {}
        }
        result
    }

    /// The result of a write that has moved `total` bytes: where a full pipe has cut it short, it goes on once there is
    /// room.
    fn written(&mut self, file: &OpenFile, total: u64, is_whole: bool) -> Outcome {
        if is_whole || !file.waits_for_room() {
            return Ok(total);
        }
        self.done = total;
        Err(file.wait_for(WRITE))
    }

    /// Moves bytes to or from each of the buffers that arguments 1 and 2 describe, until one is
    /// not filled; how many, and whether that is all.
    fn each_buffer(
        &mut self,
        mut at: Option<u64>,
        mut transfer: impl FnMut(&mut Self, u64, u64, Option<u64>) -> Outcome,
    ) -> Result<(u64, bool), Stop> {
        let [_, address, count, ..] = self.args;
        if count > MAX_BUFFERS {
            return Err(Errno::INVAL.into());
        }
        let mut total = self.done.min(MAX_TRANSFER);
        // Bytes of the buffers that have been moved before.
        let mut skip = total;
        for n in 0..count {
            let result = match load_words(self.memory, address.wrapping_add(16 * n)) {
                Ok([_, len]) if i64::try_from(len).is_err() => Err(Errno::INVAL.into()),
                Ok([_, len]) if len <= skip => {
                    skip -= len;
                    continue;
                }
                Ok([base, len]) => {
                    let base = base.wrapping_add(skip);
                    let len = (len - std::mem::take(&mut skip)).min(MAX_TRANSFER - total);
                    transfer(self, base, len, at).map(|moved| (moved, moved < len))
                }
                Err(stop) => Err(stop),
            };
            match result {
                Ok((moved, short)) => {
                    total += moved;
                    at = at.map(|at| at.saturating_add(moved));
                    // What is moved of many buffers counts when the time is up.
                    if short || total >= MAX_TRANSFER || self.patience.check().is_err() {
                        return Ok((total, !short));
                    }
                }
                Err(_) if total > 0 => return Ok((total, false)),
                Err(stop) => return Err(stop),
            }
        }
        Ok((total, true))
    }

    /// Argument `n` as a position in a file.
    fn position(&self, n: usize) -> Result<u64, Stop> {
        match i64::try_from(self.args[n]) {
            Ok(_) => Ok(self.args[n]),
            Err(_) => Err(Errno::INVAL.into()),
        }
    }
}

/// Writes to the file of a descriptor, and notes the last words of standard error.
fn write_bytes(
    file: &OpenFile,
    bytes: &[u8],
    at: Option<u64>,
    patience: Patience<'_>,
    descriptor: u64,
    linux: &mut Linux,
) -> Result<usize, Stop> {
    let written = file.write(bytes, at, patience)?;
    if descriptor as i32 == STANDARD_ERROR {
        linux.last_words.add(&bytes[..written]);
    }
    Ok(written)
}

pub(crate) fn read(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    file.check_readable()?;
    if let Kind::Socket(_) = &file.kind {
        return match call.args[2] {
            // It looks at nothing, and waits for nothing.
            0 => Ok(0),
            len => socket_calls::receive(call, &file, &[(call.args[1], len.min(MAX_TRANSFER))], 0),
        };
    }
    call.read_into(&file, call.args[1], call.args[2], None)
}

pub(crate) fn write(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    file.check_writable()?;
    if let Kind::Socket(_) = &file.kind {
        return socket_calls::send(call, &file, &[(call.args[1], call.args[2].min(MAX_TRANSFER))], 0);
    }
    let (address, len, done) = (call.args[1], call.args[2].min(MAX_TRANSFER), call.done);
    let rest = len.saturating_sub(done);
    let written = call.write_from(&file, address.wrapping_add(done), rest, None)?;
    call.written(&file, done + written, written == rest)
}

pub(crate) fn pread64(call: &mut Call<'_>) -> Outcome {
    let (file, at) = (call.file(0)?, call.position(3)?);
    call.read_into(&file, call.args[1], call.args[2], Some(at))
}

pub(crate) fn pwrite64(call: &mut Call<'_>) -> Outcome {
    let (file, at) = (call.file(0)?, call.position(3)?);
    call.write_from(&file, call.args[1], call.args[2], Some(at))
}

pub(crate) fn readv(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    file.check_readable()?;
    if let Kind::Socket(_) = &file.kind {
        let buffers = call.buffers(call.args[1], call.args[2])?;
        return socket_calls::receive(call, &file, &buffers, 0);
    }
    Ok(call.each_buffer(None, |call, base, len, at| call.read_into(&file, base, len, at))?.0)
}

pub(crate) fn writev(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    file.check_writable()?;
    if let Kind::Socket(_) = &file.kind {
        let buffers = call.buffers(call.args[1], call.args[2])?;
        return socket_calls::send(call, &file, &buffers, 0);
    }
    if let (Kind::PipeWriter(_) | Kind::Stream(_), 0) = (&file.kind, call.done) {
        let buffers = call.buffers(call.args[1], call.args[2])?;
        let total = buffers.iter().fold(0_u64, |total, (_, len)| total.saturating_add(*len));
        if total <= pipes::ATOMIC as u64 {
            return call.write_at_once(&file, &buffers, total);
        }
    }
    let (total, is_whole) = call.each_buffer(None, |call, base, len, at| call.write_from(&file, base, len, at))?;
    call.written(&file, total, is_whole)
}

pub(crate) fn preadv(call: &mut Call<'_>) -> Outcome {
    let (file, at) = (call.file(0)?, call.position(3)?);
    Ok(call.each_buffer(Some(at), |call, base, len, at| call.read_into(&file, base, len, at))?.0)
}

pub(crate) fn pwritev(call: &mut Call<'_>) -> Outcome {
    let (file, at) = (call.file(0)?, call.position(3)?);
    Ok(call.each_buffer(Some(at), |call, base, len, at| call.write_from(&file, base, len, at))?.0)
}

/// The part of a file that has been written to: so many bytes at its position or another, or behind what was its end before.
fn written_part(file: &OpenFile, at: Option<u64>, before: u64, written: u64) -> Result<Range<u64>, Stop> {
    if file.status() & open::APPEND != 0 {
        return Ok(before..size(&file.kind)?.unwrap_or(before));
    }
    let start = at.unwrap_or_else(|| file.position().saturating_sub(written));
    Ok(start..start.saturating_add(written))
}

/// The flags of `preadv2` and `pwritev2` are not provided, but for one that changes nothing.
fn check_flags(call: &Call<'_>) -> Result<(), Stop> {
    const HIGH_PRIORITY: u32 = 1;
    match call.uint(5) & !HIGH_PRIORITY {
        0 => Ok(()),
        _ => Err(Errno::OPNOTSUPP.into()),
    }
}

pub(crate) fn preadv2(call: &mut Call<'_>) -> Outcome {
    check_flags(call)?;
    if call.args[3] == OWN_POSITION { readv(call) } else { preadv(call) }
}

pub(crate) fn pwritev2(call: &mut Call<'_>) -> Outcome {
    check_flags(call)?;
    if call.args[3] == OWN_POSITION { writev(call) } else { pwritev(call) }
}

pub(crate) fn lseek(call: &mut Call<'_>) -> Outcome {
    let file = call.file(0)?;
    file.check_seekable()?;
    let offset = call.args[1];
    let to = match call.uint(2) {
        0 => SeekFrom::Start(call.position(1)?),
        1 => SeekFrom::Current(offset as i64),
        2 => SeekFrom::End(offset as i64),
        3 => SeekFrom::Data(call.position(1)?),
        4 => SeekFrom::Hole(call.position(1)?),
        _ => return Err(Errno::INVAL.into()),
    };
    match &file.kind {
        Kind::Regular(file) => Ok(rustix::fs::seek(&file.fd, to)?),
        Kind::Stream(stream) => Ok(rustix::fs::seek(stream.fd, to)?),
        Kind::Directory(directory) => directory.seek(to),
        Kind::Memory(file) => file.seek(to),
        Kind::Virtual(file) => file.seek(to),
        _ => Ok(0),
    }
}

/// One side of a copy: a file, and the guest address of its position if that is not its own.
struct End {
    file: Arc<OpenFile>,
    position: Option<(u64, u64)>,
}

impl End {
    fn new(call: &Call<'_>, fd: usize, position: Option<usize>) -> Result<End, Stop> {
        let position = match position.map(|n| call.args[n]) {
            None | Some(0) => None,
            Some(address) => match call.memory.read_u64(address)? {
                at if i64::try_from(at).is_ok() => Some((address, at)),
                _ => return Err(Errno::INVAL.into()),
            },
        };
        Ok(End { file: call.file(fd)?, position })
    }

    fn at(&self, offset: u64) -> Option<u64> {
        self.position.map(|(_, at)| at.saturating_add(offset))
    }

    /// Where it begins.
    fn start(&self) -> u64 {
        self.at(0).unwrap_or_else(|| self.file.position())
    }

    /// How many of `len` bytes are copied: within a file those that are there before it grows by them. `EINVAL` if a part
    /// would be copied to another one of them.
    fn apart_from(&self, to: &End, len: u64) -> Result<u64, Stop> {
        let id = FileId::of(&self.file.kind);
        if id.is_none() || id != FileId::of(&to.file.kind) {
            return Ok(len);
        }
        let (start, other) = (self.start(), to.start());
        let len = len.min(size(&self.file.kind)?.unwrap_or(len).saturating_sub(start));
        match other.saturating_add(len) > start && other < start.saturating_add(len) {
            true => Err(Errno::INVAL.into()),
            false => Ok(len),
        }
    }

    /// Tells the guest how far it has come.
    fn finish(&self, call: &mut Call<'_>, moved: u64) -> Result<(), Stop> {
        match self.position {
            Some((address, at)) => Ok(call.memory.write_u64(address, at.saturating_add(moved))?),
            None => Ok(()),
        }
    }
}

fn copy(call: &mut Call<'_>, from: &End, to: &End, len: u64) -> Outcome {
    from.file.check_readable()?;
    to.file.check_writable()?;
    let len = len.min(MAX_TRANSFER).min(call.most_changed(&to.file.kind));
    let start = from.start();
    call.write_back(&from.file.kind, &(start..start.saturating_add(len)))?;
    let before = size(&to.file.kind)?;
    let mut buffer = vec![0; len.min(COPY_STEP) as usize];
    let mut total = 0;
    while total < len {
        let step = &mut buffer[..(len - total).min(COPY_STEP) as usize];
        let read = match from.file.read(step, from.at(total), &mut call.linux.random, call.patience) {
            Ok(0) => break,
            Ok(read) => read,
            Err(_) if total > 0 => break,
            Err(stop) => return Err(stop),
        };
        let mut written = 0;
        let mut failure = None;
        while written < read && failure.is_none() {
            let result = to.file.write(&step[written..read], to.at(total + written as u64), call.patience);
            match call.signal_failure(result) {
                Ok(moved) => written += moved,
                Err(stop) => failure = Some(stop),
            }
        }
        total += written as u64;
        if written < read && from.position.is_none() {
            from.file.step_back((read - written) as u64)?;
        }
        match failure {
            Some(stop) if total == 0 => return Err(stop),
            Some(_) => break,
            None if call.patience.check().is_err() => break,
            None => {}
        }
    }
    if let Some(before) = before {
        let part = written_part(&to.file, to.at(0), before, total)?;
        call.has_changed(&to.file, &part)?;
    }
    from.finish(call, total)?;
    to.finish(call, total)?;
    Ok(total)
}

pub(crate) fn sendfile(call: &mut Call<'_>) -> Outcome {
    let (to, from) = (End::new(call, 0, None)?, End::new(call, 1, Some(2))?);
    from.file.check_seekable()?;
    copy(call, &from, &to, call.args[3])
}

pub(crate) fn copy_file_range(call: &mut Call<'_>) -> Outcome {
    let (from, to) = (End::new(call, 0, Some(1))?, End::new(call, 2, Some(3))?);
    call.only(5, 0)?;
    from.file.check_contents()?;
    to.file.check_contents()?;
    from.file.check_readable()?;
    to.file.check_writable()?;
    if to.file.status() & open::APPEND != 0 {
        return Err(Errno::BADF.into());
    }
    let len = from.apart_from(&to, call.args[4])?;
    copy(call, &from, &to, len)
}

pub(crate) fn ftruncate(call: &mut Call<'_>) -> Outcome {
    let (file, len) = (call.file(0)?, call.position(1)?);
    file.check_contents()?;
    // Linux's answer for a file that is not open for writing.
    file.check_writable().map_err(|_| Errno::INVAL)?;
    files::set_size(call, &file.kind, len)
}

pub(crate) fn fallocate(call: &mut Call<'_>) -> Outcome {
    const KEEP_SIZE: u32 = 1;
    const PUNCH_HOLE: u32 = 2;
    const ZERO_RANGE: u32 = 0x10;
    let file = call.file(0)?;
    let (at, len) = (call.position(2)?, call.position(3)?);
    match call.uint(1) {
        0 | KEEP_SIZE => {}
        mode if mode == PUNCH_HOLE | KEEP_SIZE || mode & !KEEP_SIZE == ZERO_RANGE => {}
        _ => return Err(Errno::OPNOTSUPP.into()),
    }
    file.check_writable()?;
    file.check_contents()?;
    // What is stored behind its end stays out of it.
    call.clear_behind_end(&file.kind)?;
    let mode = call.uint(1);
    let punches = mode & (PUNCH_HOLE | ZERO_RANGE) != 0;
    let modes = Allocation { keeps_size: mode & KEEP_SIZE != 0, punches };
    let done = match &file.kind {
        Kind::Memory(file) => file.allocate(modes, at, len, call.patience),
        Kind::Virtual(file) => file.allocate(modes, at, len),
        _ => {
            let flags = rustix::fs::FallocateFlags::from_bits_retain(mode);
            file.host_file()?.allocate(flags, at, len, call.patience)
        }
    };
    call.signal_failure(done)?;
    call.has_changed(&file, &(0..0))?;
    if punches {
        call.clear(&file.kind, &(at..at + len))?;
    }
    Ok(0)
}

fn sync_with(call: &mut Call<'_>, sync: impl Fn(std::os::fd::BorrowedFd<'_>) -> Result<(), Errno>) -> Outcome {
    use std::os::fd::AsFd;
    match &call.file(0)?.kind {
        Kind::Regular(file) => sync(file.fd.as_fd())?,
        Kind::Directory(Directory { place: DirectoryPlace::Host(fd, _), .. }) => sync(fd.as_fd())?,
        Kind::Virtual(file) => file.sync()?,
        Kind::Directory(_) | Kind::Memory(_) => {}
        _ => return Err(Errno::INVAL.into()),
    }
    Ok(0)
}

pub(crate) fn fsync(call: &mut Call<'_>) -> Outcome {
    sync_with(call, |fd| rustix::fs::fsync(fd))
}

pub(crate) fn fdatasync(call: &mut Call<'_>) -> Outcome {
    sync_with(call, |fd| rustix::fs::fdatasync(fd))
}

/// Advice on reading ahead, which is ignored.
pub(crate) fn advise(call: &mut Call<'_>) -> Outcome {
    call.file(0)?;
    Ok(0)
}

/// Advice on how a file is read, which is not needed.
pub(crate) fn fadvise64(call: &mut Call<'_>) -> Outcome {
    match (&call.file(0)?.kind, call.int(3)) {
        (Kind::PipeReader(_) | Kind::PipeWriter(_), _) => Err(Errno::SPIPE.into()),
        (_, 0..=5) => Ok(0),
        _ => Err(Errno::INVAL.into()),
    }
}
