//! Shell completions and manual pages of the command.

use std::path::Path;
use std::process::ExitCode;

use clap_complete::Shell;

use crate::{Result, args};

/// `riverrun completions`.
pub(crate) fn completions(shell: Shell) -> Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "riverrun", &mut text);
    crate::print(&String::from_utf8_lossy(&text))
}

/// `riverrun man`.
pub(crate) fn pages(folder: &Path) -> Result<ExitCode> {
    let failed = |error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(args::command(), folder).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}
