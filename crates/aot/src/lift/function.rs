//! Lifting one guest function to one host function.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use inkwell::IntPredicate;
use inkwell::values::{FunctionValue, IntValue, PointerValue};
use riverrun_isa::{Destination, Format, Inst, Operands, eval};
use riverrun_vm::Reason;
use riverrun_vm::convention::{self, NOWHERE};

use crate::analysis::{
    self, Block, CallNumber, Fixed, Function, HostCall, Imports, Index, Libcall, Liveness, Targets, Terminator,
    address, call_numbers, is_copied, order,
};
use crate::budget::Budget;
use crate::lift::continuations::Continuations;
use crate::lift::dataflow::{self, Facts};
use crate::lift::fault_exits::Group;
use crate::lift::float_flags;
use crate::lift::fuel;
use crate::lift::host_abi_entries;
use crate::lift::ir::{Callers, Ir, Space, built};
use crate::lift::libcalls::KnownLibcall;
use crate::lift::registers::{self, FUEL, Label, Registers, Set, to_commit};
use crate::lift::site::Site;
use crate::lift::value::Value;

/// The facts about the program that lifting a function needs.
pub(crate) trait Surroundings {
    /// Whether a function begins at the address.
    fn is_function(&self, address: u64) -> bool;
    /// Logarithm of the size of the dispatch table.
    fn dispatch_bits(&self) -> u32;
    /// The libcall that begins there, if one does.
    fn libcall(&self, start: u64) -> Option<&KnownLibcall>;
    /// The live registers.
    fn liveness(&self) -> &Liveness;
    /// Whether any code reads accrued float exceptions.
    fn reads_exceptions(&self) -> bool;
    /// The host functions that it calls.
    fn imports(&self) -> &Imports;
    /// What analysis may still take.
    fn budget(&self) -> &Budget;
    /// The source line of an instruction, with the path of its file, where that is known.
    fn source(&self, pc: u64) -> Option<(String, u32)>;
}

/// Functions of at most that many instructions pass on unchanged the pinned registers that they do not name: they have
/// enough host registers.
const SMALL: usize = 48;

/// Adds the host function of `function` to the module, or its host-ABI entry point if the module's callers are the host.
pub(crate) fn lift<'c>(ir: &Ir<'c>, function: &Function, surroundings: &impl Surroundings) {
    match (ir.callers, surroundings.libcall(function.start)) {
        (Callers::Host, _) => lift_own(ir, ir.host_abi_entry(function.start), function, None, surroundings),
        (Callers::Guest, Some(known)) => lift_libcall(ir, function, known, surroundings),
        (Callers::Guest, None) => lift_own(ir, ir.function(function.start), function, None, surroundings),
    }
}

/// Declares the host functions that [`lift`] makes of a function, if there are several. Code is in the order of
/// declarations, and linked code finds its function by its place.
pub(crate) fn declare(ir: &Ir<'_>, function: &Function, surroundings: &impl Surroundings) {
    if let Some(known) = surroundings.libcall(function.start).filter(|_| ir.callers == Callers::Guest) {
        parts(ir, function.start, known.known);
    }
}

/// The host functions of a libcall: itself, the guest's own code, and that code specialised for [`Libcall::rest`]. The
/// guest's code is separate because it needs registers that the host's code does not.
fn parts<'c>(ir: &Ir<'c>, start: u64, known: Libcall) -> (FunctionValue<'c>, FunctionValue<'c>, Option<Rest<'c>>) {
    let host = ir.function(start);
    let own = ir.part(start, "own");
    (host, own, known.rest().map(|argument| (ir.part(start, "rest"), argument)))
}

/// A host function and the register that is a constant at its beginning.
type Rest<'c> = (FunctionValue<'c>, (usize, u64));

fn lift_libcall<'c>(ir: &Ir<'c>, function: &Function, known: &KnownLibcall, surroundings: &impl Surroundings) {
    let start = function.start;
    let (host, own, rest) = parts(ir, start, known.known);
    lift_own(ir, own, function, None, surroundings);
    if let Some((rest, argument)) = rest {
        lift_own(ir, rest, function, Some(argument), surroundings);
    }

    ir.begin_function(host, false);
    ir.lines.begin(host, function, |pc| surroundings.source(pc));
    ir.builder.position_at_end(ir.block(host));
    ir.line(start);
    let pinned = registers::pinned_set(ir.options.fuel);
    // All registers are handed over as they are.
    let registers = Registers::new(ir, pinned, 0, pinned, 0, [None; registers::COUNT]);
    registers.take_parameters(ir, host);
    let continuations = Continuations::new(ir, host, None);
    let site = Site {
        ir,
        registers: &registers,
        function: host,
        continuations: &continuations,
        imports: surroundings.imports(),
        group: &Group::default(),
        pc: start,
        ahead: 0,
        space: Space::Guest,
        live: surroundings.liveness().live_out(start),
        dispatch_bits: surroundings.dispatch_bits(),
    };
    let pointer = |function: FunctionValue<'c>| function.as_global_value().as_pointer_value();
    site.libcall_body(known, pointer(own), rest.map_or(pointer(own), |(rest, _)| pointer(rest)));
    continuations.finish(ir, &registers, &site);
}

/// Adds the guest's own code for `function` as `host`; where `argument` says so, with a register that is a constant at
/// its beginning.
fn lift_own<'c>(
    ir: &Ir<'c>,
    host: FunctionValue<'c>,
    function: &Function,
    argument: Option<(usize, u64)>,
    surroundings: &impl Surroundings,
) {
    let strict = ir.options.is_precise() || surroundings.reads_exceptions() || float_flags::matter(function);
    ir.begin_function(host, strict);
    if order(function, std::iter::once(function.start), Terminator::successors).back.is_empty() {
        ir.prefer_narrow_vectors(host);
    }
    ir.lines.begin(host, function, |pc| surroundings.source(pc));
    ir.builder.position_at_end(ir.block(host));
    ir.line(function.start);
    let state_resident = dataflow::state_resident(function, ir.options.fuel);
    let used = dataflow::used(function);
    let kept = if function.size() <= SMALL { registers::pinned_set(ir.options.fuel) & !used } else { 0 };
    let narrow = analysis::narrow(function);
    let ever_narrow = narrow.values().fold(0, |all, set| all | set);
    let registers = Registers::new(ir, used, state_resident, kept, ever_narrow, dataflow::float_views(function));
    match ir.callers {
        Callers::Guest => registers.take_parameters(ir, host),
        Callers::Host => registers.take_host_parameters(ir, host),
    }
    let numbers = call_numbers(function.start, &function.blocks, surroundings.budget());
    let mut dirty = match ir.callers {
        Callers::Guest => registers::pinned_set(ir.options.fuel),
        Callers::Host => host_abi_entries::parameters(),
    };
    // Host callers commit as they begin, so that a loop does not do it again and again.
    if dataflow::is_host_caller(function, &numbers) {
        let lacking = dataflow::dirty_behind_host(ir.options.fuel);
        registers.flush(ir, dirty & !lacking & to_commit(ir, surroundings.liveness().live_in(function.start)));
        dirty &= lacking;
    }
    let (target, index) = (built(ir.builder.build_alloca(ir.i64, "")), built(ir.builder.build_alloca(ir.i64, "")));
    let labels: BTreeMap<u64, Label<'c>> = function.blocks.keys().map(|&start| (start, ir.block(host))).collect();
    let polls: BTreeMap<u64, Label<'c>> = function.polls.keys().map(|&header| (header, ir.block(host))).collect();
    let entry = ir.here();
    let unseen =
        if ir.callers == Callers::Host { host_abi_entries::unseen(function, surroundings.imports()) } else { 0 };
    let behind =
        |start| to_commit(ir, surroundings.liveness().block_live_out(function.start, address(start)) & !unseen);
    let facts = dataflow::facts(function, ir.options.fuel, state_resident, dirty, &behind, surroundings.budget());
    let switches = RefCell::default();
    let registers = &registers;
    let continuations = Continuations::new(ir, host, Some(function));
    let lifting = Lifting {
        ir,
        registers,
        host,
        function,
        labels,
        polls,
        facts,
        fuel_tests: if ir.options.fuel { fuel::tests(function) } else { BTreeSet::new() },
        narrow,
        constants: analysis::poll_constants(function, surroundings.budget()),
        private: analysis::private_accesses(function),
        numbers,
        surroundings,
        continuations,
        group: Group::default(),
        target,
        index,
        switches,
    };
    ir.builder.position_at_end(entry);
    if let Some((register, value)) = argument {
        registers.set(register, Value::Word(ir.int(value)));
        registers.save(ir, 0, !0);
    }
    ir.jump(lifting.labels[&function.start]);
    for (&start, block) in &function.blocks {
        lifting.block(start, block);
    }
    lifting.polls.keys().for_each(|&header| lifting.poll(header));
    match ir.callers {
        Callers::Guest => lifting.finish_continuations(),
        Callers::Host => lifting.continuations.finish_unused(ir),
    }
}

/// The key by which jumps share a switch.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Targets(Vec<u64>),
    /// And whether their targets have been compared.
    Table(Vec<u64>, bool),
}

/// How a jump by register finds its target.
enum Selector<'c> {
    /// Its target.
    Target,
    /// By the index that it seems to have into its table; the target must be compared afterwards.
    Index(IntValue<'c>),
    /// The index into a table that is never writable, from the entry that it has loaded, and what that was.
    Entry(Fixed, IntValue<'c>, IntValue<'c>),
}

struct Lifting<'a, 'c, S> {
    ir: &'a Ir<'c>,
    registers: &'a Registers<'c>,
    host: FunctionValue<'c>,
    function: &'a Function,
    labels: BTreeMap<u64, Label<'c>>,
    /// The blocks that poll, by the headers to which they lead.
    polls: BTreeMap<u64, Label<'c>>,
    facts: BTreeMap<u64, Facts>,
    /// The blocks that begin with a test of the fuel.
    fuel_tests: BTreeSet<u64>,
    /// Registers that are narrow where blocks begin.
    narrow: BTreeMap<u64, Set>,
    /// The registers that hold constants where it polls, with these.
    constants: BTreeMap<u64, Vec<(usize, u64)>>,
    /// The accesses to its own frame, by blocks and places in them.
    private: BTreeSet<(u64, usize)>,
    /// What is called by system calls, as far as that is known.
    numbers: BTreeMap<u64, CallNumber>,
    surroundings: &'a S,
    continuations: Continuations<'c>,
    group: Group<'c>,
    /// Where a jump by register goes, on its selector to a switch.
    target: PointerValue<'c>,
    /// The index of its entry in a table, likewise.
    index: PointerValue<'c>,
    /// The switches by their targets, or by their tables.
    switches: RefCell<HashMap<Key, Label<'c>>>,
}

impl<'c, S: Surroundings> Lifting<'_, 'c, S> {
    fn site(&self, pc: u64, ahead: u64, live: Set) -> Site<'_, 'c> {
        Site {
            ir: self.ir,
            registers: self.registers,
            function: self.host,
            continuations: &self.continuations,
            imports: self.surroundings.imports(),
            group: &self.group,
            pc,
            ahead,
            space: Space::Guest,
            live,
            dispatch_bits: self.surroundings.dispatch_bits(),
        }
    }

    fn block(&self, start: u64, block: &Block) {
        let (ir, registers) = (self.ir, self.registers);
        let facts = self.facts[&start];
        ir.builder.position_at_end(self.labels[&start]);
        registers.begin_block(facts.dirty);
        registers.begin_narrow(self.narrow_at(start));
        ir.line(address(start));
        let count = block.insts.len() as u64;
        self.begin(start, count);
        let commits = dataflow::commits(block, facts.committed, facts.live, ir.options.fuel);
        let live = self.live_at_host_calls(block, facts.live);
        let mut result = Value::Word(ir.int(0));
        let fixed = self.fixed(block);
        let indexed = if fixed.is_none() { indexed(block) } else { None };
        let mut selector = Selector::Target;
        for (index, &(pc, ref inst)) in block.insts.iter().enumerate() {
            ir.line(pc);
            if let Some(read) = indexed.filter(|read| read.at == index) {
                let word = ir.word(registers.get(ir, read.register));
                selector = Selector::Index(if read.is_low { ir.zero_extend(ir.truncate(word, 32)) } else { word });
            }
            let entry = fixed.filter(|&(load, _)| load == index).map(|(_, fixed)| (fixed, self.index(inst, fixed)));
            let site = self.site(pc, count - index as u64, live.get(&index).copied().unwrap_or(!0));
            let space = if self.private.contains(&(start, index)) { Space::Frame } else { Space::Guest };
            result = self.instruction(&Site { space, ..site }, inst);
            if let Some((fixed, at)) = entry {
                selector = Selector::Entry(fixed, at, ir.word(result));
            }
            self.group.end_if_full(ir, registers, self.continuations.fault);
            registers.commit(ir, commits.get(&index).copied().unwrap_or(0));
        }
        self.group.end(ir, registers, self.continuations.fault);
        registers.commit(ir, facts.committed);
        self.end(start, &block.end, result, &selector, facts.live);
    }

    /// Where a block loads the entry of a table that is never writable, by which its jump goes, and that table. Precise
    /// code trusts what is in memory alone.
    fn fixed(&self, block: &Block) -> Option<(usize, Fixed)> {
        let Terminator::JumpIndirect(targets) = &block.end else { return None };
        let fixed = targets.fixed.filter(|_| !self.ir.options.is_precise() && leads_everywhere(targets))?;
        let (at, mem) = analysis::load(block)?;
        (mem == fixed.mem).then_some((at, fixed))
    }

    /// The index of the entry of a table that an instruction loads; one that is greater than any, if it loads none.
    fn index(&self, load: &Inst, table: Fixed) -> IntValue<'c> {
        let ir = self.ir;
        let base = ir.word(self.registers.get(ir, usize::from(load.rs1)));
        let distance = load.immediate().wrapping_sub(table.start);
        let distance = built(ir.builder.build_int_add(base, ir.int(distance), ""));
        let size = u64::from(table.mem.bytes());
        let remainder = built(ir.builder.build_and(distance, ir.int(size - 1), ""));
        let is_aligned = ir.compare(IntPredicate::EQ, remainder, ir.int(0));
        let shift = ir.int(u64::from(size.trailing_zeros()));
        let index = built(ir.builder.build_right_shift(distance, shift, false, ""));
        ir.select(is_aligned, index.into(), ir.int(!0).into()).into_int_value()
    }

    /// The registers that are narrow at the beginning of a block; none if the block is another function's.
    fn narrow_at(&self, start: u64) -> Set {
        self.narrow.get(&start).copied().unwrap_or(0)
    }

    /// The live registers at each host call of a block, by position.
    fn live_at_host_calls(&self, block: &Block, mut live: Set) -> HashMap<usize, Set> {
        let mut found = HashMap::new();
        for (index, (_, inst)) in block.insts.iter().enumerate().rev() {
            live = to_commit(self.ir, self.before(inst, live));
            if dataflow::calls_host(inst) {
                found.insert(index, live);
            }
        }
        found
    }

    fn before(&self, inst: &Inst, live: Set) -> Set {
        analysis::before(inst, live, self.surroundings.imports())
    }

    /// Which unsaved results of arithmetic each of two ways on saves alone, as they are dead on the other: no NaN is
    /// looked for there, which may be a loop's. They are left out of what both save, and so are those that are dead on
    /// both.
    fn leave_out_results(&self, ways: [u64; 2]) -> [Set; 2] {
        let results = self.registers.unsaved_results();
        if results == 0 || ways.iter().any(|to| !self.labels.contains_key(to)) {
            return [0; 2];
        }
        let [a, b] = ways.map(|to| results & self.live_at(to));
        self.registers.leave_out(results & !(a & b));
        [a & !b, b & !a]
    }

    /// The live-in registers of a block.
    fn live_at(&self, start: u64) -> Set {
        let insts = self.function.blocks[&start].insts.iter().rev();
        to_commit(self.ir, insts.fold(self.facts[&start].live, |live, (_, inst)| self.before(inst, live)))
    }

    /// Subtracts a block's instructions from the fuel. Exits at its beginning if stack or fuel may be short, and continues
    /// there when resumed.
    fn begin(&self, start: u64, count: u64) {
        let (ir, registers) = (self.ir, self.registers);
        let fuel = ir.options.fuel.then(|| ir.word(registers.get(ir, FUEL)));
        let mut short: Option<Label<'c>> = None;
        // The fuel that there is where something is short.
        let mut had: Vec<(IntValue<'c>, Label<'c>)> = Vec::new();
        if self.tests_stack(start) {
            let (here, go_on) = (ir.here(), ir.block(self.host));
            ir.branch_likely(self.stack_suffices(start), go_on, *short.get_or_insert_with(|| ir.block(self.host)));
            had.extend(fuel.map(|fuel| (fuel, here)));
            ir.builder.position_at_end(go_on);
        }
        let mut left = fuel.map(|fuel| built(ir.builder.build_int_sub(fuel, ir.int(count), "")));
        if let Some(tested) = left.filter(|_| self.fuel_tests.contains(&start)) {
            let lasts = ir.compare(IntPredicate::SGE, tested, ir.int(0));
            let (undo, go_on) = (ir.block(self.host), ir.block(self.host));
            ir.branch_likely(lasts, go_on, undo);
            ir.builder.position_at_end(undo);
            // Made anew, lest it is kept.
            had.push((built(ir.builder.build_int_add(ir.opaque(tested), ir.int(count), "")), undo));
            ir.jump(*short.get_or_insert_with(|| ir.block(self.host)));
            ir.builder.position_at_end(go_on);
            left = Some(ir.opaque(tested));
        }
        if let Some(short) = short {
            let go_on = ir.here();
            ir.builder.position_at_end(short);
            let fork = registers.fork();
            if !had.is_empty() {
                let fuel = built(ir.builder.build_phi(ir.i64, ""));
                for (value, from) in had {
                    fuel.add_incoming(&[(&value, from)]);
                }
                registers.set(FUEL, Value::Word(fuel.as_basic_value().into_int_value()));
            }
            self.stop_short(start);
            registers.rejoin(fork);
            ir.builder.position_at_end(go_on);
        }
        if let Some(left) = left {
            registers.set(FUEL, Value::Word(left));
        }
    }

    /// Fills the block that polls where control goes back to a header: exits there if that is requested. Coming back behind
    /// the exit would make it a part of the loop.
    fn poll(&self, header: u64) {
        let (ir, registers, go_on) = (self.ir, self.registers, self.labels[&header]);
        ir.builder.position_at_end(self.polls[&header]);
        ir.line(address(header));
        if self.tests_stack(header) {
            return ir.jump(go_on);
        }
        registers.begin_block(self.facts[&header].dirty);
        registers.begin_narrow(self.narrow_at(header));
        let stop = ir.block(self.host);
        ir.branch_likely(ir.is_at_least(registers.base(ir), convention::POLL), go_on, stop);
        ir.builder.position_at_end(stop);
        self.stop_for_good(header);
    }

    /// Exits at the beginning of a block with all that is live committed, and drops the frame.
    fn stop_for_good(&self, start: u64) {
        let (ir, registers, live) = (self.ir, self.registers, self.live_at(start));
        let site = self.site(start, 0, live);
        site.store_field(convention::PC, address(start));
        if ir.callers == Callers::Guest {
            // Not in the pinned registers, either: where all exits met with these, LLVM would have hot code move
            // registers about.
            registers.commit(ir, live);
            ir.jump(self.continuations.limit);
        } else {
            site.exit(Reason::Limit, NOWHERE);
            ir.unreachable();
        }
    }

    /// Whether this block tests the stack: at the start of functions that call others or are entered in loops. Host-ABI
    /// entry points run on the host's stack, in one frame.
    fn tests_stack(&self, start: u64) -> bool {
        let is_entered = || !self.function.polls.is_empty() && self.surroundings.libcall(start).is_none();
        start == self.function.start && self.ir.callers == Callers::Guest && (self.function.leaves() || is_entered())
    }

    /// Whether the stack suffices, and, where a loop begins, nothing asks it to stop.
    fn stack_suffices(&self, start: u64) -> IntValue<'c> {
        let ir = self.ir;
        if self.function.polls.contains_key(&start) {
            return ir.is_stack_at_least(self.registers.base(ir), convention::STACK_LIMIT);
        }
        let limit = ir.field(self.registers.base(ir), convention::STACK_LIMIT);
        let limit = ir.load(ir.i64.into(), limit, Space::State).into_int_value();
        ir.compare(IntPredicate::UGE, ir.stack_pointer(), limit)
    }

    /// Exits at the beginning of a block because stack or fuel may be short.
    fn stop_short(&self, start: u64) {
        let (ir, registers) = (self.ir, self.registers);
        if start == self.function.start {
            self.site(start, 0, !0).exit_at_start();
            // The dispatcher enters functions in the middle by this exit at their beginning.
            return ir.jump(self.continuations.reentry);
        }
        if ir.callers == Callers::Guest && self.function.reentry_points().any(|at| at == start) {
            // It is entered anew: coming back would be one more selector on from here.
            return self.stop_for_good(start);
        }
        let site = self.site(start, 0, self.live_at(start));
        site.store_field(convention::PC, address(start));
        site.exit(Reason::Limit, address(start));
        registers.reload(ir);
        self.come_back(start);
    }

    /// Continues at a block with all registers reloaded into their slots, if they have what LLVM is told of them there.
    fn come_back(&self, start: u64) {
        let (ir, registers, label) = (self.ir, self.registers, self.labels[&start]);
        let (narrow, live) = (self.narrow_at(start), self.live_at(start));
        let constants = self.constants.get(&start).into_iter().flatten().copied();
        let is_of_use = |register: usize| live >> register & 1 != 0 && registers.has_slot(register);
        let constants: Vec<(usize, u64)> = constants.filter(|&(register, _)| is_of_use(register)).collect();
        let checks = [registers.narrow_down(ir, narrow), registers.are_constant(ir, &constants)];
        let Some(is_known) = checks.into_iter().flatten().reduce(|a, b| built(ir.builder.build_and(a, b, ""))) else {
            return ir.jump(label);
        };
        let (known, other) = (ir.block(self.host), ir.block(self.host));
        ir.branch_likely(is_known, known, other);
        ir.builder.position_at_end(known);
        registers.put_constants(ir, &constants, narrow);
        ir.jump(label);
        ir.builder.position_at_end(other);
        // The reference interpreter goes on, and not just here again.
        self.site(start, 0, !0).step_out(ir.int(address(start)));
    }

    /// Fills the blocks to which control returns from calls.
    fn finish_continuations(&self) {
        let (ir, registers) = (self.ir, self.registers);
        ir.line(self.function.start);
        // Nothing enters a function that does something else first.
        let polls = self.function.polls.keys().copied().filter(|&at| !is_copied(at) && at != self.function.start);
        if self.surroundings.libcall(self.function.start).is_none() {
            for header in polls {
                self.continuations.at(ir, self.host, header);
            }
        }
        let reentry_points: BTreeSet<u64> = self.function.reentry_points().collect();
        let arrivals = self.continuations.all();
        let behind_system_calls: BTreeSet<u64> = self.function.behind_system_calls().collect();
        for (&next, &label) in &arrivals {
            ir.builder.position_at_end(label);
            registers.begin_block(registers::pinned_set(ir.options.fuel));
            registers.reload(ir);
            if behind_system_calls.contains(&next) {
                registers.commit(ir, !dataflow::dirty_behind_host(ir.options.fuel));
            }
            if self.polls.contains_key(&next) && !reentry_points.contains(&next) {
                registers.commit(ir, !self.facts[&next].dirty);
                self.come_back(next);
            } else {
                self.go_by(next, self.polls.get(&next).or(self.labels.get(&next)).copied());
            }
        }
        self.continuations.finish(ir, registers, &self.site(self.function.start, 0, !0));
    }

    /// Evaluates an instruction and writes its result; gives the result.
    fn instruction(&self, site: &Site<'_, 'c>, inst: &Inst) -> Value<'c> {
        let (ir, registers) = (self.ir, self.registers);
        let sources = registers::sources(inst);
        let read = |source: Option<usize>| match source {
            Some(register) if inst.op.info().format == Format::FStore => registers.see(ir, register),
            Some(register) => registers.get(ir, register),
            None => Value::Word(ir.int(0)),
        };
        let operands = Operands {
            rs1: read(sources[0]),
            rs2: read(sources[1]),
            rs3: read(sources[2]),
            imm: Value::Word(ir.int(inst.immediate())),
            pc: Value::Word(ir.int(site.pc)),
            csr: inst.imm as u16,
            rm: inst.rm,
            index: inst.rs1,
        };
        let result = eval(inst.op, site, &operands);
        if let Some(register) = registers::written(inst) {
            let value = match inst.op.info().format.destination() {
                Destination::Jump => Value::Word(ir.int(site.pc + u64::from(inst.len))),
                _ => result,
            };
            registers.set(register, value);
        }
        result
    }

    /// Ends the block that begins at `start`, a jump by register in the selector given.
    fn end(&self, start: u64, end: &Terminator, result: Value<'c>, selector: &Selector<'c>, live: Set) {
        let (ir, registers) = (self.ir, self.registers);
        let site = self.site(0, 0, live);
        match end {
            &Terminator::Next(to) | &Terminator::Jump(to) | &Terminator::CallInside { to } => self.go(start, to),
            &Terminator::Branch { taken, next } => {
                let condition = ir.flag(result);
                let (a, b) = (self.narrow_at(taken), self.narrow_at(next));
                let ways = [taken, next];
                let results = self.leave_out_results(ways);
                registers.save(ir, a | b, !(a & b));
                let label = |n: usize| match self.way(start, ways[n]) {
                    Some(label) if results[n] == 0 => label,
                    _ => ir.block(self.host),
                };
                let labels = [label(0), label(1)];
                built(ir.builder.build_conditional_branch(condition, labels[0], labels[1]));
                // Only the path that leads elsewhere commits all registers.
                let dirty = registers.dirty(true);
                for n in [0, 1] {
                    match self.way(start, ways[n]) {
                        Some(_) if results[n] == 0 => {}
                        Some(inside) => {
                            ir.builder.position_at_end(labels[n]);
                            registers.save_those(ir, results[n]);
                            ir.jump(inside);
                        }
                        None => {
                            ir.builder.position_at_end(labels[n]);
                            registers.begin_block(dirty);
                            self.go(start, ways[n]);
                        }
                    }
                }
            }
            &Terminator::Call { target, next } => {
                if self.surroundings.libcall(target).is_some_and(|known| site.inline_libcall(known.known)) {
                    // As behind a call, where the function can still be entered.
                    site.flush();
                    self.continuations.at(ir, self.host, next);
                    self.go(start, next);
                } else if self.surroundings.is_function(target) {
                    let function = ir.function(target).as_global_value().as_pointer_value();
                    site.call_and_check(function, next);
                } else {
                    site.call_indirect(Value::Word(ir.int(target)), next);
                }
            }
            &Terminator::CallIndirect { next } => site.call_indirect(result, next),
            Terminator::Return => site.return_to_caller(),
            &Terminator::ReturnInside { next } => {
                site.check_return(next);
                self.go(start, next);
            }
            Terminator::JumpIndirect(targets) if targets.inside.is_empty() => {
                site.tail_call_indirect(result);
            }
            Terminator::JumpIndirect(targets) => {
                // Of no target in a table is the lowest bit set.
                let target = if let Value::Even(word) = result { word } else { ir.word(result) };
                registers.save(ir, 0, !0);
                built(ir.builder.build_store(self.target, target));
                let here = ir.here();
                let switch = match *selector {
                    Selector::Target => self.switch(&targets.inside),
                    Selector::Index(index) => {
                        built(ir.builder.build_store(self.index, index));
                        self.switch_by_index(&targets.table, &targets.inside, true)
                    }
                    Selector::Entry(fixed, index, entry) => {
                        // What is added is what it was taken for, mostly a constant to LLVM, too.
                        let plus = built(ir.builder.build_int_sub(target, entry, ""));
                        let is_led = ir.compare(IntPredicate::EQ, plus, ir.int(fixed.plus));
                        let index = ir.select(is_led, index.into(), ir.int(!0).into()).into_int_value();
                        built(ir.builder.build_store(self.index, index));
                        self.switch_by_index(&targets.table, &targets.inside, false)
                    }
                };
                ir.builder.position_at_end(here);
                ir.jump(switch);
            }
            &Terminator::Step { at, next, is_ecall } => {
                ir.line(at);
                if is_ecall {
                    let site = self.site(at, 1, live);
                    let (import, known, unknown) = site.known_system_call(self.numbers.get(&at).copied());
                    let fork = registers.fork();
                    ir.builder.position_at_end(known);
                    if ir.options.fuel {
                        // The block has not counted what it ends in front of.
                        let fuel = ir.word(registers.get(ir, FUEL));
                        registers.set(FUEL, Value::Word(built(ir.builder.build_int_sub(fuel, ir.int(1), ""))));
                    }
                    site.call_host(import, HostCall::ANY);
                    self.go(start, next);
                    registers.rejoin(fork);
                    ir.builder.position_at_end(unknown);
                }
                site.step(at, next, if is_ecall { Reason::Ecall } else { Reason::Step });
            }
            &Terminator::Exit(at) => {
                ir.line(at);
                site.exit_for_good(at);
            }
        }
    }

    /// A block that goes on where [`Lifting::target`] says, by a table of the labels of `targets`, which
    /// all jumps with the same ones share. The block ends in few instructions that no branch interrupts,
    /// so that LLVM copies them to each jump: one for each is predicted better.
    fn switch(&self, targets: &[u64]) -> Label<'c> {
        self.shared_switch(Key::Targets(targets.to_vec()), |label| {
            let (ir, elsewhere) = (self.ir, self.elsewhere(targets));
            // The table has an entry for every two bytes from the first target to the last, and one behind.
            ir.builder.position_at_end(label);
            let (first, last) = (targets[0], targets[targets.len() - 1]);
            let parcel = |to: u64| (to - first) / 2;
            let labels: BTreeMap<u64, Label<'c>> =
                targets.iter().map(|&to| (parcel(to), self.way_by_table(to))).collect();
            let len = parcel(last) + 1;
            self.jump_by_table(ir.parcels(first, self.load(self.target)), len, &labels, elsewhere);
        })
    }

    /// The same by [`Lifting::index`], for jumps that take their target from a table, as far as one sees. If the target
    /// is to be compared, its labels do that, which nothing has to wait for.
    fn switch_by_index(&self, table: &[u64], targets: &[u64], compares: bool) -> Label<'c> {
        self.shared_switch(Key::Table(table.to_vec(), compares), |label| {
            let (ir, elsewhere) = (self.ir, self.elsewhere(targets));
            let compared = |&to: &u64| {
                if !compares {
                    return (to, self.way_by_table(to));
                }
                let label = ir.block(self.host);
                ir.builder.position_at_end(label);
                let is_there = ir.compare(IntPredicate::EQ, self.load(self.target), ir.int(to));
                ir.branch_likely(is_there, self.way_by_table(to), elsewhere);
                (to, label)
            };
            let compared: HashMap<u64, Label<'c>> = targets.iter().map(compared).collect();
            ir.builder.position_at_end(label);
            let labels = (0..).zip(table).filter_map(|(index, to)| Some((index, *compared.get(to)?))).collect();
            // Of an index that cannot be greater, as masks make them, LLVM sees that.
            self.jump_by_table(self.load(self.index), (table.len() as u64).next_power_of_two(), &labels, elsewhere);
        })
    }

    /// The switch that is known by `key`, which is made by `make` the first time, in its block.
    fn shared_switch(&self, key: Key, make: impl FnOnce(Label<'c>)) -> Label<'c> {
        if let Some(&label) = self.switches.borrow().get(&key) {
            return label;
        }
        let label = self.ir.block(self.host);
        self.switches.borrow_mut().insert(key, label);
        let fork = self.registers.fork();
        make(label);
        self.registers.rejoin(fork);
        label
    }

    fn load(&self, slot: PointerValue<'c>) -> IntValue<'c> {
        built(self.ir.builder.build_load(self.ir.i64, slot, "")).into_int_value()
    }

    /// Goes on at one of `labels`, which are below `len`, or elsewhere.
    fn jump_by_table(&self, index: IntValue<'c>, len: u64, labels: &BTreeMap<u64, Label<'c>>, elsewhere: Label<'c>) {
        let ir = self.ir;
        ir.jump_by_table(ir.at_most(index, len), len + 1, labels, elsewhere);
    }

    /// The block for a jump by register that leads to none of its `targets`.
    fn elsewhere(&self, targets: &[u64]) -> Label<'c> {
        let (ir, registers) = (self.ir, self.registers);
        let label = ir.block(self.host);
        ir.builder.position_at_end(label);
        let target = self.load(self.target);
        registers.begin_block(dataflow::used(self.function) | registers::pinned_set(ir.options.fuel));
        // Jumps that share it may lead to different places.
        let shares = |block: &Block| matches!(&block.end, Terminator::JumpIndirect(all) if all.inside == targets);
        let blocks = self.function.blocks.iter().filter(|(_, block)| shares(block));
        let live = blocks.fold(0, |live, (start, _)| live | self.facts[start].live);
        self.site(self.function.start, 0, live).tail_call_indirect(Value::Even(target));
        label
    }

    /// The way on to a block of this function, over what polls if that goes back in a loop.
    fn way(&self, from: u64, to: u64) -> Option<Label<'c>> {
        let goes_back = self.function.polls.get(&to).is_some_and(|ends| ends.contains(&from));
        if goes_back { self.polls.get(&to) } else { self.labels.get(&to) }.copied()
    }

    /// The same from the jumps by register that share a switch.
    fn way_by_table(&self, to: u64) -> Label<'c> {
        let jumps = |end: &u64| matches!(self.function.blocks[end].end, Terminator::JumpIndirect(_));
        let goes_back = self.function.polls.get(&to).is_some_and(|ends| ends.iter().any(jumps));
        if goes_back { self.polls[&to] } else { self.labels[&to] }
    }

    /// Goes on at an address, in this function or another, behind a block.
    fn go(&self, from: u64, to: u64) {
        self.go_by(to, self.way(from, to));
    }

    /// Goes on at an address by its way on, if that is in this function.
    fn go_by(&self, to: u64, way: Option<Label<'c>>) {
        let (ir, registers) = (self.ir, self.registers);
        let live = to_commit(ir, self.surroundings.liveness().live_in(to));
        let site = self.site(to, 0, live);
        match way {
            Some(label) => {
                let narrow = self.narrow_at(to);
                registers.save(ir, narrow, !narrow);
                ir.jump(label);
            }
            None if self.surroundings.is_function(to) => {
                site.tail_call(ir.function(to).as_global_value().as_pointer_value());
            }
            None => site.exit_for_good(to),
        }
    }
}

/// The index of the entry that a block's jump takes from its table, where that leads to all of its targets.
fn indexed(block: &Block) -> Option<Index> {
    let Terminator::JumpIndirect(targets) = &block.end else { return None };
    if leads_everywhere(targets) { analysis::index(block) } else { None }
}

/// Whether a jump's table leads to all of its targets.
fn leads_everywhere(targets: &Targets) -> bool {
    let in_table: BTreeSet<&u64> = targets.table.iter().collect();
    !targets.inside.is_empty() && targets.inside.iter().all(|to| in_table.contains(to))
}
