//! `riverrun cc` and `riverrun c++`: call the compiler for guests that is there.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use riverrun_bindgen::{Language, Library, Toolchain};

use crate::Result;

const HELP: &str = "\
riverrun cc [--bare] [--show] ARGUMENTS..     compile C for riverrun
riverrun c++ [--bare] [--show] ARGUMENTS..    compile C++ for riverrun

Calls the compiler for RISC-V that is there, GCC, Clang or Zig, with the flags that guests need. ARGUMENTS
are the compiler's. The variable RIVERRUN_CC names another one.

  --bare   without a libc: start code and the like come from riverrun's SDK
  --show   print the command instead of running it
";

/// `riverrun cc ARGUMENTS`, or `c++`.
pub(crate) fn cc(language: Language, arguments: &[OsString]) -> Result<ExitCode> {
    let (own, others) = arguments.split_at(arguments.iter().take_while(|one| is_own(one)).count());
    let has = |option: &str| own.iter().any(|one| one == option);
    if has("--help") || has("-h") || arguments.is_empty() {
        return crate::print(HELP);
    }
    let library = if has("--bare") { Library::None } else { Library::Libc };
    let mut command = Toolchain::find(library)?.command(language, library, others, &cache())?;
    if has("--show") {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        return crate::print(&format!("{}\n", words.join(" ")));
    }
    let status = command.status().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

/// Options of ours, which come first.
fn is_own(argument: &OsString) -> bool {
    ["--bare", "--show", "--help", "-h"].iter().any(|option| argument == option)
}

/// Where the SDK is kept.
fn cache() -> PathBuf {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    folder.unwrap_or_else(env::temp_dir).join("riverrun")
}
