//! The riverrun command: runs RISC-V programs in a sandbox, and shows what is in them.

#![deny(unsafe_code)]

mod args;
mod bench;
mod bindgen;
mod cc;
mod compile;
mod disassemble;
mod inspect;
mod new;
mod report;
mod run;
mod steps;
mod values;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use args::Command;

/// What a command gives: the exit status, or what kept riverrun itself from doing it.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let result = args::parse(std::env::args_os().skip(1)).and_then(|command| match command {
        Command::Bench(arguments) => bench::bench(&arguments),
        Command::Bindgen(arguments) => bindgen::bindgen(&arguments),
        Command::New(arguments) => new::new(&arguments),
        Command::Cc(language, arguments) => cc::cc(language, &arguments),
        Command::Compile(arguments) => compile::compile(&arguments),
        Command::Run(options) => run::run(&options),
        Command::Inspect(options) => inspect::inspect(&options),
        Command::Print(text) => print(&text),
    });
    result.unwrap_or_else(|error| {
        // Whoever reads our output may stop reading: `riverrun inspect prog.elf | head`.
        let reader_left =
            error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        if reader_left {
            return ExitCode::SUCCESS;
        }
        report::complain(error);
        ExitCode::from(report::FAILURE)
    })
}

fn print(text: &str) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
