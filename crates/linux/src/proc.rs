//! The files of `/proc` that programs read: what they say of the guest and of its memory. See proc(5).

use std::fmt::Write as _;
use std::time::Duration;

use riverrun::{Perm, Region};

use crate::call::Call;
use crate::guest_path::GuestPath;
use crate::own::ProcFile;
use crate::process::{EXTENSIONS, PARENT, PROCESS, USER, total_memory};

/// Bytes of the unit that `/proc` counts memory in.
const KIB: u64 = 1024;
const PAGE: u64 = riverrun::PAGE_SIZE;
/// A second in the unit of times.
const TICKS: u128 = 100;

/// The unit in which `/proc` counts times.
fn ticks(time: Duration) -> u128 {
    time.as_millis() * TICKS / 1000
}

impl ProcFile {
    /// What it says now.
    pub(crate) fn contents(self, call: &Call<'_>) -> Vec<u8> {
        let text = match self {
            ProcFile::Cmdline => return zero_ended(&call.linux.args),
            ProcFile::Environ => return zero_ended(&call.linux.env),
            ProcFile::Comm => name(call) + "\n",
            ProcFile::Cpuinfo => format!("processor\t: 0\nhart\t\t: 0\nisa\t\t: rv64{EXTENSIONS}\nmmu\t\t: sv39\n\n"),
            ProcFile::Loadavg => format!("0.00 0.00 0.00 1/1 {PROCESS}\n"),
            ProcFile::Maps => maps(call),
            ProcFile::Meminfo => meminfo(call),
            ProcFile::Stat => stat(call),
            ProcFile::Statm => {
                let pages = call.memory.used() / PAGE;
                format!("{pages} {pages} 0 0 0 {pages} 0\n")
            }
            ProcFile::Status => status(call),
            ProcFile::SystemStat => system_stat(call),
            ProcFile::Uptime => {
                let time = call.uptime();
                format!("{}.{:02} 0.00\n", time.as_secs(), time.subsec_millis() / 10)
            }
            ProcFile::Version => "Linux version 6.1.0 (riverrun) #1 riverrun\n".to_owned(),
        };
        text.into_bytes()
    }
}

fn zero_ended(strings: &[Vec<u8>]) -> Vec<u8> {
    strings.iter().flat_map(|string| [&string[..], b"\0"]).flatten().copied().collect()
}

/// The name that `prctl` sets.
fn name(call: &Call<'_>) -> String {
    let name = call.linux.threads.current().shown_name();
    String::from_utf8_lossy(name).into_owned()
}

fn meminfo(call: &Call<'_>) -> String {
    let total = total_memory(call.memory);
    let free = total.saturating_sub(call.memory.used());
    let lines = [("MemTotal:", total), ("MemFree:", free), ("MemAvailable:", free), ("Buffers:", 0), ("Cached:", 0)];
    let swap = [("SwapTotal:", 0), ("SwapFree:", 0)];
    lines.iter().chain(&swap).map(|(name, bytes)| format!("{name:<15} {:8} kB\n", bytes / KIB)).collect()
}

fn status(call: &Call<'_>) -> String {
    let used = call.memory.used() / KIB;
    format!(
        "Name:\t{name}\nUmask:\t{umask:04o}\nState:\tR (running)\nTgid:\t{PROCESS}\nNgid:\t0\nPid:\t{PROCESS}\n\
         PPid:\t{PARENT}\nTracerPid:\t0\nUid:\t{ids}\nGid:\t{ids}\nFDSize:\t{descriptors}\nGroups:\t\n\
         VmPeak:\t{used:8} kB\nVmSize:\t{used:8} kB\nVmHWM:\t{used:8} kB\nVmRSS:\t{used:8} kB\nThreads:\t{threads}\n",
        name = name(call),
        umask = call.linux.process.umask,
        threads = call.linux.threads.len(),
        ids = [USER; 4].map(|id| id.to_string()).join("\t"),
        descriptors = call.linux.descriptors.limit(),
    )
}

/// The fields of `/proc/PID/stat`, of which most are zero here.
fn stat(call: &Call<'_>) -> String {
    const FIELDS: usize = 52;
    let mut fields = vec!["0".to_owned(); FIELDS];
    let mut set = |number: usize, value: String| fields[number - 1] = value;
    set(1, PROCESS.to_string());
    set(2, format!("({})", name(call)));
    set(3, "R".to_owned());
    set(4, PARENT.to_string());
    set(5, PROCESS.to_string());
    set(6, PROCESS.to_string());
    set(8, "-1".to_owned());
    set(14, ticks(call.cpu_time()).to_string());
    set(18, "20".to_owned());
    set(20, call.linux.threads.len().to_string());
    set(23, call.memory.used().to_string());
    set(24, (call.memory.used() / PAGE).to_string());
    set(25, u64::MAX.to_string());
    fields.join(" ") + "\n"
}

/// `/proc/stat` of a computer whose one processor has nothing else to do.
fn system_stat(call: &Call<'_>) -> String {
    let (uptime, busy) = (call.uptime(), ticks(call.cpu_time()));
    let times = format!("{busy} 0 0 {} 0 0 0 0 0 0", ticks(uptime).saturating_sub(busy));
    let begin = call.real_time().seconds - uptime.as_secs() as i64;
    format!(
        "cpu  {times}\ncpu0 {times}\nintr 0\nctxt 0\nbtime {begin}\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n"
    )
}

fn maps(call: &Call<'_>) -> String {
    let program = call.linux.program_path(call.patience);
    let mut text = String::new();
    for region in call.memory.regions() {
        let Region { start, end, perm } = *region;
        let mark = |bit, mark| if perm.contains(bit) { mark } else { '-' };
        let (read, write, execute) = (mark(Perm::READ, 'r'), mark(Perm::WRITE, 'w'), mark(Perm::EXECUTE, 'x'));
        let line = format!("{start:08x}-{end:08x} {read}{write}{execute}p 00000000 00:00 0 ");
        let name = region_name(call, region, program.as_ref());
        // Writing to a string does not fail.
        let _ = match name.is_empty() {
            true => writeln!(text, "{line}"),
            false => writeln!(text, "{line:<73}{name}"),
        };
    }
    text
}

fn region_name(call: &Call<'_>, region: &Region, program: Option<&GuestPath>) -> String {
    let heap = call.linux.layout.as_ref().map(|layout| layout.heap.clone());
    if (region.start..region.end).contains(&call.place.1) {
        return "[stack]".to_owned();
    }
    match heap {
        Some(heap) if region.start >= heap.start && region.end.saturating_sub(PAGE) < heap.end => "[heap]".to_owned(),
        Some(heap) if region.end <= heap.start => {
            program.map(|path| String::from_utf8_lossy(&path.to_bytes()).replace('\n', "\\012")).unwrap_or_default()
        }
        _ => String::new(),
    }
}
