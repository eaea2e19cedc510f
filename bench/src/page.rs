//! Markdown that reads well on a terminal too.

use std::fmt::Write as _;

use crate::engine::Clock;
use crate::engines;
use crate::host::Host;
use crate::report::EngineReport;
use crate::rounds::Gap;
use crate::statistics::Estimate;
use crate::toolchain::Toolchain;

/// A table whose columns are aligned: the first one left, the others right.
pub(crate) fn table(page: &mut String, header: &[String], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).chain(header.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(3)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let mut line = |cells: &[String]| {
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let _ = if column == 0 { write!(page, "| {cell:<width$} ") } else { write!(page, "| {cell:>width$} ") };
        }
        page.push_str("|\n");
    };
    line(header);
    let rule = |(column, width): (usize, &usize)| "-".repeat(*width - 1) + if column == 0 { "-" } else { ":" };
    line(&widths.iter().enumerate().map(rule).collect::<Vec<_>>());
    for row in rows {
        line(row);
    }
}

/// `1.08 ±0.03`: a median, and how far its interval reaches from it.
pub(crate) fn estimate(estimate: &Estimate) -> String {
    let reach = (estimate.high - estimate.median).max(estimate.median - estimate.low);
    let digits = match estimate.median {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{:.digits$} ±{reach:.digits$}", estimate.median)
}

/// What is missing in a table, in words, and those parts of it that are failures: riverrun's, and those of what it is
/// compared with everywhere. What a peer cannot do is no failure.
pub(crate) fn missing(gaps: impl Iterator<Item = Gap>) -> (Vec<String>, Vec<String>) {
    let gaps: Vec<Gap> = gaps.collect();
    let of = |keep: fn(&Gap) -> bool| gaps.iter().filter(|gap| keep(gap)).map(|gap| gap.text.clone()).collect();
    (of(|_| true), of(|gap| engines::must_work(gap.engine)))
}

/// The part of a page that says what is missing.
pub(crate) fn gaps(page: &mut String, missing: &[String]) {
    if !missing.is_empty() {
        let _ = writeln!(page, "\n## What is missing\n\n- {}", missing.join("\n- "));
    }
}

/// With which engines, compilers and machine; if `timed`, by which clock each engine was.
pub(crate) fn environment(
    page: &mut String,
    timed: bool,
    engines: &[EngineReport],
    toolchains: &[Toolchain],
    host: &Host,
) {
    if !engines.is_empty() {
        *page += "\nEngines:\n\n";
    }
    for engine in engines {
        let (name, target) = (engine.name, engine.target.name());
        let _ = match &engine.ready {
            Ok(ready) => {
                let clock = match ready.clock {
                    _ if !timed => "",
                    Clock::Guest => "; timed: the guest's run",
                    Clock::Process => "; timed: the whole process",
                };
                let version = if ready.version.is_empty() { String::new() } else { format!(" {}", ready.version) };
                writeln!(page, "- {name}{version} (programs for {target}): {}{clock}", ready.configuration)
            }
            Err(reason) => writeln!(page, "- {name}: not built: {reason}"),
        };
    }
    if !toolchains.is_empty() {
        *page += "\nCompilers of the programs:\n\n";
    }
    for toolchain in toolchains {
        let flags = [&toolchain.flags[..], &toolchain.link_flags[..]].concat().join(" ");
        // A path of this machine is of no use to readers.
        let flags = flags.replace(env!("CARGO_MANIFEST_DIR"), "bench");
        let name = toolchain.target.name();
        let _ = writeln!(page, "- {name}: {}: `{} {flags}`", toolchain.version, toolchain.compiler);
    }
    let _ = writeln!(
        page,
        "\nMachine: {}, {} CPUs, {} GiB, {}, {}, {}. {}, load {} before.",
        host.cpu, host.cpus, host.memory_gib, host.system, host.kernel, host.rustc, host.date, host.load_before
    );
}
