//! The command line: subcommands and options, by clap. Documentation comments are the command's help.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::bench::BenchOptions;
use crate::bindgen::BindgenOptions;
use crate::cc::CcOptions;
use crate::function_call::{self, FunctionCall};
use crate::new::NewOptions;
use crate::report::{BROKEN_PIPE, FAILURE, OUT_OF_FUEL, TIMED_OUT, TRAPPED};
use crate::values::{self, Mount};

/// Runs static RISC-V Linux programs (RV64GC) in a sandbox.
#[derive(Debug, Parser)]
#[command(name = "riverrun", bin_name = "riverrun", version, after_help = after_help())]
struct Line {
    #[command(subcommand)]
    command: Command,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(RunOptions),
    Snapshot(SnapshotOptions),
    /// Compile a program for this kind of machine.
    // The compiler parses its own options and prints their help.
    #[command(disable_help_flag = true)]
    Compile {
        /// The program, and the compiler's options; `riverrun compile --help` lists them.
        #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    Inspect(InspectOptions),
    Bench(BenchOptions),
    New(NewOptions),
    Bindgen(BindgenOptions),
    /// Compile C for riverrun.
    Cc(CcOptions),
    /// Compile C++ for riverrun.
    #[command(name = "c++")]
    Cxx(CcOptions),
    /// Print what a shell completes the command by.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual's pages into a folder.
    Man {
        /// The folder, such as ~/.local/share/man/man1.
        folder: PathBuf,
    },
}

/// What a guest gets, whatever runs it.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct GuestOptions {
    /// Stop after this time: 2s, 500ms, 1m; a bare number is seconds.
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) timeout: Option<Duration>,
    /// Memory that the guest may have, its image and stack included: 64M, 1G, 4G at most.
    #[arg(long, value_name = "SIZE", value_parser = values::memory_bytes)]
    pub(crate) memory: Option<u64>,
    /// Size of its stack: 8M if not given.
    #[arg(long, value_name = "SIZE", value_parser = values::stack_bytes)]
    pub(crate) stack: Option<u64>,
    /// Let the guest use the host's directory HOST as GUEST; with :ro only read it; with :mounts other mounts in it,
    /// too (/proc, /sys and their like never); with :links make symbolic links that lead out of it, for others to
    /// follow.
    #[arg(long = "dir", value_name = "HOST:GUEST[:ro][:mounts][:links]", value_parser = values::mount)]
    pub(crate) dirs: Vec<Mount>,
    /// The guest's directory that it is in when it starts: / if not given.
    #[arg(long = "cwd", value_name = "GUEST")]
    pub(crate) current_dir: Option<String>,
    /// Set a variable of the guest, which gets none of the host's.
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::variable)]
    pub(crate) env: Vec<(String, String)>,
    /// Make random numbers, and the order in which threads run, the same in every run.
    #[arg(long, value_name = "N")]
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
    #[arg(long, value_name = "N")]
    pub(crate) fuel: Option<u64>,
    #[command(flatten)]
    pub(crate) guest: GuestOptions,
    /// Files that the guest may have open at a time: 256 if not given.
    #[arg(long, value_name = "N")]
    pub(crate) descriptors: Option<u64>,
    /// Threads that the guest may have at a time: 1024 if not given.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<u64>,
    /// Size that it may give a file; no limit if not given, but the shell's (ulimit -f).
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
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
    /// Run by the slow reference engine.
    #[arg(long)]
    pub(crate) single_step: bool,
    /// Use the compiled code in FILE: it runs outside the interpreter's checks, so it must come from `riverrun compile`.
    #[arg(long, value_name = "FILE")]
    pub(crate) artifact: Option<PathBuf>,
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

/// How `--stats` shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatsFormat {
    /// A line for people.
    Text,
    /// A line for programs.
    Json,
}

/// Show what is in a program: segments, instruction set, symbols.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
struct InspectLine {
    #[arg(value_name = "PROGRAM")]
    program: Option<PathBuf>,
    /// List the symbols.
    #[arg(long)]
    symbols: bool,
    /// List the instructions; WHERE is a function, or a range of addresses such as 0x10400..0x10480.
    #[arg(long, value_name = "WHERE", num_args = 0..=1)]
    disassemble: Option<Option<OsString>>,
    /// The same, with what each instruction does.
    #[arg(long, value_name = "WHERE", num_args = 0..=1)]
    semantics: Option<Option<OsString>>,
    /// Show a function, or the one at an address, on its way through the compiler.
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// Of these, guest and host if not given: guest, its instructions; ir, LLVM's representation of them, as lifted and
    /// as optimised; host, the instructions that come of it.
    #[arg(long, value_delimiter = ',', requires = "function")]
    show: Vec<Show>,
    /// With --function: as of compile.
    #[arg(short = 'O', value_name = "LEVEL", requires = "function")]
    level: Option<String>,
    /// With --function: as of compile.
    #[arg(long, requires = "function")]
    fuel: bool,
    /// With --function: as of compile.
    #[arg(long, requires = "function")]
    precise: bool,
    /// With --function: as of compile.
    #[arg(long, requires = "function")]
    cpu: Option<String>,
    /// No pseudo-instructions.
    #[arg(long)]
    raw: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A step of a function's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Show {
    Guest,
    Ir,
    Host,
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

impl InspectLine {
    fn options(mut self) -> Result<InspectOptions, clap::Error> {
        let wrong = |message: &str| command().error(clap::error::ErrorKind::MissingRequiredArgument, message);
        let semantics = self.semantics.is_some();
        let mut listing = self.semantics.take().or(self.disassemble.take());
        // `--disassemble main` and `--disassemble prog.elf` look alike: the only name is the program's.
        let program = self.program.or_else(|| listing.as_mut()?.take().map(PathBuf::from));
        let program = program.ok_or_else(|| wrong("no program given; say riverrun inspect [OPTIONS] PROGRAM"))?;
        let listing = match listing {
            None => None,
            Some(place) => {
                let place = place.map(OsString::into_string).transpose();
                let place = place.map_err(|place| wrong(&format!("{}: not UTF-8", place.display())))?;
                Some(Listing { place, raw: self.raw, semantics })
            }
        };
        let mut compiler: Vec<OsString> = Vec::new();
        compiler.extend(self.level.map(|level| format!("-O{level}").into()));
        compiler.extend(self.fuel.then(|| "--fuel".into()));
        compiler.extend(self.precise.then(|| "--precise".into()));
        compiler.extend(self.cpu.into_iter().flat_map(|cpu| ["--cpu".into(), cpu.into()]));
        let shown = if self.show.is_empty() { vec![Show::Guest, Show::Host] } else { self.show };
        let shows = |step| shown.contains(&step);
        let (guest, ir, host) = (shows(Show::Guest), shows(Show::Ir), shows(Show::Host));
        let steps = self.function.map(|function| Steps { function, guest, ir, host, compiler });
        Ok(InspectOptions { program, symbols: self.symbols, listing, json: self.json, steps })
    }
}

impl clap::FromArgMatches for InspectOptions {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<InspectOptions, clap::Error> {
        InspectLine::from_arg_matches(matches)?.options()
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = InspectOptions::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for InspectOptions {
    fn augment_args(command: clap::Command) -> clap::Command {
        InspectLine::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        InspectLine::augment_args_for_update(command)
    }
}

/// The whole command line, as completions and the manual describe it.
pub(crate) fn command() -> clap::Command {
    Line::command()
}

/// A command that is called nearly so.
pub(crate) fn similar_command(name: &str) -> Option<String> {
    /// As alike as what clap suggests for options.
    const ALIKE: f64 = 0.8;
    let command = command();
    let names = command.get_subcommands().map(|command| command.get_name().to_owned());
    let alike = names.map(|other| (strsim::jaro_winkler(name, &other), other)).filter(|(alike, _)| *alike > ALIKE);
    alike.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

/// Reads the command line, the command's own name left out.
///
/// # Errors
/// What is wrong; help and version, which are to be printed, are such errors, too.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, clap::Error> {
    let mut args: Vec<OsString> = args.into_iter().collect();
    let command = command();
    let is_command = |word: Option<&OsString>| {
        word.is_some_and(|word| command.get_subcommands().any(|command| command.get_name() == word))
    };
    if is_command(args.get(1)) && args[0] == "help" {
        // `help run` as `run --help`, which the compiler answers itself, too.
        args.swap(0, 1);
        args[1] = "--help".into();
    } else if !is_command(args.first())
        && args.first().is_some_and(|first| !["help", "-h", "--help", "-V", "--version"].iter().any(|own| first == own))
    {
        // A bare file means `run`.
        args.insert(0, "run".into());
    }
    Line::try_parse_from(std::iter::once("riverrun".into()).chain(args)).map(|line| line.command)
}

/// What a wrong command line is told.
pub(crate) fn complaint(error: &clap::Error) -> String {
    let text = error.to_string();
    // `help` is the only one that takes any word for a command.
    if let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand)
        && let Some(command) = similar_command(name)
    {
        return format!("there is no command '{name}'; did you mean `riverrun {command}`?");
    }
    text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()
}

fn after_help() -> String {
    format!(
        "`riverrun [OPTIONS] PROGRAM` is short for `riverrun run ..`. The program sees nothing of the host unless an \
         option grants it.\n\n{}",
        statuses()
    )
}

fn statuses() -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, clap::Error> {
        parse(line.split_whitespace().map(OsString::from))
    }

    fn run(line: &str) -> RunOptions {
        match parsed(line).unwrap() {
            Command::Run(options) => options,
            other => panic!("{other:?}"),
        }
    }

    fn inspect(line: &str) -> InspectOptions {
        match parsed(line).unwrap() {
            Command::Inspect(options) => options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_description_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn what_follows_the_program_is_the_guests() {
        for line in ["run --fuel 3 a.elf --fuel 4 -- -x --help", "--fuel=3 a.elf --fuel 4 -- -x --help"] {
            let options = run(line);
            assert_eq!(options.fuel, Some(3));
            assert_eq!(options.program(), Path::new("a.elf"));
            assert_eq!(options.args(), ["--fuel", "4", "--", "-x", "--help"]);
        }
        assert_eq!(run("-- --odd x").program(), Path::new("--odd"));
        assert_eq!(run("run inspect").program(), Path::new("inspect"));
        assert_eq!(run("run help help").args(), ["help"]);
    }

    #[test]
    fn options_may_be_given_again() {
        let options = run("--fuel 1 --dir a:/a --fuel 2 --env A=1 --dir b:/b --env B=2 --compile --compile a.elf");
        assert_eq!((options.fuel, options.guest.dirs.len(), options.guest.env.len()), (Some(2), 2, 2));
        assert!(options.guest.compile);
    }

    #[test]
    fn stats_have_an_optional_format() {
        assert_eq!(run("--stats a.elf").stats, Some(StatsFormat::Text));
        assert_eq!(run("--stats=json a.elf").stats, Some(StatsFormat::Json));
        assert_eq!(run("a.elf").stats, None);
        assert!(parsed("--stats=xml a.elf").is_err());
    }

    #[test]
    fn verbose_counts_and_names() {
        for (line, verbosity, heap) in [
            ("a.elf", 0, false),
            ("-v a.elf", 1, false),
            ("-vv a.elf", 2, false),
            ("--verbose -v --verbose=heap a.elf", 2, true),
        ] {
            let options = run(line);
            assert_eq!((options.verbosity(), options.verbose.contains(&Verbose::Heap)), (verbosity, heap), "{line}");
        }
        assert!(parsed("-vx a.elf").is_err());
    }

    #[test]
    fn the_place_of_a_listing_may_come_before_and_after_the_program() {
        let place = |line| {
            let options = inspect(line);
            assert_eq!(options.program, PathBuf::from("a.elf"), "{line}");
            options.listing.unwrap().place
        };
        let main = Some("main".to_owned());
        assert_eq!(place("inspect a.elf --disassemble"), None);
        assert_eq!(place("inspect --disassemble a.elf"), None);
        assert_eq!(place("inspect --semantics --raw a.elf"), None);
        assert_eq!(place("inspect a.elf --disassemble main"), main);
        assert_eq!(place("inspect --disassemble main a.elf"), main);
        assert_eq!(place("inspect --disassemble=main a.elf"), main);
        assert!(parsed("inspect a.elf b.elf").is_err());
        assert!(parsed("inspect").is_err());
    }

    #[test]
    fn a_function_is_shown_beside_what_becomes_of_it() {
        let steps = |line| inspect(line).steps.unwrap();
        let shown = steps("inspect a.elf --function f");
        assert!(shown.guest && shown.host && !shown.ir);
        let shown = steps("inspect a.elf --function f --show ir,guest -O3 --cpu native");
        assert!(shown.guest && !shown.host && shown.ir);
        assert_eq!(shown.compiler, ["-O3", "--cpu", "native"]);
        assert!(parsed("inspect a.elf --show ir").is_err());
    }

    #[test]
    fn commands_that_are_called_nearly_so() {
        assert_eq!(similar_command("inspct").as_deref(), Some("inspect"));
        assert_eq!(similar_command("complie").as_deref(), Some("compile"));
        assert_eq!(similar_command("hello"), None);
    }
}
