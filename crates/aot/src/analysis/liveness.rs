//! Which registers anybody may still read where control leaves a function, and at the ends of its blocks.
//!
//! What a program's own code never reads again need not be exact at calls and returns: it is garbage left in
//! temporaries and arguments, and storing it, or keeping it in the host's registers, is most of what calls would
//! cost. What instructions read is found over the whole program, so that compilers may make conventions of their
//! own between functions that they see. Besides, it is assumed that compilers made the program:
//!
//! - functions give results back in a0, a1, fa0 and fa1. What else a function is seen to change is not handed on to a
//!   further one, unless an instruction reads it in between. What it leaves alone its callers may count on;
//! - where it cannot be seen who goes on (calls and jumps by register, system calls, returns from functions that
//!   change ra or sp in unusual ways, returns to other places than behind the call), those do who keep to the calling
//!   convention of RISC-V's psABI, or a part of the same function, which may read what the function has written.
//!
//! A program that breaks this reads other values than in the interpreter, its own or zeros, and harms nobody.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;

use riverrun_isa::{Destination, Format, Inst, Op};
use riverrun_state::F_SLOT;

use crate::analysis::blocks::{Block, Terminator};
use crate::analysis::functions::{Extent, Function};
use crate::analysis::registers::{FUEL, Set, sources, written};
use crate::analysis::text::Text;

const RA: usize = 1;
const SP: usize = 2;
const S0: usize = 8;

const fn range(registers: RangeInclusive<usize>) -> Set {
    (1 << (*registers.end() + 1)) - (1 << *registers.start())
}

const fn floats(registers: RangeInclusive<usize>) -> Set {
    range(*registers.start() + F_SLOT as usize..=*registers.end() + F_SLOT as usize)
}

/// Registers that functions preserve, with ra, sp, gp and tp.
const PRESERVED: Set = range(1..=4) | range(8..=9) | range(18..=27) | floats(8..=9) | floats(18..=27) | 1 << FUEL;
/// What a function may be given: arguments, and the static chain in t2.
const GIVEN: Set = PRESERVED | range(10..=17) | floats(10..=17) | 1 << 7;
/// What a function may give back.
const GIVEN_BACK: Set = PRESERVED | range(10..=11) | floats(10..=11);
/// What a host may look at: arguments, and what dynamic calls have in t0 and t1.
const HOST: Set = GIVEN | range(5..=6);

/// Registers that may be read before they are written, over a whole program.
#[derive(Debug, Default)]
pub(crate) struct Liveness {
    /// By functions, what they or those behind them may read of what they are given.
    entry: HashMap<u64, Set>,
    /// By functions, what may be read behind them.
    back: HashMap<u64, Set>,
    /// By functions and blocks, what may be read behind the block's end.
    behind: HashMap<u64, BTreeMap<u64, Set>>,
}

impl Liveness {
    /// What may be read behind a return to another place than that behind the call.
    pub(crate) const ASTRAY: Set = GIVEN_BACK;

    pub(crate) fn new(text: &Text<'_>, functions: &[Function]) -> Liveness {
        let numbers: HashMap<u64, usize> = (0..).zip(functions).map(|(number, of)| (of.start, number)).collect();
        let mut flows: Vec<Flow<'_>> =
            (0..).zip(functions).map(|(number, function)| Flow::new(text, number, function, &numbers)).collect();
        let clobbers = clobbers(&flows);
        flows.iter_mut().for_each(|flow| flow.find_given(&clobbers));
        let mut program = Program {
            entry: vec![[0; 2]; flows.len()],
            back: vec![GIVEN_BACK; flows.len()],
            irregular: flows.iter().map(|flow| !flow.is_regular).collect(),
            leading_to: vec![Vec::new(); flows.len()],
        };
        for flow in &flows {
            flow.leads_to().for_each(|to| program.leading_to[to].push(flow.number));
        }
        while [Back::Least, Back::All, Back::Known].map(|back| program.solve(&mut flows, back)).contains(&true) {}
        let behind = flows.iter_mut().map(|flow| {
            flow.solve(&program, View::Itself, Back::Known);
            let behind = |node: &Node<'_>| (node.start, flow.behind(node, &program, View::Itself, Back::Known));
            (flow.function.start, flow.nodes.iter().map(behind).collect())
        });
        let behind = behind.collect();
        let by_start =
            |of: &dyn Fn(usize) -> Set| flows.iter().map(|flow| (flow.function.start, of(flow.number))).collect();
        let entry = by_start(&|number| program.entry(number, program.back[number]));
        Liveness { entry, back: by_start(&|number| program.back[number]), behind }
    }

    /// What a function may read of what it is given.
    pub(crate) fn entry(&self, function: u64) -> Set {
        self.entry.get(&function).copied().unwrap_or(GIVEN)
    }

    /// What may be read behind a function.
    pub(crate) fn back(&self, function: u64) -> Set {
        self.back.get(&function).copied().unwrap_or(!0)
    }

    /// What may be read behind the end of a function's block.
    pub(crate) fn behind(&self, function: u64, block: u64) -> Set {
        self.behind.get(&function).and_then(|blocks| blocks.get(&block)).copied().unwrap_or(!0)
    }
}

/// What may be read in front of an instruction, if `behind` may be read behind it.
pub(crate) fn before(inst: &Inst, behind: Set) -> Set {
    let read = sources(inst).into_iter().flatten().fold(0, |set, register| set | 1 << register);
    let host = if inst.op.info().format == Format::Import { HOST } else { 0 };
    behind & !written(inst).map_or(0, |register| 1 << register) | read | host
}

/// What is thought to be read behind a function: what it reads of what it is given depends on that, and so on who has
/// called it. A register is looked at apart from others, so that two answers say what all callers have to know.
#[derive(Clone, Copy)]
enum Back {
    /// What any function may give back.
    Least,
    /// All registers.
    All,
    /// What all that call it may read.
    Known,
}

/// What is known of the functions together so far, by their numbers; it only grows.
struct Program {
    /// What they may read of what they are given, with [`Back::Least`] and [`Back::All`].
    entry: Vec<[Set; 2]>,
    /// What is read behind them.
    back: Vec<Set>,
    /// Whether they may return to others than their callers.
    irregular: Vec<bool>,
    /// Those that call them or go on in them.
    leading_to: Vec<Vec<usize>>,
}

fn grow(set: &mut Set, by: Set) -> bool {
    let grown = *set | by;
    std::mem::replace(set, grown) != grown
}

impl Program {
    /// Finds what functions read and tell of others; says whether that is more than before.
    fn solve(&mut self, flows: &mut [Flow<'_>], back: Back) -> bool {
        let mut any = false;
        let mut pending: BTreeSet<usize> = (0..flows.len()).collect();
        while let Some(number) = pending.pop_last() {
            let flow = &mut flows[number];
            flow.solve(self, View::Others, back);
            let concerned = match back {
                Back::Least | Back::All => self.note_entry(flow, back),
                Back::Known => self.note_back(flow),
            };
            any |= !concerned.is_empty();
            pending.extend(concerned);
        }
        any
    }

    /// Takes over what a function may read; gives those whom that concerns.
    fn note_entry(&mut self, flow: &Flow<'_>, back: Back) -> Vec<usize> {
        let front = flow.nodes[0].front[back as usize];
        let is_more = grow(&mut self.entry[flow.number][back as usize], front);
        if is_more { self.leading_to[flow.number].clone() } else { Vec::new() }
    }

    /// Takes over what a function's blocks tell of others; gives those.
    fn note_back(&mut self, flow: &Flow<'_>) -> Vec<usize> {
        let mut concerned = Vec::new();
        let own = self.back[flow.number];
        for node in &flow.nodes {
            if let Terminator::Call { .. } = node.end {
                // A target that is no function's start is a place in this one.
                let target = node.called.unwrap_or(flow.number);
                let front = self.front(flow, node.next[0], Back::Known);
                if grow(&mut self.back[target], front) {
                    concerned.push(target);
                }
                continue;
            }
            concerned.extend(node.outside.iter().filter(|&&to| grow(&mut self.back[to], own)));
        }
        let irregular = concerned.iter().filter(|&&number| self.irregular[number]);
        let leading: Vec<usize> = irregular.flat_map(|&number| &self.leading_to[number]).copied().collect();
        concerned.extend(leading);
        concerned
    }

    /// What may be read behind a function.
    fn back(&self, number: usize, back: Back) -> Set {
        match back {
            Back::Least => GIVEN_BACK,
            Back::All => !0,
            Back::Known => self.back[number],
        }
    }

    /// What a function may read of what it is given, itself or by handing it on to who reads `behind` it.
    fn entry(&self, number: usize, behind: Set) -> Set {
        let [least, most] = self.entry[number];
        let others = if self.irregular[number] { self.back[number] } else { 0 };
        least | most & (behind | others)
    }

    /// What may be read from a place on to which a function goes.
    fn front(&self, flow: &Flow<'_>, at: Place, back: Back) -> Set {
        match at {
            Place::Own(node) => flow.nodes[node].front[back as usize],
            Place::Function(number) => self.entry(number, self.back(flow.number, back)),
            // The guest traps.
            Place::Nowhere => PRESERVED,
        }
    }
}

/// For whom it is asked what a function may read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    /// Others, who give it what conventions say.
    Others,
    /// Itself: parts of it that were not seen may read all that it has written.
    Itself,
}

/// Where a block goes on.
#[derive(Clone, Copy)]
enum Place {
    /// In the function's own block of this number.
    Own(usize),
    /// In the function of this number.
    Function(usize),
    /// Where there is no function.
    Nowhere,
}

/// A block while its function's registers are followed.
struct Node<'a> {
    start: u64,
    end: &'a Terminator,
    /// Where it goes on, in the order of [`Terminator::successors`].
    next: Vec<Place>,
    /// The function that it calls directly.
    called: Option<usize>,
    /// Functions that it goes on to, but for those that it calls.
    outside: Vec<usize>,
    /// What it reads before it writes it.
    read: Set,
    written: Set,
    /// What may have been given on purpose to who goes on behind it.
    given: Set,
    /// What may be read from its beginning on, for each [`Back`].
    front: [Set; 3],
    /// The instruction that it ends in front of.
    stepped: Option<Inst>,
}

/// A function while its registers are followed.
struct Flow<'a> {
    number: usize,
    function: &'a Function,
    /// Its blocks by address; the first one begins it.
    nodes: Vec<Node<'a>>,
    /// Where the function begins, and where exceptions land.
    entered: Vec<(usize, Set)>,
    /// All that it writes.
    written: Set,
    /// Whether it returns to where it was called, as far as one can see.
    is_regular: bool,
}

impl<'a> Flow<'a> {
    fn new(text: &Text<'_>, number: usize, function: &'a Function, numbers: &HashMap<u64, usize>) -> Flow<'a> {
        let own: HashMap<u64, usize> = (0..).zip(function.blocks.keys()).map(|(node, &start)| (start, node)).collect();
        let place = |to: &u64| match (own.get(to), numbers.get(to)) {
            (Some(&node), _) => Place::Own(node),
            (None, Some(&function)) => Place::Function(function),
            (None, None) => Place::Nowhere,
        };
        let node = |(&start, block): (&u64, &'a Block)| {
            let writes = |inst: &Inst| written(inst).map_or(0, |register| 1 << register);
            let next: Vec<Place> = block.end.successors().iter().map(place).collect();
            let function = |place| if let Place::Function(number) = place { Some(number) } else { None };
            let outside = match &block.end {
                Terminator::CallIndirect { .. } => Vec::new(),
                Terminator::JumpIndirect(targets) => targets.outside.iter().map(place).filter_map(function).collect(),
                _ => next.iter().copied().filter_map(function).collect(),
            };
            let stepped = match block.end {
                Terminator::Step { at, .. } | Terminator::Leave(at) => text.fetch(at),
                _ => None,
            };
            let called = if let Terminator::Call { target, .. } = &block.end { numbers.get(target) } else { None };
            Node {
                start,
                end: &block.end,
                next,
                called: called.copied(),
                outside,
                read: block.insts.iter().rev().fold(0, |set, (_, inst)| before(inst, set)),
                written: block.insts.iter().fold(0, |set, (_, inst)| set | writes(inst)),
                given: !0,
                front: [0; 3],
                stepped,
            }
        };
        let nodes: Vec<Node<'a>> = function.blocks.iter().map(node).collect();
        let orphans = function.orphans.iter().filter_map(|orphan| Some((*own.get(orphan)?, GIVEN)));
        Flow {
            number,
            function,
            entered: own.get(&function.start).map(|&node| (node, !0)).into_iter().chain(orphans).collect(),
            written: nodes.iter().fold(0, |set, node| set | node.written),
            nodes,
            is_regular: is_regular(function),
        }
    }

    /// Functions on which it depends what this one reads.
    fn leads_to(&self) -> impl Iterator<Item = usize> {
        self.nodes.iter().flat_map(|node| node.called.iter().chain(&node.outside).copied())
    }

    /// Finds what each block may read, given what is known of other functions.
    fn solve(&mut self, program: &Program, view: View, back: Back) {
        let mut changed = true;
        while changed {
            changed = false;
            for index in (0..self.nodes.len()).rev() {
                let node = &self.nodes[index];
                let front = node.read | self.behind(node, program, view, back) & !node.written;
                changed |= grow(&mut self.nodes[index].front[back as usize], front);
            }
        }
    }

    /// What may be read behind a block.
    fn behind(&self, node: &Node<'_>, program: &Program, view: View, back: Back) -> Set {
        let unseen = if view == View::Itself { self.written } else { 0 };
        let own = program.back(self.number, back);
        let given = node.given;
        let front = |place: &Place| program.front(self, *place, back);
        match node.end {
            Terminator::Call { .. } => {
                node.called.map_or(GIVEN, |called| program.entry(called, front(&node.next[0]))) & given
            }
            Terminator::CallIndirect { .. } => GIVEN & given,
            Terminator::Return if view == View::Itself && self.function.extent == Extent::Unknown => !0,
            Terminator::Return if self.is_regular => own,
            Terminator::Return => own | unseen,
            Terminator::JumpIndirect(targets) => {
                let inside = node.next.iter().fold(0, |set, to| set | front(to));
                let known = node.outside.iter().fold(inside, |set, &to| set | program.entry(to, own));
                match self.function.extent {
                    // A switch: whatever is missing among the targets would leave a gap.
                    Extent::Whole if targets.are_all => known,
                    Extent::Whole | Extent::Gaps => known | GIVEN & given | own | unseen,
                    // To another part of what was one function.
                    Extent::Unknown => !0,
                }
            }
            Terminator::Step { is_ecall, .. } => {
                let behind = front(&node.next[0]);
                let host = if *is_ecall { GIVEN & given | HOST & unseen } else { 0 };
                node.stepped.as_ref().map_or(behind, |inst| before(inst, behind)) | host
            }
            // Calls that link in another register; all else traps.
            Terminator::Leave(_) => match &node.stepped {
                Some(inst) if inst.op.info().format.destination() == Destination::Jump => HOST | unseen,
                _ => PRESERVED,
            },
            Terminator::Next(_)
            | Terminator::Jump(_)
            | Terminator::Branch { .. }
            | Terminator::CallInside { .. }
            | Terminator::ReturnInside { .. } => {
                let given = |place: &Place| if let Place::Own(_) = place { !0 } else { given };
                node.next.iter().fold(0, |set, to| set | front(to) & given(to))
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
    fn find_given(&mut self, clobbers: &[Set]) {
        let mut front = vec![PRESERVED; self.nodes.len()];
        for &(node, given) in &self.entered {
            front[node] = given;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for (index, node) in self.nodes.iter_mut().enumerate() {
                let given = front[index] | node.written;
                node.given = given;
                let behind = given & !node.clobbered(clobbers) | GIVEN_BACK;
                for to in &node.next {
                    if let Place::Own(to) = *to {
                        changed |= grow(&mut front[to], behind);
                    }
                }
            }
        }
    }
}

impl Node<'_> {
    /// What is seen to be changed behind its end when control comes back to the function.
    fn clobbered(&self, clobbers: &[Set]) -> Set {
        match self.end {
            Terminator::Call { .. } => self.called.map_or(0, |called| clobbers[called]),
            Terminator::CallIndirect { .. } => !PRESERVED,
            _ => 0,
        }
    }
}

/// What functions are seen to change, by themselves and by those that they call. What is not seen, such as cases of a
/// switch, is taken to change nothing: too much here would be garbage to those that count on it.
fn clobbers(flows: &[Flow<'_>]) -> Vec<Set> {
    let mut clobbers: Vec<Set> = flows.iter().map(|flow| flow.written).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for flow in flows {
            let mut all = clobbers[flow.number];
            for node in &flow.nodes {
                all |= node.clobbered(&clobbers);
                all |= node.next.iter().fold(0, |set, to| match *to {
                    Place::Function(number) => set | clobbers[number],
                    Place::Own(_) | Place::Nowhere => set,
                });
                if flow.calls_in_place_of_return(node) {
                    all |= !PRESERVED;
                }
            }
            changed |= grow(&mut clobbers[flow.number], all);
        }
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
    use riverrun_program::Image;
    use riverrun_testkit::tools;

    use super::*;
    use crate::analysis::{Abilities, functions};

    const A2: Set = 1 << 12;
    const T3: Set = 1 << 28;

    /// What may be read in front of and behind a function of a program in assembly.
    fn of(name: &str, source: &str) -> (Set, Set) {
        let (function, liveness) = analysed(name, source);
        (liveness.entry(function.start), liveness.back(function.start))
    }

    /// What may be read behind a function's last block.
    fn behind_last_block(name: &str, source: &str) -> Set {
        let (function, liveness) = analysed(name, source);
        liveness.behind(function.start, *function.blocks.keys().last().unwrap())
    }

    fn analysed(name: &str, source: &str) -> (Function, Liveness) {
        let folder = std::env::temp_dir();
        let folder = folder.to_str().unwrap();
        let source = tools::Scratch::new(folder, source.as_bytes());
        let elf = tools::compile(folder, source.path(), &["-march=rv64gc", "-xassembler"]);
        let image = Image::parse(elf).unwrap();
        let text = Text::new(&image, Abilities { rounds: true, fuses: true });
        let functions = functions(&text);
        let function = functions.iter().find(|function| function.name.as_deref() == Some(name)).unwrap();
        (function.clone(), Liveness::new(&text, &functions))
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
        let (entry, back) = of("callee", &source);
        assert_eq!((entry & (T3 | A2), back & (T3 | A2)), (0, 0));
        assert_eq!(back & (1 << 10), 1 << 10, "results are given back");
    }

    #[test]
    fn functions_may_have_a_convention_of_their_own() {
        let source = program("add a0, a0, t3\nli t3, 7\nret", "li t3, 5\nli a2, 4\ncall callee\nadd a0, t3, a2");
        let (entry, back) = of("callee", &source);
        assert_eq!((entry & T3, back & T3), (T3, T3));
        // It goes through the function untouched.
        assert_eq!((entry & A2, back & A2), (A2, A2));
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
            liveness.behind(function.start, function.start) & T3
        };
        assert_eq!((behind_first_block("keeping"), behind_first_block("_start")), (T3, 0));
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
    fn unknown_jumps_may_need_everything() {
        // No size: nobody knows where it ends.
        let source = ".globl _start\n_start: li t3, 5\ncall callee\n ret\n.globl callee\ncallee: jr a2\n";
        assert_eq!(of("callee", source).0 & (T3 | A2), T3 | A2);
    }
}
