//! `riverrun cc` and `riverrun c++`: call an installed compiler for guests with the flags that they need.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use riverrun_bindgen::{Language, Library, Toolchain, shown};

use crate::Result;

/// Calls the compiler for RISC-V that is there, GCC, Clang or Zig, with the flags that guests need. The variable
/// RIVERRUN_CC names another one.
#[derive(Debug, clap::Args)]
pub(crate) struct CcOptions {
    /// Without a libc: start code and the like come from riverrun's SDK.
    #[arg(long)]
    bare: bool,
    /// Print the command instead of running it.
    #[arg(long)]
    show: bool,
    /// The compiler's.
    #[arg(value_name = "ARGUMENTS", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// `riverrun cc`, or `c++`.
pub(crate) fn cc(language: Language, options: &CcOptions) -> Result<ExitCode> {
    let library = if options.bare { Library::None } else { Library::Libc };
    let mut command = Toolchain::find(library)?.command(language, library, &options.arguments, &cache())?;
    if options.show {
        return crate::print(&format!("{}\n", shown(&command)));
    }
    let status = command.status().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

/// The folder of the SDK.
fn cache() -> PathBuf {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    folder.unwrap_or_else(env::temp_dir).join("riverrun")
}
