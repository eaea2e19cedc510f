//! `--listing`: a function's way through the compiler, as JSON.

use std::io::Write;

use riverrun_aot::{CompileOptions, Line};
use riverrun_program::Image;
use serde::Serialize;

use crate::Result;

/// What is printed; `riverrun inspect` reads it.
#[derive(Serialize)]
struct Listing {
    start: u64,
    pcs: Vec<u64>,
    lifted: Vec<Row>,
    optimised: Vec<Row>,
    host: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    pc: Option<u64>,
    text: String,
}

/// Prints the function at `address` on standard output.
pub(crate) fn print(image: &Image, options: &CompileOptions, address: u64) -> Result<()> {
    let riverrun_aot::Listing { start, pcs, lifted, optimised, host } = riverrun_aot::listing(image, options, address)?;
    let rows = |lines: Vec<Line>| lines.into_iter().map(|Line { pc, text }| Row { pc, text }).collect();
    let listing = Listing { start, pcs, lifted: rows(lifted), optimised: rows(optimised), host: rows(host) };
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, &listing).map_err(std::io::Error::from)?;
    Ok(writeln!(out)?)
}
