//! How the commands of the examples print and end; each includes this file as a module. Standard output that cannot be
//! written is an error, not a panic, and a reader that has closed it is no failure.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

/// Ends the command of this name, and says on standard error why it failed.
pub fn end(name: &str, result: Result<(), Box<dyn Error>>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    eprintln!("{name}: {error}");
    ExitCode::FAILURE
}

/// Prints a text.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| io::Error::new(error.kind(), format!("standard output: {error}")))
}
