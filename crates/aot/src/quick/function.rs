//! One guest function as a body: a host function that takes the guest address at which to begin, and returns the code to
//! which its caller goes on, 0 to return to the function's own caller. The window's address is in the register in which all
//! compiled code has it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F64, I32, I64};
use cranelift_codegen::ir::{
    AbiParam, Block, ExtFuncData, ExternalName, FuncRef, Inst, InstBuilder, JumpTableData, MemFlagsData, SigRef,
    Signature, SourceLoc, TrapCode, Type, UserExternalName, Value,
};
use cranelift_codegen::isa::{CallConv, TargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Switch, Variable};
use riverrun_isa::{Destination, Operands, eval};
use riverrun_vm::Reason;
use riverrun_vm::artifact::Dispatch;
use riverrun_vm::convention::{self, NOWHERE};

use crate::analysis::registers::{COUNT, Set, members, sources, written};
use crate::analysis::{Function, Terminator};
use crate::lift::Surroundings;
use crate::quick::ops::Site;
use crate::quick::registers::{Piece, committed, doubles, pieces, used};
use crate::quick::value::{Double, Doubles, Mode, Word};

/// The register with the return address.
const RA: usize = 1;

/// What a body refers to by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    /// The body of the function that begins at a guest address.
    Body(u64),
    /// The function that finds the one at the state's pc.
    Search,
    /// What is called in the place of a body that the table's first place does not have: it returns [`Name::Search`].
    SearchBody,
    /// The dispatch table, behind which are the bodies of its functions.
    Dispatch,
    /// [`crate::quick::thunks`]'s way to call compiled code.
    Call,
}

/// Accesses to the state.
fn state() -> MemFlagsData {
    MemFlagsData::trusted()
}

/// The signature of bodies.
pub(super) fn signature() -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    signature.params.push(AbiParam::new(I64));
    signature.returns.push(AbiParam::new(I64));
    signature
}

/// Lifts a function; returns the names that it refers to, by their number in it.
pub(super) fn lift(
    function: &Function,
    surroundings: &impl Surroundings,
    mode: Mode,
    into: &mut cranelift_codegen::ir::Function,
    context: &mut FunctionBuilderContext,
    isa: &dyn TargetIsa,
) -> Vec<Name> {
    into.signature = signature();
    let pieces = pieces(function, surroundings.liveness(), mode.is_strict);
    let used = used(&pieces);
    let mut builder = FunctionBuilder::new(into, context);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let begin = builder.block_params(entry)[0];
    let base = builder.ins().get_pinned_reg(I64);
    let doubles = doubles(&pieces);
    let variables = std::array::from_fn(|register| {
        let kind = if doubles >> register & 1 != 0 { F64 } else { I64 };
        (used >> register & 1 != 0).then(|| Place { variable: builder.declare_var(kind), kind })
    });
    let labels = pieces.keys().map(|&start| (start, builder.create_block())).collect();
    let [choice, mismatched] = std::array::from_fn(|_| builder.create_block());
    let chosen = builder.append_block_param(choice, I64);
    let body = builder.import_signature(signature());
    let call = {
        let mut signature = signature();
        signature.returns.clear();
        builder.import_signature(signature)
    };
    let mut lifting = Lifting {
        builder,
        function,
        surroundings,
        mode,
        pieces: &pieces,
        variables,
        held: 0,
        doubles: Doubles::new(),
        labels,
        base,
        choice,
        mismatched,
        continuations: BTreeMap::new(),
        selectors: BTreeMap::new(),
        names: Vec::new(),
        references: BTreeMap::new(),
        body,
        call,
    };
    lifting.begin(begin);
    for (&start, piece) in &pieces {
        lifting.piece(start, piece);
    }
    lifting.finish_selectors();
    lifting.finish(chosen);
    lifting.builder.seal_all_blocks();
    let Lifting { builder, names, .. } = lifting;
    builder.finalize(isa.frontend_config());
    names
}

/// Where a register is.
#[derive(Clone, Copy)]
struct Place {
    variable: Variable,
    /// F64 if it is read as a double somewhere, else I64.
    kind: Type,
}

/// What all jumps by register share that lead to the same addresses. Interpreters have hundreds, each of which would need a
/// table of its own.
struct Selector {
    /// Its parameters are the address, and the number of the jump.
    block: Block,
    /// Where each jump goes on if it leads elsewhere.
    elsewhere: Vec<Block>,
}

struct Lifting<'a, 'f, S> {
    builder: FunctionBuilder<'f>,
    function: &'a Function,
    surroundings: &'a S,
    mode: Mode,
    pieces: &'a BTreeMap<u64, Piece<'a>>,
    variables: [Option<Place>; COUNT],
    /// The registers whose variables have their values.
    held: Set,
    doubles: Doubles,
    labels: BTreeMap<u64, Block>,
    /// The window's address: see [`Lifting::arrive`].
    base: Value,
    /// Where the body goes on at the guest address that is its parameter.
    choice: Block,
    /// Where it goes on after a mismatched return.
    mismatched: Block,
    /// Where it goes on, with all registers committed, by guest address.
    continuations: BTreeMap<u64, Block>,
    /// Where jumps by register go on, by the addresses in the function that they may lead to.
    selectors: BTreeMap<&'a [u64], Selector>,
    names: Vec<Name>,
    references: BTreeMap<Name, FuncRef>,
    /// The signatures of bodies, and of [`Name::Call`].
    body: SigRef,
    call: SigRef,
}

impl<'a, 'f, S: Surroundings> Lifting<'a, 'f, S> {
    /// Goes on with a block to which control comes from a call, or from more than one place. The window's address has a
    /// register of its own, and is copied here rather than kept in another one.
    fn arrive(&mut self, block: Block) {
        self.builder.switch_to_block(block);
        self.base = self.builder.ins().get_pinned_reg(I64);
    }

    fn field(&mut self, field: i64) -> Value {
        let base = self.base;
        self.builder.ins().load(I64, state(), base, field as i32)
    }

    fn set_field(&mut self, field: i64, value: Value) {
        let base = self.base;
        self.builder.ins().store(state(), value, base, field as i32);
    }

    fn set_field_to(&mut self, field: i64, value: u64) {
        let value = self.builder.ins().iconst(I64, value as i64);
        self.set_field(field, value);
    }

    fn load(&mut self, registers: Set) {
        for register in members(registers) {
            if let Some(Place { variable, kind }) = self.variables[register] {
                let slot = convention::slot(register as u8) as i32;
                let value = self.builder.ins().load(kind, state(), self.base, slot);
                self.builder.def_var(variable, value);
            }
        }
        self.held |= registers;
    }

    fn commit(&mut self, registers: Set) {
        assert!(registers & !self.held == 0, "what is uncommitted is held");
        for register in members(registers) {
            let place = self.variables[register].expect("what is dirty was written here");
            let value = self.builder.use_var(place.variable);
            self.set_field(convention::slot(register as u8), value);
        }
    }

    fn reference(&mut self, name: Name) -> FuncRef {
        if let Some(&reference) = self.references.get(&name) {
            return reference;
        }
        let number = self.names.len() as u32;
        self.names.push(name);
        let external = self.builder.func.declare_imported_user_function(UserExternalName::new(0, number));
        let signature = if matches!(name, Name::Body(_)) { self.body } else { self.call };
        let data = ExtFuncData { name: ExternalName::user(external), signature, colocated: true, patchable: false };
        let reference = self.builder.import_function(data);
        self.references.insert(name, reference);
        reference
    }

    fn address_of(&mut self, name: Name) -> Value {
        let reference = self.reference(name);
        self.builder.ins().func_addr(I64, reference)
    }

    /// Calls compiled code, or a stub of its convention, with all registers committed.
    fn call(&mut self, target: Value) {
        let call = self.reference(Name::Call);
        self.builder.ins().call(call, &[target]);
    }

    /// Calls the body of a function, and the code at which it goes on, with all registers committed.
    fn call_body(&mut self, start: u64) {
        let body = self.reference(Name::Body(start));
        let beginning = self.builder.ins().iconst(I64, 0);
        let call = self.builder.ins().call(body, &[beginning]);
        self.go_on_behind(call);
    }

    /// Calls the body of the function at an address, which is the state's pc. Nearly always the first place of the dispatch
    /// table has it; otherwise the search function is called.
    fn call_any(&mut self, address: Value) {
        let bits = self.surroundings.dispatch_bits();
        let (table, missing) = (self.address_of(Name::Dispatch), self.address_of(Name::SearchBody));
        let ins = &mut self.builder;
        let low = ins.ins().ireduce(I32, address);
        let mixed = ins.ins().imul_imm_u(low, i64::from(Dispatch::MULTIPLIER));
        let place = ins.ins().ushr_imm_u(mixed, i64::from(32 - bits));
        let place = ins.ins().uextend(I64, place);
        let offset = ins.ins().ishl_imm_u(place, 3);
        let at = ins.ins().iadd(table, offset);
        let known = ins.ins().load(I64, state(), at, 0);
        let bodies = ins.ins().iadd_imm_s(at, 16 << bits);
        let distance = ins.ins().load(I64, state(), bodies, 0);
        let is_known = ins.ins().icmp(IntCC::Equal, known, address);
        let found = ins.ins().iadd(table, distance);
        let body = ins.ins().select(is_known, found, missing);
        let beginning = ins.ins().iconst(I64, 0);
        let call = ins.ins().call_indirect(self.body, body, &[beginning]);
        self.go_on_behind(call);
    }

    /// Goes on at the code that a body has returned, then behind its call.
    fn go_on_behind(&mut self, call: Inst) {
        let target = self.builder.inst_results(call)[0];
        let [go_on, returned] = std::array::from_fn(|_| self.builder.create_block());
        self.builder.ins().brif(target, go_on, &[], returned, &[]);
        self.builder.set_cold_block(go_on);
        self.builder.switch_to_block(go_on);
        self.call(target);
        self.builder.ins().jump(returned, &[]);
        self.arrive(returned);
    }

    fn return_to(&mut self, target: Value) {
        self.builder.ins().return_(&[target]);
    }

    /// Exits; comes back if the guest comes to `resume`. The pc is set, and all registers are committed.
    fn exit(&mut self, reason: Reason, resume: u64) {
        self.set_field_to(convention::REASON, reason as u64);
        self.set_field_to(convention::RESUME, resume);
        let stub = self.field(convention::EXIT);
        self.call(stub);
    }

    /// Exits without being resumed.
    fn exit_for_good(&mut self, pc: u64, reason: Reason) {
        self.set_field_to(convention::PC, pc);
        self.exit(reason, NOWHERE);
        self.builder.ins().trap(TrapCode::unwrap_user(1));
    }

    fn continuation(&mut self, at: u64) -> Block {
        let Lifting { continuations, builder, .. } = self;
        *continuations.entry(at).or_insert_with(|| builder.create_block())
    }

    /// The beginning of the body, at a guest address, or 0 for the function's start.
    fn begin(&mut self, at: Value) {
        let start = self.builder.create_block();
        let choice = self.choice;
        self.builder.ins().brif(at, choice, &[at.into()], start, &[]);
        self.builder.switch_to_block(start);
        self.go(self.function.start, 0);
    }

    fn piece(&mut self, start: u64, piece: &'a Piece<'a>) {
        let label = self.labels[&start];
        self.arrive(label);
        self.held = piece.held;
        if piece.polls {
            self.poll(start, piece.dirty);
        }
        if let Some(bytes) = piece.atomic_bytes() {
            self.check_aligned(start, piece, bytes);
        }
        let mut result = Word::Constant(0);
        for (pc, inst) in piece.insts {
            self.builder.set_srcloc(SourceLoc::new(*pc as u32));
            result = self.instruction(*pc, inst);
        }
        self.end(piece, result);
    }

    /// Exits if that is requested.
    fn poll(&mut self, start: u64, dirty: Set) {
        let word = self.field(convention::POLL);
        let base = self.base;
        let goes_on = self.builder.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, base, word);
        self.go_on_if(goes_on, start, dirty, Reason::Limit);
    }

    /// Exits if the atomic access with which a piece begins is not at a multiple of its size: it traps.
    fn check_aligned(&mut self, start: u64, piece: &Piece<'_>, bytes: u64) {
        let (_, access) = &piece.insts[0];
        let Some(address) = sources(access)[0] else { return };
        let Word::Value(address) = self.read(address) else { unreachable!("registers have values") };
        let low = self.builder.ins().band_imm_u(address, bytes as i64 - 1);
        let is_aligned = self.builder.ins().icmp_imm_s(IntCC::Equal, low, 0);
        self.go_on_if(is_aligned, start, piece.dirty, Reason::Step);
    }

    /// Exits at a guest address unless the condition holds, which is likely.
    fn go_on_if(&mut self, condition: Value, at: u64, dirty: Set, reason: Reason) {
        let [go_on, stop] = std::array::from_fn(|_| self.builder.create_block());
        self.builder.ins().brif(condition, go_on, &[], stop, &[]);
        self.builder.set_cold_block(stop);
        self.builder.switch_to_block(stop);
        self.commit(dirty);
        self.exit_for_good(at, reason);
        self.builder.switch_to_block(go_on);
    }

    /// The bits of a register.
    fn read(&mut self, register: usize) -> Word {
        if self.held >> register & 1 == 0 {
            self.load(1 << register);
        }
        let place = self.variables[register].expect("it is used");
        let value = self.builder.use_var(place.variable);
        Word::Value(if place.kind == F64 { self.site().bits_of(Double { read: value, exact: value }) } else { value })
    }

    /// Sets a register to these bits.
    fn write(&mut self, register: usize, bits: Value) {
        let place = self.variables[register].expect("it is used");
        let value = if place.kind == F64 { self.site().double_of(bits) } else { bits };
        self.builder.def_var(place.variable, value);
        self.held |= 1 << register;
    }

    fn site(&mut self) -> Site<'_, 'f> {
        let Lifting { builder, base, mode, doubles, .. } = self;
        Site { builder: RefCell::new(builder), base: *base, mode: *mode, doubles: RefCell::new(doubles) }
    }

    fn instruction(&mut self, pc: u64, inst: &riverrun_isa::Inst) -> Word {
        let [rs1, rs2, rs3] =
            sources(inst).map(|source| source.map_or(Word::Constant(0), |register| self.read(register)));
        let operands = Operands {
            rs1,
            rs2,
            rs3,
            imm: Word::Constant(inst.immediate()),
            pc: Word::Constant(pc),
            csr: inst.imm as u16,
            rm: inst.rm,
            index: inst.rs1,
        };
        let site = self.site();
        let result = eval(inst.op, &site, &operands);
        let destination = inst.op.info().format.destination();
        let (result, value) = match destination {
            Destination::Branch => (result, None),
            Destination::Jump => {
                (Word::Value(site.word(result)), Some(site.word(Word::Constant(pc + u64::from(inst.len)))))
            }
            Destination::X | Destination::F => (result, Some(site.word(result))),
            Destination::None => (result, None),
        };
        if let (Some(register), Some(value)) = (written(inst), value) {
            self.write(register, value);
        }
        result
    }

    fn word(&mut self, word: Word) -> Value {
        self.site().word(word)
    }

    fn end(&mut self, piece: &'a Piece<'a>, result: Word) {
        let dirty = piece.dirty_at_end;
        match &piece.end {
            &Terminator::Next(to) | &Terminator::Jump(to) => self.go(to, dirty),
            &Terminator::Branch { taken, next } => {
                let condition = if let Word::Flag(flag) = result { flag } else { self.word(result) };
                let held = self.held;
                // Straight to where nothing is to be done before.
                let straight = [taken, next].map(|to| self.labels.get(&to).filter(|_| self.missing(to) == 0).copied());
                let labels = straight.map(|label| label.unwrap_or_else(|| self.builder.create_block()));
                self.builder.ins().brif(condition, labels[0], &[], labels[1], &[]);
                for (way, to) in [taken, next].into_iter().enumerate().filter(|(way, _)| straight[*way].is_none()) {
                    self.builder.switch_to_block(labels[way]);
                    self.held = held;
                    self.go(to, dirty);
                }
            }
            &Terminator::Call { target, next } => {
                self.commit(committed(piece));
                if self.surroundings.is_function(target) {
                    self.call_body(target);
                } else {
                    self.set_field_to(convention::PC, target);
                    let search = self.address_of(Name::Search);
                    self.call(search);
                }
                self.check_return(next);
            }
            &Terminator::CallIndirect { next } => {
                self.commit(committed(piece));
                let target = self.word(result);
                self.set_field(convention::PC, target);
                self.call_any(target);
                self.check_return(next);
            }
            Terminator::Return => {
                self.commit(committed(piece));
                let zero = self.builder.ins().iconst(I64, 0);
                self.return_to(zero);
            }
            Terminator::JumpIndirect(targets) => {
                let target = self.word(result);
                let missing = targets.inside.iter().fold(0, |missing, &to| missing | self.missing(to));
                self.load(missing);
                let target = self.select(target, &targets.inside);
                self.commit(committed(piece));
                self.set_field(convention::PC, target);
                let code = self.address_of(Name::Search);
                self.return_to(code);
            }
            &Terminator::Step { at, next, is_ecall } => {
                self.commit(committed(piece));
                self.set_field_to(convention::PC, at);
                self.exit(if is_ecall { Reason::Ecall } else { Reason::Step }, next);
                let continuation = self.continuation(next);
                self.builder.ins().jump(continuation, &[]);
            }
            &Terminator::Exit(at) => {
                self.commit(committed(piece));
                self.exit_for_good(at, Reason::Step);
            }
            Terminator::CallInside { .. } | Terminator::ReturnInside { .. } => {
                unreachable!("no copies are made for this back end")
            }
        }
    }

    /// Goes on at one of these addresses in the function, or with what is lifted next. Returns the address there.
    fn select(&mut self, target: Value, addresses: &'a [u64]) -> Value {
        let Lifting { builder, selectors, .. } = self;
        let selector = selectors.entry(addresses).or_insert_with(|| {
            let block = builder.create_block();
            for kind in [I64, I32] {
                builder.append_block_param(block, kind);
            }
            Selector { block, elsewhere: Vec::new() }
        });
        let number = builder.ins().iconst(I32, selector.elsewhere.len() as i64);
        builder.ins().jump(selector.block, &[target.into(), number.into()]);
        let elsewhere = builder.create_block();
        selector.elsewhere.push(elsewhere);
        let target = builder.block_params(selector.block)[0];
        self.arrive(elsewhere);
        target
    }

    /// Fills the blocks at which jumps by register go on.
    fn finish_selectors(&mut self) {
        for (addresses, Selector { block, elsewhere: jumps }) in std::mem::take(&mut self.selectors) {
            self.builder.switch_to_block(block);
            let [target, number] = *self.builder.block_params(block) else { unreachable!("it has two parameters") };
            let elsewhere = self.builder.create_block();
            self.switch(target, addresses, elsewhere);
            self.builder.switch_to_block(elsewhere);
            self.builder.set_cold_block(elsewhere);
            self.branch_by(number, &jumps, jumps[0]);
        }
    }

    /// Goes on at the block that has this number, or at another one.
    fn branch_by(&mut self, number: Value, blocks: &[Block], other: Block) {
        let Lifting { builder, .. } = self;
        let mut call = |block: Block| builder.func.dfg.block_call(block, &[]);
        let other = call(other);
        let blocks: Vec<_> = blocks.iter().copied().map(&mut call).collect();
        let table = builder.create_jump_table(JumpTableData::new(other, &blocks));
        builder.ins().br_table(number, table);
    }

    /// Goes on at one of these addresses in the function, or elsewhere. By a table with a place for every two bytes,
    /// where that is not too long.
    fn switch(&mut self, target: Value, addresses: &[u64], elsewhere: Block) {
        const LONGEST: u64 = 16 << 10;
        let (Some(&first), Some(&last)) = (addresses.first(), addresses.last()) else {
            self.builder.ins().jump(elsewhere, &[]);
            return;
        };
        if addresses.len() < 4 || (last - first) / 2 >= LONGEST {
            let mut switch = Switch::new();
            for &to in addresses {
                switch.set_entry(to.into(), self.labels[&to]);
            }
            switch.emit(&mut self.builder, target, elsewhere);
            return;
        }
        // Odd distances, of which there are none, get places beyond the table.
        let distance = self.builder.ins().iadd_imm_s(target, (first as i64).wrapping_neg());
        let parcel = self.builder.ins().rotr_imm_u(distance, 1);
        let most = self.builder.ins().iconst(I64, LONGEST as i64);
        let index = self.builder.ins().umin(parcel, most);
        let index = self.builder.ins().ireduce(I32, index);
        let mut places = vec![elsewhere; ((last - first) / 2 + 1) as usize];
        for &to in addresses {
            places[((to - first) / 2) as usize] = self.labels[&to];
        }
        self.branch_by(index, &places, elsewhere);
    }

    /// Goes on behind a call if that is where the guest has returned to.
    fn check_return(&mut self, next: u64) {
        let ra = self.field(convention::slot(RA as u8));
        let is_expected = self.builder.ins().icmp_imm_s(IntCC::Equal, ra, next as i64);
        let (continuation, mismatched) = (self.continuation(next), self.mismatched);
        self.builder.ins().brif(is_expected, continuation, &[], mismatched, &[]);
    }

    /// What the piece at an address holds, if one is there, and is to be loaded before it.
    fn missing(&self, to: u64) -> Set {
        self.pieces.get(&to).map_or(0, |piece| piece.held & !self.held)
    }

    /// Goes on at an address, in this function or another, with these registers uncommitted.
    fn go(&mut self, to: u64, dirty: Set) {
        if let Some(&label) = self.labels.get(&to) {
            self.load(self.missing(to));
            self.builder.ins().jump(label, &[]);
            return;
        }
        self.commit(dirty & self.surroundings.liveness().live_in(to));
        match self.surroundings.is_function(to) {
            true => {
                let body = self.reference(Name::Body(to));
                let beginning = self.builder.ins().iconst(I64, 0);
                self.builder.ins().return_call(body, &[beginning]);
            }
            false => self.exit_for_good(to, Reason::Step),
        }
    }

    /// Fills the blocks to which control comes from elsewhere.
    fn finish(&mut self, chosen: Value) {
        let function = self.function;
        let entered: BTreeSet<u64> = function.reentry_points().chain(function.polls.keys().copied()).collect();
        for at in entered {
            self.continuation(at);
        }
        let continuations: Vec<(u64, Block)> = self.continuations.iter().map(|(&at, &block)| (at, block)).collect();
        let start = self.builder.create_block();
        let mut switch = Switch::new();
        switch.set_entry(function.start.into(), start);
        for &(at, block) in continuations.iter().filter(|(at, _)| *at != function.start) {
            switch.set_entry(at.into(), block);
        }

        self.arrive(self.mismatched);
        self.builder.set_cold_block(self.mismatched);
        let ra = self.field(convention::slot(RA as u8));
        let target = self.builder.ins().band_imm_s(ra, !1);
        let choice = self.choice;
        self.builder.ins().jump(choice, &[target.into()]);

        let elsewhere = self.builder.create_block();
        self.builder.switch_to_block(choice);
        self.builder.set_cold_block(choice);
        switch.emit(&mut self.builder, chosen, elsewhere);

        // After a mismatched return, to return mismatched, too.
        self.builder.switch_to_block(elsewhere);
        self.builder.set_cold_block(elsewhere);
        let zero = self.builder.ins().iconst(I64, 0);
        self.return_to(zero);

        for (at, block) in continuations.into_iter().chain([(function.start, start)]) {
            self.arrive(block);
            self.held = 0;
            self.go(at, 0);
        }
    }
}
