//! Renders a text, and says whether hand-written assembly pays.

use std::error::Error;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use lexopt::prelude::*;
use riverrun_console::{Console, Options, Report, Step, TEXT_MAX, programs};

#[path = "../../output.rs"]
mod output;

const HELP: &str = "\
riverrun-console [OPTIONS] [TEXT]    does hand-written assembly pay?

Renders TEXT (the Apache licence if none is given) with the step of colour in C, in assembly and in the host,
checks that the frames are the same, and reports how long the step takes in a loop, and the rendering.

  --png FILE     write the frame
  --runs N       runs that count: 5 if not given
  --discard N    runs before them: 1 if not given
  --quick        hardly any work in each run, to see that all works
";

const TEXT: &[u8] = include_bytes!("../../../LICENSE-APACHE");

fn main() -> ExitCode {
    output::end("riverrun-console", command())
}

fn command() -> Result<(), Box<dyn Error>> {
    let mut options = Options { runs: 5, discard: 1, time: Duration::from_millis(60) };
    let (mut text, mut png) = (None::<PathBuf>, None::<PathBuf>);
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("png") => png = Some(parser.value()?.into()),
            Long("runs") => options.runs = parser.value()?.parse::<std::num::NonZero<usize>>()?.get(),
            Long("discard") => options.discard = parser.value()?.parse()?,
            Long("quick") => options.time = Duration::from_millis(1),
            Long("help") | Short('h') => return Ok(output::print(HELP)?),
            Value(file) if text.is_none() => text = Some(file.into()),
            other => return Err(format!("{}; --help lists the options", other.unexpected()).into()),
        }
    }
    let text = match text {
        None => TEXT.to_owned(),
        Some(file) => fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?,
    };
    if text.len() > TEXT_MAX {
        eprintln!("riverrun-console: only the first {TEXT_MAX} bytes of the text are rendered");
    }

    let mut checksum = None;
    for (engine, program) in programs()? {
        for step in Step::ALL {
            let mut console = Console::new(&program, step, &text)?;
            console.render()?;
            let this = console.checksum()?;
            let expected = *checksum.get_or_insert(this);
            if this != expected {
                let name = step.name();
                return Err(format!("{engine} with the step in {name}: frame {this:08x}, not {expected:08x}").into());
            }
            if let Some(file) = png.take() {
                let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
                let out = BufWriter::new(File::create(&file).map_err(|error| failed(&error))?);
                console.write_png(out).map_err(|error| failed(&error))?;
            }
        }
    }
    output::print(&format!(
        "# Does hand-written assembly pay?\n\nAll frames have the checksum {:08x}.\n",
        checksum.unwrap_or(0)
    ))?;
    for report in Report::measure(&text[..text.len().min(TEXT_MAX)], &options)? {
        output::print(&format!("\n{}", report.text()))?;
    }
    Ok(())
}
