//! From LLVM IR to object code: target machine, passes, options.

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

/// Initialises LLVM, once for the process.
fn initialize() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        Target::initialize_x86(&InitializationConfig::default());
        // LLVM has these as options of the process only; [`scheduled`] sets another one.
        // - Jump tables may be sparse, because cases of switches are addresses.
        // - Extended TSP lays blocks out so that most fall through, with side exits at the end. Splitting long chains and
        //   merging to longer ones would take four times as long and gain nothing.
        // - Functions begin with a cache line, as the speed of small ones would otherwise vary by half with their address;
        //   innermost loops with half of one, so that short loops are fetched at once.
        // - Copies on split edges are coalesced, too: there are many where paths meet behind calls, and a function that
        //   calls at two hundred places took half of its time for them.
        // - Large live ranges are coalesced, too, however often. LLVM stops that to save time. But where hundreds of
        //   calls return the same registers, it is these that a function with a loop about the calls moves from place
        //   to place.
        // - The others save time, a third of it for large functions, and lose nothing: region splitting with a smaller
        //   budget, no second and third scheduling, no tracking of variables (there are none), no moving of integers to
        //   mask registers.
        let options = [
            c"riverrun",
            c"-jump-table-density=1",
            c"-enable-ext-tsp-block-placement",
            c"-ext-tsp-chain-split-threshold=16",
            c"-ext-tsp-max-chain-size=64",
            c"-align-all-functions=6",
            c"-x86-experimental-pref-innermost-loop-alignment=5",
            c"-join-splitedges",
            c"-large-interval-size-threshold=4294967295",
            c"-large-interval-freq-threshold=4294967295",
            c"-grow-region-complexity-budget=500",
            c"-enable-misched=false",
            c"-post-RA-scheduler=false",
            c"-experimental-debug-variable-locations=false",
            c"-disable-x86-domain-reassignment",
        ];
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the strings outlive the call, which copies them. `Once` excludes other threads of this crate, which all
        // come through here before they use LLVM.
        unsafe {
            inkwell::llvm_sys::support::LLVMParseCommandLineOptions(
                pointers.len() as i32,
                pointers.as_ptr(),
                std::ptr::null(),
            );
        }
    });
}

/// LLVM's target machine, one for each thread.
pub(crate) fn machine(options: &CompileOptions) -> Result<TargetMachine, CompileError> {
    initialize();
    let triple = TargetTriple::create(riverrun_vm::artifact::TRIPLE);
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
    machine.ok_or_else(|| CompileError::Llvm(format!("no machine for {}", riverrun_vm::artifact::TRIPLE)))
}

/// The passes of a level.
///
/// The list is LLVM's own, reduced by trying each pass on guests, whose code has been optimised before. Module passes gain
/// next to nothing there. Loop passes gain by vectorisation only: a tenth of the compile time, for a third less run time in
/// guests with such loops. Running a pass (instruction combining, above all) again gains hardly anything. Common
/// subexpressions are found with memory SSA; without it, long multiplications take 1.08 of the time. SLP vectorisation is
/// absent: it would pair registers on their way to the state and back, take longer than all other passes, and make code that
/// waits for its own stores.
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

/// The processor time that a thread has spent on each phase.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Phases {
    pub(crate) lifting: Duration,
    pub(crate) optimisation: Duration,
    pub(crate) code_generation: Duration,
}

/// The processor time that this thread has used.
pub(crate) struct Clock(Duration);

impl Clock {
    fn now() -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::try_from(time).unwrap_or_default()
    }

    pub(crate) fn start() -> Clock {
        Clock(Clock::now())
    }

    /// The time used since the last call, or since the start.
    pub(crate) fn lap(&mut self) -> Duration {
        let now = Clock::now();
        now.saturating_sub(std::mem::replace(&mut self.0, now))
    }
}

/// Optimises a module and compiles it to an object.
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

/// Compiles a module to host code, as an object or as assembly.
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
