//! Measures riverrun beside its peers, on the same programs.

mod chart;
mod compile;
mod compute;
mod engine;
mod engines;
mod heap;
mod host;
mod lab;
mod options;
mod page;
mod process;
mod program;
mod report;
mod start_up;
mod statistics;
mod toolchain;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::lab::Lab;
use crate::options::{HELP, Options, Topic};

fn main() -> ExitCode {
    match command() {
        Ok(failures) if failures.is_empty() => ExitCode::SUCCESS,
        Ok(failures) => {
            eprintln!("failed:\n  {}", failures.join("\n  "));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("riverrun-bench: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Does what the command line says and returns what failed.
fn command() -> Result<Vec<String>> {
    let topics = options::parse()?;
    if topics.is_empty() {
        print!("{HELP}");
        return Ok(Vec::new());
    }
    let mut lab = Lab::open()?;
    let mut failures = Vec::new();
    for (topic, options) in topics {
        let made = match topic {
            Topic::Compute => compute::run(&mut lab, &options)?.publish()?,
            Topic::Compile => compile::run(&mut lab, &options)?.publish()?,
            Topic::Heap => heap::run(&mut lab, &options)?.publish()?,
            Topic::StartUp => start_up::run(&mut lab, &options)?.publish()?,
        };
        write(topic, &options, &made)?;
        print!("{}", made.page);
        failures.extend(made.failures);
    }
    Ok(failures)
}

/// A report in the forms that it is published in.
struct Published {
    /// Markdown.
    page: String,
    json: String,
    /// File names and SVG.
    charts: Vec<(&'static str, String)>,
    /// In words.
    failures: Vec<String>,
}

fn write(topic: Topic, options: &Options, made: &Published) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../out/bench").join(topic.name());
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    fs::write(folder.join("report.md"), &made.page)?;
    fs::write(folder.join("report.json"), &made.json)?;
    for (name, svg) in &made.charts {
        fs::write(folder.join(name), svg)?;
    }
    if let Some(file) = &options.json {
        fs::write(file, &made.json).with_context(|| file.display().to_string())?;
    }
    Ok(())
}
