//! Measures calls across the boundary of a sandbox, in both directions, as Wasmtime's pull request 3350
//! defines the rows: `nop`, `i64` and `many` are calls from the host, the latter two with a call back to
//! the host; `i64 host` and `many host` are calls from guest to host alone. The unit is an empty C function
//! that is called through a pointer, in the same process.

mod capi_rows;
#[cfg(feature = "peers")]
mod libriscv_rows;
#[cfg(feature = "peers")]
mod lua_rows;
mod measure;
mod riverrun_rows;
#[cfg(feature = "peers")]
mod wasmtime_rows;

use std::fs;
use std::path::Path;

use anyhow::Result;

use capi_rows::Interface;
use measure::{Row, bare_call, measure};

const CALLS: [&str; 5] = ["nop", "i64", "many", "i64 host", "many host"];
const DYNAMIC: [&str; 8] =
    ["opaque x4", "inline x4", "direct x4", "numbered x4", "opaque x8", "inline x8", "direct x8", "numbered x8"];

fn main() -> Result<()> {
    // `ENGINE/ROW`, or a part of it: measures nothing else.
    let only = std::env::args().nth(1);
    let only = only.as_deref();
    let elf = riverrun_rows::guest(&[])?;
    let mut rows = vec![bare_call()];
    for (engine, compiled) in [("riverrun compiled", true), ("riverrun interpreter", false)] {
        rows.extend(riverrun_rows::rows(&format!("{engine}, typed"), &elf, compiled, true)?);
        rows.extend(riverrun_rows::rows(&format!("{engine}, unchecked"), &elf, compiled, false)?);
        rows.extend(capi_rows::rows(&format!("{engine}, C++ typed"), &elf, compiled, Interface::CppTyped)?);
        rows.extend(capi_rows::rows(&format!("{engine}, C unchecked"), &elf, compiled, Interface::CUnchecked)?);
        rows.extend(capi_rows::rows(&format!("{engine}, C checked"), &elf, compiled, Interface::CChecked)?);
    }
    #[cfg(feature = "peers")]
    rows.extend(peers()?);
    measure(&mut rows, only);
    let unit = rows[0].least;
    let mut page =
        format!("An empty C function, called through a pointer, takes {unit:.2} ns: the unit of the numbers.\n\n");
    page += &table(&rows[1..], &CALLS, unit);

    let mut rows = Vec::new();
    for (engine, compiled) in [("riverrun compiled", true), ("riverrun interpreter", false)] {
        for others in [10, 10_000] {
            let name = format!("{engine}, {others} functions");
            rows.extend(riverrun_rows::dynamic_rows(&name, &elf, compiled, others)?);
        }
    }
    measure(&mut rows, only);
    page.push('\n');
    page += &table(&rows, &DYNAMIC, unit);
    print!("{page}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../out/bench/crossing");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("report.md"), page)?;
    Ok(())
}

#[cfg(feature = "peers")]
fn peers() -> Result<Vec<Row>> {
    let mut rows = wasmtime_rows::rows("Wasmtime, typed", true)?;
    rows.extend(wasmtime_rows::rows("Wasmtime, unchecked", false)?);
    rows.extend(lua_rows::rows("LuaJIT", true)?);
    rows.extend(lua_rows::ffi_rows("LuaJIT's FFI")?);
    rows.extend(lua_rows::rows("Lua 5.4", false)?);
    rows.extend(libriscv_rows::rows("libriscv", &riverrun_rows::guest(&["-DNUMBERED"])?)?);
    Ok(rows)
}

/// What each engine takes for each thing, in units and nanoseconds.
fn table(rows: &[Row], things: &[&str], unit: f64) -> String {
    let mut text = format!("| engine | {} |\n| --- |{}\n", things.join(" | "), " ---: |".repeat(things.len()));
    let mut engines: Vec<&str> = rows.iter().map(|row| row.engine.as_str()).collect();
    engines.dedup();
    for engine in engines {
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
