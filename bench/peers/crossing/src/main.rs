//! Measures calls across the boundary of a sandbox, in both directions, as Wasmtime's pull request 3350
//! defines the rows: `nop`, `i64` and `many` are calls from the host, the latter two with a call back to
//! the host; `i64 host` and `many host` are calls from guest to host alone. The unit is an empty C function
//! that is called through a pointer, in the same process.

mod capi_rows;
#[cfg(feature = "libriscv")]
mod libriscv_rows;
#[cfg(feature = "lua")]
mod lua_rows;
mod measure;
mod riverrun_rows;
#[cfg(feature = "wasmtime-c")]
mod wasmtime_c_rows;
#[cfg(feature = "wasmtime")]
mod wasmtime_rows;

use std::fs;

use anyhow::{Context, Result, bail};
use peer_common::figures::{Figure, Figures, Table};

use capi_rows::Interface;
use measure::{Row, bare_call, measure};

const CALLS: [&str; 5] = ["nop", "i64", "many", "i64 host", "many host"];
const DYNAMIC: [&str; 8] =
    ["opaque x4", "inline x4", "direct x4", "numbered x4", "opaque x8", "inline x8", "direct x8", "numbered x8"];

const ABOUT: &str = "The least of 400 samples of 2,000 calls each, the rows in turns; the spread reaches to the middle \
                     one. The unit is an empty C function that is called through a pointer, in the same process.";

fn main() -> Result<()> {
    // `ENGINE/ROW`, or a part of it: measures nothing else.
    let (mut only, mut json) = (None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => json = Some(arguments.next().context("--json FILE")?),
            _ if only.is_none() => only = Some(argument),
            _ => bail!("usage: bench-crossing [--json FILE] [PART]"),
        }
    }
    let only = only.as_deref();
    let elf = riverrun_rows::guest(&[])?;
    let mut rows = vec![bare_call()];
    for (engine, compiled) in [("riverrun compiled", true), ("riverrun interpreter", false)] {
        rows.extend(riverrun_rows::rows(&format!("{engine}, typed"), &elf, compiled, true)?);
        rows.extend(riverrun_rows::rows(&format!("{engine}, raw values"), &elf, compiled, false)?);
        rows.extend(capi_rows::rows(&format!("{engine}, C++ typed"), &elf, compiled, Interface::CppTyped)?);
        rows.extend(capi_rows::rows(&format!("{engine}, C raw values"), &elf, compiled, Interface::CRaw)?);
        rows.extend(capi_rows::rows(&format!("{engine}, C checked"), &elf, compiled, Interface::CChecked)?);
    }
    let mut missing = Vec::new();
    for (peer, peers_rows) in peers() {
        match peers_rows {
            Ok(more) => rows.extend(more),
            Err(error) => missing.push((peer.to_owned(), format!("{error:#}"))),
        }
    }
    measure(&mut rows, only);
    let unit = rows[0].least;
    println!("An empty C function, called through a pointer, takes {unit:.2} ns: the unit of the numbers.\n");
    print!("{}", table(&rows[1..], &CALLS, unit));
    let calls = figures("crossings", "Calls between host and guest", &rows[1..], &CALLS, unit);

    let mut rows = Vec::new();
    for (engine, compiled) in [("riverrun compiled", true), ("riverrun interpreter", false)] {
        for others in [10, 10_000] {
            let name = format!("{engine}, {others} functions");
            rows.extend(riverrun_rows::dynamic_rows(&name, &elf, compiled, others)?);
        }
    }
    measure(&mut rows, only);
    print!("\n{}", table(&rows, &DYNAMIC, unit));
    let dynamic = figures("dynamic-calls", "Dynamic calls, by the ways that there are", &rows, &DYNAMIC, unit);
    for (peer, reason) in &missing {
        println!("\n{peer} is missing: {reason}");
    }
    if let Some(file) = json {
        let figures = Figures { tables: vec![calls, dynamic], missing };
        fs::write(&file, serde_json::to_string_pretty(&figures)?).context(file)?;
    }
    Ok(())
}

type Peer = (&'static str, Result<Vec<Row>>);

fn peers() -> Vec<Peer> {
    #[allow(unused_mut, reason = "there may be no peers")]
    let mut peers: Vec<Peer> = Vec::new();
    #[cfg(feature = "wasmtime")]
    peers.extend([
        ("Wasmtime, typed", wasmtime_rows::rows("Wasmtime, typed", true)),
        ("Wasmtime, unchecked", wasmtime_rows::rows("Wasmtime, unchecked", false)),
    ]);
    #[cfg(feature = "wasmtime-c")]
    peers.extend([
        ("Wasmtime, C unchecked", wasmtime_c_rows::rows("Wasmtime, C unchecked", false)),
        ("Wasmtime, C checked", wasmtime_c_rows::rows("Wasmtime, C checked", true)),
    ]);
    #[cfg(feature = "lua")]
    peers.extend([
        ("LuaJIT", lua_rows::rows("LuaJIT", true)),
        ("LuaJIT's FFI", lua_rows::ffi_rows("LuaJIT's FFI")),
        ("Lua 5.4", lua_rows::rows("Lua 5.4", false)),
    ]);
    #[cfg(feature = "libriscv")]
    peers.push((
        "libriscv",
        riverrun_rows::guest(&["-DNUMBERED"]).and_then(|elf| libriscv_rows::rows("libriscv", &elf)),
    ));
    peers
}

/// The names of the rows' engines, each once.
fn engines(rows: &[Row]) -> Vec<&str> {
    let mut engines: Vec<&str> = rows.iter().map(|row| row.engine.as_str()).collect();
    engines.dedup();
    engines
}

/// The same for the harness.
fn figures(name: &str, title: &str, rows: &[Row], things: &[&str], unit: f64) -> Table {
    let figure = |engine: &str, thing: &str| {
        Figure::least(&rows.iter().find(|row| row.engine == engine && row.name == thing)?.samples)
    };
    let row = |engine: &str| (engine.to_owned(), things.iter().map(|thing| figure(engine, thing)).collect());
    Table {
        name: name.into(),
        title: title.into(),
        about: ABOUT.into(),
        unit: "nanoseconds".into(),
        beside: Some(("bare calls".into(), unit)),
        columns: things.iter().map(ToString::to_string).collect(),
        rows: engines(rows).into_iter().map(row).collect(),
    }
}

/// What each engine takes for each thing, in units and nanoseconds.
fn table(rows: &[Row], things: &[&str], unit: f64) -> String {
    let mut text = format!("| engine | {} |\n| --- |{}\n", things.join(" | "), " ---: |".repeat(things.len()));
    for engine in engines(rows) {
        text += &format!("| {engine} |");
        for thing in things {
            text += &match rows.iter().find(|row| row.engine == engine && row.name == *thing) {
                Some(row) => format!(" {:.2} ({:.1} ns) |", row.least / unit, row.least),
                None => " |".to_owned(),
            };
        }
        text.push('\n');
    }
    text
}
