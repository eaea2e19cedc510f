//! A whole program: its functions in units that are compiled side by side, the table of functions,
//! the artifact.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use inkwell::GlobalVisibility;
use inkwell::context::Context;
use riverrun_native::{DISPATCH_SYMBOL, Dispatch, ENTRANCES_SYMBOL, Header, IDENTITY_SYMBOL, Slot};
use riverrun_program::Image;

use crate::analysis::{Abilities, Function, Text, functions};
use crate::emit::{self, Clock, Phases};
use crate::error::CompileError;
use crate::lift::{Ir, Surroundings, define_helpers, lift};
use crate::link::link;
use crate::names::Names;
use crate::options::CompileOptions;

/// Instructions in a unit: enough for LLVM to inline among neighbours, few enough to share the work.
const UNIT: usize = 8 << 10;

/// What a compilation came to. Times are of the processor, all threads taken together; only the linker,
/// a process of its own, is timed by the clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// Functions compiled.
    pub functions: usize,
    /// Guest instructions in them.
    pub instructions: usize,
    /// Bytes of guest text that these are, each counted once.
    pub text_bytes: u64,
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

/// What all functions of a program have in common.
pub(crate) struct Program<'a> {
    image: &'a Image,
    pub(crate) names: Arc<Names>,
    starts: BTreeSet<u64>,
    dispatch_bits: u32,
}

impl<'a> Program<'a> {
    /// The program with its functions.
    pub(crate) fn analyse(image: &'a Image, options: &CompileOptions) -> (Program<'a>, Vec<Function>) {
        let features = options.cpu.features();
        let abilities = Abilities { rounds: features.has("sse4.1"), fuses: features.has("fma") };
        let functions = functions(&Text::new(image, abilities));
        let program = Program {
            image,
            names: Arc::new(Names::new(&functions)),
            starts: functions.iter().map(|function| function.start).collect(),
            dispatch_bits: Dispatch::index_bits(functions.len()),
        };
        (program, functions)
    }
}

impl Surroundings for Program<'_> {
    fn is_function(&self, address: u64) -> bool {
        self.starts.contains(&address)
    }

    fn dispatch_bits(&self) -> u32 {
        self.dispatch_bits
    }

    fn source(&self, pc: u64) -> Option<(String, u32)> {
        let place = self.image.locate(pc).into_iter().next()?;
        Some((place.file?, place.line?))
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
    let mut clock = Clock::start();
    let (program, functions) = Program::analyse(image, options);
    let mut report = Report {
        functions: functions.len(),
        instructions: functions.iter().map(Function::size).sum(),
        text_bytes: text_bytes(&functions),
        analysis: clock.lap(),
        ..Report::default()
    };
    let units = units(&functions);
    let mut objects = compile_units(&units, &program, options, progress, &mut report)?;
    let mut entrances: Vec<u64> = functions.iter().flat_map(Function::entrances).collect();
    entrances.sort_unstable();
    entrances.dedup();
    let header = Header {
        options: options.header(),
        features: options.cpu.features(),
        dispatch_bits: program.dispatch_bits,
        program: Header::hash(image.bytes()),
    };
    let mut phases = Phases::default();
    objects.push(table(&program, &entrances, &header, options, &mut phases)?);
    report.add(&phases);
    let begin = Instant::now();
    let object = link(&objects)?;
    let artifact = header.seal(object);
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

/// Neighbouring functions, up to [`UNIT`] instructions together.
fn units(functions: &[Function]) -> Vec<&[Function]> {
    let mut units = Vec::new();
    let mut rest = functions;
    while !rest.is_empty() {
        let mut size = 0;
        let fitting = rest.iter().take_while(|function| {
            size += function.size();
            size <= UNIT
        });
        let (unit, behind) = rest.split_at(fitting.count().max(1));
        units.push(unit);
        rest = behind;
    }
    units
}

fn compile_units(
    units: &[&[Function]],
    program: &Program<'_>,
    options: &CompileOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
    report: &mut Report,
) -> Result<Vec<Vec<u8>>, CompileError> {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = if options.threads == 0 { cores() } else { options.threads }.min(units.len()).max(1);
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let all = units.iter().map(|unit| unit.len()).sum();
    let results: Mutex<Vec<(usize, Vec<u8>)>> = Mutex::new(Vec::new());
    let work = || -> Result<Phases, CompileError> {
        let mut phases = Phases::default();
        let machine = emit::machine(options)?;
        let tune = emit::tune_cpu(options.cpu);
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(unit) = units.get(index) else { return Ok(phases) };
            let mut clock = Clock::start();
            let context = Context::create();
            let ir = Ir::new(&context, &format!("unit{index}"), *options, &tune, &program.names);
            for function in *unit {
                lift(&ir, function, program);
            }
            phases.lifting += clock.lap();
            let object = emit::object(&ir, &machine, &mut phases)?;
            results.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((index, object));
            progress(done.fetch_add(unit.len(), Ordering::Relaxed) + unit.len(), all);
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
    let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    // The same program gives the same artifact, however the threads took turns.
    results.sort_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, object)| object).collect())
}

/// The object that holds the tables of functions and of the other places where they can be entered.
fn table(
    program: &Program<'_>,
    entrances: &[u64],
    header: &Header,
    options: &CompileOptions,
    phases: &mut Phases,
) -> Result<Vec<u8>, CompileError> {
    let size = 1 << program.dispatch_bits;
    let mut slots: Vec<Option<u64>> = vec![None; size];
    for &start in &program.starts {
        let mut index = Dispatch::index(start as u32, program.dispatch_bits);
        while slots[index].is_some() {
            index = (index + 1) % size;
        }
        slots[index] = Some(start);
    }
    let machine = emit::machine(options)?;
    let context = Context::create();
    let ir = Ir::new(&context, "dispatch", *options, "generic", &program.names);
    define_helpers(&ir);
    let i32 = ir.bits(32);
    let slot = context.struct_type(&[i32.into(), i32.into()], false);
    let global = ir.module.add_global(slot.array_type(size as u32), None, DISPATCH_SYMBOL);
    global.set_visibility(GlobalVisibility::Protected);
    global.set_constant(true);
    let here = global.as_pointer_value().const_to_int(ir.i64);
    let values: Vec<_> = slots
        .iter()
        .map(|start| match start {
            None => slot.const_named_struct(&[i32.const_int(Slot::FREE.into(), false).into(), i32.const_zero().into()]),
            Some(start) => {
                let function = ir.function(*start);
                let address = function.as_global_value().as_pointer_value().const_to_int(ir.i64);
                let distance = address.const_sub(here).const_truncate(i32);
                slot.const_named_struct(&[i32.const_int(*start, false).into(), distance.into()])
            }
        })
        .collect();
    global.set_initializer(&slot.const_array(&values));
    let all: Vec<_> = std::iter::once(entrances.len() as u64).chain(entrances.iter().copied()).collect();
    let all: Vec<_> = all.into_iter().map(|word| i32.const_int(word, false)).collect();
    let global = ir.module.add_global(i32.array_type(all.len() as u32), None, ENTRANCES_SYMBOL);
    global.set_visibility(GlobalVisibility::Protected);
    global.set_constant(true);
    global.set_initializer(&i32.const_array(&all));
    let identity = context.const_string(&header.identity(), false);
    let global = ir.module.add_global(identity.get_type(), None, IDENTITY_SYMBOL);
    global.set_visibility(GlobalVisibility::Protected);
    global.set_constant(true);
    global.set_initializer(&identity);
    emit::object(&ir, &machine, phases)
}
