//! The command line: which command, with which options.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use lexopt::Arg::{Long, Short, Value};
use lexopt::Parser;
use riverrun_bindgen::Language;

use crate::Result;
use crate::report::{BROKEN_PIPE, FAILURE, OUT_OF_FUEL, TIMED_OUT, TRAPPED};
use crate::values::{self, Mount};

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Command {
    /// Run a program.
    Run(RunOptions),
    /// Make the two sides of an API.
    Bindgen(Vec<OsString>),
    /// Make a project.
    New(Vec<OsString>),
    /// Call the compiler for guests.
    Cc(Language, Vec<OsString>),
    /// Compile a program.
    Compile(Vec<OsString>),
    /// Compare two programs' speed.
    Bench(Vec<OsString>),
    /// Show what is in a program.
    Inspect(InspectOptions),
    /// Print this: help, or the version.
    Print(String),
}

/// `riverrun run`.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunOptions {
    pub(crate) program: PathBuf,
    /// The guest's arguments after its name.
    pub(crate) args: Vec<OsString>,
    pub(crate) fuel: Option<u64>,
    pub(crate) timeout: Option<Duration>,
    /// Bytes.
    pub(crate) memory: Option<u64>,
    /// Bytes.
    pub(crate) stack: Option<u64>,
    pub(crate) dirs: Vec<Mount>,
    pub(crate) descriptors: Option<u64>,
    /// Bytes.
    pub(crate) file_size: Option<u64>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) seed: Option<u64>,
    pub(crate) stats: Option<StatsFormat>,
    /// 0: nothing is said of system calls; 1: of those that are not provided; 2: of all.
    pub(crate) verbose: u8,
    /// Every use of the heap is told.
    pub(crate) verbose_heap: bool,
    pub(crate) single_step: bool,
    /// `None`: as `auto`, but an artifact that is named has to be right.
    pub(crate) engine: Option<EngineChoice>,
    /// Compiled code.
    pub(crate) artifact: Option<PathBuf>,
    /// Compile the program first.
    pub(crate) compile: bool,
    /// The folder to write a map of compiled functions into.
    pub(crate) perf_map: Option<PathBuf>,
}

/// `--engine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineChoice {
    /// Compiled code where there is some, else the interpreter.
    Auto,
    /// The interpreter.
    Interpreter,
    /// Compiled code, or an error.
    Compiled,
}

/// How `--stats` shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatsFormat {
    /// A line for people.
    Text,
    /// A line for programs.
    Json,
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

/// Reads the command line, the command's own name left out.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command> {
    let mut args: Vec<OsString> = args.into_iter().collect();
    match args.first().and_then(|first| first.to_str()) {
        None => Err(format!("no program given\n\n{}", help()).into()),
        Some("help" | "--help" | "-h") => Ok(Command::Print(help())),
        Some("--version" | "-V") => Ok(Command::Print(format!("riverrun {}\n", env!("CARGO_PKG_VERSION")))),
        Some("inspect") => inspect_options(Parser::from_args(args.drain(1..))),
        Some("bindgen") => Ok(Command::Bindgen(args.split_off(1))),
        Some("new") => Ok(Command::New(args.split_off(1))),
        Some("cc") => Ok(Command::Cc(Language::C, args.split_off(1))),
        Some("c++") => Ok(Command::Cc(Language::Cxx, args.split_off(1))),
        Some("bench") => Ok(Command::Bench(args.split_off(1))),
        Some("compile") => Ok(Command::Compile(args.split_off(1))),
        Some("run") => run_options(Parser::from_args(args.drain(1..))),
        // A bare file means `run`.
        Some(_) => run_options(Parser::from_args(args)),
    }
}

fn run_options(mut parser: Parser) -> Result<Command> {
    let mut options = RunOptions::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("fuel") => options.fuel = Some(values::number("--fuel", &parser.value()?)?),
            Long("timeout") => options.timeout = Some(values::duration("--timeout", &parser.value()?)?),
            Long("memory") => options.memory = Some(values::memory_bytes("--memory", &parser.value()?)?),
            Long("stack") => options.stack = Some(values::stack_bytes("--stack", &parser.value()?)?),
            Long("dir") => options.dirs.push(values::mount(&parser.value()?)?),
            Long("descriptors") => options.descriptors = Some(values::number("--descriptors", &parser.value()?)?),
            Long("file-size") => options.file_size = Some(values::bytes("--file-size", &parser.value()?)?),
            Long("env") => options.env.push(values::variable(&parser.value()?)?),
            Long("seed") => options.seed = Some(values::number("--seed", &parser.value()?)?),
            Long("stats") => {
                options.stats = Some(match parser.optional_value() {
                    None => StatsFormat::Text,
                    Some(format) if format == "json" => StatsFormat::Json,
                    Some(other) => {
                        return Err(format!("--stats={}: say --stats or --stats=json", other.display()).into());
                    }
                });
            }
            Long("verbose") | Short('v') => match parser.optional_value() {
                None => options.verbose = options.verbose.saturating_add(1),
                Some(what) if what == "heap" => options.verbose_heap = true,
                // -vv: lexopt takes the second letter for the first one's value.
                Some(letters) if letters.as_encoded_bytes().iter().all(|&letter| letter == b'v') => {
                    options.verbose = options.verbose.saturating_add(1 + letters.len() as u8);
                }
                Some(what) => {
                    return Err(format!("--verbose={}: say --verbose, or --verbose=heap", what.display()).into());
                }
            },
            Long("single-step") => options.single_step = true,
            Long("engine") => options.engine = Some(values::engine(&parser.value()?)?),
            Long("artifact") => options.artifact = Some(parser.value()?.into()),
            Long("compile") => options.compile = true,
            Long("perf-map") => {
                options.perf_map = Some(parser.optional_value().map_or_else(|| "/tmp".into(), PathBuf::from));
            }
            Long("help") | Short('h') => return Ok(Command::Print(help())),
            Value(program) => {
                options.program = program.into();
                options.args = parser.raw_args()?.collect();
                return Ok(Command::Run(options));
            }
            other => return Err(unexpected(other, "run")),
        }
    }
    Err("no program given; say riverrun run [OPTIONS] PROGRAM [ARGUMENTS]".into())
}

fn inspect_options(mut parser: Parser) -> Result<Command> {
    let mut options = InspectOptions::default();
    let mut listing = Listing::default();
    let mut list = false;
    // `--disassemble main` and `--disassemble prog.elf` look alike: which is which is settled by
    // how many there are.
    let mut files = Vec::new();
    let mut after_listing = None;
    let mut steps = Steps::default();
    let mut show = None;
    while let Some(arg) = parser.next()? {
        match arg {
            Long("symbols") => options.symbols = true,
            Long("json") => options.json = true,
            Long("raw") => listing.raw = true,
            Long(option @ ("disassemble" | "semantics")) => {
                listing.semantics |= option == "semantics";
                list = true;
                match parser.optional_value() {
                    Some(place) => listing.place = Some(utf8(place)?),
                    None => after_listing = Some(files.len()),
                }
            }
            Long("function") => steps.function = utf8(parser.value()?)?,
            Long("show") => show = Some(utf8(parser.value()?)?),
            Short('O') => steps.compiler.push(["-O".into(), parser.value()?].into_iter().collect()),
            Long(option @ ("fuel" | "precise")) => steps.compiler.push(format!("--{option}").into()),
            Long("cpu") => steps.compiler.extend(["--cpu".into(), parser.value()?]),
            Long("help") | Short('h') => return Ok(Command::Print(help())),
            Value(file) => files.push(file),
            other => return Err(unexpected(other, "inspect")),
        }
    }
    if let Some(index) = after_listing.filter(|&index| files.len() == 2 && index < 2) {
        listing.place = Some(utf8(files.remove(index))?);
    }
    let program = match <[OsString; 1]>::try_from(files) {
        Ok([program]) => program,
        Err(files) if files.is_empty() => {
            return Err("no program given; say riverrun inspect [OPTIONS] PROGRAM".into());
        }
        Err(files) => return Err(format!("{}: inspect takes one program", files[1].display()).into()),
    };
    options.program = program.into();
    if steps.function.is_empty() && (show.is_some() || !steps.compiler.is_empty()) {
        return Err("--show and options of the compiler go with --function NAME".into());
    }
    for step in show.as_deref().unwrap_or("guest,ir,host").split(',') {
        match step {
            "guest" => steps.guest = true,
            "ir" => steps.ir = true,
            "host" => steps.host = true,
            other => {
                return Err(format!("--show {other}: say guest, ir or host, or several of them: guest,host").into());
            }
        }
    }
    options.steps = (!steps.function.is_empty()).then_some(steps);
    options.listing = list.then_some(listing);
    Ok(Command::Inspect(options))
}

fn unexpected(arg: lexopt::Arg<'_>, command: &str) -> Box<dyn std::error::Error> {
    format!("{}; riverrun {command} --help lists the options", arg.unexpected()).into()
}

fn utf8(value: OsString) -> Result<String> {
    value.into_string().map_err(|value| format!("{}: not UTF-8", value.display()).into())
}

fn help() -> String {
    format!(
        "\
riverrun runs static RISC-V Linux programs (RV64GC) in a sandbox.

  riverrun [run] [OPTIONS] PROGRAM [ARGUMENTS..]   run a program
  riverrun compile [OPTIONS] PROGRAM               compile a program for this kind of machine
  riverrun inspect [OPTIONS] PROGRAM               show what is in a program
  riverrun bench [OPTIONS] A B [-- ARGUMENTS..]    is B faster than A?
  riverrun new NAME                                make a project: a host in Rust, a guest in C++
  riverrun bindgen [OPTIONS] API.json              make stubs and registrations for an API
  riverrun cc|c++ [--bare] ARGUMENTS..             compile a guest by the compiler that is there

The program sees no file, no variable and no socket of the host unless an option grants it.
What follows PROGRAM is the guest's.

Options of run:
  --fuel N            stop after N instructions
  --timeout TIME      stop after this time: 2s, 500ms, 1m; a bare number is seconds
  --memory SIZE       memory that the guest may have, its image and stack included: 64M, 1G, 4G at most
  --stack SIZE        size of its stack: 8M if not given
  --dir HOST:GUEST[:ro][:mounts][:links]
                      let the guest use the host's directory HOST as GUEST; with :ro only read it; with
                      :mounts other mounts in it, too (/proc, /sys and their like never); with :links
                      make symbolic links that lead out of it, for others to follow
  --descriptors N     files that the guest may have open at a time: 256 if not given
  --file-size SIZE    size that it may give a file; no limit if not given, but the shell's (ulimit -f)
  --env NAME=VALUE    set a variable of the guest
  --seed N            make random numbers the same in every run
  --stats[=json]      say on standard error how many instructions were run, and how fast
  -v, --verbose       say on standard error which system calls the guest lacks and which paths are
                      refused; with -vv, all calls that it makes
  --verbose=heap      say on standard error what the guest allocates and frees by riverrun/heap.h; where
                      it does wrong, say where the block came from
  --compile           compile the program first, unless that has been done; the result is kept in
                      the cache, $XDG_CACHE_HOME/riverrun
  --engine ENGINE     auto: compiled code if the cache has it; interp: never; compiled: or an error
  --artifact FILE     use the compiled code in FILE: it runs outside the sandbox, so it must come
                      from `riverrun compile`
  --perf-map[=FOLDER] tell profilers the names of compiled functions, by perf-PID.map in FOLDER, /tmp if not
                      given
  --single-step       run by the slow reference engine

riverrun COMMAND --help lists the options of compile, bench, new, bindgen, cc and c++.

Options of inspect:
  --symbols           list the symbols
  --disassemble [WHERE]
                      list the instructions; WHERE is a function, or a range of addresses such
                      as 0x10400..0x10480
  --semantics [WHERE] the same, with what each instruction does
  --function NAME     show a function, or the one at an address, on its way through the compiler
  --show LIST         of these: guest, its instructions; ir, LLVM's representation of them, as lifted
                      and as optimised; host, the instructions that come of it: all if not given
  -O0 .. -O3, --fuel, --precise, --cpu CPU
                      with --function: as of compile
  --raw               no pseudo-instructions
  --json              print JSON

  -h, --help          print this
  -V, --version       print the version

The exit status is the guest's, or
  {OUT_OF_FUEL}  it was out of fuel (--fuel)
  {TIMED_OUT}  its time was up (--timeout)
  {FAILURE}  riverrun could not run it: no such file, not a RISC-V program, a wrong option
  {TRAPPED}  it trapped: illegal instruction, access to unmapped memory, abort()
  {BROKEN_PIPE}  nobody reads what it writes
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command> {
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
    fn what_follows_the_program_is_the_guests() {
        for line in ["run --fuel 3 a.elf --fuel 4 -- -x", "--fuel=3 a.elf --fuel 4 -- -x"] {
            let options = run(line);
            assert_eq!(options.fuel, Some(3));
            assert_eq!(options.program, PathBuf::from("a.elf"));
            assert_eq!(options.args, ["--fuel", "4", "--", "-x"]);
        }
        assert_eq!(run("-- --odd x").program, PathBuf::from("--odd"));
        assert_eq!(run("run inspect").program, PathBuf::from("inspect"));
    }

    #[test]
    fn stats_have_an_optional_format() {
        assert_eq!(run("--stats a.elf").stats, Some(StatsFormat::Text));
        assert_eq!(run("--stats=json a.elf").stats, Some(StatsFormat::Json));
        assert_eq!(run("a.elf").stats, None);
        assert!(parsed("--stats=xml a.elf").is_err());
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
}
