//! The command line: subcommands and options, by clap. Documentation comments are the command's help.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::bench::BenchOptions;
use crate::bindgen::BindgenOptions;
use crate::cc::CcOptions;
use crate::new::NewOptions;
use crate::options::{InspectOptions, Listing, RunOptions, SnapshotOptions, Steps, statuses};

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
    #[arg(long, value_name = "NAME", conflicts_with_all = ["symbols", "disassemble", "semantics"])]
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
fn similar_command(name: &str) -> Option<String> {
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
    let line = Line::try_parse_from(std::iter::once("riverrun".into()).chain(args))?;
    let conflict = match &line.command {
        Command::Run(options) => options.conflict(),
        Command::Snapshot(options) => options.run.conflict(),
        Command::Bench(options) => options.run().conflict(),
        _ => None,
    };
    match conflict {
        None => Ok(line.command),
        Some((one, other)) => {
            let message = format!("the argument '{one}' cannot be used with '{other}'");
            Err(clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, message))
        }
    }
}

/// The command that was meant where a file of this name was to be run, and there is none.
pub(crate) fn mistaken_command(path: &Path) -> Option<String> {
    path.to_str().filter(|name| !name.contains('/') && !path.exists()).and_then(similar_command)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Verbose;
    use crate::report::StatsFormat;

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

    /// None is ignored for another one's sake.
    #[test]
    fn options_of_engines_go_together_or_are_refused() {
        let options = [
            "--engine=auto",
            "--engine=interp",
            "--engine=compiled",
            "--artifact=x",
            "--compile",
            "--single-step",
            "--tier-up",
        ];
        let mut together = Vec::new();
        for (index, one) in options.iter().enumerate().skip(1) {
            for other in options[..index].iter().filter(|other| !(one.contains("engine") && other.contains("engine"))) {
                for line in [format!("{one} {other} a.elf"), format!("snapshot -o x {other} {one} a.elf")] {
                    match parsed(&line) {
                        Ok(_) => together.push((*other, *one)),
                        Err(error) => {
                            let told = complaint(&error).replace(" <FILE>", "=x").replace("engine ", "engine=");
                            assert!(told.contains(one) && told.contains(other), "{line}: {told}");
                        }
                    }
                }
            }
        }
        together.dedup();
        let auto = options[3..].iter().map(|&other| (options[0], other));
        let mut expected = auto.collect::<Vec<_>>();
        expected.extend([
            ("--engine=compiled", "--artifact=x"),
            ("--engine=compiled", "--compile"),
            ("--artifact=x", "--compile"),
            ("--engine=interp", "--single-step"),
        ]);
        together.sort_unstable();
        expected.sort_unstable();
        assert_eq!(together, expected);
        assert!(parsed("bench --engine interp --compile a.elf b.elf").is_err());
        // The last one counts.
        assert!(parsed("--engine interp --engine auto --compile a.elf").is_ok());
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
