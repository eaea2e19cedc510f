//! Measures riverrun beside its peers, on the same programs.

mod chart;
mod compile;
mod compute;
mod crossing;
mod engine;
mod engines;
mod figures;
mod heap;
mod host;
mod instances;
mod lab;
mod measuring_program;
mod options;
mod page;
mod process;
mod program;
mod progress;
mod publish;
mod report;
mod rounds;
mod start_up;
mod statistics;
mod summary;
mod toolchain;
mod unwinding;
mod waiting;

use std::fs;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::engines::riverrun;
use crate::lab::Lab;
use crate::options::{HELP, Topic};
use crate::publish::Publisher;

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
    let Some(command) = options::parse()? else {
        print!("{HELP}");
        return Ok(Vec::new());
    };
    let mut lab = Lab::open()?;
    if command.publish {
        let version = riverrun::version(&lab.setup)?;
        ensure!(!version.ends_with(riverrun::DIRTY), "--publish: {version} is no commit; commit the changes first");
    }
    let mut publisher = Publisher::new(command.publish);
    let mut failures = Vec::new();
    let is_all = command.topics.len() > 1;
    for (topic, options) in command.topics {
        let (begin, building) = (Instant::now(), lab.building);
        let made = match topic {
            Topic::Compute => {
                let report = compute::run(&mut lab, &options)?;
                if let Some(summary) = report.summary() {
                    publisher.summarize(&summary)?;
                }
                report.publish()?
            }
            Topic::Compile => compile::run(&mut lab, &options)?.publish()?,
            Topic::Crossing => crossing::run(&mut lab)?.publish()?,
            Topic::Heap => heap::run(&mut lab, &options)?.publish()?,
            Topic::Instances => instances::run(&mut lab, &options)?.publish()?,
            Topic::StartUp => start_up::run(&mut lab, &options)?.publish()?,
            Topic::Unwinding => unwinding::run(&mut lab, &options)?.publish()?,
            Topic::Waiting => waiting::run(&mut lab, &options)?.publish()?,
        };
        let root = lab.setup.bench.parent().context("bench has no parent folder")?;
        let mut made = made.anywhere(root, &lab.setup.cargo_folder);
        if options.quick {
            made = made.subset()?;
        }
        publisher.write(topic, &made)?;
        let (all, building) = (begin.elapsed().as_secs(), (lab.building - building).as_secs());
        eprintln!("bench: {} took {all} s, of which building engines and programs {building} s", topic.name());
        if let Some(file) = &options.json {
            fs::write(file, &made.json).with_context(|| file.display().to_string())?;
        }
        print!("{}", made.page);
        failures.extend(made.failures);
    }
    if is_all {
        publisher.finish()?;
    }
    Ok(failures)
}
