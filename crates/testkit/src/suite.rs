//! One suite for all engines: tests of whole programs run on the one that `RIVERRUN_TEST_ENGINE` names,
//! those of small programs on each.

#[cfg(feature = "compile")]
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
#[cfg(feature = "compile")]
use std::sync::{Mutex, PoisonError};

use riverrun::image::Image;
use riverrun::{Config, Fidelity, Program};

/// The variable's name.
const VARIABLE: &str = "RIVERRUN_TEST_ENGINE";

/// The engine that runs the suite's programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuiteEngine {
    /// `single-step`: the reference interpreter.
    SingleStep,
    /// `interp`: the interpreter.
    Interpreter,
    /// `compiled`: compiled code as it is by default, where that does not take long to compile.
    Compiled,
}

impl SuiteEngine {
    /// All that these tests were built with.
    pub const ALL: &[SuiteEngine] = &[
        SuiteEngine::Interpreter,
        SuiteEngine::SingleStep,
        #[cfg(feature = "compile")]
        SuiteEngine::Compiled,
    ];

    /// The engine of this run of the tests: the interpreter if none is named.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn get() -> SuiteEngine {
        match std::env::var(VARIABLE).as_deref() {
            Ok("single-step") => SuiteEngine::SingleStep,
            Ok("interp") | Err(std::env::VarError::NotPresent) => SuiteEngine::Interpreter,
            Ok("compiled") => SuiteEngine::Compiled,
            other => panic!("{VARIABLE} is {other:?}; say single-step, interp or compiled"),
        }
    }

    /// Loads an executable for it, with this configuration otherwise. What is compiled is kept for the
    /// other tests of the process.
    ///
    /// # Panics
    /// If it is none; if it is to be compiled, and the feature `compile` is lacking.
    pub fn load(self, config: &Config, elf: impl Into<Arc<[u8]>>) -> Program {
        self.load_with(config, elf.into(), None)
    }

    /// The same; compiled code counts instructions, as the other engines do, and assumes this much.
    ///
    /// # Panics
    /// As [`SuiteEngine::load`].
    pub fn load_counting(self, config: &Config, elf: impl Into<Arc<[u8]>>, fidelity: Fidelity) -> Program {
        self.load_with(config, elf.into(), Some(fidelity))
    }

    /// Compiled code counts instructions if it is said what it assumes.
    fn load_with(self, config: &Config, elf: Arc<[u8]>, counting: Option<Fidelity>) -> Program {
        let mut config = config.clone();
        config.address_bits(crate::address_bits());
        match self {
            SuiteEngine::SingleStep => load(config.single_step(true), elf),
            SuiteEngine::Interpreter => load(&config, elf),
            SuiteEngine::Compiled => compiled(config, elf, counting),
        }
    }
}

fn load(config: &Config, elf: Arc<[u8]>) -> Program {
    let engine = riverrun::Engine::new(config).unwrap_or_else(|error| panic!("no engine: {error}"));
    Program::new(&engine, elf).unwrap_or_else(|error| panic!("the test's program: {error}"))
}

#[cfg(not(feature = "compile"))]
fn compiled(_: Config, _: Arc<[u8]>, _: Option<Fidelity>) -> Program {
    panic!("these tests cannot compile: give cargo --features riverrun-testkit/compile")
}

#[cfg(feature = "compile")]
fn compiled(mut config: Config, elf: Arc<[u8]>, counting: Option<Fidelity>) -> Program {
    /// Bytes of a program beyond which it is compiled by the quick back end, or unoptimised if it counts: most of it is
    /// libc.
    const LARGE: usize = 256 << 10;
    /// By configuration and executable.
    type Known = BTreeMap<(String, Arc<[u8]>), Program>;
    static KNOWN: Mutex<Known> = Mutex::new(Known::new());
    // Other tests had better wait than compile the same.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let options = riverrun::CompileOptions::default();
    let (level, quick) =
        if elf.len() > LARGE { (0, riverrun::Quick::All) } else { (options.level, riverrun::Quick::Nothing) };
    let (fuel, fidelity) = (counting.is_some(), counting.unwrap_or(options.fidelity));
    config.compile(riverrun::CompileOptions { level, fuel, fidelity, quick, ..options });
    known.entry((format!("{config:?}"), elf.clone())).or_insert_with(|| load(&config, elf)).clone()
}

/// Loads an executable of which the functions at such addresses are compiled, as they are by default, and all others
/// left to the interpreter: for programs that take long to compile. `None` if these tests were built without the
/// compiler.
///
/// # Panics
/// If it is none, or there are no such functions.
#[cfg(feature = "compile")]
pub fn load_compiled_in_part(
    elf: impl Into<Arc<[u8]>>,
    compiled: impl Fn(&Image) -> Vec<Range<u64>>,
) -> Option<Program> {
    let program = load(&Config::new(), elf.into());
    let mut profile = riverrun::image::Profile::default();
    compiled(program.image()).into_iter().flatten().for_each(|pc| profile.add(pc, 1));
    let mut kept = riverrun::KeptObjects::default();
    let report = program.compile_hot_now(&riverrun::CompileOptions::default(), &profile, &mut kept);
    let report = report.unwrap_or_else(|error| panic!("the test's program: {error}"));
    assert!(report.functions > 0, "there is no function");
    Some(program)
}

/// The same without the compiler.
#[cfg(not(feature = "compile"))]
pub fn load_compiled_in_part(_: impl Into<Arc<[u8]>>, _: impl Fn(&Image) -> Vec<Range<u64>>) -> Option<Program> {
    None
}
