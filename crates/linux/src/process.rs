//! System calls on the process itself: its identity, its limits, the machine that it seems to run on, its exit.

use std::collections::BTreeMap;

use riverrun::Memory;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::Linux;
use crate::abi::{Layout, load_words};
use crate::call::{Call, Outcome, Stop};

/// The process, and its first thread.
pub(crate) const PROCESS: u32 = 1000;
pub(crate) const PARENT: u64 = 1;
/// The user and the user's group.
pub(crate) const USER: u32 = 1000;

/// The extensions that the platform reports to guests, by their letters.
pub(crate) const EXTENSIONS: &str = "imafdc";

/// Resources that have limits (`RLIMIT_`), and how many these are.
mod resource {
    pub(super) const FILE_SIZE: u32 = 1;
    pub(super) const STACK: u32 = 3;
    pub(super) const CORE: u32 = 4;
    pub(super) const FILES: u32 = 7;
    pub(super) const ADDRESS_SPACE: u32 = 9;
    pub(super) const COUNT: u32 = 16;
}

const UNLIMITED: u64 = u64::MAX;

/// The bits of a umask.
const PERMISSIONS: u32 = 0o777;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Process {
    /// Permissions that new files do not get.
    pub(crate) umask: u32,
    /// The nice value, 0 to 19: guests can only lower their priority.
    pub(crate) nice: i8,
    /// The soft and hard limits that the guest has lowered, by their resources.
    limits: BTreeMap<u32, [u64; 2]>,
}

impl Default for Process {
    fn default() -> Process {
        Process { umask: 0o022, nice: 0, limits: BTreeMap::new() }
    }
}

impl Process {
    /// Whether system calls can have left this state; a saved one is not trusted.
    pub(crate) fn is_sound(&self) -> bool {
        let are_limits = self.limits.iter().all(|(&resource, [soft, hard])| resource < resource::COUNT && soft <= hard);
        self.umask & !PERMISSIONS == 0 && (0..20).contains(&self.nice) && are_limits
    }

    /// A soft limit that the guest has lowered.
    fn lowered(&self, resource: u32) -> u64 {
        self.limits.get(&resource).map_or(UNLIMITED, |[soft, _]| *soft)
    }
}

/// Ends all threads.
pub(crate) fn exit_group(call: &mut Call<'_>) -> Outcome {
    call.prepare_end()?;
    call.linux.end_locks();
    Err(Stop::Exit(call.int(0) & 0xff))
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

/// The total memory that `sysinfo` and `/proc/meminfo` report.
pub(crate) fn total_memory(memory: &Memory) -> u64 {
    memory.limit().min(4 << 30)
}

pub(crate) fn sysinfo(call: &mut Call<'_>) -> Outcome {
    let total = total_memory(call.memory);
    let layout = Layout::new().u64(call.uptime().as_secs()).zeros_to(32);
    let layout = layout.u64(total).u64(total.saturating_sub(call.memory.used())).zeros_to(80);
    layout.u16(1).zeros_to(104).u32(1).zeros_to(112).store(call.memory, call.args[0])
}

/// Soft and hard limit of a resource: the host's, unless the guest has lowered them.
fn limits(call: &Call<'_>, resource: u32) -> Result<[u64; 2], Stop> {
    let most = match resource {
        resource::STACK => call.linux.layout.as_ref().ok_or(Stop::NotStarted)?.stack_size,
        resource::FILES => call.linux.descriptors.most() as u64,
        resource::FILE_SIZE => call.linux.size_limit.most(),
        resource::ADDRESS_SPACE => call.memory.limit(),
        0..resource::COUNT => UNLIMITED,
        _ => return Err(Errno::INVAL.into()),
    };
    // Nothing is dumped.
    let soft = if resource == resource::CORE { 0 } else { most };
    let lowered = call.linux.process.limits.get(&resource).copied().unwrap_or([soft, most]);
    Ok(lowered.map(|limit| limit.min(most)))
}

pub(crate) fn getrlimit(call: &mut Call<'_>) -> Outcome {
    let [soft, hard] = limits(call, call.uint(0))?;
    Layout::new().u64(soft).u64(hard).store(call.memory, call.args[1])
}

/// Sets the limits of a resource to those at an address. The hard one can only be lowered.
fn set_limits(call: &mut Call<'_>, resource: u32, new: u64) -> Result<(), Stop> {
    let [_, most] = limits(call, resource)?;
    let new: [u64; 2] = load_words(call.memory, new)?;
    let [soft, hard] = new;
    match hard {
        _ if soft > hard => return Err(Errno::INVAL.into()),
        hard if hard > most => return Err(Errno::PERM.into()),
        _ => {}
    }
    call.linux.process.limits.insert(resource, new);
    call.linux.keep_to_limits();
    Ok(())
}

pub(crate) fn setrlimit(call: &mut Call<'_>) -> Outcome {
    set_limits(call, call.uint(0), call.args[1])?;
    Ok(0)
}

pub(crate) fn prlimit64(call: &mut Call<'_>) -> Outcome {
    let [_, _, new, old, ..] = call.args;
    if !matches!(call.uint(0), 0 | PROCESS) {
        return Err(Errno::SRCH.into());
    }
    let [soft, hard] = limits(call, call.uint(1))?;
    if new != 0 {
        set_limits(call, call.uint(1), new)?;
    }
    match old {
        0 => Ok(0),
        _ => Layout::new().u64(soft).u64(hard).store(call.memory, old),
    }
}

impl Linux {
    /// Has descriptors and files keep to the limits that the guest has lowered.
    pub(crate) fn keep_to_limits(&mut self) {
        let files = usize::try_from(self.process.lowered(resource::FILES)).unwrap_or(usize::MAX);
        self.descriptors.lower(files);
        self.size_limit.lower(self.process.lowered(resource::FILE_SIZE));
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

/// One thread runs at a time, so that there is nothing to order.
pub(crate) fn membarrier(call: &mut Call<'_>) -> Outcome {
    const QUERY: i32 = 0;
    /// Those for all processes and for this one, with their registrations.
    const COMMANDS: i32 = 0b1_1111;
    match call.int(0) {
        _ if call.uint(1) != 0 => Err(Errno::INVAL.into()),
        QUERY => Ok(COMMANDS as u64),
        command if command.count_ones() == 1 && command & COMMANDS != 0 => Ok(0),
        _ => Err(Errno::INVAL.into()),
    }
}

/// Calls without an effect.
pub(crate) fn nothing(_: &mut Call<'_>) -> Outcome {
    Ok(0)
}

/// There are no children.
pub(crate) fn wait4(_: &mut Call<'_>) -> Outcome {
    Err(Errno::CHILD.into())
}

pub(crate) fn waitid(call: &mut Call<'_>) -> Outcome {
    const PROCESS_FILE: u32 = 3;
    /// What is waited for: processes that have stopped, have ended, go on.
    const EVENTS: u32 = 2 | 4 | 8;
    const OPTIONS: u32 = EVENTS | 1 | 0x0100_0000 | 0xe000_0000;
    match call.uint(0) {
        _ if call.only(3, OPTIONS)? & EVENTS == 0 => return Err(Errno::INVAL.into()),
        0 => {}
        1..=PROCESS_FILE if call.int(1) < 0 => return Err(Errno::INVAL.into()),
        1 | 2 => {}
        PROCESS_FILE => drop(call.file(1)?),
        _ => return Err(Errno::INVAL.into()),
    }
    Err(Errno::CHILD.into())
}
