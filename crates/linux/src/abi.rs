//! Structures and constants of Linux on RISC-V 64, each in one place. Structures are written little-endian, field by field.

use std::time::{Duration, SystemTime};

use riverrun::Memory;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::call::Stop;

/// The bytes of a structure under construction.
#[derive(Debug, Default)]
pub(crate) struct Layout(Vec<u8>);

impl Layout {
    pub(crate) fn new() -> Layout {
        Layout::default()
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Layout {
        self.0.extend(bytes);
        self
    }

    pub(crate) fn u8(self, value: u8) -> Layout {
        self.bytes(&[value])
    }

    pub(crate) fn u16(self, value: u16) -> Layout {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn u32(self, value: u32) -> Layout {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn u64(self, value: u64) -> Layout {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn i64(self, value: i64) -> Layout {
        self.bytes(&value.to_le_bytes())
    }

    /// `struct timespec`.
    pub(crate) fn timespec(self, time: Timespec) -> Layout {
        self.i64(time.seconds).i64(time.nanoseconds)
    }

    /// `struct timeval`.
    pub(crate) fn timeval(self, time: Duration) -> Layout {
        self.u64(time.as_secs()).u64(time.subsec_micros().into())
    }

    /// Text in a field of `len` bytes, a zero at its end.
    pub(crate) fn text(self, text: &str, len: usize) -> Layout {
        let end = self.0.len() + len;
        self.bytes(&text.as_bytes()[..text.len().min(len - 1)]).zeros_to(end)
    }

    /// Zeros up to this size.
    pub(crate) fn zeros_to(mut self, size: usize) -> Layout {
        self.0.resize(size.max(self.0.len()), 0);
        self
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Writes the structure to guest memory.
    pub(crate) fn store(&self, memory: &mut Memory, address: u64) -> Result<u64, Stop> {
        memory.write(address, &self.0)?;
        Ok(0)
    }
}

/// `struct timespec`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Timespec {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: i64,
}

impl Timespec {
    pub(crate) fn load(memory: &Memory, address: u64) -> Result<Timespec, Stop> {
        let [seconds, nanoseconds] = load_words(memory, address)?;
        Ok(Timespec { seconds: seconds as i64, nanoseconds: nanoseconds as i64 })
    }

    /// As a duration; `EINVAL` if it is not a valid one.
    pub(crate) fn span(self) -> Result<Duration, Stop> {
        match (u64::try_from(self.seconds), u32::try_from(self.nanoseconds)) {
            (Ok(seconds), Ok(nanoseconds @ 0..1_000_000_000)) => Ok(Duration::new(seconds, nanoseconds)),
            _ => Err(Errno::INVAL.into()),
        }
    }
}

impl From<SystemTime> for Timespec {
    fn from(time: SystemTime) -> Timespec {
        match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => since.into(),
            Err(before) => {
                // Nanoseconds count forward, also in seconds before.
                let Timespec { seconds, nanoseconds } = before.duration().into();
                match nanoseconds {
                    0 => Timespec { seconds: -seconds, nanoseconds },
                    _ => Timespec { seconds: -seconds - 1, nanoseconds: 1_000_000_000 - nanoseconds },
                }
            }
        }
    }
}

impl From<Duration> for Timespec {
    fn from(time: Duration) -> Timespec {
        Timespec { seconds: time.as_secs() as i64, nanoseconds: time.subsec_nanos().into() }
    }
}

/// Consecutive 64-bit words of guest memory.
pub(crate) fn load_words<const N: usize>(memory: &Memory, address: u64) -> Result<[u64; N], Stop> {
    let (words, _) = memory.slice(address, 8 * N as u64)?.as_chunks();
    Ok(std::array::from_fn(|n| words.get(n).map_or(0, |&word| u64::from_le_bytes(word))))
}

/// The flags of `openat` and `fcntl`.
pub(crate) mod open {
    pub(crate) const ACCESS_MODE: u32 = 3;
    pub(crate) const WRITE_ONLY: u32 = 1;
    pub(crate) const READ_WRITE: u32 = 2;
    pub(crate) const CREATE: u32 = 0o100;
    pub(crate) const EXCLUSIVE: u32 = 0o200;
    pub(crate) const TRUNCATE: u32 = 0o1000;
    pub(crate) const APPEND: u32 = 0o2000;
    pub(crate) const NON_BLOCKING: u32 = 0o4000;
    pub(crate) const DATA_SYNC: u32 = 0o10000;
    pub(crate) const DIRECTORY: u32 = 0o200000;
    pub(crate) const NO_FOLLOW: u32 = 0o400000;
    pub(crate) const CLOSE_ON_EXEC: u32 = 0o2000000;
    pub(crate) const SYNC: u32 = 0o4010000;
    pub(crate) const PATH: u32 = 0o10000000;
    /// O_TMPFILE, without O_DIRECTORY which goes with it.
    pub(crate) const TEMPORARY: u32 = 0o20000000;

    /// What the mode of a file has to allow that is opened with these flags; `None` if they name no access.
    pub(crate) fn permissions(flags: u32) -> Option<u32> {
        use super::mode::{READ, WRITE};
        let access = match flags & ACCESS_MODE {
            0 => READ,
            WRITE_ONLY => WRITE,
            READ_WRITE => READ | WRITE,
            _ => return None,
        };
        Some(access | if flags & TRUNCATE != 0 { WRITE } else { 0 })
    }
}

/// The flags of the calls that end in `at`.
pub(crate) mod at {
    /// In place of a directory's descriptor: the current directory.
    pub(crate) const CURRENT_DIRECTORY: i32 = -100;
    pub(crate) const SYMLINK_NOFOLLOW: u32 = 0x100;
    pub(crate) const EACCESS: u32 = 0x200;
    pub(crate) const REMOVE_DIRECTORY: u32 = 0x200;
    pub(crate) const SYMLINK_FOLLOW: u32 = 0x400;
    pub(crate) const NO_AUTOMOUNT: u32 = 0x800;
    pub(crate) const EMPTY_PATH: u32 = 0x1000;
    /// AT_STATX_SYNC_TYPE.
    pub(crate) const STATX_SYNC: u32 = 0x6000;
}

/// The type bits of a file's mode.
pub(crate) mod mode {
    pub(crate) const TYPE: u32 = 0o170000;
    pub(crate) const FIFO: u32 = 0o010000;
    pub(crate) const CHARACTER_DEVICE: u32 = 0o020000;
    pub(crate) const DIRECTORY: u32 = 0o040000;
    pub(crate) const BLOCK_DEVICE: u32 = 0o060000;
    pub(crate) const REGULAR: u32 = 0o100000;
    pub(crate) const SYMLINK: u32 = 0o120000;
    pub(crate) const SOCKET: u32 = 0o140000;
    /// The bits that guests may set: neither set-user-ID nor set-group-ID, which would take effect on the host.
    pub(crate) const PERMISSIONS: u32 = 0o1777;
    /// All bits but those of the type.
    pub(crate) const ALL_PERMISSIONS: u32 = 0o7777;
    /// What a user may do, as calls of `access` name it.
    pub(crate) const READ: u32 = 4;
    pub(crate) const WRITE: u32 = 2;
    pub(crate) const EXECUTE: u32 = 1;
}

/// Signals by name.
pub(crate) mod signal {
    pub(crate) const SIGILL: u32 = 4;
    pub(crate) const SIGTRAP: u32 = 5;
    pub(crate) const SIGBUS: u32 = 7;
    pub(crate) const SIGKILL: u32 = 9;
    pub(crate) const SIGSEGV: u32 = 11;
    pub(crate) const SIGPIPE: u32 = 13;
    pub(crate) const SIGALRM: u32 = 14;
    pub(crate) const SIGCHLD: u32 = 17;
    pub(crate) const SIGCONT: u32 = 18;
    pub(crate) const SIGSTOP: u32 = 19;
    pub(crate) const SIGTTOU: u32 = 22;
    pub(crate) const SIGURG: u32 = 23;
    pub(crate) const SIGXFSZ: u32 = 25;
    pub(crate) const SIGVTALRM: u32 = 26;
    pub(crate) const SIGPROF: u32 = 27;
    pub(crate) const SIGWINCH: u32 = 28;
    /// The highest.
    pub(crate) const MAX: u32 = 64;
    /// The first real-time signal.
    pub(crate) const FIRST_REAL_TIME: u32 = 32;
    /// `si_code` of a signal that a thread sends to one (`SI_TKILL`), of one that a timer sends (`SI_TIMER`), and of one
    /// from the kernel (`SI_KERNEL`).
    pub(crate) const FROM_THREAD: u32 = -6_i32 as u32;
    pub(crate) const FROM_TIMER: u32 = -2_i32 as u32;
    pub(crate) const FROM_KERNEL: u32 = 128;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_little_endian_and_padded() {
        let bytes = Layout::new().u16(0x0102).zeros_to(4).u32(3).text("abc", 6).into_bytes();
        assert_eq!(bytes, [2, 1, 0, 0, 3, 0, 0, 0, b'a', b'b', b'c', 0, 0, 0]);
        assert_eq!(Layout::new().text("longer than that", 4).into_bytes(), *b"lon\0");
    }

    #[test]
    fn spans_are_checked() {
        let span = |seconds, nanoseconds| Timespec { seconds, nanoseconds }.span();
        assert_eq!(span(1, 5).unwrap(), Duration::new(1, 5));
        for (seconds, nanoseconds) in [(-1, 0), (0, -1), (0, 1_000_000_000), (i64::MIN, i64::MAX)] {
            assert_eq!(span(seconds, nanoseconds), Err(Stop::Errno(Errno::INVAL)));
        }
    }
}
