//! Calls between host and guest, and dynamic calls: a program of its own (`peers/crossing`) measures them, as all
//! engines have to be in one process for that.

use anyhow::Result;

use crate::engines::riverrun;
use crate::figures::FiguresReport;
use crate::lab::Lab;
use crate::measuring_program::measure;
use crate::toolchain::first_line;

/// The peers: features of the package, each with a crate whose version says what was measured, if it has one.
const PEERS: [(&str, Option<&str>); 4] = [
    ("libriscv", Some("libriscv")),
    ("lua", None),
    ("wasmtime", Some("wasmtime")),
    ("wasmtime-c", Some("wasmtime-c-api-impl")),
];

pub(crate) fn run(lab: &mut Lab) -> Result<FiguresReport> {
    let peers = PEERS.map(|(peer, _)| peer);
    let (host, figures) = measure(lab, "bench-crossing", &peers, "calls between host and guest", &[])?;
    let version = |(peer, package): &(&str, Option<&str>)| match package {
        Some(package) => format!("{peer} {}", lab.setup.crates.version(package)),
        None => format!("{peer}: the system's shared libraries of Lua 5.4 and LuaJIT 2.1, by their C API"),
    };
    let mut versions = vec![format!("riverrun {}", riverrun::version(&lab.setup)?)];
    versions.extend(PEERS.iter().map(version));
    for (what, compiler) in [("the guest", "riscv64-linux-gnu-gcc"), ("calls in C and C++", "cc")] {
        versions.push(format!("{what}: {} -O2", first_line(compiler, &["--version"])?));
    }
    Ok(FiguresReport::of_program("Crossings", host, versions, figures))
}
