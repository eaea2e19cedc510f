//! Live registers over the whole program: live-in sets of functions, and live-out sets of functions and blocks.
//!
//! A register that is dead at a call or return need not be committed there. Most argument and temporary registers are, and
//! committing them, or keeping them in host registers, would be most of the cost of a call. Reads are found over the whole
//! program, so compilers may use conventions of their own between functions that they see. Beyond that, two assumptions
//! about the program's compiler are made in the default mode:
//!
//! - Functions return results in a0, a1, fa0 and fa1. Another register that a function writes is not read by a further
//!   function, unless an instruction reads it in between. Callers may rely on registers that a function does not write.
//! - If the analysis cannot see where control continues (calls and jumps by register, system calls, returns from functions
//!   that change ra or sp in unusual ways, mismatched returns), it continues in code that keeps to the psABI's calling
//!   convention, or in the same function, which may read what that function has written. A function that reads temporary
//!   registers after a call whose target is unknown has called a place in itself, or code that does not write them.
//!
//! A program that breaks an assumption reads other values than in the interpreter, its own or zeros; its host is unaffected.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem::replace;

use riverrun_isa::{Destination, Format, Inst, Op};
use serde::{Deserialize, Serialize};

use crate::analysis::block::{Block, Terminator};
use crate::analysis::functions::{Extent, Function};
use crate::analysis::imports::Imports;
use crate::analysis::registers::{ARGUMENTS, HOST, PRESERVED, RESULTS, Set, sources, written};
use crate::analysis::text::Text;
use crate::budget::Budget;

const RA: usize = 1;
const SP: usize = 2;
const S0: usize = 8;

/// Live registers of a whole program.
#[derive(Debug, Default)]
pub(crate) struct Liveness {
    summary: Summary,
    /// For some functions and each of their blocks, the live-out registers of the block.
    block_live_out: HashMap<u64, BTreeMap<u64, Set>>,
}

/// What is known of the registers of all functions of a program, by number: in the order of their addresses. With this, the
/// live registers of a function's blocks follow from its code alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Summary(Vec<FunctionSummary>);

/// The facts about a function; while they are sought they only grow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FunctionSummary {
    start: u64,
    /// Its live-in registers, if result registers alone are live where it returns to, and if all are.
    live_in: [Set; 2],
    /// Its live-out registers, by what all callers read.
    live_out: Set,
    /// Whether it may return to others than its callers.
    is_irregular: bool,
    /// What it is seen to change, by itself and by those that it calls.
    clobbers: Set,
}

impl Liveness {
    /// The live-out registers of a mismatched return.
    pub(crate) const MISMATCHED_RETURN: Set = RESULTS;

    /// The live registers of a program, those of blocks in functions that may be selected; an answer without meaning if the
    /// budget is spent.
    pub(crate) fn new(
        text: &Text<'_>,
        functions: &[Function],
        may_be_selected: impl Fn(&Function) -> bool,
        imports: &Imports,
        budget: &Budget,
    ) -> Liveness {
        let starts: Vec<u64> = functions.iter().map(|function| function.start).collect();
        let mut flows: Vec<Flow<'_>> =
            (0..).zip(functions).map(|(number, of)| Flow::new(text, number, of, imports, &starts)).collect();
        let mut summary = Summary::of(&mut flows, budget);
        summary.solve(&mut flows, budget);
        let selected = flows.iter_mut().filter(|flow| may_be_selected(flow.function));
        let block_live_out = block_live_out(selected, &summary, budget);
        Liveness { summary, block_live_out }
    }

    /// The same for these functions of a program that has been analysed before.
    pub(crate) fn by_summary(
        summary: Summary,
        text: &Text<'_>,
        functions: &[Function],
        imports: &Imports,
        budget: &Budget,
    ) -> Liveness {
        let starts: Vec<u64> = summary.starts().collect();
        let numbered = functions.iter().filter_map(|of| Some((starts.binary_search(&of.start).ok()?, of)));
        let mut flows: Vec<Flow<'_>> =
            numbered.map(|(number, of)| Flow::new(text, number, of, imports, &starts)).collect();
        flows.iter_mut().for_each(|flow| flow.find_given(&summary, budget));
        let block_live_out = block_live_out(flows.iter_mut(), &summary, budget);
        Liveness { summary, block_live_out }
    }

    /// What it knows of all functions.
    pub(crate) fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Notes that an exit takes the place of a block.
    pub(crate) fn leave_out(&mut self, function: u64, start: u64, block: &Block, imports: &Imports) {
        let live_out = self.block_live_out(function, start);
        let live_in = block.insts.iter().rev().fold(live_out, |live, (_, inst)| before(inst, live, imports));
        self.block_live_out.entry(function).or_default().insert(start, live_in);
    }

    /// The live-in registers of a function.
    pub(crate) fn live_in(&self, function: u64) -> Set {
        let summary = &self.summary;
        summary.number(function).map_or(ARGUMENTS, |number| summary.live_in(number, summary.0[number].live_out))
    }

    /// The live-out registers of a function.
    pub(crate) fn live_out(&self, function: u64) -> Set {
        self.summary.number(function).map_or(!0, |number| self.summary.0[number].live_out)
    }

    /// The live-out registers of a function's block.
    pub(crate) fn block_live_out(&self, function: u64, block: u64) -> Set {
        self.block_live_out.get(&function).and_then(|blocks| blocks.get(&block)).copied().unwrap_or(!0)
    }
}

/// The live-out registers of blocks, as the functions themselves see them.
fn block_live_out<'f, 'a: 'f>(
    flows: impl Iterator<Item = &'f mut Flow<'a>>,
    summary: &Summary,
    budget: &Budget,
) -> HashMap<u64, BTreeMap<u64, Set>> {
    let of = |flow: &mut Flow<'a>| {
        flow.solve(summary, View::Itself, budget);
        let live_out = |node: &Node<'_>| (node.start, flow.live_out(node, summary, View::Itself)[CALLERS]);
        (flow.function.start, flow.nodes.iter().map(live_out).collect())
    };
    flows.map(of).collect()
}

/// The live registers before an instruction, given those after it and the program's host functions.
pub(crate) fn before(inst: &Inst, live_after: Set, imports: &Imports) -> Set {
    if inst.op.info().format == Format::Import {
        let call = imports.call(u64::from(inst.imm as u32));
        return live_after & !call.written | call.read;
    }
    let read = sources(inst).into_iter().flatten().fold(0, |set, register| set | 1 << register);
    live_after & !written(inst).map_or(0, |register| 1 << register) | read
}

/// A set for each live-out set that may be assumed at a function's returns: result registers only, all registers, and the
/// union over all callers. Live-in sets depend on it, and so on the caller. Each register is independent of the others, so
/// the answers for the first two determine that for every caller.
type Sets = [Set; 3];

/// The place of the union over all callers.
const CALLERS: usize = 2;

fn union(one: Sets, other: Sets) -> Sets {
    std::array::from_fn(|assumed| one[assumed] | other[assumed])
}

fn grow(set: &mut Set, by: Set) -> bool {
    let grown = *set | by;
    replace(set, grown) != grown
}

impl Summary {
    /// What functions' own code tells; finds what their blocks give.
    fn of(flows: &mut [Flow<'_>], budget: &Budget) -> Summary {
        let of_one = |(flow, clobbers): (&Flow<'_>, Set)| FunctionSummary {
            start: flow.function.start,
            live_in: [0; 2],
            live_out: RESULTS,
            is_irregular: !flow.is_regular,
            clobbers,
        };
        let clobbers = clobbers(flows, budget);
        let summary = Summary(flows.iter().zip(clobbers).map(of_one).collect());
        flows.iter_mut().for_each(|flow| flow.find_given(&summary, budget));
        summary
    }

    /// Where the functions begin, in their order.
    pub(crate) fn starts(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|function| function.start)
    }

    /// The number of the function that begins at an address.
    fn number(&self, start: u64) -> Option<usize> {
        self.0.binary_search_by_key(&start, |function| function.start).ok()
    }

    /// Propagates facts between functions until they grow no more, or the budget is spent.
    fn solve(&mut self, flows: &mut [Flow<'_>], budget: &Budget) {
        // Those that call each or go on in it.
        let mut leading_to: Vec<Vec<usize>> = vec![Vec::new(); flows.len()];
        for flow in &*flows {
            flow.leads_to().for_each(|to| leading_to[to].push(flow.number));
        }
        // What is live at their starts comes from callees, and at their returns from callers: back and forth.
        let order = callees_first(flows);
        let mut places = vec![0; order.len()];
        (0..).zip(&order).for_each(|(place, &number)| places[number] = place);
        let mut pending: BTreeSet<usize> = (0..order.len()).collect();
        let (mut at, mut is_forth) = (0, true);
        while !pending.is_empty() {
            let next = if is_forth { pending.range(at..).next() } else { pending.range(..=at).next_back() };
            let Some(&place) = next else {
                is_forth = !is_forth;
                continue;
            };
            pending.remove(&place);
            at = place;
            let flow = &mut flows[order[place]];
            if !flow.solve(self, View::Others, budget) {
                return;
            }
            if self.note_live_in(flow) {
                pending.extend(leading_to[flow.number].iter().map(|&number| places[number]));
            }
            for number in self.note_live_out(flow) {
                pending.insert(places[number]);
                if self.0[number].is_irregular {
                    pending.extend(leading_to[number].iter().map(|&number| places[number]));
                }
            }
        }
    }

    /// Merges the live-in registers of a function; whether there are more than before.
    fn note_live_in(&mut self, flow: &Flow<'_>) -> bool {
        let (known, live_in) = (&mut self.0[flow.number].live_in, flow.nodes[0].live_in);
        known.iter_mut().zip(live_in).fold(false, |more, (known, set)| grow(known, set) || more)
    }

    /// Takes over what a function's blocks tell of others; gives those that it tells more of.
    fn note_live_out(&mut self, flow: &Flow<'_>) -> Vec<usize> {
        let mut concerned = Vec::new();
        let own = self.0[flow.number].live_out;
        for node in &flow.nodes {
            if let Terminator::Call { .. } | Terminator::CallIndirect { .. } = node.end {
                // A target that is unknown or no function's start is a place in this one.
                let target = node.called.unwrap_or(flow.number);
                let live_in = self.live_in_at(flow, node.next[0])[CALLERS];
                if grow(&mut self.0[target].live_out, live_in) {
                    concerned.push(target);
                }
                continue;
            }
            concerned.extend(node.outside.iter().filter(|&&to| grow(&mut self.0[to].live_out, own)));
        }
        concerned
    }

    /// The live-out registers of a function.
    fn live_out(&self, number: usize) -> Sets {
        [RESULTS, !0, self.0[number].live_out]
    }

    /// The live-in registers of a function, given the live-out set at the caller's continuation.
    fn live_in(&self, number: usize, live_after: Set) -> Set {
        let FunctionSummary { live_in: [least, most], live_out, is_irregular, .. } = self.0[number];
        least | most & (live_after | if is_irregular { live_out } else { 0 })
    }

    /// The live registers at a place to which a function leads.
    fn live_in_at(&self, flow: &Flow<'_>, at: Place) -> Sets {
        match at {
            Place::Own(node) => flow.nodes[node as usize].live_in,
            Place::Function(number) => self.live_out(flow.number).map(|own| self.live_in(number as usize, own)),
            // The guest traps.
            Place::Nowhere => [PRESERVED; 3],
        }
    }
}

/// The numbers of functions, each after those that it leads to, but for recursion.
fn callees_first(flows: &[Flow<'_>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(flows.len());
    let mut is_seen = vec![false; flows.len()];
    for root in 0..flows.len() {
        let mut pending = vec![Visit::Enter(root)];
        while let Some(visit) = pending.pop() {
            match visit {
                Visit::Enter(number) if replace(&mut is_seen[number], true) => {}
                Visit::Enter(number) => {
                    pending.push(Visit::Finish(number));
                    pending.extend(flows[number].leads_to().map(Visit::Enter));
                }
                Visit::Finish(number) => order.push(number),
            }
        }
    }
    order
}

/// A step of a walk over functions.
enum Visit {
    /// To a function, and then to those that it leads to.
    Enter(usize),
    /// Behind all of them.
    Finish(usize),
}

/// Who enters a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    /// Other code, which passes arguments by the calling convention.
    Others,
    /// The function itself: parts that were not found may read all that it has written.
    Itself,
}

/// A successor of a block.
#[derive(Clone, Copy)]
enum Place {
    /// In the function's own block of this number.
    Own(u32),
    /// In the function of this number.
    Function(u32),
    /// Where there is no function.
    Nowhere,
}

/// A block during the analysis.
struct Node<'a> {
    start: u64,
    end: &'a Terminator,
    /// Where it goes on, in the order of [`Terminator::successors`].
    next: Vec<Place>,
    /// The function that it calls directly.
    called: Option<usize>,
    /// Functions that it goes on to, but for those that it calls.
    outside: Vec<usize>,
    /// The registers that it reads before it writes them.
    read: Set,
    written: Set,
    /// The registers that may intentionally be passed to its successor.
    given: Set,
    /// Its live-in registers.
    live_in: Sets,
    /// The instruction that it ends in front of.
    stepped: Option<Inst>,
    /// Whether that is none that is known, nor one that is defined to be illegal.
    is_unknown: bool,
}

/// A function during the analysis.
struct Flow<'a> {
    number: usize,
    function: &'a Function,
    imports: &'a Imports,
    /// Its blocks by address; the first one begins it.
    nodes: Vec<Node<'a>>,
    /// Its start, and its landing pads of exceptions.
    entered: Vec<(usize, Set)>,
    /// All registers that it writes.
    written: Set,
    /// Whether it returns to its caller's continuation, as far as its code shows.
    is_regular: bool,
    /// Blocks and where they lead to: the work of a walk over them.
    size: usize,
}

impl<'a> Flow<'a> {
    fn new(text: &Text<'_>, number: usize, function: &'a Function, imports: &'a Imports, starts: &[u64]) -> Flow<'a> {
        let own: Vec<u64> = function.blocks.keys().copied().collect();
        let place = |to: &u64| match own.binary_search(to) {
            Ok(node) => Place::Own(node as u32),
            Err(_) => starts.binary_search(to).map_or(Place::Nowhere, |number| Place::Function(number as u32)),
        };
        let node = |(&start, block): (&u64, &'a Block)| {
            let writes = |inst: &Inst| written(inst).map_or(0, |register| 1 << register);
            let next: Vec<Place> = block.end.successors().iter().map(place).collect();
            let function = |place| if let Place::Function(number) = place { Some(number as usize) } else { None };
            let outside = match &block.end {
                Terminator::JumpIndirect(targets) => targets.outside.iter().map(place).filter_map(function).collect(),
                _ => next.iter().copied().filter_map(function).collect(),
            };
            let stepped = match block.end {
                Terminator::Step { at, .. } | Terminator::Exit(at) => text.fetch(at),
                _ => None,
            };
            let called = match &block.end {
                Terminator::Call { target, .. } => starts.binary_search(target).ok(),
                _ => None,
            };
            Node {
                start,
                end: &block.end,
                next,
                called,
                outside,
                read: block.insts.iter().rev().fold(0, |set, (_, inst)| before(inst, set, imports)),
                written: block.insts.iter().fold(0, |set, (_, inst)| set | writes(inst)),
                given: !0,
                live_in: [0; 3],
                stepped,
                is_unknown: matches!(block.end, Terminator::Exit(at) if text.is_unknown(at)),
            }
        };
        let nodes: Vec<Node<'a>> = function.blocks.iter().map(node).collect();
        let at = |place: &u64| own.binary_search(place).ok();
        let orphans = function.orphans.iter().filter_map(|orphan| Some((at(orphan)?, ARGUMENTS)));
        Flow {
            number,
            function,
            imports,
            entered: at(&function.start).map(|node| (node, !0)).into_iter().chain(orphans).collect(),
            written: nodes.iter().fold(0, |set, node| set | node.written),
            size: nodes.len() + function.targets(),
            nodes,
            is_regular: is_regular(function),
        }
    }

    /// The functions on which its live-in registers depend.
    fn leads_to(&self) -> impl Iterator<Item = usize> {
        self.nodes.iter().flat_map(|node| node.called.iter().chain(&node.outside).copied())
    }

    /// Computes the live-in registers of each block from the facts about other functions; false if the budget is spent.
    fn solve(&mut self, program: &Summary, view: View, budget: &Budget) -> bool {
        let mut changed = true;
        while changed {
            if !budget.spend(self.size) {
                return false;
            }
            changed = false;
            for index in (0..self.nodes.len()).rev() {
                let node = &self.nodes[index];
                let live_in = self.live_out(node, program, view).map(|live| node.read | live & !node.written);
                changed |= replace(&mut self.nodes[index].live_in, live_in) != live_in;
            }
        }
        true
    }

    /// The live-out registers of a block.
    fn live_out(&self, node: &Node<'_>, program: &Summary, view: View) -> Sets {
        let unseen = if view == View::Itself { self.written } else { 0 };
        let own = program.live_out(self.number);
        let given = node.given;
        let live_in = |place: &Place| program.live_in_at(self, *place);
        match node.end {
            Terminator::Call { .. } | Terminator::CallIndirect { .. } => match node.called {
                Some(called) => live_in(&node.next[0]).map(|after| program.live_in(called, after) & given),
                // Code in assembly that reads temporaries afterwards knows that its callee leaves them alone.
                None => live_in(&node.next[0]).map(|after| ARGUMENTS & given | after & !RESULTS),
            },
            Terminator::Return if view == View::Itself && self.function.extent == Extent::Unknown => [!0; 3],
            Terminator::Return if self.is_regular => own,
            Terminator::Return => own.map(|own| own | unseen),
            Terminator::JumpIndirect(targets) => {
                let inside = node.next.iter().map(live_in);
                let outside = node.outside.iter().map(|&to| own.map(|own| program.live_in(to, own)));
                let known = inside.chain(outside).fold([0; 3], union);
                match self.function.extent {
                    // A switch: whatever is missing among the targets would leave a gap.
                    Extent::Whole if targets.are_all => known,
                    Extent::Whole | Extent::Gaps => union(known, own).map(|known| known | ARGUMENTS & given | unseen),
                    // To another part of what was one function.
                    Extent::Unknown => [!0; 3],
                }
            }
            Terminator::Step { is_ecall, .. } => {
                let host = if *is_ecall { ARGUMENTS & given | HOST & unseen } else { 0 };
                let traps = node.stepped.as_ref().is_some_and(|inst| inst.op == Op::ebreak);
                let handler = if traps { PRESERVED | unseen } else { 0 };
                let stepped = |after| node.stepped.as_ref().map_or(after, |inst| before(inst, after, self.imports));
                live_in(&node.next[0]).map(|after| stepped(after) | host | handler)
            }
            // Calls that link in another register; all else traps. A handler of the signal may have the guest go on in this
            // function, behind an instruction that is not known; compilers put others where control never comes.
            Terminator::Exit(_) => match &node.stepped {
                Some(inst) if inst.op.info().format.destination() == Destination::Jump => [HOST | unseen; 3],
                _ if node.is_unknown => [PRESERVED | unseen | ARGUMENTS & given; 3],
                _ => [PRESERVED | unseen; 3],
            },
            Terminator::Next(_)
            | Terminator::Jump(_)
            | Terminator::Branch { .. }
            | Terminator::CallInside { .. }
            | Terminator::ReturnInside { .. } => {
                let given = |place: &Place| if let Place::Own(_) = place { !0 } else { given };
                node.next.iter().map(|to| live_in(to).map(|set| set & given(to))).fold([0; 3], union)
            }
        }
    }

    /// Whether a block ends in a call by register in the place of a return: no switch, as it has no case.
    fn calls_in_place_of_return(&self, node: &Node<'_>) -> bool {
        let is_all_seen = self.function.extent == Extent::Whole;
        matches!(node.end, Terminator::JumpIndirect(targets) if is_all_seen && targets.inside.is_empty())
    }

    /// Finds what blocks may give on purpose: what was given to the function, or what it has written itself, and
    /// results, but not what calls leave in other registers.
    fn find_given(&mut self, program: &Summary, budget: &Budget) {
        let mut at_entry = vec![PRESERVED; self.nodes.len()];
        for &(node, given) in &self.entered {
            at_entry[node] = given;
        }
        let mut changed = true;
        while changed && budget.spend(self.size) {
            changed = false;
            for (index, node) in self.nodes.iter_mut().enumerate() {
                let given = at_entry[index] | node.written;
                node.given = given;
                let live_after = given & !node.clobbered(program) | RESULTS;
                for to in &node.next {
                    if let Place::Own(to) = *to {
                        changed |= grow(&mut at_entry[to as usize], live_after);
                    }
                }
            }
        }
    }
}

impl Node<'_> {
    /// What is seen to be changed behind its end when control comes back to the function.
    fn clobbered(&self, program: &Summary) -> Set {
        match self.end {
            Terminator::Call { .. } => self.called.map_or(0, |called| program.0[called].clobbers),
            Terminator::CallIndirect { .. } => !PRESERVED,
            _ => 0,
        }
    }
}

/// What functions are seen to change, by themselves and by those that they call. What is not seen, such as cases of a
/// switch, is taken to change nothing: too much here would be garbage to those that count on it.
fn clobbers(flows: &[Flow<'_>], budget: &Budget) -> Vec<Set> {
    let mut clobbers: Vec<Set> = flows.iter().map(|flow| flow.written).collect();
    let mut led_to_by: Vec<Vec<usize>> = vec![Vec::new(); flows.len()];
    for flow in flows {
        for node in &flow.nodes {
            match node.end {
                Terminator::Call { .. } => node.called.iter().for_each(|&to| led_to_by[to].push(flow.number)),
                Terminator::CallIndirect { .. } => clobbers[flow.number] |= !PRESERVED,
                _ if flow.calls_in_place_of_return(node) => clobbers[flow.number] |= !PRESERVED,
                _ => {}
            }
            for place in &node.next {
                if let Place::Function(to) = *place {
                    led_to_by[to as usize].push(flow.number);
                }
            }
        }
    }
    let mut pending: Vec<usize> = (0..flows.len()).collect();
    while let Some(number) = pending.pop() {
        if !budget.spend(1 + led_to_by[number].len()) {
            break;
        }
        let set = clobbers[number];
        pending.extend(led_to_by[number].iter().filter(|&&from| grow(&mut clobbers[from], set)));
    }
    clobbers
}

/// Whether a function changes ra and sp as those do that return to where they were called: what it returns by is
/// never loaded from anywhere else than the stack, and the stack never moved by a distance that is not constant.
/// Where a block that returns loads ra itself, the function may have used it for anything before.
fn is_regular(function: &Function) -> bool {
    let restores = |block: &Block| {
        let last = block.insts.iter().rev().find(|(_, inst)| written(inst) == Some(RA));
        last.is_some_and(|(_, inst)| is_regular_change(inst))
    };
    let returns = |block: &&Block| matches!(block.end, Terminator::Return);
    let all_restore = function.blocks.values().filter(returns).all(restores);
    let mut insts = function.blocks.values().flat_map(|block| &block.insts);
    insts.all(|(_, inst)| is_regular_change(inst) || all_restore && written(inst) == Some(RA))
}

/// Whether an instruction changes ra and sp, if it does, in such a way.
fn is_regular_change(inst: &Inst) -> bool {
    let is_frame = |register: u8| matches!(usize::from(register), SP | S0);
    match written(inst) {
        Some(RA) => inst.op.info().format.destination() == Destination::Jump || inst.op == Op::ld && is_frame(inst.rs1),
        Some(SP) => match inst.op {
            Op::addi => is_frame(inst.rs1),
            // Copies, among them.
            Op::add => inst.rs1 == 0 && is_frame(inst.rs2),
            Op::sub | Op::andi => true,
            _ => false,
        },
        _ => true,
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::analysis::functions;
    use crate::analysis::sample;

    const A2: Set = 1 << 12;
    const T3: Set = 1 << 28;

    /// What may be read in front of and behind a function of a program in assembly.
    fn of(name: &str, source: &str) -> (Set, Set) {
        let (function, liveness) = analysed(name, source);
        (liveness.live_in(function.start), liveness.live_out(function.start))
    }

    /// What may be read behind a function's last block.
    fn behind_last_block(name: &str, source: &str) -> Set {
        let (function, liveness) = analysed(name, source);
        liveness.block_live_out(function.start, *function.blocks.keys().last().unwrap())
    }

    fn analysed(name: &str, source: &str) -> (Function, Liveness) {
        let image = sample::image(source, sample::ASSEMBLY);
        let text = sample::text(&image);
        let budget = Budget::default();
        let functions = functions(&text, &budget);
        let function = functions.iter().find(|function| function.name.as_deref() == Some(name)).unwrap();
        (function.clone(), Liveness::new(&text, &functions, |_| true, &Imports::new(&image), &budget))
    }

    fn function(name: &str, body: &str) -> String {
        format!(".globl {name}\n.type {name}, @function\n{name}:\n{body}\n.size {name}, .-{name}\n")
    }

    fn program(callee: &str, body: &str) -> String {
        let start = "addi sp, sp, -16\nsd ra, 8(sp)\n".to_owned() + body + "\nld ra, 8(sp)\naddi sp, sp, 16\nret";
        format!("{}{}", function("callee", callee), function("_start", &start))
    }

    #[test]
    fn nobody_reads_what_is_left_in_temporaries() {
        let source = program("li t3, 1\nli a2, 2\nadd a0, t3, a2\nret", "call callee\nmv a1, a0");
        let (live_in, live_out) = of("callee", &source);
        assert_eq!((live_in & (T3 | A2), live_out & (T3 | A2)), (0, 0));
        assert_eq!(live_out & (1 << 10), 1 << 10, "results are given back");
    }

    #[test]
    fn functions_may_have_a_convention_of_their_own() {
        let source = program("add a0, a0, t3\nli t3, 7\nret", "li t3, 5\nli a2, 4\ncall callee\nadd a0, t3, a2");
        let (live_in, live_out) = of("callee", &source);
        assert_eq!((live_in & T3, live_out & T3), (T3, T3));
        // It goes through the function untouched.
        assert_eq!((live_in & A2, live_out & A2), (A2, A2));
    }

    #[test]
    fn temporaries_are_kept_where_a_function_calls_a_place_in_itself() {
        let source = program("mv t3, ra\nadd a2, a2, a3\njalr a2\nmv ra, t3\nret", "call callee");
        let (function, liveness) = analysed("callee", &source);
        assert_eq!(liveness.block_live_out(function.start, function.start) & T3, T3);
        assert_eq!(liveness.live_out(function.start) & T3, T3, "the place in itself leaves it alone");
    }

    #[test]
    fn functions_that_restore_ra_use_it_for_anything() {
        let left = |restored: &str| {
            let callee = format!(
                "addi sp, sp, -16\nsd ra, 8(sp)\nlbu ra, 0(a2)\nadd t3, a2, ra\n{restored}\naddi sp, sp, 16\nret"
            );
            behind_last_block("callee", &program(&callee, "li a2, 4\ncall callee\nmv a1, a0")) & T3
        };
        assert_eq!(left("ld ra, 8(sp)"), 0);
        assert_eq!(left("ld ra, 8(a2)"), T3, "it may lead anywhere");
    }

    #[test]
    fn what_one_caller_keeps_is_not_read_behind_the_calls_of_others() {
        let keeping =
            "addi sp, sp, -16\nsd ra, 8(sp)\nli t3, 5\ncall callee\nadd a0, a0, t3\nld ra, 8(sp)\naddi sp, sp, 16\nret";
        let program = program("add a0, a0, a0\nret", "li t3, 1\nadd a1, a1, t3\ncall callee\ncall keeping");
        let source = format!("{}{program}", function("keeping", keeping));
        let behind_first_block = |name: &str| {
            let (function, liveness) = analysed(name, &source);
            liveness.block_live_out(function.start, function.start) & T3
        };
        assert_eq!((behind_first_block("keeping"), behind_first_block("_start")), (T3, 0));
    }

    #[test]
    fn host_functions_read_and_write_what_their_types_say() {
        const A0: Set = 1 << 10;
        let live_in = |types: &str| {
            let record = format!(
                ".section .rodata\n.Lname: .asciz \"host\"\n.Ltypes: .asciz \"{types}\"\n\
                 .section .riverrun.imports, \"a\"\n.balign 8\n.word 0, 0xcf2713fd\n.dword .Lname, .Ltypes\n.text\n"
            );
            of("callee", &(record + &program(".insn u 0x0b, x0, 0\nadd a0, a0, a2\nret", "call callee"))).0 & (A0 | A2)
        };
        assert_eq!([live_in("i64 ()"), live_in("void ()"), live_in("i64 (i64)")], [A2, A0 | A2, A0 | A2]);
        let source = ".insn u 0x0b, x0, 7\nret";
        assert_eq!(of("callee", &program(source, "call callee")).0 & (A0 | A2), A0 | A2, "nothing is known of it");
    }

    #[test]
    fn what_calls_leave_is_no_argument() {
        // `a2` is given to the second call on purpose, but not to the first one's pointer behind it.
        let source = program("li a2, 1\nret", "call callee\njalr a1\nli a2, 3\njalr a1");
        assert_eq!(of("callee", &source).1 & A2, 0);
    }

    #[test]
    fn what_calls_leave_alone_may_be_an_argument() {
        let is_given = |callee| of("callee", &program(callee, "call callee\njalr a1")).1 & A2 == A2;
        assert!(is_given("beqz a0, 1f\nebreak\n1: ret"), "a trap changes nothing");
        assert!(is_given("lw a0, 4(a0)\nbeqz a0, 1f\njr a0\n1: ret\n2: li a0, 1\nret"), "a switch with a case unseen");
        assert!(!is_given("jr a3"), "a call in the place of a return may change it");
    }

    #[test]
    fn entries_of_linkage_tables_are_jumps_that_may_need_everything() {
        let source = ".globl _start\n_start: call entry\nret\n.globl entry\nentry: lla t3, _start\nld t3, (t3)\n";
        for (jump, is_entry) in [("jalr t1, t3", true), ("jalr t1, t4", false), ("jalr t2, t3", false)] {
            let (function, liveness) = analysed("entry", &format!("{source}{jump}\n"));
            let is_jump = matches!(function.blocks[&function.start].end, Terminator::JumpIndirect(_));
            assert_eq!(is_jump, is_entry, "{jump}");
            assert!(!is_entry || liveness.block_live_out(function.start, function.start) == !0, "{jump}");
        }
    }

    #[test]
    fn unknown_jumps_may_need_everything() {
        // No size: the analysis does not know where it ends.
        let source = ".globl _start\n_start: li t3, 5\ncall callee\n ret\n.globl callee\ncallee: jr a2\n";
        assert_eq!(of("callee", source).0 & (T3 | A2), T3 | A2);
    }
}
