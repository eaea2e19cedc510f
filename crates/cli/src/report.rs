//! Reports of a run: how it ended, exit status, statistics.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use riverrun::{Backtrace, HeapStatistics, TierUpStatistics, Trap, TrapCause};
use serde::Serialize;

/// Exit status: the guest has used up its fuel.
pub(crate) const OUT_OF_FUEL: u8 = 123;
/// Exit status: the guest's time was up, as with timeout(1).
pub(crate) const TIMED_OUT: u8 = 124;
/// Exit status: riverrun itself failed, as with env(1) and timeout(1).
pub(crate) const FAILURE: u8 = 125;
/// Exit status: the guest trapped. A shell reports this for a process killed by SIGABRT.
pub(crate) const TRAPPED: u8 = 134;

/// Exit status: the reader of the guest's output has closed it. A shell reports this for a process killed by SIGPIPE.
pub(crate) const BROKEN_PIPE: u8 = 141;

const SIGPIPE: u32 = 13;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ending {
    /// The guest exited.
    Exit,
    /// The guest trapped.
    Trap,
    /// It was out of fuel.
    Fuel,
    /// Its time was up.
    Timeout,
    /// Riverrun could not go on.
    Failure,
}

impl Ending {
    /// How a run ended that this trap ended, and the command's exit status.
    pub(crate) fn of(trap: &Trap) -> (Ending, u8) {
        match trap.cause {
            TrapCause::OutOfFuel => (Ending::Fuel, OUT_OF_FUEL),
            TrapCause::Deadline => (Ending::Timeout, TIMED_OUT),
            TrapCause::Signal { number: SIGPIPE } => (Ending::Trap, BROKEN_PIPE),
            _ => (Ending::Trap, TRAPPED),
        }
    }
}

/// Prints riverrun's own message on standard error.
pub(crate) fn complain(message: impl Display) {
    let message = by_options(&message.to_string());
    // An error of writing to standard error cannot be reported.
    let _ = writeln!(io::stderr(), "riverrun: {message}");
}

/// The message, where the library's errors advise what a host in Rust can do, with the options that do it here.
fn by_options(message: &str) -> String {
    const OPTIONS: &[(&str, &str)] = &[
        ("`Config::address_bits`", "--address-bits"),
        ("`Config::memory_limit`", "--memory"),
        ("`Config::stack_size`", "--stack"),
        ("`Builder::max_descriptors`", "--descriptors"),
        ("`Snapshot::to_bytes` or `riverrun snapshot`", "`riverrun snapshot`"),
        ("register it with `Linker::func`", "run it by a host that registers it with `Linker::func`"),
    ];
    OPTIONS.iter().fold(message.to_owned(), |message, (item, option)| message.replace(item, option))
}

/// Prints why the guest was stopped, where, and who had called (innermost first).
pub(crate) fn trap(program: &Path, trap: &Trap, backtrace: &Backtrace) {
    let what = match trap.cause {
        TrapCause::OutOfFuel => "out of fuel (--fuel)".to_owned(),
        TrapCause::Deadline => "time is up (--timeout)".to_owned(),
        // Ordinary for programs in a pipe: no message.
        TrapCause::Signal { number: SIGPIPE } => return,
        // The guest's own message about an abort is already on standard error.
        _ => trap.reason().to_string(),
    };
    complain(format_args!("{}: {what} at pc {:#x}", program.display(), trap.pc));
    let threads = trap.message.as_ref().filter(|_| matches!(trap.cause, TrapCause::EndlessWait { .. }));
    let backtrace = threads.cloned().unwrap_or_else(|| backtrace.to_string());
    // Indented below the message.
    let lines: String = backtrace.lines().map(|line| format!("  {line}\n")).collect();
    let _ = io::stderr().write_all(lines.as_bytes());
}

/// How `--stats` shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatsFormat {
    /// A line for people.
    Text,
    /// A line for programs.
    Json,
}

/// The numbers of a run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Stats {
    /// `None`: they were not counted.
    instructions: Option<u64>,
    seconds: f64,
    cpu_seconds: f64,
    mips: Option<f64>,
    memory_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    heap: Option<HeapStats>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier_up: Option<TierUpStats>,
    exit: Ending,
    status: u8,
}

/// Statistics of the guest heap, if the guest has used it.
#[derive(Clone, Debug, Serialize)]
struct HeapStats {
    allocations: u64,
    /// The largest sum of requested bytes at a time.
    peak_bytes: u64,
    /// Bytes that the heap has mapped.
    mapped_bytes: u64,
    fragmentation: f64,
}

/// What `--tier-up` has compiled.
#[derive(Clone, Debug, Serialize)]
struct TierUpStats {
    samples: u64,
    compilations: usize,
    /// Functions that are compiled at the end, those from the cache included.
    functions: usize,
    /// Whether the code at the end is quick code.
    quick: bool,
    /// When that code was there, after the start.
    since_seconds: f64,
    compiler_seconds: f64,
}

impl HeapStats {
    fn new(heap: &HeapStatistics) -> Option<HeapStats> {
        (heap.mapped != 0).then(|| HeapStats {
            allocations: heap.allocations,
            peak_bytes: heap.peak_requested,
            mapped_bytes: heap.mapped,
            fragmentation: heap.fragmentation(),
        })
    }
}

impl Stats {
    pub(crate) fn new(
        instructions: Option<u64>,
        time: Duration,
        cpu: Duration,
        memory_bytes: u64,
        heap: &HeapStatistics,
        exit: Ending,
        status: u8,
    ) -> Stats {
        let seconds = time.as_secs_f64();
        let mips = instructions.map(|number| if seconds > 0.0 { number as f64 / seconds / 1e6 } else { 0.0 });
        let (cpu_seconds, heap) = (cpu.as_secs_f64(), HeapStats::new(heap));
        Stats { instructions, seconds, cpu_seconds, mips, memory_bytes, heap, tier_up: None, exit, status }
    }

    /// The same, with what was compiled as the program ran.
    pub(crate) fn with_tier_up(self, statistics: Option<TierUpStatistics>) -> Stats {
        let tier_up = statistics.map(|statistics| TierUpStats {
            samples: statistics.samples,
            compilations: statistics.compilations,
            functions: statistics.functions,
            quick: statistics.is_quick,
            since_seconds: statistics.since.as_secs_f64(),
            compiler_seconds: statistics.time.as_secs_f64(),
        });
        Stats { tier_up, ..self }
    }

    /// Prints them on standard error: JSON as one line, the last.
    pub(crate) fn print(&self, format: StatsFormat) {
        const MIB: f64 = (1 << 20) as f64;
        let line = match format {
            StatsFormat::Json => serde_json::to_string(self).unwrap_or_default(),
            StatsFormat::Text => {
                let heap = self.heap.as_ref().map(|heap| {
                    let (peak, mapped) = (heap.peak_bytes as f64 / MIB, heap.mapped_bytes as f64 / MIB);
                    let HeapStats { allocations, fragmentation, .. } = heap;
                    format!(
                        "; {allocations} allocations, at most {peak:.1} of {mapped:.1} MiB, {fragmentation:.2} lost"
                    )
                });
                let tier_up = self.tier_up.as_ref().map(|tier_up| {
                    let TierUpStats { compilations, functions, compiler_seconds, .. } = tier_up;
                    let quickly = if tier_up.quick { " quickly" } else { "" };
                    format!(
                        "; {compilations} compilations in {compiler_seconds:.3} s, {functions} functions compiled{quickly}"
                    )
                });
                let (instructions, mips) = match (self.instructions, self.mips) {
                    (Some(number), Some(mips)) => (format!("{number} instructions"), format!(", {mips:.0} MIPS")),
                    _ => ("instructions not counted (run --fuel)".to_owned(), String::new()),
                };
                format!(
                    "riverrun: {instructions} in {:.3} s{mips}, {:.1} MiB of memory{}{}",
                    self.seconds,
                    self.memory_bytes as f64 / MIB,
                    heap.unwrap_or_default(),
                    tier_up.unwrap_or_default(),
                )
            }
        };
        let _ = writeln!(io::stderr(), "{line}");
    }
}
