//! Compiling a program: its functions, or a selection of them, in units that threads compile in parallel, the tables, the
//! artifact.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use riverrun_program::Image;
use riverrun_vm::artifact::{Fidelity, Header, Options, Quick};

use crate::analysis::Function;
use crate::budget::{Budget, work};
use crate::emit::{self, Clock, Phases};
use crate::error::CompileError;
use crate::frames::Diagnostics;
use crate::kept_objects::{KEPT_UNIT, KeptObjects, Key};
use crate::lift::{Callers, Ir, Surroundings, declare, host_abi_entries, lift};
use crate::link::link;
use crate::options::CompileOptions;
use crate::program::Program;
use crate::quick;
use crate::schedule::Schedule;
use crate::selection::Selection;
use crate::tables;

/// Instructions in a unit: enough to inline among neighbours, few enough to distribute the work.
const UNIT: usize = 8 << 10;
/// Host-ABI entry points in a unit.
const ENTRIES: usize = 256;

/// A function that is left to the interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreted {
    /// The address of its first instruction.
    pub address: u64,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its instructions, if they are too many; otherwise its frame on the host's stack would be too large.
    pub too_long: Option<usize>,
}

impl Interpreted {
    fn new(function: &Function, options: &CompileOptions) -> Interpreted {
        let size = function.size();
        let too_long = (size > longest(options)).then_some(size);
        Interpreted { address: function.start, name: function.name.clone(), too_long }
    }
}

impl fmt::Display for Interpreted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{}", name.escape_debug())?,
            None => write!(f, "{:#x}", self.address)?,
        }
        match self.too_long {
            Some(size) => write!(f, " (too long: {size} instructions)"),
            None => f.write_str(" (its frame on the host's stack would be too large)"),
        }
    }
}

/// Statistics of a compilation. Times are processor time of all threads, except that of the linker, a process of its own,
/// which is wall-clock time.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Functions compiled.
    pub functions: usize,
    /// Functions left to the interpreter: they are too long to compile in reasonable time, or their frames on the
    /// host's stack would be too large.
    pub interpreted: Vec<Interpreted>,
    /// Guest instructions in them, those of copies included.
    pub instructions: usize,
    /// Bytes of guest text that these are, each counted once.
    pub text_bytes: u64,
    /// What the code assumes of the program: as [`CompileOptions::suited_to`] it.
    pub fidelity: Fidelity,
    /// Bytes of the artifact.
    pub artifact_bytes: u64,
    /// Finding functions.
    pub analysis: Duration,
    /// Making LLVM's intermediate representation of them.
    pub lifting: Duration,
    /// LLVM's passes over it.
    pub optimisation: Duration,
    /// Making machine code of it.
    pub code_generation: Duration,
    /// Linking, and hashing the result.
    pub linking: Duration,
}

impl Report {
    /// Adds what a thread has spent.
    fn add(&mut self, phases: &Phases) {
        self.lifting += phases.lifting;
        self.optimisation += phases.optimisation;
        self.code_generation += phases.code_generation;
    }
}

/// Compiles a program to an artifact. `progress` is told after each unit how many functions are done
/// and how many there are.
///
/// # Errors
/// [`CompileError`].
pub fn compile(
    image: &Image,
    options: &CompileOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<(Vec<u8>, Report), CompileError> {
    compile_as(image, options, Selection::All, None, progress)
}

/// Compiles the selected functions of a program to an artifact, as [`compile`] does all.
///
/// # Errors
/// [`CompileError`].
pub fn compile_selected(
    image: &Image,
    options: &CompileOptions,
    selection: Selection<'_>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<(Vec<u8>, Report), CompileError> {
    compile_as(image, options, selection, None, progress)
}

/// Compiles a program to an object that a linker makes part of a host; `name` tells the program from
/// others there. The object has one symbol that others see: `riverrun_artifact_` and the name, a
/// [`riverrun_vm::artifact::LinkedArtifact`].
///
/// # Errors
/// [`CompileError`]; [`CompileError::Name`] if the name is no identifier of C.
pub fn compile_object(
    image: &Image,
    options: &CompileOptions,
    name: &str,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<(Vec<u8>, Report), CompileError> {
    let is_identifier = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if name.is_empty() || !is_identifier {
        return Err(CompileError::Name(name.to_owned()));
    }
    compile_as(image, &CompileOptions { quick: Quick::Nothing, ..*options }, Selection::All, Some(name), progress)
}

fn compile_as(
    image: &Image,
    options: &CompileOptions,
    selection: Selection<'_>,
    linked: Option<&str>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<(Vec<u8>, Report), CompileError> {
    let options = &options.suited_to(image);
    let mut clock = Clock::start();
    let (mut program, functions) = Program::analyse(image, options, selection, linked)?;
    let mut report = Report {
        functions: functions.len(),
        instructions: functions.iter().map(Function::size).sum(),
        text_bytes: text_bytes(&functions),
        fidelity: options.fidelity,
        analysis: clock.lap(),
        ..Report::default()
    };
    let host_entered = host_entered(image, &functions, &program.quick, options);
    let mut units = units(&functions, &program.quick, selection.kept().is_some());
    units.extend(host_entered.chunks(ENTRIES).map(|functions| Unit {
        callers: Callers::Host,
        back_end: BackEnd::Llvm(Schedule::Registers),
        functions: functions.to_vec(),
    }));
    let (mut objects, oversized) = compile_units(&units, &program, options, selection.kept(), progress, &mut report)?;
    let interpreted = functions.iter().filter(|function| oversized.functions.contains(&function.start));
    report.interpreted = interpreted.map(|function| Interpreted::new(function, options)).collect();
    program.interpreted.extend(oversized.functions);
    report.functions -= report.interpreted.len();
    // Functions that do something else first cannot be entered in the middle.
    let is_entered = |function: &&Function| {
        program.libcall(function.start).is_none() && !program.interpreted.contains(&function.start)
    };
    let entered = functions.iter().filter(is_entered);
    let mut reentry_points: Vec<u64> = entered.flat_map(|function| program.reentry_points(function)).collect();
    reentry_points.sort_unstable();
    reentry_points.dedup();
    let header = Header {
        options: Options {
            quick: if program.quick.is_empty() { Quick::Nothing } else { options.quick },
            ..options.header()
        },
        features: options.cpu.features(),
        dispatch_bits: program.dispatch_bits,
        program: Header::hash(image.bytes()),
    };
    let mut phases = Phases::default();
    let host_entered = host_entered.iter().map(|function| function.start);
    let host_entered: Vec<u64> = host_entered.filter(|start| !oversized.entries.contains(start)).collect();
    if !program.quick.is_empty() {
        let llvms = functions.iter().map(|function| function.start).filter(|start| !program.quick.contains(start));
        objects.push(quick::others(&program.left_out, llvms, &program.names)?);
    }
    objects.push(tables::object(&program, &reentry_points, &host_entered, &header, options, &mut phases)?);
    report.add(&phases);
    let begin = Instant::now();
    let object = link(&objects, linked.is_some())?;
    let artifact = if linked.is_some() { object } else { header.seal(object) };
    report.linking = begin.elapsed();
    report.artifact_bytes = artifact.len() as u64;
    Ok((artifact, report))
}

/// Bytes of the instructions of all functions; several may share some.
fn text_bytes(functions: &[Function]) -> u64 {
    let blocks = functions.iter().flat_map(|function| function.blocks.values());
    let insts: BTreeMap<u64, u8> = blocks.flat_map(|block| &block.insts).map(|(pc, inst)| (*pc, inst.len)).collect();
    insts.values().map(|&len| u64::from(len)).sum()
}

/// The functions that get host-ABI entry points, by address: suitable ones that the program exports, and LLVM compiles.
fn host_entered<'a>(
    image: &Image,
    functions: &'a [Function],
    quick: &BTreeSet<u64>,
    options: &CompileOptions,
) -> Vec<&'a Function> {
    // A program whose exports are invalid cannot be loaded to run, so their errors do not matter here.
    let exports: BTreeSet<u64> = image.exports().into_iter().flatten().map(|export| export.address).collect();
    let suits = |function: &&Function| exports.contains(&function.start) && host_abi_entries::suits(function, options);
    functions.iter().filter(|function| !quick.contains(&function.start)).filter(suits).collect()
}

/// What makes machine code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BackEnd {
    Llvm(Schedule),
    Quick,
}

impl BackEnd {
    /// Those of one heuristic of LLVM's come before those of the other, so that threads seldom wait
    /// ([`scheduled`](crate::schedule::scheduled)).
    const ALL: [BackEnd; 3] = [BackEnd::Llvm(Schedule::ALL[0]), BackEnd::Llvm(Schedule::ALL[1]), BackEnd::Quick];

    fn of(function: &Function, quick: &BTreeSet<u64>) -> BackEnd {
        if quick.contains(&function.start) { BackEnd::Quick } else { BackEnd::Llvm(Schedule::of(function)) }
    }
}

/// Functions that are compiled together.
struct Unit<'a> {
    callers: Callers,
    back_end: BackEnd,
    functions: Vec<&'a Function>,
}

/// Adjacent functions of one back end, up to [`UNIT`] instructions, or those of [`KEPT_UNIT`] bytes if LLVM's code is kept;
/// back ends in their order.
fn units<'a>(functions: &'a [Function], quick: &BTreeSet<u64>, are_kept: bool) -> Vec<Unit<'a>> {
    let mut units = Vec::new();
    for back_end in BackEnd::ALL {
        let all: Vec<&Function> =
            functions.iter().filter(|function| BackEnd::of(function, quick) == back_end).collect();
        // Quick code is kept by the function.
        let is_kept = are_kept && back_end != BackEnd::Quick;
        let mut rest = &all[..];
        while !rest.is_empty() {
            let mut size = 0;
            let first = rest[0].start / KEPT_UNIT;
            let fitting = rest.iter().take_while(|function| {
                size += function.size();
                size <= UNIT && (!is_kept || function.start / KEPT_UNIT == first)
            });
            let (unit, behind) = rest.split_at(fitting.count().max(1));
            units.push(Unit { callers: Callers::Guest, back_end, functions: unit.to_vec() });
            rest = behind;
        }
    }
    units
}

/// Instructions of the longest function that is compiled. LLVM's time grows with the square of the length, and in precise
/// mode each access is a block of its own.
fn longest(options: &CompileOptions) -> usize {
    if options.is_precise() { 16 << 10 } else { 32 << 10 }
}

/// Functions that are not compiled, by address: they are too long, or their frames would be too large.
#[derive(Debug, Default)]
struct Oversized {
    /// Functions that the interpreter executes.
    functions: BTreeSet<u64>,
    /// Functions without a host-ABI entry point.
    entries: BTreeSet<u64>,
}

impl Oversized {
    fn of(&mut self, callers: Callers) -> &mut BTreeSet<u64> {
        match callers {
            Callers::Guest => &mut self.functions,
            Callers::Host => &mut self.entries,
        }
    }
}

/// Compiles a unit, again and again without `oversized` functions, until no frame is too large.
fn compile_unit(
    unit: &Unit<'_>,
    program: &Program<'_>,
    options: &CompileOptions,
    kept: Option<&KeptObjects>,
    oversized: &mut BTreeSet<u64>,
    budget: &Budget,
    phases: &mut Phases,
) -> Result<Vec<u8>, CompileError> {
    let BackEnd::Llvm(schedule) = unit.back_end else {
        let mut clock = Clock::start();
        let object = quick::object(&unit.functions, program, &program.names, options, kept, oversized);
        phases.code_generation += clock.lap();
        return object;
    };
    let tune = emit::tune_cpu(options.cpu);
    loop {
        let mut clock = Clock::start();
        let diagnostics = Diagnostics::default();
        let reporting = diagnostics.context();
        let name = format!("unit{:x}", unit.functions.first().map_or(0, |function| function.start));
        let ir = Ir::new(&reporting.context, &name, *options, unit.callers, &tune, &program.names);
        let (left, compiled): (Vec<&Function>, Vec<&Function>) =
            unit.functions.iter().partition(|function| oversized.contains(&function.start));
        if unit.callers == Callers::Guest {
            left.iter().for_each(|function| ir.define_interpreted(function.start));
        }
        for function in &compiled {
            declare(&ir, function, program);
        }
        for function in &compiled {
            lift(&ir, function, program);
        }
        program.budget.check()?;
        phases.lifting += clock.lap();
        let kept = kept.map(|kept| (kept, key(&ir, schedule)));
        if let Some(object) = kept.as_ref().and_then(|(kept, key)| kept.find(key)) {
            return Ok(object);
        }
        // One for each: it would keep what it has found out of a module, such as how stacks are aligned, for others.
        let object = emit::object(&ir, schedule, &emit::machine(options)?, phases)?;
        let symbols = diagnostics.oversized()?;
        let is_large = |function: &&&Function| symbols.iter().any(|symbol| program.names.is_of(function.start, symbol));
        let large: Vec<u64> = compiled.iter().filter(is_large).map(|function| function.start).collect();
        match (symbols.is_empty(), large.is_empty()) {
            (true, _) => {
                if let Some((kept, key)) = kept {
                    kept.keep(key, &object);
                }
                return Ok(object);
            }
            (false, true) => return Err(CompileError::Frame(symbols.into_iter().collect::<Vec<_>>().join(", "))),
            (false, false) => oversized.extend(large),
        }
        let again = unit.functions.iter().filter(|function| !oversized.contains(&function.start));
        let is_within = again.map(|function| work(function.size(), function.targets())).all(|work| budget.spend(work));
        if !is_within {
            budget.check()?;
        }
    }
}

/// A hash of all that a module's machine code depends on, which is about to be made by this schedule.
fn key(ir: &Ir<'_>, schedule: Schedule) -> Key {
    let mut content = format!("{schedule:?} {}\n", ir.options.level).into_bytes();
    content.extend(ir.module.write_bitcode_to_memory().as_slice());
    Header::hash(&content)
}

/// An object, and its unit's number.
type Numbered = (usize, Vec<u8>);

fn compile_units(
    units: &[Unit<'_>],
    program: &Program<'_>,
    options: &CompileOptions,
    kept: Option<&KeptObjects>,
    progress: &(dyn Fn(usize, usize) + Sync),
    report: &mut Report,
) -> Result<(Vec<Vec<u8>>, Oversized), CompileError> {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = if options.threads == 0 { cores() } else { options.threads }.min(units.len()).max(1);
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let all = units.iter().map(|unit| unit.functions.len()).sum();
    let results: Mutex<(Vec<Numbered>, Oversized)> = Mutex::default();
    let budget = Budget::of_llvm(options);
    // All at once, so that a program that is too much takes no time.
    let compiled = units.iter().flat_map(|unit| &unit.functions).filter(|function| function.size() <= longest(options));
    compiled.take_while(|function| budget.spend(work(function.size(), function.targets()))).for_each(drop);
    budget.check()?;
    let work = || -> Result<Phases, CompileError> {
        let mut phases = Phases::default();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(unit) = units.get(index) else { return Ok(phases) };
            let long = unit.functions.iter().filter(|function| function.size() > longest(options));
            let mut oversized = long.map(|function| function.start).collect();
            let object = compile_unit(unit, program, options, kept, &mut oversized, &budget, &mut phases)?;
            let mut results = results.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            results.0.push((index, object));
            results.1.of(unit.callers).append(&mut oversized);
            drop(results);
            let len = unit.functions.len();
            progress(done.fetch_add(len, Ordering::Relaxed) + len, all);
        }
    };
    let outcomes: Vec<Result<Phases, CompileError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    });
    for outcome in outcomes {
        report.add(&outcome?);
    }
    let (mut objects, oversized) = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    // The artifact does not depend on the order in which threads finish.
    objects.sort_by_key(|(index, _)| *index);
    Ok((objects.into_iter().map(|(_, object)| object).collect(), oversized))
}
