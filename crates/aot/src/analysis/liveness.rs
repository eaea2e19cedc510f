//! Which registers anybody may still read where control leaves a function, and at the ends of its blocks.
//!
//! What a program's own code never reads again need not be exact at calls and returns: it is garbage left in
//! temporaries and arguments, and storing it, or keeping it in the host's registers, is most of what calls would
//! cost. What instructions read is found over the whole program, so that compilers may make conventions of their
//! own between functions that they see. Besides, it is assumed that compilers made the program:
//!
//! - functions give results back in a0, a1, fa0 and fa1. What else a function may have changed is not handed on
//!   to a further one, unless an instruction reads it in between;
//! - where it cannot be seen who goes on (calls and jumps by register, system calls, returns from functions that
//!   change ra or sp in unusual ways), those do who keep to the calling convention of RISC-V's psABI, or a part of
//!   the same function, which may read what the function has written.
//!
//! A program that breaks this reads other values than in the interpreter, its own or zeros, and harms nobody.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;

use riverrun_isa::{Format, Inst, Op, Result as Destination};
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
    pub(crate) fn new(text: &Text<'_>, functions: &[Function]) -> Liveness {
        let mut flows: BTreeMap<u64, Flow<'_>> =
            functions.iter().map(|function| (function.start, Flow::new(text, function))).collect();
        let clobbers = clobbers(&flows);
        flows.values_mut().for_each(|flow| flow.find_given(&clobbers));
        let mut program = Program {
            entry: functions.iter().map(|function| (function.start, [0; 2])).collect(),
            back: functions.iter().map(|function| (function.start, GIVEN_BACK)).collect(),
            irregular: flows.iter().filter(|(_, flow)| !flow.is_regular).map(|(&start, _)| start).collect(),
            leading_to: HashMap::new(),
        };
        for (&start, flow) in &flows {
            flow.leads_to().for_each(|to| program.leading_to.entry(to).or_default().push(start));
        }
        while [Back::Least, Back::All, Back::Known].map(|back| program.solve(&mut flows, back)).contains(&true) {}
        let behind = flows.iter_mut().map(|(&start, flow)| {
            flow.solve(&program, View::Itself, Back::Known);
            let behind = |block: &u64| flow.behind(*block, &program, View::Itself, Back::Known);
            (start, flow.function.blocks.keys().map(|block| (*block, behind(block))).collect())
        });
        let behind = behind.collect();
        let entry = |(&start, &back): (&u64, &Set)| (start, program.entry(start, back).unwrap_or(GIVEN));
        Liveness { entry: program.back.iter().map(entry).collect(), back: program.back, behind }
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

/// What is known of the functions together so far; it only grows.
struct Program {
    /// By functions, what they may read of what they are given, with [`Back::Least`] and [`Back::All`].
    entry: HashMap<u64, [Set; 2]>,
    /// What is read behind functions, by function.
    back: HashMap<u64, Set>,
    /// Functions that may return to others than their callers.
    irregular: BTreeSet<u64>,
    /// By functions, those that call them or go on in them.
    leading_to: HashMap<u64, Vec<u64>>,
}

fn grow(set: &mut Set, by: Set) -> bool {
    let grown = *set | by;
    std::mem::replace(set, grown) != grown
}

impl Program {
    /// Finds what functions read and tell of others; says whether that is more than before.
    fn solve(&mut self, flows: &mut BTreeMap<u64, Flow<'_>>, back: Back) -> bool {
        let mut any = false;
        let mut pending: BTreeSet<u64> = flows.keys().copied().collect();
        while let Some(start) = pending.pop_last() {
            let flow = flows.get_mut(&start).expect("these are functions");
            flow.solve(self, View::Others, back);
            let concerned = match back {
                Back::Least | Back::All => self.note_entry(start, flow, back),
                Back::Known => self.note_back(start, flow),
            };
            any |= !concerned.is_empty();
            pending.extend(concerned);
        }
        any
    }

    /// Takes over what a function may read; gives those whom that concerns.
    fn note_entry(&mut self, start: u64, flow: &Flow<'_>, back: Back) -> Vec<u64> {
        let front = flow.front[back as usize].get(&start).copied().unwrap_or_default();
        let is_more = grow(&mut self.entry.entry(start).or_default()[back as usize], front);
        let leading = self.leading_to.get(&start).filter(|_| is_more);
        leading.cloned().unwrap_or_default()
    }

    /// Takes over what a function's blocks tell of others; gives those.
    fn note_back(&mut self, start: u64, flow: &Flow<'_>) -> Vec<u64> {
        let mut concerned = Vec::new();
        let own = self.back[&start];
        for block in flow.function.blocks.values() {
            if let Terminator::Call { target, next } = block.end {
                // A target that is no function's start is a place in this one.
                let target = if self.back.contains_key(&target) { target } else { start };
                let front = self.front(flow, next, Back::Known);
                if grow(self.back.entry(target).or_default(), front) {
                    concerned.push(target);
                }
                continue;
            }
            for to in flow.outside(&block.end) {
                if self.back.get_mut(&to).is_some_and(|back| grow(back, own)) {
                    concerned.push(to);
                }
            }
        }
        let irregular = concerned.iter().filter(|start| self.irregular.contains(start));
        let leading: Vec<u64> = irregular.filter_map(|start| self.leading_to.get(start)).flatten().copied().collect();
        concerned.extend(leading);
        concerned
    }

    /// What may be read behind a function.
    fn back(&self, start: u64, back: Back) -> Set {
        match back {
            Back::Least => GIVEN_BACK,
            Back::All => !0,
            Back::Known => self.back[&start],
        }
    }

    /// What a function may read of what it is given, itself or by handing it on to who reads `behind` it, if there is one.
    fn entry(&self, start: u64, behind: Set) -> Option<Set> {
        let [least, most] = self.entry.get(&start)?;
        let others = if self.irregular.contains(&start) { self.back[&start] } else { 0 };
        Some(least | most & (behind | others))
    }

    /// What may be read from an address on to which a function goes.
    fn front(&self, flow: &Flow<'_>, at: u64, back: Back) -> Set {
        let own = flow.front[back as usize].get(&at).copied();
        // Where there is no function, the guest traps.
        own.or_else(|| self.entry(at, self.back(flow.function.start, back))).unwrap_or(PRESERVED)
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

/// A function while its registers are followed.
struct Flow<'a> {
    function: &'a Function,
    /// By blocks, what they read before they write it, and what they write.
    accesses: BTreeMap<u64, (Set, Set)>,
    /// By blocks, what may have been given on purpose to who goes on behind them.
    given: HashMap<u64, Set>,
    /// By blocks, what may be read from their beginning on, for each [`Back`].
    front: [HashMap<u64, Set>; 3],
    /// The instructions that blocks end in front of.
    stepped: HashMap<u64, Inst>,
    /// All that it writes.
    written: Set,
    /// Whether it returns to where it was called, as far as one can see.
    is_regular: bool,
}

impl<'a> Flow<'a> {
    fn new(text: &Text<'_>, function: &'a Function) -> Flow<'a> {
        let mut accesses = BTreeMap::new();
        let mut stepped = HashMap::new();
        for (&start, block) in &function.blocks {
            let writes = |inst: &Inst| written(inst).map_or(0, |register| 1 << register);
            let all = block.insts.iter().fold(0, |set, (_, inst)| set | writes(inst));
            accesses.insert(start, (block.insts.iter().rev().fold(0, |set, (_, inst)| before(inst, set)), all));
            if let Terminator::Step { at, .. } | Terminator::Leave(at) = block.end {
                stepped.extend(text.fetch(at).map(|inst| (at, inst)));
            }
        }
        Flow {
            function,
            written: accesses.values().fold(0, |set, (_, written)| set | written),
            accesses,
            given: HashMap::new(),
            front: std::array::from_fn(|_| function.blocks.keys().map(|&start| (start, 0)).collect()),
            stepped,
            is_regular: is_regular(function),
        }
    }

    /// Functions that a block goes on to, but for those that it calls.
    fn outside(&self, end: &Terminator) -> Vec<u64> {
        let mut outside = match end {
            Terminator::CallIndirect { .. } => Vec::new(),
            Terminator::JumpIndirect(targets) => targets.outside.clone(),
            end => end.successors(),
        };
        outside.retain(|to| !self.function.blocks.contains_key(to));
        outside
    }

    /// Functions on which it depends what this one reads.
    fn leads_to(&self) -> impl Iterator<Item = u64> {
        self.function.blocks.values().flat_map(|block| {
            let called = if let Terminator::Call { target, .. } = block.end { Some(target) } else { None };
            called.into_iter().chain(self.outside(&block.end))
        })
    }

    /// Finds what each block may read, given what is known of other functions.
    fn solve(&mut self, program: &Program, view: View, back: Back) {
        let mut changed = true;
        while changed {
            changed = false;
            for &start in self.function.blocks.keys().rev() {
                let (read, written) = self.accesses[&start];
                let front = read | self.behind(start, program, view, back) & !written;
                changed |= grow(self.front[back as usize].get_mut(&start).expect("all blocks have one"), front);
            }
        }
    }

    /// What may be read behind a block.
    fn behind(&self, start: u64, program: &Program, view: View, back: Back) -> Set {
        let unseen = if view == View::Itself { self.written } else { 0 };
        let own = program.back(self.function.start, back);
        let given = self.given.get(&start).copied().unwrap_or(!0);
        match &self.function.blocks[&start].end {
            Terminator::Call { target, next } => {
                program.entry(*target, program.front(self, *next, back)).unwrap_or(GIVEN) & given
            }
            Terminator::CallIndirect { .. } => GIVEN & given,
            Terminator::Return if view == View::Itself && self.function.extent == Extent::Unknown => !0,
            Terminator::Return if self.is_regular => own,
            Terminator::Return => own | unseen,
            Terminator::JumpIndirect(targets) => {
                let inside = targets.inside.iter().fold(0, |set, &to| set | program.front(self, to, back));
                let parts = targets.outside.iter().filter_map(|to| program.entry(*to, own));
                let known = parts.fold(inside, |set, entry| set | entry);
                match self.function.extent {
                    // A switch: whatever is missing among the targets would leave a gap.
                    Extent::Whole if targets.are_all => known,
                    Extent::Whole | Extent::Gaps => known | GIVEN & given | own | unseen,
                    // To another part of what was one function.
                    Extent::Unknown => !0,
                }
            }
            Terminator::Step { at, next, is_ecall } => {
                let behind = program.front(self, *next, back);
                let host = if *is_ecall { GIVEN & given | HOST & unseen } else { 0 };
                self.stepped.get(at).map_or(behind, |inst| before(inst, behind)) | host
            }
            // Calls that link in another register; all else traps.
            Terminator::Leave(at) => match self.stepped.get(at) {
                Some(inst) if inst.op.info().format.result() == Destination::Jump => HOST | unseen,
                _ => PRESERVED,
            },
            end => end.successors().into_iter().fold(0, |set, to| {
                let is_own = self.function.blocks.contains_key(&to);
                set | program.front(self, to, back) & if is_own { !0 } else { given }
            }),
        }
    }

    /// What may have been changed behind a block's end when control comes back to the function.
    fn clobbered(&self, end: &Terminator, clobbers: &HashMap<u64, Set>) -> Set {
        match end {
            Terminator::Call { target, .. } => clobbers.get(target).copied().unwrap_or(!PRESERVED),
            Terminator::CallIndirect { .. } => !PRESERVED,
            _ => 0,
        }
    }

    /// Finds what blocks may give on purpose: what was given to the function, or what it has written itself, and
    /// results, but not what calls leave in other registers.
    fn find_given(&mut self, clobbers: &HashMap<u64, Set>) {
        let function = self.function;
        let mut front: HashMap<u64, Set> = HashMap::new();
        front.insert(function.start, !0);
        front.extend(function.orphans.iter().map(|&orphan| (orphan, GIVEN)));
        let mut changed = true;
        while changed {
            changed = false;
            for (&start, block) in &function.blocks {
                let given = front.get(&start).copied().unwrap_or(PRESERVED) | self.accesses[&start].1;
                self.given.insert(start, given);
                let clobbered = self.clobbered(&block.end, clobbers);
                let behind = if clobbered == 0 { given } else { given & !clobbered | GIVEN_BACK };
                for to in block.end.successors().into_iter().filter(|to| function.blocks.contains_key(to)) {
                    changed |= grow(front.entry(to).or_insert(PRESERVED), behind);
                }
            }
        }
    }
}

/// What functions may change, by themselves and by those that they call.
fn clobbers(flows: &BTreeMap<u64, Flow<'_>>) -> HashMap<u64, Set> {
    let mut clobbers: HashMap<u64, Set> = flows.iter().map(|(&start, flow)| (start, flow.written)).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for (&start, flow) in flows {
            let mut all = clobbers[&start];
            for block in flow.function.blocks.values() {
                all |= flow.clobbered(&block.end, &clobbers);
                let elsewhere = block.end.successors().into_iter().filter(|to| !flow.function.blocks.contains_key(to));
                all |= elsewhere.fold(0, |set, to| set | clobbers.get(&to).copied().unwrap_or(!PRESERVED));
                if matches!(block.end, Terminator::JumpIndirect(_) | Terminator::Leave(_)) {
                    all |= !PRESERVED;
                }
            }
            changed |= grow(clobbers.get_mut(&start).expect("all functions have one"), all);
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
        Some(RA) => inst.op.info().format.result() == Destination::Jump || inst.op == Op::ld && is_frame(inst.rs1),
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
    fn unknown_jumps_may_need_everything() {
        // No size: nobody knows where it ends.
        let source = ".globl _start\n_start: li t3, 5\ncall callee\n ret\n.globl callee\ncallee: jr a2\n";
        assert_eq!(of("callee", source).0 & (T3 | A2), T3 | A2);
    }
}
