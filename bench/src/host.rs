//! The machine that measures.

use std::fs;

use serde::Serialize;

use crate::toolchain::first_line;

/// What a reader must know of the machine to judge the figures.
#[derive(Debug, Serialize)]
pub(crate) struct Host {
    pub(crate) cpu: String,
    pub(crate) cpus: usize,
    pub(crate) memory_gib: u64,
    pub(crate) kernel: String,
    pub(crate) system: String,
    pub(crate) rustc: String,
    /// Processes that wanted to run, on average over the last minute, when the measurement began.
    pub(crate) load_before: String,
    /// When that was.
    pub(crate) date: String,
}

impl Host {
    pub(crate) fn describe() -> Host {
        let unknown = || "unknown".to_owned();
        let memory_kib =
            field("/proc/meminfo", "MemTotal").and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
        Host {
            cpu: field("/proc/cpuinfo", "model name").unwrap_or_else(unknown),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gib: memory_kib.unwrap_or_default() >> 20,
            kernel: first_line("uname", &["-srm"]).unwrap_or_else(|_| unknown()),
            system: field("/etc/os-release", "PRETTY_NAME")
                .map_or_else(unknown, |name| name.trim_matches('"').to_owned()),
            rustc: first_line("rustc", &["--version"]).unwrap_or_else(|_| unknown()),
            load_before: fs::read_to_string("/proc/loadavg")
                .ok()
                .and_then(|text| Some(text.split(' ').next()?.to_owned()))
                .unwrap_or_else(unknown),
            date: first_line("date", &["-u", "+%F %H:%M UTC"]).unwrap_or_else(|_| unknown()),
        }
    }
}

/// The value of the first line `key: value` or `key=value` of a file.
fn field(file: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.trim_start_matches([' ', '\t', ':', '=']).trim().to_owned())
}
