//! One case, run on every engine.

use std::hash::{DefaultHasher, Hash, Hasher};

use riverrun::{Caller, Config, Error, Flow, HostError, Linker, Machine, PAGE_SIZE, Perm, Program, Snapshot};
#[cfg(feature = "compile")]
use riverrun::{CompileOptions, Fidelity, Quick};

use crate::outcome::{Outcome, Stop};

/// Bytes of a case's stack.
const STACK: u64 = 16 << 10;

/// An engine and its mode. All of them must give the same outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The reference interpreter.
    SingleStep,
    /// The interpreter.
    Fast,
    /// Compiled code, precise and with fuel.
    #[cfg(feature = "compile")]
    Compiled,
    /// Compiled code, precise, that counts nothing.
    #[cfg(feature = "compile")]
    Uncounted,
    /// Compiled code in the default mode, which keeps less of a program that traps.
    #[cfg(feature = "compile")]
    Default,
    /// The same with fuel.
    #[cfg(feature = "compile")]
    ImpreciseCounted,
    /// As `Default`, and exits at most polls.
    #[cfg(feature = "compile")]
    DefaultStopped,
    /// As `Uncounted`, likewise.
    #[cfg(feature = "compile")]
    UncountedStopped,
    /// As `Default`, by the quick back end.
    #[cfg(feature = "compile")]
    Quick,
    /// The same, and exits at most polls.
    #[cfg(feature = "compile")]
    QuickStopped,
}

impl Engine {
    /// Every engine that counts, the reference first.
    pub const ALL: &[Engine] = &[
        Engine::SingleStep,
        Engine::Fast,
        #[cfg(feature = "compile")]
        Engine::Compiled,
    ];

    /// Those of them that compile nothing.
    pub const INTERPRETERS: &[Engine] = &[Engine::SingleStep, Engine::Fast];

    /// How it compiles programs, if it does.
    #[cfg(feature = "compile")]
    pub(crate) fn options(self) -> Option<CompileOptions> {
        let default = CompileOptions { threads: 1, ..CompileOptions::default() };
        let precise = CompileOptions { level: 1, fidelity: Fidelity::Precise, ..default };
        match self {
            Engine::SingleStep | Engine::Fast => None,
            Engine::Compiled => Some(CompileOptions { fuel: true, ..precise }),
            Engine::Uncounted | Engine::UncountedStopped => Some(precise),
            Engine::Default | Engine::DefaultStopped => Some(default),
            Engine::Quick | Engine::QuickStopped => Some(CompileOptions { quick: Quick::All, ..default }),
            Engine::ImpreciseCounted => Some(CompileOptions { fuel: true, level: 1, ..default }),
        }
    }

    /// The configuration that selects it.
    pub fn config(self) -> Config {
        let mut config = Config::new();
        config.single_step(self == Engine::SingleStep).stack_size(STACK).address_bits(crate::address_bits());
        #[cfg(feature = "compile")]
        if let Some(options) = self.options() {
            config.compile(options);
            let stops = matches!(self, Engine::DefaultStopped | Engine::UncountedStopped | Engine::QuickStopped);
            config.exit_at_polls(stops);
        }
        config
    }
}

/// A program with its initial state.
#[derive(Clone, Debug)]
pub struct Case {
    /// The executable; it is entered at its entry.
    pub elf: Vec<u8>,
    /// Integer registers.
    pub x: [u64; 32],
    /// Float registers.
    pub f: [u64; 32],
    /// Float control and status.
    pub fcsr: u32,
    /// Instructions that may be executed.
    pub fuel: u64,
}

/// What the guest has written by Linux's call 64.
pub type Output = Vec<u8>;

/// A program loaded for an engine, to be run any number of times.
#[derive(Debug)]
pub struct Loaded {
    linker: Linker<Output>,
    program: Program,
}

impl Loaded {
    /// Loads an executable.
    ///
    /// # Panics
    /// If it is none.
    pub fn new(engine: Engine, elf: &[u8]) -> Loaded {
        Loaded::with_calls(engine, elf, system_call)
    }

    /// Loads an executable that is not to see how many instructions it has executed.
    ///
    /// # Panics
    /// If it is none.
    pub fn uncounted(engine: Engine, elf: &[u8]) -> Loaded {
        Loaded::with_calls(engine, elf, uncounted_call)
    }

    /// Loads an executable for machines whose addresses have so many bits.
    ///
    /// # Panics
    /// If it is none, or there is no such machine.
    pub fn of_size(address_bits: u32, engine: Engine, elf: &[u8]) -> Loaded {
        Loaded::configured(engine.config().address_bits(address_bits), elf, system_call)
    }

    fn with_calls(engine: Engine, elf: &[u8], calls: impl SystemCall) -> Loaded {
        Loaded::configured(&engine.config(), elf, calls)
    }

    /// Loads an executable whose calls of the host are answered so.
    pub(crate) fn configured(config: &Config, elf: &[u8], calls: impl SystemCall) -> Loaded {
        let host = riverrun::Engine::new(config).expect("an engine");
        let mut linker = Linker::new(&host);
        linker.ecall(calls);
        let program = Program::new(&host, elf).unwrap_or_else(|error| panic!("the case is no program: {error}"));
        Loaded { linker, program }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// A machine in the initial state that the loader gives it.
    pub fn start(&self) -> Machine<Output> {
        self.linker.instantiate(&self.program, Output::new()).expect("a machine")
    }

    /// A machine that continues a snapshot of the same executable, after this output.
    ///
    /// # Panics
    /// If it is one of another executable.
    pub fn continued(&self, snapshot: &Snapshot, output: Output) -> Machine<Output> {
        let snapshot = snapshot.for_program(&self.program).expect("a snapshot of this program");
        self.linker.instantiate_from(&snapshot, output).expect("a machine")
    }

    /// A machine in the case's initial state.
    pub fn machine(&self, case: &Case) -> Machine<Output> {
        let mut machine = self.start();
        for n in 0..32 {
            machine.set_x(n, case.x[n as usize]);
            machine.set_f(n, case.f[n as usize]);
        }
        machine.set_fcsr(case.fcsr);
        machine.set_fuel(Some(case.fuel));
        machine
    }
}

/// Exit and write as Linux numbers them; any other call tells the guest how much it has executed.
fn system_call(caller: Caller<'_, Output>) -> Result<Flow, HostError> {
    let instructions = caller.instructions();
    answer(caller, instructions)
}

/// The same, but for how much that is.
pub(crate) fn uncounted_call(caller: Caller<'_, Output>) -> Result<Flow, HostError> {
    answer(caller, 0)
}

/// The host's answer to a guest's call.
pub(crate) trait SystemCall: Fn(Caller<'_, Output>) -> Result<Flow, HostError> + Send + Sync + 'static {}

impl<F: Fn(Caller<'_, Output>) -> Result<Flow, HostError> + Send + Sync + 'static> SystemCall for F {}

fn answer(mut caller: Caller<'_, Output>, instructions: u64) -> Result<Flow, HostError> {
    match caller.x(17) {
        93 => return Ok(Flow::Exit(caller.x(10) as i32)),
        64 => {
            let bytes = caller.memory().slice(caller.x(11), caller.x(12)).map(<[u8]>::to_vec);
            let result = bytes.as_ref().map_or(-14_i64 as u64, |bytes| bytes.len() as u64);
            caller.data_mut().extend(bytes.unwrap_or_default());
            caller.set_x(10, result);
        }
        _ => {
            let told = instructions ^ caller.pc() << 32 ^ u64::from(caller.fcsr()) << 56;
            caller.set_x(10, told);
        }
    }
    Ok(Flow::Continue)
}

/// Runs the machine until it stops, and describes the state it is in then.
pub fn run(machine: &mut Machine<Output>) -> Outcome {
    let stop = match machine.run() {
        Ok(status) => Stop::Exit(status),
        Err(Error::Trap(trap)) => Stop::Trap(trap.cause, trap.pc),
        Err(error) => Stop::Error(error.to_string()),
    };
    Outcome {
        stop,
        pc: machine.pc(),
        instructions: machine.instructions(),
        fuel: machine.fuel(),
        x: std::array::from_fn(|n| machine.x(n as u8)),
        f: std::array::from_fn(|n| machine.f(n as u8)),
        fcsr: machine.fcsr(),
        output: machine.data().clone(),
        memory: pages(machine),
    }
}

/// A digest of every page that the guest can write.
fn pages(machine: &Machine<Output>) -> Vec<(u64, u64)> {
    let memory = machine.memory();
    let mut pages = Vec::new();
    for region in memory.regions().iter().filter(|region| region.perm.contains(Perm::WRITE)) {
        for page in (region.start..region.end).step_by(PAGE_SIZE as usize) {
            let bytes = memory.slice(page, PAGE_SIZE).expect("a page that is mapped");
            let mut hasher = DefaultHasher::new();
            bytes.hash(&mut hasher);
            pages.push((page, hasher.finish()));
        }
    }
    pages
}

/// Runs a case on every engine.
///
/// # Panics
/// As [`check_on`].
pub fn check(case: &Case) -> Outcome {
    check_on(Engine::ALL, case)
}

/// Runs a case on these engines.
///
/// # Panics
/// If there is none. If an engine's outcome is not that of the first; the message says how they differ, at the
/// first instruction where they do.
pub fn check_on(engines: &[Engine], case: &Case) -> Outcome {
    check_of_size(crate::address_bits(), engines, case)
}

/// Runs a case on these engines, in machines whose addresses have so many bits.
///
/// # Panics
/// As [`check_on`].
pub fn check_of_size(address_bits: u32, engines: &[Engine], case: &Case) -> Outcome {
    let [reference, others @ ..] = engines else { panic!("no engine to run the case on") };
    let reference = Loaded::of_size(address_bits, *reference, &case.elf);
    let expected = run(&mut reference.machine(case));
    for &engine in others {
        let loaded = Loaded::of_size(address_bits, engine, &case.elf);
        let outcome = run(&mut loaded.machine(case));
        if expected != outcome {
            report(case, &reference, engine, &loaded);
            assert_same(case, &expected, &outcome, &format!("{engine:?}"));
        }
    }
    expected
}

/// Runs cases of one program on these engines, and with several amounts of fuel; where programs are compiled, end by
/// themselves and see no `counts`, also on compiled code that counts nothing.
///
/// # Panics
/// As [`check_on`].
pub fn check_program(engines: &[Engine], cases: &[Case], counts: bool) {
    let Some(Case { elf, .. }) = cases.first() else { return };
    let load = |engine| if counts { Loaded::new(engine, elf) } else { Loaded::uncounted(engine, elf) };
    let [reference, others @ ..] = engines else { panic!("no engine to run the cases on") };
    let reference = load(*reference);
    #[cfg(feature = "compile")]
    let uncounted = (!counts && others.contains(&Engine::Compiled))
        .then(|| [Engine::Uncounted, Engine::UncountedStopped].map(|engine| (engine, load(engine))));
    let others: Vec<_> = others.iter().map(|&engine| (engine, load(engine))).collect();
    for case in cases {
        let end = run(&mut reference.machine(case));
        for fuel in [case.fuel, end.instructions * 7 / 8, end.instructions / 3] {
            let case = Case { fuel, ..case.clone() };
            let expected = run(&mut reference.machine(&case));
            for (engine, loaded) in &others {
                let outcome = run(&mut loaded.machine(&case));
                if expected != outcome {
                    report(&case, &reference, *engine, loaded);
                    assert_same(&case, &expected, &outcome, &format!("{engine:?}"));
                }
            }
        }
        #[cfg(feature = "compile")]
        for (engine, uncounted) in uncounted.iter().flatten().filter(|_| end.stop.is_by_itself()) {
            let mut machine = uncounted.machine(case);
            machine.set_fuel(None);
            let mut outcome = run(&mut machine);
            (outcome.instructions, outcome.fuel) = (end.instructions, end.fuel);
            assert_same(case, &end, &outcome, &format!("{engine:?}"));
        }
    }
}

/// Runs cases of one program that keeps to the calling convention on compiled code that is not precise, and compares
/// what such code promises with what the interpreter makes of them, where they end by themselves.
///
/// # Panics
/// As [`check`].
#[cfg(feature = "compile")]
pub fn check_conforming(cases: &[Case]) {
    let Some(Case { elf, .. }) = cases.first() else { return };
    let [reference, counted] = [Engine::Fast, Engine::ImpreciseCounted].map(|engine| Loaded::uncounted(engine, elf));
    let uncounted = [Engine::Default, Engine::DefaultStopped, Engine::Quick, Engine::QuickStopped];
    let uncounted = uncounted.map(|engine| (engine, Loaded::uncounted(engine, elf)));
    for case in cases {
        let end = run(&mut reference.machine(case));
        if !end.stop.is_by_itself() {
            continue;
        }
        let expected = promised(end.clone());
        for (engine, uncounted) in &uncounted {
            let mut machine = uncounted.machine(case);
            machine.set_fuel(None);
            let Outcome { instructions, fuel, .. } = expected;
            let outcome = Outcome { instructions, fuel, ..promised(run(&mut machine)) };
            assert_same(case, &expected, &outcome, &format!("{engine:?}"));
        }

        // It stops anywhere, and goes on.
        let fuel = end.instructions / 3;
        let mut stopped = run(&mut reference.machine(&Case { fuel, ..case.clone() }));
        let mut machine = counted.machine(&Case { fuel, ..case.clone() });
        let outcome = run(&mut machine);
        (stopped.x, stopped.f, stopped.fcsr) = (outcome.x, outcome.f, outcome.fcsr);
        assert_same(case, &stopped, &outcome, "ImpreciseCounted, stopped");
        machine.set_fuel(Some(case.fuel - fuel));
        assert_same(case, &expected, &promised(run(&mut machine)), "ImpreciseCounted");
    }
}

/// The part of an outcome that compiled code in the default mode promises: if the guest exits or stops itself, its results
/// and preserved registers; of a fault, its cause.
#[cfg(feature = "compile")]
pub(crate) fn promised(mut outcome: Outcome) -> Outcome {
    use riverrun::TrapCause;
    outcome.fcsr = 0;
    let is_fault = matches!(outcome.stop, Stop::Trap(TrapCause::LoadFault { .. } | TrapCause::StoreFault { .. }, _));
    let is_preserved = |n: usize| !is_fault && (matches!(n, 2..=4 | 8 | 9) || (18..=27).contains(&n));
    let is_result = matches!(outcome.stop, Stop::Exit(_));
    for n in 0..32 {
        if !is_preserved(n) {
            outcome.f[n] = 0;
            if !(n == 10 && is_result) {
                outcome.x[n] = 0;
            }
        }
        if n < 8 {
            outcome.f[n] = 0;
        }
    }
    if is_fault {
        (outcome.instructions, outcome.fuel) = (0, None);
        outcome.memory.clear();
    }
    outcome
}

/// Finds the first instruction after which outcomes differ, by limiting the fuel, and panics with the difference there.
fn report(case: &Case, reference: &Loaded, engine: Engine, loaded: &Loaded) {
    let at = |fuel, loaded: &Loaded| run(&mut loaded.machine(&Case { fuel, ..case.clone() }));
    let differs = |fuel| at(fuel, reference) != at(fuel, loaded);
    if let Some(fuel) = (0..=case.fuel).find(|&fuel| differs(fuel)) {
        let before = at(fuel.saturating_sub(1), reference);
        eprintln!("after {fuel} instructions; before the last one:\n{before:#x?}");
        assert_same(case, &at(fuel, reference), &at(fuel, loaded), &format!("{engine:?}"));
    }
}

/// Compares what `who` made of a case with what it should be.
///
/// # Panics
/// If they differ; the message says how, with the code around where it happened.
pub fn assert_same(case: &Case, expected: &Outcome, outcome: &Outcome, who: &str) {
    if let Some(difference) = expected.difference(outcome) {
        let code = crate::outcome::around(&case.elf, &[expected.pc, outcome.pc]);
        panic!("{who} differs from the reference interpreter (expected on the left):\n{difference}\n{code}");
    }
}
