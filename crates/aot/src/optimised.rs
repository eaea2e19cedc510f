//! Which functions LLVM has compiled. Quick code of other functions leaves them as they are, as their machine code is kept.

use std::collections::{BTreeMap, BTreeSet};

use riverrun_vm::artifact::Header;
use serde::{Deserialize, Serialize};

use crate::analysis::Function;
use crate::kept_objects::{KEPT_UNIT, KeptObjects, Key};

/// The functions, by their addresses, with hashes of what was compiled of them.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Optimised(BTreeMap<u64, Key>);

impl Optimised {
    /// These functions.
    pub(crate) fn of<'f>(functions: impl Iterator<Item = &'f Function>) -> Optimised {
        Optimised(functions.map(|function| (function.start, shape(function))).collect())
    }

    /// Those of the compilation before; `None` if there was none.
    pub(crate) fn kept(kept: &KeptObjects) -> Option<Optimised> {
        postcard::from_bytes(&kept.find(&key())?).ok()
    }

    /// Keeps them for the next.
    pub(crate) fn keep(&self, kept: &KeptObjects) {
        // Without them all code is quick code.
        if let Ok(bytes) = postcard::to_stdvec(self) {
            kept.keep(key(), &bytes);
        }
    }

    /// Those of them which are in units that are what they were: others LLVM would have to compile again.
    pub(crate) fn unchanged(&self, functions: &[Function]) -> BTreeSet<u64> {
        let functions: BTreeMap<u64, &Function> = functions.iter().map(|function| (function.start, function)).collect();
        let unit = |start: u64| start / KEPT_UNIT;
        let is_same =
            |(start, hash): (&u64, &Key)| functions.get(start).is_some_and(|&function| shape(function) == *hash);
        let changed: BTreeSet<u64> =
            self.0.iter().filter(|&function| !is_same(function)).map(|(&start, _)| unit(start)).collect();
        self.0.keys().copied().filter(|&start| !changed.contains(&unit(start))).collect()
    }
}

/// A hash of the blocks that are compiled of a function, and of where it can be entered.
fn shape(function: &Function) -> Key {
    let blocks: Vec<(u64, usize)> = function.blocks.iter().map(|(&at, block)| (at, block.insts.len())).collect();
    Header::hash(format!("{blocks:?} {:?} {:?}", function.entered_loops, function.orphans).as_bytes())
}

/// What they are kept by: a file has the objects of one program.
fn key() -> Key {
    Header::hash(b"compiled by LLVM")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::sample;

    #[test]
    fn functions_are_unchanged_with_all_of_their_unit() {
        let first = sample::first_function(".globl _start\n_start:\naddi a0, a0, 1\nret\n");
        let at = |start: u64| {
            let mut function = first.clone();
            function.start = start;
            function
        };
        let functions: Vec<Function> = [0, 8, KEPT_UNIT, KEPT_UNIT + 8].map(at).into();
        let kept = KeptObjects::default();
        assert!(Optimised::kept(&kept).is_none());
        Optimised::of(functions.iter()).keep(&kept);
        let mut kept = kept;
        kept.renew();
        let optimised = Optimised::kept(&kept).unwrap();
        let unchanged = |functions: &[Function]| optimised.unchanged(functions).into_iter().collect::<Vec<_>>();
        assert_eq!(unchanged(&functions), [0, 8, KEPT_UNIT, KEPT_UNIT + 8]);
        // Others beside them are nothing to them.
        assert_eq!(unchanged(&[&functions[..], &[at(16)]].concat()), [0, 8, KEPT_UNIT, KEPT_UNIT + 8]);
        assert_eq!(unchanged(&functions[1..]), [KEPT_UNIT, KEPT_UNIT + 8]);
        let mut changed = functions.clone();
        changed[3].entered_loops.push(KEPT_UNIT + 8);
        assert_eq!(unchanged(&changed), [0, 8]);
        changed[0].blocks.clear();
        assert_eq!(unchanged(&changed), []);
    }
}
