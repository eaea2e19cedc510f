//! `riverrun-compile`: compiles a program ahead of time. `riverrun compile` and `riverrun run
//! --compile` call it; it is a program of its own because it loads LLVM, which takes longer than
//! most guests run.

#![forbid(unsafe_code)]

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{IsTerminal, Write, stderr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

mod limits;
mod listing;
mod stats;

use lexopt::Arg::{Long, Short, Value};
use limits::Limits;
use riverrun_aot::{AddressSpace, CompileError, CompileOptions, Cpu, Fidelity, KeptObjects, Quick, Report, Selection};
use riverrun_program::{Image, LoadError, Profile};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use stats::{Format, Stats};

/// LLVM allocates all the time, by `malloc`: this takes its place in the whole process.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Exit status of a failure, as of the command riverrun.
const FAILURE: u8 = 125;
/// Exit status where a limit has ended the compilation; `riverrun run --compile` knows it.
const LIMIT: u8 = 124;
/// Bytes of a profile at most: a line takes some 20, and a program has no more addresses than it has of them.
const PROFILE_MAX: u64 = 1 << 30;
/// Functions left to the interpreter that are named, at most.
const NAMED: usize = 10;

const HELP: &str = "\
riverrun compile [OPTIONS] PROGRAM: compiles a static RISC-V Linux program for x86-64.

  -o, --output FILE   where the compiled code goes: PROGRAM with the extension rro if not given
  -O0 .. -O3          how hard to optimise: -O2 if not given
  --quick[=WHICH]     compile in a tenth of the time, to code that is slower; =cold: only functions in which the
                      profile has little time; =most: all but those in which it has very much
  --fuel              count instructions, for run --fuel
  --precise           make every access that may trap, with all registers known: slower; always so for programs in Go
  --address-bits N    for machines whose addresses have so many bits, as run --address-bits says: 32 if not given
  --cpu CPU           native, x86-64-v2, x86-64-v3 or x86-64-v4: native if not given
  --threads N         compile so many functions at once: as many as there are cores if not given
  --emit KIND         artifact, or object: to be linked into a host where there is no dynamic loader; its
                      symbol is riverrun_artifact_NAME, for Program::with_linked_artifact
  --name NAME         with --emit object: the program's name there, its file's if not given
  --max-work N        give up a program that takes more work, in instructions; those of long functions count
                      with their square: 8388608 if not given
  --profile FILE      compile only what control has reached, the functions with most samples first, until they are
                      as much work as --max-work says: FILE has a line for each address,
                      and riverrun run --tier-up writes it
  --objects FILE      with --profile: keep there what the next compilation of the program can use, and use what is there
  --max-time SECONDS  give up after so many seconds of processor time, of all threads together
  --max-memory MIB    give up when more MiB of memory are in use
  --quiet             name no functions that are left to the interpreter
  --stats[=json]      say on standard error what took how long
  --parent PID        end as soon as the process that has started this one, which is PID, ends
  --listing ADDRESS   compile nothing but the function there, and print its way through the compiler as
                      JSON; riverrun inspect --function shows it

The compiled code runs by riverrun run --artifact FILE.
";

#[derive(Debug, Default)]
struct Job {
    program: PathBuf,
    output: Option<PathBuf>,
    options: CompileOptions,
    max_work: Option<u64>,
    profile: Option<PathBuf>,
    /// Where machine code is kept.
    objects: Option<PathBuf>,
    limits: Limits,
    /// The process with which this one ends.
    parent: Option<u64>,
    quiet: bool,
    stats: Option<Format>,
    is_object: bool,
    name: Option<String>,
    /// The address of the function to list.
    listing: Option<u64>,
}

fn main() -> ExitCode {
    let done = parse().and_then(|job| match job {
        Some(job) => compile(&job),
        None => Ok(write!(std::io::stdout(), "{HELP}")?),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(stderr(), "riverrun: {error}");
            let is_limit = matches!(error.downcast_ref(), Some(CompileError::Work { .. }));
            ExitCode::from(if is_limit { LIMIT } else { FAILURE })
        }
    }
}

/// What is to be done; `None` to print the help.
fn parse() -> Result<Option<Job>> {
    let mut parser = lexopt::Parser::from_env();
    let mut job = Job::default();
    let mut programs: Vec<OsString> = Vec::new();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("output") | Short('o') => job.output = Some(parser.value()?.into()),
            Short('O') => job.options.level = level(&parser.value()?)?,
            Long("quick") => job.options.quick = quick(parser.optional_value())?,
            Long("fuel") => job.options.fuel = true,
            Long("precise") => job.options.fidelity = Fidelity::Precise,
            Long("address-bits") => job.options.space = space(&parser.value()?)?,
            Long("cpu") => job.options.cpu = cpu(&parser.value()?)?,
            Long("threads") => job.options.threads = threads(&parser.value()?)?,
            Long("max-work") => job.max_work = Some(number("--max-work", &parser.value()?)?),
            Long("profile") => job.profile = Some(parser.value()?.into()),
            Long("objects") => job.objects = Some(parser.value()?.into()),
            Long("max-time") => {
                job.limits.time = Some(Duration::from_secs(number("--max-time", &parser.value()?)?));
            }
            Long("max-memory") => {
                job.limits.memory = Some(number("--max-memory", &parser.value()?)?.saturating_mul(1 << 20));
            }
            Long("parent") => job.parent = Some(number("--parent", &parser.value()?)?),
            Long("quiet") => job.quiet = true,
            Long("stats") => job.stats = Some(format(parser.optional_value())?),
            Long("emit") => job.is_object = emits_object(&parser.value()?)?,
            Long("name") => job.name = Some(parser.value()?.to_string_lossy().into_owned()),
            Long("listing") => job.listing = Some(address(&parser.value()?)?),
            Long("help") | Short('h') => return Ok(None),
            Value(program) => programs.push(program),
            other => return Err(format!("{}; riverrun compile --help lists the options", other.unexpected()).into()),
        }
    }
    match <[OsString; 1]>::try_from(programs) {
        Ok(_) if job.is_object && job.profile.is_some() => {
            Err("--profile goes with artifacts: an object has all functions".into())
        }
        Ok(_) if job.options.quick != Quick::Nothing && (job.is_object || job.options.fuel || job.options.fidelity == Fidelity::Precise) => {
            Err("--quick goes without --fuel, --precise and --emit object: quick code counts nothing and is not precise".into())
        }
        Ok(_) if matches!(job.options.quick, Quick::Cold | Quick::Most) && job.profile.is_none() => {
            Err("--quick=cold and =most go with --profile: that says which functions are hot".into())
        }
        Ok(_) if job.objects.is_some() && job.profile.is_none() => {
            Err("--objects goes with --profile: a whole program is compiled once".into())
        }
        Ok([program]) => Ok(Some(Job { program: program.into(), ..job })),
        Err(_) => Err("compile takes one program; say riverrun compile [OPTIONS] PROGRAM".into()),
    }
}

fn level(value: &OsStr) -> Result<u8> {
    match value.to_str().and_then(|value| value.parse().ok()) {
        Some(level @ 0..=3) => Ok(level),
        _ => Err(format!("-O{}: say -O0, -O1, -O2 or -O3", value.display()).into()),
    }
}

fn quick(value: Option<OsString>) -> Result<Quick> {
    match value.as_ref().map(|value| value.to_str()) {
        None => Ok(Quick::All),
        Some(Some("cold")) => Ok(Quick::Cold),
        Some(Some("most")) => Ok(Quick::Most),
        Some(_) => {
            Err(format!("--quick={}: say --quick, --quick=most or --quick=cold", value.unwrap_or_default().display())
                .into())
        }
    }
}

fn cpu(value: &OsStr) -> Result<Cpu> {
    match value.to_str() {
        Some("native") => Ok(Cpu::Native),
        Some("x86-64-v2") => Ok(Cpu::Level(2)),
        Some("x86-64-v3") => Ok(Cpu::Level(3)),
        Some("x86-64-v4") => Ok(Cpu::Level(4)),
        _ => Err(format!("--cpu {}: say native, x86-64-v2, x86-64-v3 or x86-64-v4", value.display()).into()),
    }
}

fn space(value: &OsStr) -> Result<AddressSpace> {
    let bits = value.to_str().and_then(|value| value.parse().ok());
    bits.and_then(AddressSpace::new).ok_or_else(|| {
        let (fewest, most) = (AddressSpace::MIN_BITS, AddressSpace::MAX_BITS);
        format!("--address-bits {}: say {fewest} to {most}", value.display()).into()
    })
}

fn threads(value: &OsStr) -> Result<usize> {
    let number = value.to_str().and_then(|value| value.parse().ok());
    number.ok_or_else(|| format!("--threads {}: not a number", value.display()).into())
}

fn number(option: &str, value: &OsStr) -> Result<u64> {
    let number = value.to_str().and_then(|value| value.parse().ok());
    number.ok_or_else(|| format!("{option} {}: not a number", value.display()).into())
}

fn emits_object(value: &OsStr) -> Result<bool> {
    match value.to_str() {
        Some("artifact") => Ok(false),
        Some("object") => Ok(true),
        _ => Err(format!("--emit {}: say artifact or object", value.display()).into()),
    }
}

fn address(value: &OsStr) -> Result<u64> {
    let digits = value.to_str().and_then(|value| value.strip_prefix("0x"));
    let address = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    address.ok_or_else(|| format!("--listing {}: not an address; say 0x10400", value.display()).into())
}

fn format(value: Option<OsString>) -> Result<Format> {
    match value.as_ref().map(|value| value.to_str()) {
        None => Ok(Format::Text),
        Some(Some("json")) => Ok(Format::Json),
        Some(_) => Err(format!("--stats={}: say --stats or --stats=json", value.unwrap_or_default().display()).into()),
    }
}

fn compile(job: &Job) -> Result<()> {
    if let Some(parent) = job.parent {
        end_with(parent)?;
    }
    job.limits.watch()?;
    let name = job.program.display();
    let elf = File::open(&job.program);
    let elf = elf.and_then(|file| riverrun_aot::read_whole(file, Image::MAGIC, Image::FILE_MAX));
    let elf = elf.map_err(|error| format!("cannot read {name}: {error}"))?;
    let image = Image::parse(elf).map_err(|error| match error {
        LoadError::DynamicallyLinked { .. } => {
            format!("{name}: {error}; or compile it as it runs: riverrun run --sysroot FOLDER --compile")
        }
        error => format!("{name}: {error}"),
    })?;
    if let Some(address) = job.listing {
        return listing::print(&image, &job.options, address);
    }
    let output =
        job.output.clone().unwrap_or_else(|| job.program.with_extension(if job.is_object { "o" } else { "rro" }));
    keep_inputs(job, &output)?;
    let profile = job.profile.as_deref().map(profile).transpose()?;
    let kept = job.objects.as_deref().map(|path| KeptObjects::read(path, &this_compiler()));
    let mut options = job.options;
    let selection = match (&profile, job.max_work) {
        (Some(profile), work) => {
            Selection::Hot { profile, work: work.unwrap_or(options.max_work), kept: kept.as_ref() }
        }
        (None, work) => {
            options.max_work = work.unwrap_or(options.max_work);
            Selection::All
        }
    };
    let begin = Instant::now();
    let shows = stderr().is_terminal();
    let progress = |done, all| {
        if shows {
            show(done, all);
        }
    };
    let (bytes, report) = if job.is_object {
        let file = job.program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        riverrun_aot::compile_object(&image, &options, job.name.as_ref().unwrap_or(&file), &progress)?
    } else {
        riverrun_aot::compile_selected(&image, &options, selection, &progress)?
    };
    riverrun_aot::write(&output, &bytes)?;
    if let (Some(kept), Some(path)) = (&kept, &job.objects) {
        kept.write(path)?;
    }
    if shows {
        let seconds = begin.elapsed().as_secs_f64();
        let _ = writeln!(stderr(), "\r\x1b[K{}: {} KiB in {seconds:.1} s", output.display(), bytes.len() >> 10);
    }
    if !job.quiet {
        if report.fidelity != options.fidelity {
            let _ = writeln!(stderr(), "riverrun: compiled as by --precise: functions in Go do not keep to the psABI");
        }
        warn(&report);
    }
    if let Some(format) = job.stats {
        Stats::new(&report, begin.elapsed()).print(format);
    }
    Ok(())
}

/// Has this process end with its parent, which may have ended already.
fn end_with(parent: u64) -> Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    match getppid().is_some_and(|pid| pid.as_raw_nonzero().get() as u64 == parent) {
        true => Ok(()),
        false => {
            Err(format!("--parent {parent}: this is not the process that has started the compiler, or it has ended")
                .into())
        }
    }
}

/// Refuses to write where something is that is read, or that is no file of ours.
fn keep_inputs(job: &Job, output: &Path) -> Result<()> {
    for (option, written) in [("-o", Some(output)), ("--objects", job.objects.as_deref())] {
        for (what, read) in [("program", Some(&*job.program)), ("profile", job.profile.as_deref())] {
            if let (Some(written), Some(read)) = (written, read)
                && riverrun_aot::is_same_file(written, read)
            {
                let name = written.display();
                return Err(format!("{name}: this is the {what} itself; name another file by {option}").into());
            }
        }
    }
    let Some(objects) = &job.objects else { return Ok(()) };
    let name = objects.display();
    if riverrun_aot::is_same_file(objects, output) {
        return Err(format!("{name}: this is the output, too; name another file by --objects").into());
    }
    if KeptObjects::would_lose(objects) {
        let problem = "this is no file that --objects has written, and would be lost";
        return Err(format!("{name}: {problem}; name another file by --objects").into());
    }
    Ok(())
}

/// Tells this compiler from others, whose machine code may differ.
fn this_compiler() -> String {
    let file = std::env::current_exe().and_then(std::fs::metadata);
    let made = file.and_then(|file| file.modified()).map(|made| format!("{made:?}")).unwrap_or_default();
    format!("{} {made}", env!("CARGO_PKG_VERSION"))
}

/// Reads a profile.
fn profile(path: &Path) -> Result<Profile> {
    let name = path.display();
    let text = File::open(path).and_then(|file| riverrun_aot::read_whole(file, b"", PROFILE_MAX));
    let text = text.map_err(|error| format!("cannot read {name}: {error}"))?;
    let text = str::from_utf8(&text).map_err(|error| format!("{name}: {error}"))?;
    Ok(text.parse::<Profile>().map_err(|error| format!("{name}: {error}"))?)
}

/// Names functions that the interpreter will run.
fn warn(report: &Report) {
    let (named, further) = report.interpreted.split_at(report.interpreted.len().min(NAMED));
    for function in named {
        let _ = writeln!(stderr(), "riverrun: left to the interpreter: {function}");
    }
    if !further.is_empty() {
        let _ = writeln!(stderr(), "riverrun: left to the interpreter: {} further functions", further.len());
    }
}

/// A bar of progress.
fn show(done: usize, all: usize) {
    const WIDTH: usize = 40;
    let filled = WIDTH * done / all.max(1);
    let bar = ["#".repeat(filled), " ".repeat(WIDTH - filled)].concat();
    let _ = write!(stderr(), "\r[{bar}] {done} of {all} functions");
}
