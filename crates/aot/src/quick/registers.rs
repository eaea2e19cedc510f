//! Which guest registers a body has in host registers: what it loads, and where, and what it commits where control leaves it.
//!
//! A register that is not held is loaded where it is read: behind a call, few of those that are read some day are read before
//! the next one. Loops hold what goes around them, which is loaded before them.

use std::collections::BTreeMap;

use riverrun_isa::ops::{Float, Rounding};
use riverrun_isa::{Extension, Format, Inst, Op};
use riverrun_vm::F_SLOT;

use crate::analysis::registers::{Set, float_sources, sources, written};
use crate::analysis::{Block, Function, Liveness, Terminator, address};

/// A part of a block, up to its end, an instruction that the interpreter executes, or an atomic access.
pub(super) struct Piece<'a> {
    pub(super) insts: &'a [(u64, Inst)],
    pub(super) end: Terminator,
    /// Whether it begins with a poll.
    pub(super) polls: bool,
    /// Registers that are read where the block ends.
    pub(super) live_out: Set,
    /// Registers whose value the body needs where the piece begins.
    needs: Set,
    /// Those of them that are in host registers there.
    pub(super) held: Set,
    /// Registers that may be uncommitted where it begins, and where it ends.
    pub(super) dirty: Set,
    pub(super) dirty_at_end: Set,
}

impl Piece<'_> {
    /// The bytes of the atomic access with which it begins.
    pub(super) fn atomic_bytes(&self) -> Option<u64> {
        self.insts.first().and_then(|(_, inst)| atomic_bytes(inst))
    }
}

/// The bytes of an atomic access, at a multiple of which it must be.
pub(super) fn atomic_bytes(inst: &Inst) -> Option<u64> {
    matches!(inst.op.info().format, Format::Amo | Format::Lr).then(|| 1 << (inst.op.info().bits >> 12 & 7))
}

/// Whether an instruction is left to the dispatcher: it has effects beyond registers and memory, or rounds as the host
/// cannot. Where exceptions are exact, that is so of all that rounds to integers but towards zero.
fn is_left(inst: &Inst, is_strict: bool) -> bool {
    let format = inst.op.info().format;
    let rounds = matches!(format, Format::FToX) || matches!(inst.op.info().extension, Extension::Zfa);
    let rounds_away = inst.rm == Rounding::Rmm || is_strict && rounds && inst.rm != Rounding::Rtz;
    let is_fence = matches!(inst.op, Op::fence | Op::fence_i);
    format == Format::Import || format.is_csr() || rounds_away || matches!(format, Format::Sys) && !is_fence
}

/// The pieces of a function, by the address of their first instruction.
pub(super) fn pieces<'a>(function: &'a Function, liveness: &Liveness, is_strict: bool) -> BTreeMap<u64, Piece<'a>> {
    let mut pieces = BTreeMap::new();
    for (&start, block) in &function.blocks {
        let live_out = liveness.block_live_out(function.start, address(start));
        split(start, block, live_out, is_strict, &mut pieces);
    }
    for start in function.polls.keys() {
        if let Some(piece) = pieces.get_mut(start) {
            piece.polls = true;
        }
    }
    find_dirty(&mut pieces);
    find_needs(&mut pieces, liveness);
    find_held(&mut pieces, function.start);
    pieces
}

/// Registers that the instructions of a body, and what commits at its exits, use.
pub(super) fn used(pieces: &BTreeMap<u64, Piece<'_>>) -> Set {
    pieces.values().fold(0, |set, piece| set | piece.needs | touched(piece))
}

/// Registers that are read as doubles somewhere.
pub(super) fn doubles(pieces: &BTreeMap<u64, Piece<'_>>) -> Set {
    let insts = pieces.values().flat_map(|piece| piece.insts).map(|(_, inst)| inst);
    let read =
        insts.filter(|inst| float_sources(inst) == Some(Float::D)).flat_map(|inst| sources(inst).into_iter().flatten());
    read.filter(|&register| register >= F_SLOT as usize).fold(0, |set, register| set | 1 << register)
}

fn split<'a>(start: u64, block: &'a Block, live_out: Set, is_strict: bool, pieces: &mut BTreeMap<u64, Piece<'a>>) {
    let (mut begin, mut first) = (start, 0);
    let mut add = |begin: u64, insts: &'a [(u64, Inst)], end: Terminator, live_out: Set| {
        pieces
            .insert(begin, Piece { insts, end, polls: false, live_out, needs: 0, held: 0, dirty: 0, dirty_at_end: 0 });
    };
    for (index, &(pc, ref inst)) in block.insts.iter().enumerate() {
        if atomic_bytes(inst).is_some() && index != first {
            add(begin, &block.insts[first..index], Terminator::Next(pc), !0);
            (begin, first) = (pc, index);
        }
        if is_left(inst, is_strict) {
            let next = pc + u64::from(inst.len);
            add(begin, &block.insts[first..index], Terminator::Step { at: pc, next, is_ecall: false }, !0);
            (begin, first) = (next, index + 1);
        }
    }
    // Where a return goes, its caller finds out.
    let last = block.insts.len() - usize::from(matches!(block.end, Terminator::Return));
    let rest = &block.insts[first..last];
    match &block.end {
        // The block that follows is the next piece.
        Terminator::Next(to) if rest.is_empty() && first != 0 && *to == begin => {}
        end => add(begin, rest, end.clone(), live_out),
    }
}

/// Whether all that was committed is loaded again behind it.
fn comes_back(end: &Terminator) -> bool {
    end.is_call()
}

fn find_dirty(pieces: &mut BTreeMap<u64, Piece<'_>>) {
    let mut changed: Vec<u64> = pieces.keys().copied().collect();
    while let Some(start) = changed.pop() {
        let piece = pieces.get_mut(&start).expect("it is one of them");
        piece.dirty_at_end = piece
            .insts
            .iter()
            .filter_map(|(_, inst)| written(inst))
            .fold(piece.dirty, |set, register| set | 1 << register);
        if comes_back(&piece.end) {
            continue;
        }
        let (dirty, successors) = (piece.dirty_at_end, piece.end.successors());
        for to in successors {
            if let Some(next) = pieces.get_mut(&to).filter(|next| dirty & !next.dirty != 0) {
                next.dirty |= dirty;
                changed.push(to);
            }
        }
    }
}

/// Registers that are committed where a piece ends.
pub(super) fn committed(piece: &Piece<'_>) -> Set {
    piece.dirty_at_end & piece.live_out
}

fn find_needs(pieces: &mut BTreeMap<u64, Piece<'_>>, liveness: &Liveness) {
    loop {
        let mut has_grown = false;
        let starts: Vec<u64> = pieces.keys().copied().rev().collect();
        for start in starts {
            let piece = &pieces[&start];
            let behind = |to: &u64| match pieces.get(to) {
                Some(next) => next.needs,
                None => piece.dirty_at_end & liveness.live_in(*to),
            };
            let inside = if comes_back(&piece.end) {
                committed(piece)
            } else {
                let leaves =
                    matches!(piece.end, Terminator::Return | Terminator::Exit(_) | Terminator::JumpIndirect(_));
                let leaving = if leaves { committed(piece) } else { 0 };
                piece.end.successors().iter().fold(leaving, |set, to| set | behind(to))
            };
            let needs = piece.insts.iter().rev().fold(inside, |needs, (_, inst)| {
                let needs = written(inst).map_or(needs, |register| needs & !(1 << register));
                sources(inst).into_iter().flatten().fold(needs, |needs, register| needs | 1 << register)
            });
            // An exit where it begins commits what may be dirty.
            let needs = if piece.polls || piece.atomic_bytes().is_some() { needs | piece.dirty } else { needs };
            if needs != piece.needs {
                has_grown = true;
                pieces.get_mut(&start).expect("it is one of them").needs = needs;
            }
        }
        if !has_grown {
            return;
        }
    }
}

/// Registers that a piece reads or writes.
fn touched(piece: &Piece<'_>) -> Set {
    let insts = piece.insts.iter().map(|(_, inst)| inst);
    let registers = insts.flat_map(|inst| sources(inst).into_iter().flatten().chain(written(inst)));
    registers.fold(0, |set, register| set | 1 << register)
}

/// Finds what is held: what every way to a piece has in host registers, or, where a loop begins, any way around the loop; and
/// what is uncommitted. The other ways load what they do not have.
fn find_held(pieces: &mut BTreeMap<u64, Piece<'_>>, start: u64) {
    // From where control comes to a piece; what comes from elsewhere has nothing in host registers.
    let mut ways: BTreeMap<u64, Vec<Option<u64>>> = BTreeMap::new();
    for (&from, piece) in pieces.iter() {
        for to in piece.end.successors() {
            ways.entry(to).or_default().push((!comes_back(&piece.end)).then_some(from));
        }
    }
    ways.entry(start).or_default().push(None);
    // All that is needed, at first, and then less.
    pieces.values_mut().for_each(|piece| piece.held = piece.needs);
    loop {
        let mut has_shrunk = false;
        let starts: Vec<u64> = pieces.keys().copied().collect();
        for start in starts {
            let at_end = |from: u64| pieces[&from].held | touched(&pieces[&from]);
            let ways = ways.get(&start).map_or(&[][..], |ways| ways);
            let around = ways.iter().flatten().filter(|from| **from >= start).map(|&from| at_end(from));
            let held = around.reduce(|one, other| one | other).unwrap_or_else(|| {
                let each = ways.iter().map(|from| from.map_or(0, at_end));
                each.reduce(|one, other| one & other).unwrap_or(0)
            });
            let piece = &pieces[&start];
            let held = (held | piece.dirty) & piece.needs;
            if held != piece.held {
                has_shrunk = true;
                pieces.get_mut(&start).expect("it is one of them").held = held;
            }
        }
        if !has_shrunk {
            return;
        }
    }
}
