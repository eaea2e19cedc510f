//! A program as the compiler sees it: what its analysis has found, which all functions share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use riverrun_program::Image;
use riverrun_vm::artifact::{Dispatch, Quick};

use crate::analysis::{Abilities, Function, Imports, Liveness, Text, costs, insert_copies, insert_polls, is_copied};
use crate::budget::Budget;
use crate::error::CompileError;
use crate::facts::{Facts, Found};
use crate::lift::{KnownLibcall, Surroundings};
use crate::names::Names;
use crate::optimised::Optimised;
use crate::options::CompileOptions;
use crate::selection::{self, Selection};

/// The context that all functions of a program share.
pub(crate) struct Program<'a> {
    image: &'a Image,
    pub(crate) names: Arc<Names>,
    pub(crate) starts: BTreeSet<u64>,
    /// Functions without a compiled body, which the interpreter executes.
    pub(crate) interpreted: BTreeSet<u64>,
    /// Those of them that are not selected, and to which compiled functions lead directly.
    pub(crate) left_out: BTreeSet<u64>,
    /// Functions that the quick back end compiles.
    pub(crate) quick: BTreeSet<u64>,
    liveness: Liveness,
    imports: Imports,
    reads_exceptions: bool,
    known: BTreeMap<u64, KnownLibcall>,
    pub(crate) dispatch_bits: u32,
    /// What is left for the analysis.
    pub(crate) budget: Budget,
}

impl<'a> Program<'a> {
    /// The program with the functions that are selected.
    pub(crate) fn analyse(
        image: &'a Image,
        options: &CompileOptions,
        selection: Selection<'_>,
        linked: Option<&str>,
    ) -> Result<(Program<'a>, Vec<Function>), CompileError> {
        let budget = Budget::of_analysis(options);
        let features = options.cpu.features();
        let abilities = Abilities { rounds: features.has("sse4.1"), fuses: features.has("fma") };
        // Not in precise mode, and not where there is little to gain for what it takes.
        let seeks_libcalls = !options.is_precise() && options.quick < Quick::Most;
        let imports = Imports::new(image);
        let text = Text::new(image, abilities);
        let Found { facts, functions, mut liveness } =
            Facts::find(&text, &imports, selection, seeks_libcalls, &budget)?;
        let optimised = selection.kept().filter(|_| options.quick == Quick::Most).and_then(Optimised::kept);
        // LLVM's code that is kept calls them.
        let has_libcalls = seeks_libcalls || optimised.is_some() && !options.is_precise();
        let recognised = facts.libcalls().filter(|_| has_libcalls);
        let known = recognised.filter_map(|(start, known)| {
            let costs = if options.fuel { Some(costs(&text, start, known.arguments()?, &budget)) } else { None };
            Some((start, KnownLibcall { known, costs }))
        });
        let known: BTreeMap<u64, KnownLibcall> = known.collect();
        let starts: BTreeSet<u64> = facts.starts().collect();
        let mut functions = selection.of(functions, &mut liveness, &imports);
        let selected: BTreeSet<u64> = functions.iter().map(|function| function.start).collect();
        let optimised = optimised.map(|optimised| optimised.unchanged(&functions));
        let quick =
            selection::quick(selection, options.quick, optimised.as_ref(), &functions).map(|function| function.start);
        // Functions that do something else first are LLVM's.
        let quick: BTreeSet<u64> = quick.filter(|start| !known.contains_key(start)).collect();
        if let Some(kept) = selection.kept() {
            Optimised::of(functions.iter().filter(|function| !quick.contains(&function.start))).keep(kept);
        }
        let program = Program {
            image,
            names: Arc::new(Names::new(&functions, linked)),
            quick,
            liveness,
            imports,
            reads_exceptions: facts.reads_exceptions,
            known,
            left_out: functions
                .iter()
                .flat_map(Function::refers_to)
                .filter(|to| starts.contains(to) && !selected.contains(to))
                .collect(),
            interpreted: starts.difference(&selected).copied().collect(),
            starts,
            dispatch_bits: Dispatch::index_bits(functions.len()),
            budget,
        };
        program.budget.check()?;
        let has_copies = |start: u64| program.libcall(start).is_none() && !program.quick.contains(&start);
        functions.iter_mut().filter(|function| has_copies(function.start)).for_each(insert_copies);
        if !options.fuel {
            insert_polls(&mut functions, |start| program.libcall(start).is_some());
        }
        Ok((program, functions))
    }

    /// The re-entry points of a function between its start and that of the next one.
    pub(crate) fn reentry_points(&self, function: &Function) -> impl Iterator<Item = u64> {
        let is_own = |at: &u64| self.starts.range(..=at).next_back() == Some(&function.start);
        let polls = function.polls.keys().copied();
        function.reentry_points().chain(polls).filter(|&at| !is_copied(at)).filter(is_own)
    }
}

impl Surroundings for Program<'_> {
    fn is_function(&self, address: u64) -> bool {
        self.starts.contains(&address)
    }

    fn libcall(&self, start: u64) -> Option<&KnownLibcall> {
        self.known.get(&start)
    }

    fn liveness(&self) -> &Liveness {
        &self.liveness
    }

    fn reads_exceptions(&self) -> bool {
        self.reads_exceptions
    }

    fn imports(&self) -> &Imports {
        &self.imports
    }

    fn budget(&self) -> &Budget {
        &self.budget
    }

    fn dispatch_bits(&self) -> u32 {
        self.dispatch_bits
    }

    fn source(&self, pc: u64) -> Option<(String, u32)> {
        let place = self.image.locate(pc).into_iter().next()?;
        Some((place.file?, place.line?))
    }
}
