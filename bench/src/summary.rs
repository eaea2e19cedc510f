//! What the README says of speed: the interpreter, and compiled code, beside their peers.

use std::fmt::Write as _;

use crate::report::{Report, mean};
use crate::statistics::Estimate;

/// A table: what it is of, and the columns beside it, as far as they were measured.
struct Table {
    subject: &'static str,
    title: &'static str,
    peers: &'static [&'static str],
}

const TABLES: [Table; 3] = [
    Table {
        subject: "riverrun",
        title: "How many times as fast as others compiled code is; below 1 it is slower:",
        peers: &["native", "wasmtime-wide", "wasmtime", "polkavm", "qemu", "libriscv"],
    },
    Table {
        subject: "riverrun",
        title: "How many times as long compiled code takes with an option as without:",
        peers: &["riverrun-fuel", "riverrun-timeout", "riverrun-precise"],
    },
    Table {
        subject: "riverrun-interp",
        title: "How many times as fast the interpreter is, which counts every instruction and tests its limits:",
        peers: &[
            "libriscv",
            "libriscv-arena",
            "ckb-vm",
            "polkavm-interp",
            "wasmi",
            "qemu",
            "native",
            "riverrun-interp-uncounted",
        ],
    },
];

impl Report {
    /// Markdown; nothing if neither was measured beside a peer.
    pub(crate) fn summary(&self) -> Option<String> {
        let tables: Vec<String> = TABLES.iter().filter_map(|table| self.summary_table(table)).collect();
        if tables.is_empty() {
            return None;
        }
        let host = &self.host;
        let mut text = tables.join("\n");
        let _ = write!(
            text,
            "\nMedians of the rounds' ratios of processor time, the means with their intervals (`bench/README.md`);\n\
             every result's checksum verified. clang 22 has compiled the same C sources for all engines; wasmtime and wasmi run\n\
             WebAssembly, wasmtime-wide with its 128-bit arithmetic, wasmi with its fuel off. {} rounds, interpreters and\noptions in {} at most, on {}, {} CPUs, {}, {}; load {} \
             before.\n",
            self.runs,
            crate::compute::FEW_ROUNDS,
            host.cpu,
            host.cpus,
            host.system,
            host.date,
            host.load_before
        );
        Some(text)
    }

    fn summary_table(&self, table: &Table) -> Option<String> {
        let peers: Vec<&str> = table.peers.iter().copied().filter(|peer| self.is_measured(peer)).collect();
        if peers.is_empty() || !self.is_measured(table.subject) {
            return None;
        }
        let version = |peer: &&str| match self.version(peer) {
            Some(version) => format!("{peer} {version}"),
            None => (*peer).to_owned(),
        };
        let header: Vec<String> = peers.iter().map(version).collect();
        let mut text = format!(
            "{}\n\n| program | {} |\n| --- |{}\n",
            table.title,
            header.join(" | "),
            " ---: |".repeat(peers.len())
        );
        let columns: Vec<_> = peers.iter().map(|peer| self.ratios(peer, table.subject)).collect();
        for program in self.programs.iter().map(|program| &program.name) {
            let cell = |column: &Vec<(String, Vec<f64>)>| {
                let (_, rounds) = column.iter().find(|(name, _)| name == program)?;
                Some(format!("{:.2}", Estimate::of(rounds)?.median))
            };
            let cells: Vec<String> = columns.iter().map(|column| cell(column).unwrap_or("-".into())).collect();
            let _ = writeln!(text, "| {program} | {} |", cells.join(" | "));
        }
        let mean = |column: &Vec<(String, Vec<f64>)>| match mean(column) {
            Some(Estimate { median, low, high }) => format!("**{median:.2}** ({low:.2} to {high:.2})"),
            None => "-".into(),
        };
        let _ = writeln!(text, "| **geometric mean** | {} |", columns.iter().map(mean).collect::<Vec<_>>().join(" | "));
        Some(text)
    }
}
