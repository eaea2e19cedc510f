//! From IR to object code.

use std::ffi::c_char;
use std::sync::Once;
use std::time::Duration;

use inkwell::OptimizationLevel;
use inkwell::passes::PassBuilderOptions;
use inkwell::support::LLVMString;
use inkwell::targets::{
    CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetMachineOptions, TargetTriple,
};

use crate::carries::add_with_carries;
use crate::error::CompileError;
use crate::lift::Ir;
use crate::options::{CompileOptions, Cpu};
use crate::schedule::{Schedule, scheduled};

/// The processor that code is scheduled for.
pub(crate) fn tune_cpu(cpu: Cpu) -> String {
    match cpu {
        Cpu::Native => TargetMachine::get_host_cpu_name().to_string(),
        Cpu::Level(_) => "generic".to_owned(),
    }
}

/// What LLVM needs once a process.
fn initialize() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        Target::initialize_x86(&InitializationConfig::default());
        // These exist as options of the process only; [`scheduled`] has another. Cases of switches are addresses,
        // which are sparse. Blocks are laid out for the most to fall through, with the ways out of functions
        // behind them; splitting long chains of them and making longer ones would take four times as long and
        // gains nothing. Functions begin with a line of the cache: the speed of small ones would depend, by
        // half, on what happens to stand before them; innermost loops with half of one, so that short ones are read
        // at once. The others take time, a third of it for large functions, and gain nothing: looking far where a
        // register's range is split, scheduling a second and a third time, following variables, of which there are
        // none, and moving integers to mask registers.
        let options = [
            c"riverrun",
            c"-jump-table-density=1",
            c"-enable-ext-tsp-block-placement",
            c"-ext-tsp-chain-split-threshold=16",
            c"-ext-tsp-max-chain-size=64",
            c"-align-all-functions=6",
            c"-x86-experimental-pref-innermost-loop-alignment=5",
            c"-grow-region-complexity-budget=500",
            c"-enable-misched=false",
            c"-post-RA-scheduler=false",
            c"-experimental-debug-variable-locations=false",
            c"-disable-x86-domain-reassignment",
        ];
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the strings outlive the call, which copies them; `Once` sees to it that no other
        // thread is in LLVM through this crate.
        unsafe {
            inkwell::llvm_sys::support::LLVMParseCommandLineOptions(
                pointers.len() as i32,
                pointers.as_ptr(),
                std::ptr::null(),
            );
        }
    });
}

/// LLVM's machine for a thread's work.
pub(crate) fn machine(options: &CompileOptions) -> Result<TargetMachine, CompileError> {
    initialize();
    let triple = TargetTriple::create(riverrun_native::TRIPLE);
    let target = Target::from_triple(&triple).map_err(|error| CompileError::Llvm(error.to_string()))?;
    let features: Vec<String> = options.cpu.features().names().map(|name| format!("+{name}")).collect();
    let settings = TargetMachineOptions::new()
        .set_cpu("x86-64")
        .set_features(&features.join(","))
        .set_level(match options.level {
            0 => OptimizationLevel::None,
            1 => OptimizationLevel::Less,
            2 => OptimizationLevel::Default,
            _ => OptimizationLevel::Aggressive,
        })
        .set_reloc_mode(RelocMode::PIC)
        .set_code_model(CodeModel::Small);
    let machine = target.create_target_machine_from_options(&triple, settings);
    machine.ok_or_else(|| CompileError::Llvm(format!("no machine for {}", riverrun_native::TRIPLE)))
}

/// The passes of a level.
///
/// They are what was left of LLVM's own lists after trying each pass on guests. In code that a compiler
/// has optimised before, those for modules gain next to nothing, and those for loops only by making
/// vectors: a tenth of the time to compile, for a third less to run where a guest has such loops. Of the
/// rest, what a second time finds (combining instructions, above all) is hardly more than nothing. Common
/// subexpressions are found by what memory holds: without, long multiplications take 1.08 of the time. Pairing
/// values in vectors (SLP) pairs registers on their way to the state and back, which takes longer than all
/// the rest, for code that then waits for its own stores.
fn passes(level: u8) -> &'static str {
    match level {
        0 => "function(sroa)",
        1 => {
            "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),gvn,dse,\
             instcombine<no-verify-fixpoint>,simplifycfg)"
        }
        2 => {
            "function(mem2reg,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,\
             loop-mssa(loop-rotate,licm),loop(indvars),gvn,dse,loop-vectorize,\
             instcombine<no-verify-fixpoint>,simplifycfg)"
        }
        _ => {
            "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,aggressive-instcombine,simplifycfg,\
             correlated-propagation,loop-mssa(loop-rotate,licm,simple-loop-unswitch),loop(indvars),gvn,\
             sccp,bdce,instcombine<no-verify-fixpoint>,jump-threading,dse,loop-mssa(licm),simplifycfg,\
             loop-vectorize,loop-unroll<O3>,instcombine<no-verify-fixpoint>,loop-mssa(licm),simplifycfg)"
        }
    }
}

/// What a thread has spent on which part of the work.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Phases {
    pub(crate) lifting: Duration,
    pub(crate) optimisation: Duration,
    pub(crate) code_generation: Duration,
}

/// The processor's time that this thread has used.
pub(crate) struct Clock(Duration);

impl Clock {
    fn now() -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::try_from(time).unwrap_or_default()
    }

    pub(crate) fn start() -> Clock {
        Clock(Clock::now())
    }

    /// What has been used since the last call, or the start.
    pub(crate) fn lap(&mut self) -> Duration {
        let now = Clock::now();
        now.saturating_sub(std::mem::replace(&mut self.0, now))
    }
}

/// Optimises a module and makes an object of it.
pub(crate) fn object(
    ir: &Ir<'_>,
    schedule: Schedule,
    machine: &TargetMachine,
    phases: &mut Phases,
) -> Result<Vec<u8>, CompileError> {
    let mut clock = Clock::start();
    optimise(ir, machine)?;
    phases.optimisation += clock.lap();
    let object = generate(ir, schedule, machine, FileType::Object)?;
    phases.code_generation += clock.lap();
    Ok(object)
}

/// Optimises a module that is complete.
pub(crate) fn optimise(ir: &Ir<'_>, machine: &TargetMachine) -> Result<(), CompileError> {
    ir.lines.finish();
    ir.module.set_triple(&machine.get_triple());
    ir.module.set_data_layout(&machine.get_target_data().get_data_layout());
    ir.module.verify().map_err(llvm)?;
    ir.module.run_passes(passes(ir.options.level), machine, PassBuilderOptions::create()).map_err(llvm)?;
    add_with_carries(ir);
    Ok(())
}

/// Makes host code of a module, as an object or as text.
pub(crate) fn generate(
    ir: &Ir<'_>,
    schedule: Schedule,
    machine: &TargetMachine,
    kind: FileType,
) -> Result<Vec<u8>, CompileError> {
    let code = scheduled(schedule, || machine.write_to_memory_buffer(&ir.module, kind));
    Ok(code.map_err(llvm)?.as_slice().to_vec())
}

fn llvm(error: LLVMString) -> CompileError {
    CompileError::Llvm(error.to_string())
}
