//! As much of WASI preview 1 as a program needs that reads its arguments and a clock, and prints, over the guest's
//! memory as bytes. Each function returns WASI's error number.

use std::io::Write;
use std::sync::OnceLock;
use std::time::Instant;

/// The module that programs import from.
pub const MODULE: &str = "wasi_snapshot_preview1";
/// All is well.
pub const SUCCESS: i32 = 0;
/// No such descriptor.
pub const BAD_DESCRIPTOR: i32 = 8;
/// What is not written here.
pub const NOT_SUPPORTED: i32 = 58;
const FAULT: i32 = 21;
const IO: i32 = 29;

/// The guest process: its arguments, each ending in a zero byte.
#[derive(Clone, Debug)]
pub struct Process {
    arguments: Vec<Vec<u8>>,
}

impl Process {
    /// With these arguments, the program's name first.
    #[must_use]
    pub fn new(arguments: &[String]) -> Process {
        Process { arguments: arguments.iter().map(|argument| [argument.as_bytes(), b"\0"].concat()).collect() }
    }

    /// `args_sizes_get`: how many arguments, and their bytes.
    pub fn args_sizes_get(&self, memory: &mut [u8], count: i32, bytes: i32) -> i32 {
        let (number, size) = (self.arguments.len() as u32, self.arguments.concat().len() as u32);
        errno(write_words(memory, count, &[number]).and_then(|()| write_words(memory, bytes, &[size])))
    }

    /// `args_get`: their addresses, and they themselves.
    pub fn args_get(&self, memory: &mut [u8], pointers: i32, buffer: i32) -> i32 {
        let mut addresses = Vec::new();
        let mut next = buffer as u32;
        for argument in &self.arguments {
            addresses.push(next);
            next += argument.len() as u32;
        }
        let text = write(memory, buffer, &self.arguments.concat());
        errno(text.and_then(|()| write_words(memory, pointers, &addresses)))
    }
}

/// `environ_sizes_get`: there are no variables.
pub fn environ_sizes_get(memory: &mut [u8], count: i32, bytes: i32) -> i32 {
    errno(write_words(memory, count, &[0]).and_then(|()| write_words(memory, bytes, &[0])))
}

/// `fd_write` to standard output or standard error.
pub fn fd_write(memory: &mut [u8], fd: i32, vectors: i32, count: i32, written: i32) -> i32 {
    let mut text = Vec::new();
    for index in 0..count as u32 {
        let part = word(memory, vectors as u32 + 8 * index).zip(word(memory, vectors as u32 + 8 * index + 4));
        let bytes = part.and_then(|(address, size)| memory.get(address as usize..)?.get(..size as usize));
        let Some(bytes) = bytes else { return FAULT };
        text.extend_from_slice(bytes);
    }
    let done = match fd {
        1 => std::io::stdout().write_all(&text),
        2 => std::io::stderr().write_all(&text),
        _ => return BAD_DESCRIPTOR,
    };
    if done.is_err() {
        return IO;
    }
    errno(write_words(memory, written, &[text.len() as u32]))
}

/// `clock_time_get`: nanoseconds of a clock that begins with the first call, whichever is asked for.
pub fn clock_time_get(memory: &mut [u8], time: i32) -> i32 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    let nanoseconds = BEGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64;
    errno(write(memory, time, &nanoseconds.to_le_bytes()))
}

fn word(memory: &[u8], address: u32) -> Option<u32> {
    let bytes = memory.get(address as usize..)?.get(..4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn write_words(memory: &mut [u8], address: i32, values: &[u32]) -> Option<()> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    write(memory, address, &bytes)
}

fn write(memory: &mut [u8], address: i32, bytes: &[u8]) -> Option<()> {
    memory.get_mut(address as u32 as usize..)?.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(())
}

/// `None`: something lay outside of the guest's memory.
fn errno(done: Option<()>) -> i32 {
    done.map_or(FAULT, |()| SUCCESS)
}
