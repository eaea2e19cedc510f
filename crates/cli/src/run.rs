//! `riverrun run`: runs a program within its limits and grants.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use riverrun::image::{Image, LoadError};
use riverrun::{
    ArtifactError, Config, Engine, Error, GuestPanic, HeapError, HeapOptions, Linker, Machine, MapError, Program,
    Snapshot, TierUp,
};
use riverrun_linux::{Builder, Detail, DirAccess, Joined, Linux};

use crate::Result;
use crate::compile::{Source, compile_into};
use crate::function_call::CheckedCall;
use crate::guest_name::guest_name;
use crate::options::{EngineChoice, RunOptions, Verbose};
use crate::report::{self, Ending, Stats};

/// A program that is loaded, and what its machines are linked with.
pub(crate) struct Prepared {
    pub(crate) program: Program,
    linker: Linker<Linux>,
    /// What it was joined with, if it is dynamically linked.
    joined: Option<Joined>,
}

impl Prepared {
    pub(crate) fn new(options: &RunOptions) -> Result<Prepared> {
        let engine = Engine::new(&config(options))?;
        let (program, joined) =
            join_or_load(&engine, options).map_err(|error| match crate::script::advice(options) {
                Some(advice) => format!("{error}; {advice}").into(),
                None => error,
            })?;
        for warning in program.warnings() {
            report::complain(format_args!("{}: {warning}", options.program().display()));
        }
        let program = compiled(program, options)?;
        let linker = linker(&engine, options)?;
        Ok(Prepared { program, linker, joined })
    }

    /// A machine at the program's start, or where the snapshot was taken that the options name.
    pub(crate) fn machine(&self, options: &RunOptions, exits: bool) -> Result<Machine<Linux>> {
        let builder = grants(options, &guest_name(options), options.args())?.inherit_stdio().exits(exits);
        let builder = match &self.joined {
            Some(joined) => builder.joined(joined.clone()),
            None => builder,
        };
        let Some(file) = &options.from else {
            let mut machine = instantiate(&self.linker, &self.program, builder.build(), options)?;
            riverrun_linux::start(&mut machine, |linux| linux)?;
            return Ok(machine);
        };
        if !options.args().is_empty() || !options.guest.env.is_empty() || options.guest.stack.is_some() {
            return Err("--from: arguments, variables and the stack's size are those of the snapshot".into());
        }
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let snapshot = Snapshot::read(&self.program, file).map_err(|error| match error {
            // It names the file itself.
            Error::File { .. } => error.to_string(),
            error => named(&error),
        })?;
        let linux = builder.restore_from(&snapshot).map_err(|error| named(&error))?;
        Ok(self.linker.instantiate_from(&snapshot, linux).map_err(|error| named(&error))?)
    }
}

/// The program, with what it was joined with if it is dynamically linked.
fn join_or_load(engine: &Engine, options: &RunOptions) -> Result<(Program, Option<Joined>)> {
    let joined = join(options)?;
    let program = match &joined {
        Some(joined) => {
            Program::new(engine, joined.bytes()).map_err(|error| format!("{}: {error}", options.program().display()))?
        }
        None => load(engine, options.program())?,
    };
    Ok((program, joined))
}

/// The program with the dynamic linker and the libraries in `--sysroot`, if it is dynamically linked.
fn join(options: &RunOptions) -> Result<Option<Joined>> {
    if options.sysroot.is_none() {
        return Ok(None);
    }
    let path = options.program();
    let file = File::open(path).and_then(|file| riverrun_vm::read_whole(file, Image::MAGIC, Image::FILE_MAX));
    let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
    let builder = grants(options, path.as_os_str(), &[])?;
    builder.join(file, &options.libraries).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// A run that has begun; however it ends, [`Begun::report`] says so.
pub(crate) struct Begun<'a> {
    program: &'a Program,
    options: &'a RunOptions,
    begin: Instant,
    cpu_before: Duration,
}

impl<'a> Begun<'a> {
    /// Sets the machine's limits of fuel and time, from now on.
    pub(crate) fn new(
        program: &'a Program,
        options: &'a RunOptions,
        machine: &mut Machine<Linux>,
    ) -> Result<Begun<'a>> {
        // Also where more is compiled meanwhile: the run may be ended from outside.
        if !options.tier_up || program.is_compiled() {
            write_perf_map(program, options)?;
        }
        let (begin, cpu_before) = (Instant::now(), cpu_time());
        machine.set_fuel(options.fuel);
        machine.set_deadline(options.guest.timeout.and_then(|time| begin.checked_add(time)));
        Ok(Begun { program, options, begin, cpu_before })
    }

    /// Says how the run has ended, with statistics if the options ask for them; the command's exit status.
    pub(crate) fn report(self, machine: &mut Machine<Linux>, result: Result<(Ending, u8)>) -> ExitCode {
        let Begun { program, options, .. } = self;
        let (time, cpu) = (self.begin.elapsed(), cpu_time().saturating_sub(self.cpu_before));
        finish_tier_up(program, options);
        let mapped = if options.tier_up { write_perf_map(program, options) } else { Ok(()) };
        let result = result.and_then(|ended| mapped.map(|()| ended));
        let (ending, status) = result.unwrap_or_else(|error| ending(machine, options, error));
        // A log has it already, and a program that succeeds can do without.
        if let Some(library) = machine.data().unnamed_library().filter(|_| status != 0 && options.verbosity() == 0) {
            let name = options.program().display();
            report::complain(format_args!(
                "{name}: code that was not named was refused: --library {library:?}, or its folder"
            ));
        }
        if let Some(format) = options.stats {
            let heap = machine.heap().statistics();
            // Compiled code counts only if it was compiled to.
            let counts = program.compiled_options().is_none_or(|compiled| compiled.fuel);
            let instructions = counts.then(|| machine.instructions());
            let stats = Stats::new(instructions, time, cpu, machine.memory().used(), &heap, ending, status);
            stats.with_tier_up(program.tier_up()).print(format);
        }
        ExitCode::from(status)
    }
}

/// The calls of `--call`, which fit the program's functions.
pub(crate) fn checked_calls(machine: &mut Machine<Linux>, options: &RunOptions) -> Result<Vec<CheckedCall>> {
    options.calls.iter().map(|call| call.check(machine)).collect()
}

/// Makes the calls, and prints their results, up to one that the guest does not return from.
pub(crate) fn make_calls(machine: &mut Machine<Linux>, calls: Vec<CheckedCall>) -> Result<()> {
    for call in calls {
        let result = call.run(machine)?;
        if !result.is_empty() {
            crate::print(&(result + "\n"))?;
        }
    }
    Ok(())
}

/// Says why a run has ended otherwise than by the end of what it was to do, with the command's exit status.
fn ending(machine: &Machine<Linux>, options: &RunOptions, error: Box<dyn std::error::Error>) -> (Ending, u8) {
    let name = options.program().display();
    match error.downcast_ref() {
        Some(Error::Trap(trap)) => {
            // A trap by a limit comes without backtrace.
            let of_limit = trap.backtrace.is_empty().then(|| machine.backtrace());
            report::trap(options.program(), trap, of_limit.as_ref().unwrap_or(&trap.backtrace));
            Ending::of(trap)
        }
        // By `exit` in a function that was called.
        Some(Error::Exited { status }) => exited(*status),
        // The guest's mistake, not the command's.
        Some(Error::Host(failure)) if failure.source.is::<HeapError>() || failure.source.is::<GuestPanic>() => {
            report::complain(format_args!("{name}: {failure}"));
            (Ending::Trap, report::TRAPPED)
        }
        Some(error) => {
            report::complain(format_args!("{name}: {error}"));
            (Ending::Failure, report::FAILURE)
        }
        // The results of calls are the guest's output.
        None if crate::is_broken_pipe(&*error) => (Ending::Failure, report::BROKEN_PIPE),
        None => {
            report::complain(&error);
            (Ending::Failure, report::FAILURE)
        }
    }
}

/// How a guest has ended that exits: the low 8 bits of its status count, as in wait(2).
fn exited(status: i32) -> (Ending, u8) {
    (Ending::Exit, status as u8)
}

/// Runs the program to its end, or calls its functions, and returns the command's exit status.
pub(crate) fn run(options: &RunOptions) -> Result<ExitCode> {
    let prepared = Prepared::new(options)?;
    let mut machine = prepared.machine(options, options.calls.is_empty())?;
    let calls = checked_calls(&mut machine, options)?;
    let begun = Begun::new(&prepared.program, options, &mut machine)?;
    let result = match calls.is_empty() {
        true => machine.run().map_err(Into::into),
        false => call(&mut machine, calls),
    };
    Ok(begun.report(&mut machine, result.map(exited)))
}

/// Keeps the profile of a program that was compiled as it ran, and says so if that, or compiling, has failed.
fn finish_tier_up(program: &Program, options: &RunOptions) {
    let failure = program.tier_up().and_then(|statistics| statistics.failure);
    let failure = failure.or_else(|| program.keep_profile().err().map(|error| error.to_string()));
    if let Some(failure) = failure {
        report::complain(format_args!("{}: --tier-up: {failure}", options.program().display()));
    }
}

/// Calls the program's functions, once it is ready for that; the status of a run that ends before.
fn call(machine: &mut Machine<Linux>, calls: Vec<CheckedCall>) -> Result<i32> {
    if !machine.data().is_behind_main() {
        let status = machine.run()?;
        if !machine.data().is_behind_main() {
            return Ok(status);
        }
    }
    make_calls(machine, calls).map(|()| 0)
}

/// The engine's configuration according to the options.
pub(crate) fn config(options: &RunOptions) -> Config {
    let mut config = Config::new();
    if let Some(bytes) = options.guest.memory {
        config.memory_limit(bytes);
    }
    if let Some(bytes) = options.guest.stack {
        config.stack_size(bytes);
    }
    if let Some(bits) = options.guest.address_bits {
        config.address_bits(bits);
    }
    config.single_step(options.single_step);
    if options.tier_up {
        let tier_up = TierUp::new(crate::compile::compiler_path()).fuel(options.fuel.is_some());
        // SAFETY: the compiler is installed as this program is, and only the user can write to the user's own cache.
        #[allow(unsafe_code)]
        unsafe {
            config.tier_up(tier_up);
            if let Some(folder) = crate::compile::cache() {
                config.cache(folder);
            }
        }
    }
    config
}

/// A linker with the functions that guests can call.
pub(crate) fn linker(engine: &Engine, options: &RunOptions) -> Result<Linker<Linux>> {
    let mut linker = Linker::new(engine);
    riverrun_linux::add_to_linker(&mut linker, |linux: &mut Linux| linux);
    linker.heap(&heap(options))?;
    Ok(linker)
}

/// A machine for the program.
pub(crate) fn instantiate(
    linker: &Linker<Linux>,
    program: &Program,
    linux: Linux,
    options: &RunOptions,
) -> Result<Machine<Linux>> {
    let name = options.program().display();
    linker.instantiate(program, linux).map_err(|error| match error {
        Error::Map(MapError::Limit) => format!(
            "{name}: the program and its stack need more memory; give it more by --memory, or a smaller --stack"
        )
        .into(),
        other => format!("{name}: {other}").into(),
    })
}

/// Options of the guest heap; `--verbose=heap` also shows where misused blocks came from.
fn heap(options: &RunOptions) -> HeapOptions {
    let mut heap = HeapOptions::new();
    if options.verbose.contains(&Verbose::Heap) {
        heap.record_sites(true).log(|event| report::complain(event));
    }
    heap
}

/// CPU time that this process has used.
pub(crate) fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// The program with its compiled code, as the options say.
pub(crate) fn compiled(program: Program, options: &RunOptions) -> Result<Program> {
    // With `--tier-up`, the program has taken what is in the cache as it was loaded.
    if options.guest.engine == Some(EngineChoice::Interpreter) || options.single_step || options.tier_up {
        return Ok(program);
    }
    let fuel = options.fuel.is_some();
    let path = options.artifact.clone().or_else(|| {
        // The cache's name for it takes hashing the program, which is not worthwhile while the cache is empty.
        let folder = crate::compile::cache().filter(|folder| options.guest.compile || folder.is_dir())?;
        Some(folder.join(program.artifact_name(fuel)))
    });
    // SAFETY: files in the user's own cache were made by this command, and a user who names a file vouches for it, as
    // the help of `--artifact` says.
    #[allow(unsafe_code)]
    let load = |path: &Path| unsafe { program.with_artifact(path) };
    let mut loaded = path.as_deref().filter(|path| path.exists()).map(load);
    if options.guest.compile {
        let path = path.as_deref().ok_or("no place to keep compiled code: set HOME, or say --artifact FILE")?;
        // What cannot be used of the cache is made again; a file that was named stays.
        if !loaded.as_ref().is_some_and(|loaded| loaded.is_ok() || options.artifact.is_some()) {
            let is_verbose = !options.verbose.is_empty();
            let name = options.program().display();
            let source = match options.sysroot {
                Some(_) => Source::Bytes(program.image().bytes()),
                None => Source::File(options.program()),
            };
            let guest = &options.guest;
            let profile = options.profile.as_deref();
            let compiled = compile_into(path, &source, guest.address_bits, profile, fuel, is_verbose);
            let compiled = compiled.map_err(|error| format!("{name}: {error}"))?;
            if !compiled {
                if options.guest.engine == Some(EngineChoice::Compiled) {
                    return Err(format!("{name}: not compiled").into());
                }
                report::complain(format_args!("{name}: not compiled; running in the interpreter"));
                return Ok(program);
            }
            loaded = Some(load(path));
        }
    }
    let named = options.artifact.as_deref();
    let (Some(path), Some(compiled)) = (&path, loaded.or_else(|| named.map(load))) else {
        return match options.guest.engine {
            Some(EngineChoice::Compiled) => {
                let name = options.program().display();
                Err(format!("{name}: not compiled; say run --compile, or --artifact FILE").into())
            }
            _ => Ok(program),
        };
    };
    let problem = match compiled {
        // It names the file itself.
        Err(error @ Error::Artifact(ArtifactError::File { .. })) => error.to_string(),
        Err(error) => format!("{}: {error}", path.display()),
        Ok(compiled) if fuel && compiled.compiled_options().is_some_and(|compiled| !compiled.fuel) => {
            format!("{}: compiled without --fuel, so that it does not count instructions", path.display())
        }
        Ok(compiled) => return Ok(compiled),
    };
    // An artifact that was named is an error if it is refused, unless `--engine auto` was given as well.
    let wanted = options.guest.engine.unwrap_or(match options.artifact {
        Some(_) => EngineChoice::Compiled,
        None => EngineChoice::Auto,
    });
    if wanted == EngineChoice::Compiled {
        return Err(problem.into());
    }
    report::complain(format_args!("{problem}; running in the interpreter"));
    Ok(program)
}

/// Writes the map of compiled functions for profilers, if the options ask for it.
fn write_perf_map(program: &Program, options: &RunOptions) -> Result<()> {
    let Some(folder) = &options.perf_map else { return Ok(()) };
    let map = program.perf_map()?;
    if map.is_empty() {
        report::complain("--perf-map: the program is not compiled, so that there is no function to name");
    }
    let path = folder.join(format!("perf-{}.map", std::process::id()));
    std::fs::write(&path, map).map_err(|error| format!("--perf-map: cannot write {}: {error}", path.display()))?;
    Ok(())
}

/// Reads a program.
pub(crate) fn load(engine: &Engine, path: &Path) -> Result<Program> {
    Program::from_file(engine, path).map_err(|error| match error {
        // It names the file itself.
        Error::File { .. } => error.into(),
        Error::Load(error @ LoadError::DynamicallyLinked { .. }) => {
            format!("{}: {error}; or say where its libraries are: riverrun run --sysroot FOLDER", path.display()).into()
        }
        other => format!("{}: {other}", path.display()).into(),
    })
}

/// The Linux personality of a guest with this name and arguments, with the grants of the options.
pub(crate) fn grants(options: &RunOptions, name: &OsStr, args: &[OsString]) -> Result<Builder> {
    let args = std::iter::once(name).chain(args.iter().map(OsString::as_os_str));
    let args = args.map(OsStr::as_encoded_bytes);
    let mut builder = Linux::builder().args(args).seed(options.guest.seed).exits(true);
    for (name, value) in &options.guest.env {
        builder = builder.env(name.as_bytes(), value.as_bytes());
    }
    if let Some(folder) = &options.sysroot {
        if options.guest.dirs.iter().any(|dir| dir.guest == "/") {
            return Err("--dir grants \"/\", and so does --sysroot: leave one out, or grant a directory in it".into());
        }
        builder = builder.dir(folder, "/", DirAccess::ReadOnly)?;
    }
    for dir in &options.guest.dirs {
        builder = builder.dir(&dir.host, &dir.guest, dir.options)?;
    }
    for address in &options.guest.connect {
        builder = builder.connect(address)?;
    }
    for address in &options.guest.listen {
        builder = builder.listen(address)?;
    }
    if let Some(directory) = &options.guest.current_dir {
        builder = builder.current_dir(directory)?;
    }
    if let Some(count) = options.descriptors {
        builder = builder.max_descriptors(usize::try_from(count).unwrap_or(usize::MAX));
    }
    if let Some(count) = options.threads {
        builder = builder.max_threads(usize::try_from(count).unwrap_or(usize::MAX));
    }
    if let Some(bytes) = options.file_size {
        builder = builder.max_file_size(bytes);
    }
    Ok(match options.verbosity() {
        0 => builder,
        1 => builder.log(io::stderr(), Detail::Unknown),
        _ => builder.log(io::stderr(), Detail::All),
    })
}
