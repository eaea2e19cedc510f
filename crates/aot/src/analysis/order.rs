//! Depth-first order of a function's blocks.

use std::collections::{BTreeSet, HashMap};

use crate::analysis::block::Terminator;
use crate::analysis::functions::Function;

/// The result of a depth-first walk.
pub(crate) struct Order {
    /// The reachable blocks in postorder: each after its successors, except for loop headers.
    pub(crate) postorder: Vec<u64>,
    /// The edges that close a loop: the block at its end, and its header.
    pub(crate) back: Vec<(u64, u64)>,
}

impl Order {
    /// The loop headers.
    pub(crate) fn headers(&self) -> BTreeSet<u64> {
        self.back.iter().map(|&(_, header)| header).collect()
    }
}

/// The blocks that lead to each.
pub(crate) type Predecessors = HashMap<u64, Vec<u64>>;

/// Those of a function's blocks.
pub(crate) fn predecessors(function: &Function) -> Predecessors {
    let mut predecessors = Predecessors::new();
    for (&at, block) in &function.blocks {
        block.end.successors().into_iter().for_each(|to| predecessors.entry(to).or_default().push(at));
    }
    predecessors
}

/// Walks from `roots` on, depth first, by where the ends of blocks lead to.
pub(crate) fn order(
    function: &Function,
    roots: impl Iterator<Item = u64>,
    leads_to: impl Fn(&Terminator) -> Vec<u64>,
) -> Order {
    let mut postorder = Vec::new();
    let mut back = Vec::new();
    // Present: seen; true: on the path.
    let mut state: HashMap<u64, bool> = HashMap::new();
    let mut path: Vec<(u64, Vec<u64>)> = Vec::new();
    let enter = |at: u64, state: &mut HashMap<u64, bool>, path: &mut Vec<(u64, Vec<u64>)>| {
        state.insert(at, true);
        path.push((at, leads_to(&function.blocks[&at].end)));
    };
    for root in roots {
        if state.contains_key(&root) {
            continue;
        }
        enter(root, &mut state, &mut path);
        while let Some((at, pending)) = path.last_mut() {
            match pending.pop() {
                Some(to) if !function.blocks.contains_key(&to) => {}
                Some(to) => match state.get(&to) {
                    Some(true) => back.push((*at, to)),
                    Some(false) => {}
                    None => enter(to, &mut state, &mut path),
                },
                None => {
                    state.insert(*at, false);
                    postorder.push(*at);
                    path.pop();
                }
            }
        }
    }
    Order { postorder, back }
}
