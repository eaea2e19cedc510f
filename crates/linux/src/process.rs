//! System calls on the process: identity, limits, exit, threads.

use riverrun::Memory;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::abi::{Layout, Timespec, load_words};
use crate::call::{Call, Outcome, Stop};

/// The process and its only thread.
pub(crate) const PROCESS: u32 = 1000;
pub(crate) const PARENT: u64 = 1;
/// The user and the user's group.
pub(crate) const USER: u32 = 1000;

/// The letters of the extensions that a guest is told of.
pub(crate) const EXTENSIONS: &str = "imafdc";

/// The bits of a umask.
const PERMISSIONS: u32 = 0o777;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Process {
    /// Permissions that new files do not get.
    pub(crate) umask: u32,
    /// As `prctl` sets it: 15 bytes and a zero.
    name: [u8; 16],
}

impl Default for Process {
    fn default() -> Process {
        Process { umask: 0o022, name: *b"guest\0\0\0\0\0\0\0\0\0\0\0" }
    }
}

impl Process {
    /// What `prctl` has set, or `guest`.
    pub(crate) fn name(&self) -> &[u8] {
        self.name.split(|&byte| byte == 0).next().unwrap_or_default()
    }

    /// Whether system calls can have made it so.
    pub(crate) fn is_sound(&self) -> bool {
        self.umask & !PERMISSIONS == 0 && self.name[15] == 0
    }
}

pub(crate) fn exit(call: &mut Call<'_>) -> Outcome {
    Err(Stop::Exit(call.int(0) & 0xff))
}

pub(crate) fn getpid(_: &mut Call<'_>) -> Outcome {
    Ok(PROCESS.into())
}

pub(crate) fn getppid(_: &mut Call<'_>) -> Outcome {
    Ok(PARENT)
}

pub(crate) fn getuid(_: &mut Call<'_>) -> Outcome {
    Ok(USER.into())
}

/// The group of a process, which must be this one.
pub(crate) fn getpgid(call: &mut Call<'_>) -> Outcome {
    match call.uint(0) {
        0 | PROCESS => Ok(PROCESS.into()),
        _ => Err(Errno::SRCH.into()),
    }
}

/// Real, effective and saved ID.
pub(crate) fn getresuid(call: &mut Call<'_>) -> Outcome {
    for address in &call.args[..3] {
        call.memory.write_u32(*address, USER)?;
    }
    Ok(0)
}

/// The supplementary groups: none.
pub(crate) fn getgroups(_: &mut Call<'_>) -> Outcome {
    Ok(0)
}

pub(crate) fn umask(call: &mut Call<'_>) -> Outcome {
    let umask = call.uint(0) & PERMISSIONS;
    Ok(std::mem::replace(&mut call.linux.process.umask, umask).into())
}

pub(crate) fn uname(call: &mut Call<'_>) -> Outcome {
    const LEN: usize = 65;
    let fields = ["Linux", "riverrun", "6.1.0", "#1 riverrun", "riscv64", "(none)"];
    fields.iter().fold(Layout::new(), |layout, field| layout.text(field, LEN)).store(call.memory, call.args[0])
}

/// The total memory that the guest is told.
pub(crate) fn total_memory(memory: &Memory) -> u64 {
    memory.limit().min(4 << 30)
}

pub(crate) fn sysinfo(call: &mut Call<'_>) -> Outcome {
    let total = total_memory(call.memory);
    let layout = Layout::new().u64(call.uptime().as_secs()).zeros_to(32);
    let layout = layout.u64(total).u64(total.saturating_sub(call.memory.used())).zeros_to(80);
    layout.u16(1).zeros_to(104).u32(1).zeros_to(112).store(call.memory, call.args[0])
}

/// Soft and hard limit of a resource, which are the same.
fn limit(call: &Call<'_>, resource: u32) -> Result<u64, Stop> {
    const FILE_SIZE: u32 = 1;
    const STACK: u32 = 3;
    const FILES: u32 = 7;
    const ADDRESS_SPACE: u32 = 9;
    const RESOURCES: u32 = 16;
    const UNLIMITED: u64 = u64::MAX;
    match resource {
        STACK => Ok(call.linux.layout.as_ref().ok_or(Stop::NotStarted)?.stack_size),
        FILES => Ok(call.linux.descriptors.limit() as u64),
        FILE_SIZE => Ok(call.linux.size_limit.bytes()),
        ADDRESS_SPACE => Ok(call.memory.limit()),
        0..RESOURCES => Ok(UNLIMITED),
        _ => Err(Errno::INVAL.into()),
    }
}

pub(crate) fn getrlimit(call: &mut Call<'_>) -> Outcome {
    let limit = limit(call, call.uint(0))?;
    Layout::new().u64(limit).u64(limit).store(call.memory, call.args[1])
}

pub(crate) fn prlimit64(call: &mut Call<'_>) -> Outcome {
    let [_, _, new, old, ..] = call.args;
    if !matches!(call.uint(0), 0 | PROCESS) {
        return Err(Errno::SRCH.into());
    }
    let limit = limit(call, call.uint(1))?;
    // Only the host sets limits.
    if new != 0 && load_words(call.memory, new)? != [limit, limit] {
        return Err(Errno::PERM.into());
    }
    match old {
        0 => Ok(0),
        _ => Layout::new().u64(limit).u64(limit).store(call.memory, old),
    }
}

pub(crate) fn getrusage(call: &mut Call<'_>) -> Outcome {
    const SELF: i32 = 0;
    const CHILDREN: i32 = -1;
    const THREAD: i32 = 1;
    let layout = match call.int(0) {
        SELF | THREAD => Layout::new().timeval(call.cpu_time()).zeros_to(32).u64(call.memory.used() / 1024),
        CHILDREN => Layout::new(),
        _ => return Err(Errno::INVAL.into()),
    };
    layout.zeros_to(144).store(call.memory, call.args[1])
}

pub(crate) fn set_tid_address(_: &mut Call<'_>) -> Outcome {
    Ok(PROCESS.into())
}

pub(crate) fn set_robust_list(call: &mut Call<'_>) -> Outcome {
    const STRUCT_ROBUST_LIST_HEAD: u64 = 24;
    match call.args[1] {
        STRUCT_ROBUST_LIST_HEAD => Ok(0),
        _ => Err(Errno::INVAL.into()),
    }
}

/// Waits until the timeout only, since there is no other thread that could wake this one.
pub(crate) fn futex(call: &mut Call<'_>) -> Outcome {
    const COMMAND: u32 = 0x7f;
    const REAL_TIME: u32 = 0x100;
    const WAIT: u32 = 0;
    const WAKE: u32 = 1;
    const REQUEUE: u32 = 3;
    const COMPARE_REQUEUE: u32 = 4;
    const WAKE_OPERATION: u32 = 5;
    const WAIT_BITSET: u32 = 9;
    const WAKE_BITSET: u32 = 10;
    let (address, operation) = (call.args[0], call.uint(1));
    if !address.is_multiple_of(4) {
        return Err(Errno::INVAL.into());
    }
    match operation & COMMAND {
        WAKE | REQUEUE | WAKE_OPERATION | WAKE_BITSET => Ok(0),
        COMPARE_REQUEUE => match call.memory.read_u32(address)? == call.uint(5) {
            true => Ok(0),
            false => Err(Errno::AGAIN.into()),
        },
        command @ (WAIT | WAIT_BITSET) => {
            if call.memory.read_u32(address)? != call.uint(2) {
                return Err(Errno::AGAIN.into());
            }
            let span = match call.args[3] {
                0 => {
                    let reason = "waits for a wake-up that no other thread can give: guests have one thread";
                    return Err(Stop::Endless(reason));
                }
                timeout => {
                    let time = Timespec::load(call.memory, timeout)?.span()?;
                    let absolute = command == WAIT_BITSET;
                    if absolute { call.span_until(time, operation & REAL_TIME != 0) } else { time }
                }
            };
            call.linux.clock.wait(Some(span), call.patience, || false)?;
            Err(Errno::TIMEDOUT.into())
        }
        _ => Err(Errno::NOSYS.into()),
    }
}

pub(crate) fn membarrier(call: &mut Call<'_>) -> Outcome {
    const QUERY: i32 = 0;
    match call.int(0) {
        QUERY => Ok(0),
        _ => Err(Errno::INVAL.into()),
    }
}

/// Calls without an effect.
pub(crate) fn nothing(_: &mut Call<'_>) -> Outcome {
    Ok(0)
}

/// One processor.
pub(crate) fn sched_getaffinity(call: &mut Call<'_>) -> Outcome {
    const WORD: u64 = 8;
    let [_, size, address, ..] = call.args;
    if !matches!(call.uint(0), 0 | PROCESS) {
        return Err(Errno::SRCH.into());
    }
    if size < WORD || size % WORD != 0 {
        return Err(Errno::INVAL.into());
    }
    call.memory.write_u64(address, 1)?;
    Ok(WORD)
}

pub(crate) fn getcpu(call: &mut Call<'_>) -> Outcome {
    for address in call.args[..2].iter().filter(|address| **address != 0) {
        call.memory.write_u32(*address, 0)?;
    }
    Ok(0)
}

pub(crate) fn prctl(call: &mut Call<'_>) -> Outcome {
    const GET_DUMPABLE: i32 = 3;
    const SET_DUMPABLE: i32 = 4;
    const SET_NAME: i32 = 15;
    const GET_NAME: i32 = 16;
    let address = call.args[1];
    match call.int(0) {
        GET_DUMPABLE | SET_DUMPABLE => Ok(0),
        SET_NAME => {
            let available = crate::call::readable(call.memory, address, 15)?;
            let bytes = call.memory.slice(address, available)?;
            let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
            let mut name = [0; 16];
            name[..len].copy_from_slice(&bytes[..len]);
            call.linux.process.name = name;
            Ok(0)
        }
        GET_NAME => {
            call.memory.write(address, &call.linux.process.name)?;
            Ok(0)
        }
        _ => Err(Errno::INVAL.into()),
    }
}

/// There are no children.
pub(crate) fn wait4(_: &mut Call<'_>) -> Outcome {
    Err(Errno::CHILD.into())
}
