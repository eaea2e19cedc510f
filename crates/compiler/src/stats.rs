//! `--stats`: what a compilation took.

use std::io::{Write, stderr};
use std::time::Duration;

use riverrun_aot::{Fidelity, Report};
use serde::Serialize;

/// How statistics are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Lines for people.
    Text,
    /// A line for programs.
    Json,
}

/// The numbers of a compilation. Seconds are of the processor, of all threads together, but for
/// `seconds`, and for linking, which is done by another process.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Stats {
    functions: usize,
    interpreted_functions: usize,
    precise: bool,
    instructions: usize,
    text_bytes: u64,
    artifact_bytes: u64,
    analysis_seconds: f64,
    lifting_seconds: f64,
    optimisation_seconds: f64,
    code_generation_seconds: f64,
    linking_seconds: f64,
    cpu_seconds: f64,
    seconds: f64,
    peak_memory_bytes: u64,
}

impl Stats {
    pub(crate) fn new(report: &Report, time: Duration) -> Stats {
        let phases = [report.analysis, report.lifting, report.optimisation, report.code_generation, report.linking];
        let [analysis, lifting, optimisation, code_generation, linking] = phases.map(|phase| phase.as_secs_f64());
        Stats {
            functions: report.functions,
            interpreted_functions: report.interpreted.len(),
            precise: report.fidelity == Fidelity::Precise,
            instructions: report.instructions,
            text_bytes: report.text_bytes,
            artifact_bytes: report.artifact_bytes,
            analysis_seconds: analysis,
            lifting_seconds: lifting,
            optimisation_seconds: optimisation,
            code_generation_seconds: code_generation,
            linking_seconds: linking,
            cpu_seconds: phases.iter().sum::<Duration>().as_secs_f64(),
            seconds: time.as_secs_f64(),
            peak_memory_bytes: memory("VmHWM:"),
        }
    }

    /// Prints them on standard error.
    pub(crate) fn print(&self, format: Format) {
        let text = match format {
            Format::Json => serde_json::to_string(self).unwrap_or_default(),
            Format::Text => self.text(),
        };
        // An error of writing to standard error cannot be reported.
        let _ = writeln!(stderr(), "{text}");
    }

    fn text(&self) -> String {
        let kib = self.text_bytes as f64 / 1024.0;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let phases = [
            ("analysis", self.analysis_seconds),
            ("lifting", self.lifting_seconds),
            ("optimisation", self.optimisation_seconds),
            ("code generation", self.code_generation_seconds),
            ("linking", self.linking_seconds),
            ("together", self.cpu_seconds),
        ];
        let mut lines = format!(
            "riverrun: {} functions, {} instructions, {:.2} MiB of text; {:.2} MiB of {}compiled code\n",
            self.functions,
            self.instructions,
            mib(self.text_bytes),
            mib(self.artifact_bytes),
            if self.precise { "precisely " } else { "" },
        );
        if self.interpreted_functions != 0 {
            lines += &format!(
                "  {} functions are left to the interpreter: too long, or their frames on the host's stack would be too large\n",
                self.interpreted_functions
            );
        }
        for (name, seconds) in phases {
            lines += &format!("  {name:<16}{seconds:8.3} s of CPU  {:6.1} ms per KiB of text\n", 1e3 * seconds / kib);
        }
        lines + &format!("  {:.3} s in all, {:.0} MiB of memory at most", self.seconds, mib(self.peak_memory_bytes))
    }
}

/// Bytes of memory that the kernel tells of this process under a name, `VmRSS:` (now) or `VmHWM:` (at most); 0 where it
/// does not say.
pub(crate) fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
