//! What analysis finds by looking at a whole program. To compile a part of it, its text and these facts are all that is needed,
//! so one compilation of a program keeps them for the next.

use std::collections::{BTreeMap, BTreeSet};

use riverrun_vm::artifact::Header;
use serde::{Deserialize, Serialize};

use crate::analysis::{Abilities, Function, Imports, Libcall, Liveness, Starts, Summary, Text, functions, libcalls};
use crate::budget::Budget;
use crate::error::CompileError;
use crate::kept_objects::{KeptObjects, Key};
use crate::lift::observed;
use crate::selection::Selection;

/// The facts about a program.
#[derive(Serialize, Deserialize)]
pub(crate) struct Facts {
    /// Where its functions begin, and what is known of their registers.
    registers: Summary,
    /// Whether it reads accrued exceptions of floats.
    pub(crate) reads_exceptions: bool,
    /// The functions of C that are recognised, if they were sought.
    libcalls: Option<BTreeMap<u64, Libcall>>,
}

/// The facts, and the functions that may be selected.
pub(crate) struct Found {
    pub(crate) facts: Facts,
    pub(crate) functions: Vec<Function>,
    pub(crate) liveness: Liveness,
}

impl Facts {
    /// Finds them, or takes them over from an earlier compilation; `seeks` says whether functions of C are to be recognised.
    ///
    /// # Errors
    /// [`CompileError::Work`].
    pub(crate) fn find(
        text: &Text<'_>,
        imports: &Imports,
        selection: Selection<'_>,
        seeks: bool,
        budget: &Budget,
    ) -> Result<Found, CompileError> {
        let kept = selection.kept().map(|kept| (kept, key(text)));
        let known = kept.and_then(|(kept, key)| Facts::kept(kept, &key));
        let mut found = match known {
            Some(facts) => facts.with_functions(text, imports, selection, budget),
            None => Found::in_program(text, imports, selection, budget)?,
        };
        if seeks && found.facts.libcalls.is_none() {
            found.facts.libcalls = Some(libcalls(text, budget));
        }
        budget.check()?;
        if let Some((kept, key)) = kept {
            found.facts.keep(kept, key);
        }
        Ok(found)
    }

    /// The functions of C that are recognised.
    pub(crate) fn libcalls(&self) -> impl Iterator<Item = (u64, Libcall)> {
        self.libcalls.iter().flatten().map(|(&start, &libcall)| (start, libcall))
    }

    /// The addresses at which functions begin.
    pub(crate) fn starts(&self) -> impl Iterator<Item = u64> {
        self.registers.starts()
    }

    /// Looks at the functions alone that may be selected.
    fn with_functions(self, text: &Text<'_>, imports: &Imports, selection: Selection<'_>, budget: &Budget) -> Found {
        let starts = Starts::new(text, self.starts());
        let functions = candidates(selection, self.starts()).into_iter().map(|start| starts.function(start, budget));
        let functions: Vec<Function> = functions.collect();
        let liveness = Liveness::by_summary(self.registers.clone(), text, &functions, imports, budget);
        Found { facts: self, functions, liveness }
    }

    fn kept(kept: &KeptObjects, key: &Key) -> Option<Facts> {
        postcard::from_bytes(&kept.find(key)?).ok()
    }

    fn keep(&self, kept: &KeptObjects, key: Key) {
        // What cannot be kept is found again.
        if let Ok(bytes) = postcard::to_stdvec(self) {
            kept.keep(key, &bytes);
        }
    }
}

impl Found {
    /// Looks at the whole program.
    fn in_program(
        text: &Text<'_>,
        imports: &Imports,
        selection: Selection<'_>,
        budget: &Budget,
    ) -> Result<Found, CompileError> {
        let mut functions = functions(text, budget);
        budget.check()?;
        let candidates = candidates(selection, functions.iter().map(|function| function.start));
        let is_candidate = |function: &Function| candidates.contains(&function.start);
        let liveness = Liveness::new(text, &functions, is_candidate, imports, budget);
        let reads_exceptions = observed(text.image, &functions, budget);
        functions.retain(is_candidate);
        let facts = Facts { registers: liveness.summary().clone(), reads_exceptions, libcalls: None };
        Ok(Found { facts, functions, liveness })
    }
}

/// Which functions may be selected, by where they and the next ones begin.
fn candidates(selection: Selection<'_>, starts: impl Iterator<Item = u64>) -> BTreeSet<u64> {
    let mut starts = starts.peekable();
    let mut candidates = BTreeSet::new();
    while let Some(start) = starts.next() {
        if selection.may_be_in(start..starts.peek().copied().unwrap_or(u64::MAX)) {
            candidates.insert(start);
        }
    }
    candidates
}

/// What facts are kept by: all that they depend on, but for the compiler.
fn key(text: &Text<'_>) -> Key {
    let Abilities { rounds, fuses } = text.abilities;
    let program = Header::hash(text.image.bytes());
    Header::hash(format!("facts {program:?} {rounds} {fuses}").as_bytes())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use riverrun_program::{Image, Profile};
    use riverrun_testkit::{Random, generate, tools};

    use super::*;
    use crate::analysis::sample;

    /// By a profile with these places and many others, in a whole program and in its part, by what is kept of that.
    fn is_found_again(image: &Image, random: &mut Random, places: usize) {
        let (text, imports, budget) = (sample::text(image), Imports::new(image), Budget::default());
        let mut kept = KeptObjects::default();
        let mut profile = Profile::default();
        for seeks in [false, true] {
            for _ in 0..places {
                let range = &image.text()[random.below(image.text().len())];
                profile.add(range.start + (random.below((range.end - range.start) as usize) as u64 & !1), 1);
            }
            let of = |kept| Selection::Hot { profile: &profile, work: u64::MAX, kept };
            let whole = Facts::find(&text, &imports, of(None), seeks, &budget).unwrap();
            let part = Facts::find(&text, &imports, of(Some(&kept)), seeks, &budget).unwrap();
            kept.renew();
            assert_eq!(Facts::kept(&kept, &key(&text)).unwrap().libcalls.is_some(), seeks);
            assert_eq!(format!("{:?}", part.functions), format!("{:?}", whole.functions));
            assert_eq!(part.facts.reads_exceptions, whole.facts.reads_exceptions);
            assert!(part.facts.libcalls().eq(whole.facts.libcalls()));
            assert!(part.liveness.summary() == whole.liveness.summary());
            for (function, &block) in whole.functions.iter().flat_map(|of| of.blocks.keys().map(move |at| (of, at))) {
                let of = |found: &Found| found.liveness.block_live_out(function.start, block);
                assert_eq!(of(&part), of(&whole), "{:#x} {block:#x}", function.start);
            }
        }
    }

    #[test]
    fn a_part_is_as_in_the_whole() {
        for seed in 0..300 {
            let mut random = Random::seeded(seed);
            let elf = match seed % 3 {
                0 => generate::case(&mut random).elf,
                1 => generate::conforming(&mut random).swap_remove(0).elf,
                _ => generate::functions(&mut random, false).swap_remove(0).elf,
            };
            is_found_again(&Image::parse(elf).unwrap(), &mut random, 4);
        }
    }

    #[test]
    fn a_part_of_a_program_of_c_is_as_in_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (source, elf) = (folder.path().join("main.c"), folder.path().join("main"));
        std::fs::write(&source, "#include <stdio.h>\nint main() { return printf(\"%f\\n\", 0.5) != 9; }\n").unwrap();
        let mut gcc = Command::new("riscv64-linux-gnu-gcc");
        tools::output_of(gcc.args(["-O2", "-static", "-o"]).args([&elf, &source]), "gcc-riscv64-linux-gnu");
        let image = Image::parse(std::fs::read(&elf).unwrap()).unwrap();
        is_found_again(&image, &mut Random::seeded(1), 200);
    }
}
