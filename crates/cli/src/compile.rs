//! `riverrun compile`: a program into compiled code.

use std::io::{IsTerminal, Write, stderr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use riverrun::{Config, Engine, Program};

use crate::Result;
use crate::args::CompileOptions;

/// Where compiled code is kept between runs: a folder that only the user should be able to write, as
/// what is in it runs with all of the user's rights. `None` if there is no such place.
pub(crate) fn cache() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    folder.is_absolute().then(|| folder.join("riverrun"))
}

/// Writes a file so that nobody ever finds half of it there.
#[cfg(feature = "compile")]
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let unfinished = path.with_extension(format!("{}.unfinished", std::process::id()));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let written = folder
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(&unfinished, bytes))
        .and_then(|()| std::fs::rename(&unfinished, path));
    written.map_err(|error| format!("cannot write {}: {error}", path.display()).into())
}

/// Compiles the program.
#[cfg(feature = "compile")]
pub(crate) fn compile(options: &CompileOptions) -> Result<ExitCode> {
    let engine = Engine::new(&Config::new())?;
    let program = crate::run::load(&engine, &options.program)?;
    let output = options.output.clone().unwrap_or_else(|| options.program.with_extension("rro"));
    let begin = Instant::now();
    let bytes = compiled(&program, &options.options)?;
    write(&output, &bytes)?;
    eprintln!("{}: {} KiB in {:.1} s", output.display(), bytes.len() >> 10, begin.elapsed().as_secs_f64());
    Ok(ExitCode::SUCCESS)
}

/// Compiled code of the program, with progress shown on a terminal.
#[cfg(feature = "compile")]
pub(crate) fn compiled(program: &Program, options: &riverrun::CompileOptions) -> Result<Vec<u8>> {
    let shows = stderr().is_terminal();
    let (bytes, _) = program.compile(options, |done, all| {
        if shows {
            const WIDTH: usize = 40;
            let filled = WIDTH * done / all.max(1);
            let _ =
                write!(stderr(), "\r[{}{}] {done} of {all} functions", "#".repeat(filled), " ".repeat(WIDTH - filled));
        }
    })?;
    if shows {
        let _ = write!(stderr(), "\r\x1b[K");
    }
    Ok(bytes)
}
