//! Calls that wait for the host: a program of its own (`peers/waiting`) measures them, each engine in a process.

use anyhow::Result;

use crate::engines::riverrun;
use crate::figures::FiguresReport;
use crate::lab::Lab;
use crate::measuring_program::measure;
use crate::options::Options;
use crate::toolchain::first_line;

/// The peer: a feature of the package, and the crate whose version says what was measured.
const PEER: &str = "wasmtime";
/// Calls that wait at once.
const COUNT: &str = "10000";
const QUICK: &str = "500";

pub(crate) fn run(lab: &mut Lab, options: &Options) -> Result<FiguresReport> {
    let count = if options.quick { QUICK } else { COUNT };
    let (host, figures) = measure(lab, "bench-waiting", &[PEER], "calls that wait for the host", &[count])?;
    let guest = first_line("riscv64-linux-gnu-gcc", &["--version"])?;
    let versions = vec![
        format!("riverrun {}", riverrun::version(&lab.setup)?),
        format!("{PEER} {}", lab.setup.crates.version(PEER)),
        format!("tokio {}", lab.setup.crates.version("tokio")),
        format!("the guest: {guest} -O2"),
    ];
    Ok(FiguresReport::of_program("Waiting", host, versions, figures))
}
