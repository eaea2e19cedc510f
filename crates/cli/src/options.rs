//! What the options of commands that run or show a guest say. Documentation comments are the command's help.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};

use crate::function_call::{self, FunctionCall};
use crate::report::{BROKEN_PIPE, FAILURE, OUT_OF_FUEL, StatsFormat, TIMED_OUT, TRAPPED};
use crate::values::{self, Mount};

/// A parser of values that may have any bytes.
fn bytes<T: Clone + Send + Sync + 'static>(
    parse: fn(OsString) -> Result<T, String>,
) -> impl TypedValueParser<Value = T> {
    OsStringValueParser::new().try_map(parse)
}

/// What a guest gets, whatever runs it.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct GuestOptions {
    /// Stop after this time: 2s, 500ms, 1m; a bare number is seconds.
    #[arg(long, value_name = "TIME", value_parser = values::duration, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Duration>,
    /// Memory that the guest may have, its image and stack included: 64M, 1G, 4G at most.
    #[arg(long, value_name = "SIZE", value_parser = values::memory_bytes, allow_hyphen_values = true)]
    pub(crate) memory: Option<u64>,
    /// Size of its stack: 8M if not given.
    #[arg(long, value_name = "SIZE", value_parser = values::stack_bytes, allow_hyphen_values = true)]
    pub(crate) stack: Option<u64>,
    /// Bits of the guest's addresses: 26 to 32, which is 64M to 4G; 32 if not given. Fewer take less of the address space that
    /// the command may have (ulimit -v).
    #[arg(long, value_name = "N", value_parser = values::address_bits, allow_negative_numbers = true)]
    pub(crate) address_bits: Option<u32>,
    /// Let the guest use the host's directory HOST as GUEST; with :ro only read it; with :mounts other mounts in it,
    /// too (/proc, /sys and their like never); with :links make symbolic links that lead out of it, for others to
    /// follow.
    #[arg(long = "dir", value_name = "HOST:GUEST[:ro][:mounts][:links]", value_parser = bytes(values::mount))]
    pub(crate) dirs: Vec<Mount>,
    /// The guest's directory that it is in when it starts: / if not given.
    #[arg(long = "cwd", value_name = "GUEST")]
    pub(crate) current_dir: Option<String>,
    /// Let the guest connect to this address by TCP and UDP, the only one unless this is given again. A name is looked up by the
    /// host when the guest starts; the guest finds it in its /etc/hosts.
    #[arg(long = "connect", value_name = "HOST:PORT")]
    pub(crate) connect: Vec<String>,
    /// Let the guest listen at this port, for programs of the same host, or at this address, by TCP and UDP; may be given again.
    #[arg(long = "listen", value_name = "[ADDRESS:]PORT")]
    pub(crate) listen: Vec<String>,
    /// Set a variable of the guest, which gets none of the host's.
    #[arg(long, value_name = "NAME=VALUE", value_parser = bytes(values::variable))]
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Make random numbers, and the order in which threads run, the same in every run.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// What runs the guest: auto, if nothing is said, but then an artifact that is named has to be right.
    #[arg(long)]
    pub(crate) engine: Option<EngineChoice>,
    /// Compile the program first, unless that has been done; the result is kept in the cache,
    /// $XDG_CACHE_HOME/riverrun.
    #[arg(long)]
    pub(crate) compile: bool,
}

/// Run a program.
///
/// It sees no file, no variable and no socket of the host unless an option grants it. What follows PROGRAM is the
/// guest's. The word `run` may be left out.
#[derive(Args, Clone, Debug, Default)]
#[command(args_override_self = true, after_help = statuses())]
#[command(override_usage = "riverrun [run] [OPTIONS] PROGRAM [ARGUMENTS]...")]
pub(crate) struct RunOptions {
    /// The program, and its arguments.
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true)]
    pub(crate) words: Vec<OsString>,
    /// Stop after exactly N instructions.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) fuel: Option<u64>,
    #[command(flatten)]
    pub(crate) guest: GuestOptions,
    /// Files that the guest may have open at a time: 256 if not given.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) descriptors: Option<u64>,
    /// Threads that the guest may have at a time: 1024 if not given.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) threads: Option<u64>,
    /// Size that it may give a file; no limit if not given, but the shell's (ulimit -f).
    #[arg(long, value_name = "SIZE", value_parser = values::bytes, allow_hyphen_values = true)]
    pub(crate) file_size: Option<u64>,
    /// Say on standard error how many instructions were run, and how fast.
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub(crate) stats: Option<StatsFormat>,
    /// Say on standard error which system calls the guest lacks and which paths are refused; with -vv, all calls that it
    /// makes; with --verbose=heap, what it allocates and frees by riverrun/heap.h, and where.
    #[arg(short, long, value_name = "WHAT", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "calls", action = clap::ArgAction::Append)]
    pub(crate) verbose: Vec<Verbose>,
    /// Begin in the interpreter and compile what is hot in the background; the cache keeps it and the profile for the
    /// next start. Code of the whole program is used if it is in the cache.
    #[arg(long, conflicts_with_all = ["compile", "artifact", "single_step"])]
    pub(crate) tier_up: bool,
    /// Run by the reference interpreter, which is slow.
    #[arg(long, conflicts_with_all = ["compile", "artifact"])]
    pub(crate) single_step: bool,
    /// Use the compiled code in FILE: it runs outside the interpreter's checks, so it must come from `riverrun compile`.
    #[arg(long, value_name = "FILE")]
    pub(crate) artifact: Option<PathBuf>,
    /// With --compile: compile only what a profile says has run, which --tier-up has written to the cache; --artifact says
    /// where that code is kept.
    #[arg(long, value_name = "FILE", requires_all = ["compile", "artifact"])]
    pub(crate) profile: Option<PathBuf>,
    /// Run a dynamically linked program: its dynamic linker and libraries are those in FOLDER, which the guest has as /,
    /// to be read only.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) sysroot: Option<PathBuf>,
    /// With --sysroot: a library that the program loads while it runs: its name, or its path there, or a folder's with many
    /// of them; may be given again.
    #[arg(long = "library", value_name = "LIBRARY", requires = "sysroot")]
    pub(crate) libraries: Vec<String>,
    /// Go on where a snapshot was taken: FILE is what `riverrun snapshot` has written of the same PROGRAM. Files that it
    /// had open are opened again, by --dir of this command line.
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// Once its main has returned, call a function that it exports, and print the result; may be given again.
    #[arg(long = "call", value_name = "FUNCTION(ARGUMENTS)", value_parser = function_call::parse)]
    pub(crate) calls: Vec<FunctionCall>,
    /// Tell profilers the names of compiled functions, by perf-PID.map in FOLDER, /tmp if not given.
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, require_equals = true, default_missing_value = "/tmp")]
    pub(crate) perf_map: Option<PathBuf>,
}

impl RunOptions {
    /// The program's file.
    pub(crate) fn program(&self) -> &Path {
        Path::new(self.words.first().map_or(OsStr::new(""), OsString::as_os_str))
    }

    /// The guest's arguments after its name.
    pub(crate) fn args(&self) -> &[OsString] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Two options that say different things of what runs the guest, whose values matter; of others clap knows.
    pub(crate) fn conflict(&self) -> Option<(&'static str, &'static str)> {
        let (engine, others): (_, &[&str]) = match self.guest.engine? {
            EngineChoice::Auto => return None,
            EngineChoice::Interpreter => ("--engine interp", &["--artifact <FILE>", "--compile", "--tier-up"]),
            EngineChoice::Compiled => ("--engine compiled", &["--single-step", "--tier-up"]),
        };
        let given = [
            ("--artifact <FILE>", self.artifact.is_some()),
            ("--compile", self.guest.compile),
            ("--single-step", self.single_step),
            ("--tier-up", self.tier_up),
        ];
        let (other, _) = given.into_iter().find(|(name, is_given)| *is_given && others.contains(name))?;
        Some((engine, other))
    }

    /// 0: nothing is said of system calls; 1: of those that are not provided; 2: of all.
    pub(crate) fn verbosity(&self) -> usize {
        self.verbose.iter().filter(|&&what| what == Verbose::Calls).count()
    }
}

/// Run a program up to a point, and write it as it is then to a file.
///
/// The point is where its main has returned, for programs that export functions, or where a limit stops it: --fuel,
/// --timeout. `riverrun run --from FILE PROGRAM` goes on from there, as often as it is called.
#[derive(Args, Clone, Debug, Default)]
#[command(args_override_self = true)]
pub(crate) struct SnapshotOptions {
    #[command(flatten)]
    pub(crate) run: RunOptions,
    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// `--verbose`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Verbose {
    /// System calls.
    Calls,
    /// Every use of the heap.
    Heap,
}

/// `--engine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineChoice {
    /// Compiled code where there is some, else the interpreter.
    Auto,
    /// The interpreter.
    #[value(name = "interp")]
    Interpreter,
    /// Compiled code, or an error.
    Compiled,
}

/// `riverrun inspect`.
#[derive(Debug, Default)]
pub(crate) struct InspectOptions {
    pub(crate) program: PathBuf,
    pub(crate) symbols: bool,
    pub(crate) listing: Option<Listing>,
    pub(crate) json: bool,
    pub(crate) steps: Option<Steps>,
}

/// `--function` and `--show`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Steps {
    /// A symbol or an address.
    pub(crate) function: String,
    /// The guest's instructions.
    pub(crate) guest: bool,
    /// The compiler's representation, before and after its passes.
    pub(crate) ir: bool,
    /// The host's instructions.
    pub(crate) host: bool,
    /// Options of the compiler.
    pub(crate) compiler: Vec<OsString>,
}

/// `--disassemble` and `--semantics`.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// A symbol, an address or a range of addresses; everything if there is none.
    pub(crate) place: Option<String>,
    /// No pseudo-instructions.
    pub(crate) raw: bool,
    /// With what each instruction does.
    pub(crate) semantics: bool,
}

/// The exit statuses, for the help.
pub(crate) fn statuses() -> String {
    format!(
        "\
The exit status is the guest's, or
  {OUT_OF_FUEL}  it was out of fuel (--fuel)
  {TIMED_OUT}  its time was up (--timeout)
  {FAILURE}  riverrun could not run it: no such file, not a RISC-V program, a wrong option
  {TRAPPED}  it trapped: illegal instruction, access to unmapped memory, abort()
  {BROKEN_PIPE}  nobody reads what it writes"
    )
}
