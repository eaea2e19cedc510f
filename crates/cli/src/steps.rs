//! `riverrun inspect --function`: a function's guest instructions beside LLVM's IR and the host instructions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use riverrun::Program;
use riverrun::image::{Image, Printable};
use riverrun_vm::{open_regular, read_whole};
use serde::{Deserialize, Serialize};

use crate::options::{InspectOptions, Listing, Steps};
use crate::{Result, compile, disassemble};

/// The output of `riverrun-compile --listing`.
#[derive(Default, Deserialize)]
struct Compiled {
    pcs: Vec<u64>,
    lifted: Vec<Line>,
    optimised: Vec<Line>,
    host: Vec<Line>,
}

#[derive(Deserialize)]
struct Line {
    pc: Option<u64>,
    text: String,
}

/// A guest instruction with its IR and host instructions; without a pc, those that belong to no instruction.
#[derive(Default, Serialize)]
struct Row {
    pc: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    guest: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lifted: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    optimised: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    host: Vec<String>,
}

/// Prints the function on standard output.
pub(crate) fn show(program: &Program, steps: &Steps, options: &InspectOptions) -> Result<ExitCode> {
    let image = program.image();
    let range = disassemble::find(image, &steps.function)?;
    let compiled = if steps.ir || steps.host {
        let mut arguments = steps.compiler.clone();
        arguments.extend(["--listing".into(), format!("{:#x}", range.start).into(), "--".into()]);
        arguments.push(OsString::from(&options.program));
        serde_json::from_slice(&compile::output(&arguments)?)?
    } else {
        Compiled::default()
    };
    let place = Some(format!("{:#x}..{:#x}", range.start, range.end));
    let listing = Listing { place, raw: false, semantics: false };
    let mut guest: BTreeMap<u64, String> =
        disassemble::instructions(image, &listing)?.map(|inst| (inst.address(), inst.line())).collect();
    if let (Some(&first), Some(&last)) = (compiled.pcs.first(), compiled.pcs.last()) {
        // The compiler's function may extend beyond its symbol.
        let place = Some(format!("{first:#x}..{:#x}", last + 1));
        let pcs: BTreeSet<u64> = compiled.pcs.iter().copied().collect();
        let listing = Listing { place, ..listing };
        let all = disassemble::instructions(image, &listing)?;
        guest.extend(all.filter(|inst| pcs.contains(&inst.address())).map(|inst| (inst.address(), inst.line())));
    }
    let rows = rows(image, steps, guest, compiled);
    let mut out = BufWriter::new(io::stdout().lock());
    if options.json {
        serde_json::to_writer(&mut out, &rows).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        print(&rows, steps, io::stdout().is_terminal() && wants_colours(), &mut out)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the environment lets programs colour what they print: see no-color.org.
fn wants_colours() -> bool {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_some_and(|terminal| terminal != "dumb")
}

fn rows(image: &Image, steps: &Steps, guest: BTreeMap<u64, String>, compiled: Compiled) -> Vec<Row> {
    let mut rows: BTreeMap<Option<u64>, Row> = BTreeMap::new();
    for (pc, text) in guest {
        let row = rows.entry(Some(pc)).or_default();
        row.guest.extend(steps.guest.then(|| format!("{pc:x}: {text}")));
    }
    let mut add = |lines: Vec<Line>, column: fn(&mut Row) -> &mut Vec<String>| {
        for Line { pc, text } in lines {
            column(rows.entry(pc).or_default()).push(text);
        }
    };
    if steps.ir {
        add(compiled.lifted, |row| &mut row.lifted);
        add(compiled.optimised, |row| &mut row.optimised);
    }
    if steps.host {
        add(compiled.host, |row| &mut row.host);
    }
    let mut sources = Sources::default();
    // Lines that belong to no instruction come last.
    let none = rows.remove(&None);
    let mut rows: Vec<Row> = rows
        .into_iter()
        .map(|(pc, row)| Row { pc, source: pc.and_then(|pc| sources.new_line(image, pc)), ..row })
        .collect();
    rows.extend(none);
    rows
}

/// Bytes of a source file at most.
const SOURCE_MAX: u64 = 16 << 20;

/// The guest's source files that can be read.
#[derive(Default)]
struct Sources {
    files: HashMap<String, Vec<String>>,
    last: Option<(String, u32)>,
}

impl Sources {
    /// The source line of an instruction, unless it is that of the one before.
    fn new_line(&mut self, image: &Image, pc: u64) -> Option<String> {
        let place = image.locate(pc).into_iter().next()?;
        let here = (place.file?, place.line?);
        if self.last.as_ref() == Some(&here) {
            return None;
        }
        let (file, line) = &here;
        let lines = self.files.entry(file.clone()).or_insert_with(|| {
            // The program says which file that is.
            let read = open_regular(file.as_ref()).and_then(|file| read_whole(file, b"", SOURCE_MAX));
            let text = read.unwrap_or_default();
            str::from_utf8(&text).unwrap_or_default().lines().map(str::to_owned).collect()
        });
        let text = lines.get(*line as usize - 1).map_or("", |text| text.trim());
        let source = format!("{file}:{line}: {text}");
        self.last = Some(here);
        Some(source.trim_end_matches([':', ' ']).to_owned())
    }
}

/// The widest column; longer text is cut.
const WIDTH: usize = 64;

fn print(rows: &[Row], steps: &Steps, colours: bool, out: &mut impl Write) -> Result<()> {
    type Column = fn(&Row) -> &[String];
    const SOURCE: &str = "\x1b[2m";
    const GUEST: &str = "\x1b[36m";
    const IR: &str = "\x1b[33m";
    const HOST: &str = "\x1b[32m";
    let columns: [(bool, &str, &str, Column); 4] = [
        (steps.guest, "guest", GUEST, |row| &row.guest),
        (steps.ir, "lifted", IR, |row| &row.lifted),
        (steps.ir, "optimised", IR, |row| &row.optimised),
        (steps.host, "host", HOST, |row| &row.host),
    ];
    let columns: Vec<_> = columns
        .into_iter()
        .filter(|(shown, ..)| *shown)
        .map(|(_, name, colour, column)| {
            let widths = rows.iter().flat_map(column).map(|text| Printable(text.trim()).to_string().chars().count());
            (name, colour, column, widths.chain([name.len()]).max().unwrap_or(0).min(WIDTH))
        })
        .collect();
    let paint = |colour: &str, text: &str| match colours {
        true if !text.trim().is_empty() => format!("{colour}{text}\x1b[0m"),
        _ => text.to_owned(),
    };
    let line = |cells: &[&str]| {
        let cells = columns.iter().zip(cells).map(|((_, colour, _, width), text)| {
            let text: String = Printable(text.trim()).to_string().chars().take(*width).collect();
            paint(colour, &format!("{text:<width$}"))
        });
        cells.collect::<Vec<_>>().join(" | ").trim_end().to_owned()
    };
    let names: Vec<&str> = columns.iter().map(|(name, ..)| *name).collect();
    writeln!(out, "{}", line(&names))?;
    for row in rows {
        if let Some(source) = &row.source {
            writeln!(out, "{}", paint(SOURCE, &format!("; {}", Printable(source))))?;
        }
        let height = columns.iter().map(|(_, _, column, _)| column(row).len()).max().unwrap_or(0);
        for index in 0..height {
            let cell = |column: &Column| column(row).get(index).map_or("", |text| text.as_str());
            let cells: Vec<&str> = columns.iter().map(|(_, _, column, _)| cell(column)).collect();
            writeln!(out, "{}", line(&cells))?;
        }
    }
    Ok(())
}
