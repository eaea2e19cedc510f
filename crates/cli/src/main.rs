//! The riverrun command: runs RISC-V programs in a sandbox, and shows what is in them.

#![deny(unsafe_code)]

mod args;
mod bench;
mod bindgen;
mod cc;
mod compile;
mod disassemble;
mod function_call;
mod guest_name;
mod inspect;
mod manual;
mod new;
mod options;
mod report;
mod run;
mod script;
mod snapshot;
mod steps;
mod values;

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use args::Command;
use riverrun_bindgen::Language;

/// The result of a subcommand: an exit status, or riverrun's own failure.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let mut is_run = false;
    let result = match args::parse(arguments.iter().cloned()) {
        Ok(command) => {
            is_run = matches!(command, Command::Run(_));
            execute(command, &arguments)
        }
        // Help and version also arrive as errors.
        Err(error) if !error.use_stderr() => print(&error.to_string()),
        Err(error) => Err(error.into()),
    };
    result.unwrap_or_else(|error| {
        // The reader of our output may have closed it: `riverrun inspect prog.elf | head`.
        if is_broken_pipe(&*error) {
            return ExitCode::SUCCESS;
        }
        if let Some(riverrun::Error::File { path, .. }) = error.downcast_ref()
            && is_run
            && let Some(command) = args::mistaken_command(path)
        {
            report::complain(format_args!("{error}; did you mean `riverrun {command}`?"));
            return ExitCode::from(report::FAILURE);
        }
        match error.downcast_ref::<clap::Error>() {
            Some(error) => report::complain(args::complaint(error)),
            None => report::complain(error),
        }
        ExitCode::from(report::FAILURE)
    })
}

fn execute(command: Command, arguments: &[OsString]) -> Result<ExitCode> {
    match command {
        Command::Bench(options) => bench::bench(options, arguments.get(1..).unwrap_or_default()),
        Command::Bindgen(options) => bindgen::bindgen(&options),
        Command::New(options) => new::new(&options),
        Command::Cc(options) => cc::cc(Language::C, &options),
        Command::Cxx(options) => cc::cc(Language::Cxx, &options),
        Command::Compile { arguments } => compile::compile(&arguments),
        Command::Run(options) => run::run(&options),
        Command::Snapshot(options) => snapshot::snapshot(&options),
        Command::Inspect(options) => inspect::inspect(&options),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { folder } => manual::pages(&folder),
    }
}

fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn print(text: &str) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
