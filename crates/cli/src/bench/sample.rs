//! The process that measures one contestant: it prepares, prints that it is ready, waits for a line, and then repeats the
//! work. Each turn has a process of its own, so that addresses in memory, which make a difference of some percent, vary
//! from turn to turn.

use std::io::{self, Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crc32fast::Hasher;
use riverrun::{Engine, Linker, Machine, Program};
use riverrun_linux::{Linux, Output};
use serde::{Deserialize, Serialize};
use wait4::Wait4;

use super::contestant::{self, Contestant, REGISTERS};
use super::options::{Options, Turn};
use crate::Result;
use crate::options::RunOptions;
use crate::run;

/// The result of a turn.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Sample {
    /// Processor time of all repetitions.
    pub(crate) seconds: f64,
    /// Guest instructions of all repetitions, where they are counted.
    pub(crate) instructions: Option<u64>,
    /// A checksum of what was printed, or of the functions' results.
    pub(crate) output: u32,
    /// The engine that ran it.
    pub(crate) engine: String,
}

/// The line that the process prints when it is ready.
pub(crate) const READY: &str = "ready";

/// Measures the turn, and prints its sample as a line of JSON.
pub(crate) fn sample(options: &Options, turn: Turn) -> Result<ExitCode> {
    let contestant = &options.contestants[turn.contestant];
    let mut guest = options.of(contestant);
    guest.guest.seed.get_or_insert(turn.seed);
    let sample = match contestant {
        Contestant::Guest(_) => program(&Guest::load(&guest)?, &options.contestants[0], turn.repetitions)?,
        Contestant::Function(_, name) => function(&Guest::load(&guest)?, name, turn.repetitions)?,
        Contestant::Native(_) => native(&guest, turn.repetitions)?,
    };
    crate::print(&format!("{}\n", serde_json::to_string(&sample)?))
}

/// Prints that it is ready and waits for the signal to begin.
fn wait_for_start() -> Result<()> {
    crate::print(&format!("{READY}\n"))?;
    match io::stdin().read(&mut [0])? {
        // The parent has ended.
        0 => Err("no process waits for the sample".into()),
        _ => Ok(()),
    }
}

/// A guest that is loaded.
struct Guest<'a> {
    options: &'a RunOptions,
    program: Program,
    linker: Linker<Linux>,
}

impl<'a> Guest<'a> {
    fn load(options: &'a RunOptions) -> Result<Guest<'a>> {
        let engine = Engine::new(&run::config(options))?;
        let program = run::compiled(run::load(&engine, options.program())?, options)?;
        let linker = run::linker(&engine, options)?;
        Ok(Guest { options, program, linker })
    }

    /// A machine that stands at the program's start: to be run as a whole, or for its functions to be called.
    fn machine(&self, name: &Contestant, as_a_whole: bool, checksum: &Checksum) -> Result<Machine<Linux>> {
        // The length of the name would move the guest's stack.
        let name = name.path().as_os_str().to_owned();
        let given: &[_] = if as_a_whole { self.options.args() } else { &[] };
        let linux = run::grants(self.options, &name, given)?.exits(as_a_whole);
        let linux = linux.stdout(Output::writer(checksum.clone())).build();
        let mut machine = run::instantiate(&self.linker, &self.program, linux, self.options)?;
        riverrun_linux::start(&mut machine, |linux| linux)?;
        machine.set_deadline(self.options.guest.timeout.and_then(|time| Instant::now().checked_add(time)));
        Ok(machine)
    }

    fn sample(&self, time: Duration, instructions: u64, checksum: &Checksum) -> Sample {
        let is_compiled = self.program.is_compiled();
        Sample {
            seconds: time.as_secs_f64(),
            // Compiled code counts only what it leaves to the interpreter.
            instructions: (!is_compiled).then_some(instructions),
            output: checksum.value(),
            engine: if is_compiled { "compiled guest" } else { "interpreted guest" }.to_owned(),
        }
    }

    fn failed(&self, machine: &Machine<Linux>, error: &riverrun::Error) -> String {
        // A trap says where it was, unless a limit has made it.
        let says_where = matches!(error, riverrun::Error::Trap(trap) if !trap.backtrace.is_empty());
        let frame = machine.backtrace().into_iter().next().filter(|_| !says_where);
        let frame = frame.map(|frame| format!(" in {frame}"));
        format!("{}: {error}{}", self.options.program().display(), frame.unwrap_or_default())
    }
}

/// Runs a guest again and again, each time in a machine of its own, and takes the time of the runs alone.
fn program(guest: &Guest<'_>, name: &Contestant, repetitions: u64) -> Result<Sample> {
    let checksum = Checksum::default();
    let (mut time, mut instructions) = (Duration::ZERO, 0);
    wait_for_start()?;
    for _ in 0..repetitions {
        let mut machine = guest.machine(name, true, &checksum)?;
        let before = run::cpu_time();
        let ended = machine.run();
        time += run::cpu_time().saturating_sub(before);
        match ended {
            Ok(0) => {}
            Ok(status) => {
                return Err(format!("{}: ended with status {status}", guest.options.program().display()).into());
            }
            Err(error) => return Err(guest.failed(&machine, &error).into()),
        }
        instructions += machine.instructions();
    }
    Ok(guest.sample(time, instructions, &checksum))
}

/// Calls a function again and again, in one machine.
fn function(guest: &Guest<'_>, name: &str, repetitions: u64) -> Result<Sample> {
    type Registers = (i64, i64, i64, i64, i64, i64, i64, i64);
    let path = guest.options.program().display();
    let image = guest.program.image();
    let symbol = || image.symbol(name).map(|symbol| symbol.address);
    let address = guest.program.export(name).map(|export| export.address).or_else(symbol);
    let address = address.ok_or_else(|| {
        format!("{path}: has no function called {name}; riverrun inspect --symbols lists what there is")
    })?;
    let [a, b, c, d, e, f, g, h]: [i64; REGISTERS] = contestant::integers(guest.options.args())?;

    let checksum = Checksum::default();
    let mut machine = guest.machine(&Contestant::Guest(guest.options.program().to_owned()), false, &checksum)?;
    // A program with start code must run it first.
    if image.symbol("_start").is_some_and(|start| start.address == image.entry()) {
        match machine.run() {
            Ok(0) => {}
            Ok(status) => return Err(format!("{path}: main ended with status {status}").into()),
            Err(error) => return Err(guest.failed(&machine, &error).into()),
        }
    }
    let call = machine.func_at::<Registers, i64>(address).map_err(|error| format!("{path}:{name}: {error}"))?;
    let counted = machine.instructions();
    wait_for_start()?;
    let before = run::cpu_time();
    let mut result = 0;
    for _ in 0..repetitions {
        result = match call.call(&mut machine, (a, b, c, d, e, f, g, h)) {
            Ok(result) => result,
            Err(error) => return Err(guest.failed(&machine, &error).into()),
        };
    }
    let time = run::cpu_time().saturating_sub(before);
    checksum.clone().write_all(&result.to_le_bytes())?;
    Ok(guest.sample(time, machine.instructions() - counted, &checksum))
}

/// Runs a program of the host again and again, and takes the time of its processes.
fn native(options: &RunOptions, repetitions: u64) -> Result<Sample> {
    let path = options.program().display();
    let mut checksum = Hasher::new();
    let mut seconds = 0.0;
    wait_for_start()?;
    for _ in 0..repetitions {
        let mut command = Command::new(options.program());
        command.args(options.args()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("{path}: {error}"))?;
        let mut output = Vec::new();
        if let Some(mut stdout) = child.stdout.take() {
            stdout.read_to_end(&mut output)?;
        }
        let used = child.wait4()?;
        if !used.status.success() {
            return Err(format!("{path}: {}", used.status).into());
        }
        checksum.update(&output);
        seconds += (used.rusage.utime + used.rusage.stime).as_secs_f64();
    }
    Ok(Sample { seconds, instructions: None, output: checksum.finalize(), engine: "program of the host".into() })
}

/// A writer that keeps a checksum of what is written. Clones share it.
#[derive(Clone, Default)]
struct Checksum(Arc<Mutex<Hasher>>);

impl Checksum {
    fn value(&self) -> u32 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone().finalize()
    }
}

impl Write for Checksum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
