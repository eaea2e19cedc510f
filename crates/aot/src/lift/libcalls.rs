//! Libcalls in compiled code: recognised functions ([`crate::analysis::libcalls`]) execute with host vectors first; the
//! guest's own code does the rest.
//!
//! The host's code accesses nothing outside the window and its guards: ranges that might reach further are left to the
//! guest's code. A fault is reported at the function's first instruction, or at the call that was replaced. Precise mode has
//! no libcalls. Code that counts fuel replaces only calls whose cost to the guest is known ([`crate::analysis::costs`]).

use std::cell::RefCell;

use inkwell::IntPredicate;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValueEnum, IntValue, PointerValue};

use crate::analysis::{ALIGNMENT, Arguments, LONGEST, Libcall};
use crate::lift::fuel;
use crate::lift::ir::{Space, built};
use crate::lift::registers::{A0, A1, FUEL, Label};
use crate::lift::site::Site;
use crate::lift::value::Value;

const A2: usize = 12;

/// A libcall of a program.
#[derive(Clone, Debug)]
pub(crate) struct KnownLibcall {
    /// The function.
    pub(crate) known: Libcall,
    /// Its costs by [`crate::analysis::costs`], if fuel is counted.
    pub(crate) costs: Option<Vec<u16>>,
}

/// Bytes of the widest pieces.
const WIDE: u64 = 32;

/// Bytes of the widest pieces in other functions: wider vectors would require clearing upper halves before every call.
const NARROW: u64 = 16;

/// Bytes that are copied or filled inline at a call, at most.
const LITTLE: u64 = 64;
/// Copies up to this many bytes go by words, as guests write: what was just written by words cannot be read by a vector
/// before it is in the cache.
const BY_WORDS: u64 = 32;

/// More bytes are left to the guest's code, which polls. Some milliseconds' worth, where memory's speed is all that counts.
const LONG: u64 = 16 << 20;

/// Ranges of so many bytes do not reach over the guard behind the window; and those that reach over the window's end
/// begin in pages that are never mapped, and so fault as they should.
const NEAR: u64 = 32 << 10;

impl<'c> Site<'_, 'c> {
    /// The body of a libcall: does the work and returns, or continues in `own`, the guest's code, or for
    /// [`Libcall::rest`] in `rest`.
    pub(super) fn libcall_body(&self, function: &KnownLibcall, own: PointerValue<'c>, rest: PointerValue<'c>) {
        let (ir, registers) = (self.ir, self.registers);
        let fork = registers.fork();
        let label = ir.block(self.function);
        if let (Some(costs), Some(arguments)) = (&function.costs, function.known.arguments()) {
            self.charge(arguments, costs, label);
        }
        match function.known {
            Libcall::Copy => self.copy(label, false),
            Libcall::Move => self.copy(label, true),
            Libcall::Fill => self.fill(label),
            Libcall::Compare => self.compare_equal(label, rest),
        }
        ir.builder.position_at_end(label);
        registers.rejoin(fork);
        self.tail_call(own);
    }

    /// Subtracts the fuel that the guest's own code would use; continues at `own` if that is unknown or may be too much.
    fn charge(&self, arguments: Arguments, costs: &[u16], own: Label<'c>) {
        let (ir, registers) = (self.ir, self.registers);
        let [to, from, len] = [A0, A1, A2].map(|register| self.register(register));
        let go_on = |condition| {
            let label = ir.block(self.function);
            ir.branch_likely(condition, label, own);
            ir.builder.position_at_end(label);
        };
        go_on(ir.compare(IntPredicate::ULE, len, ir.int(LONGEST)));
        let times = |index, by| built(ir.builder.build_int_mul(index, ir.int(by), ""));
        let plus = |a, b| built(ir.builder.build_int_add(a, b, ""));
        let low = |address| built(ir.builder.build_and(address, ir.int(ALIGNMENT - 1), ""));
        let mut index = times(plus(times(len, ALIGNMENT), low(to)), arguments.sources());
        if arguments != Arguments::Range {
            index = plus(index, low(from));
        }
        if arguments == Arguments::OverlappingRanges {
            let distance = built(ir.builder.build_int_sub(to, from, ""));
            let is_apart = ir.zero_extend(ir.compare(IntPredicate::UGE, distance, len));
            index = plus(index, times(is_apart, ALIGNMENT));
        }
        let kind = ir.bits(16);
        let costs: Vec<_> = costs.iter().map(|&cost| kind.const_int(cost.into(), false)).collect();
        let cost = ir.zero_extend(ir.look_up(kind, &costs, index));
        go_on(ir.compare(IntPredicate::NE, cost, ir.int(0)));
        let left = built(ir.builder.build_int_sub(self.register(FUEL), cost, ""));
        go_on(ir.compare(IntPredicate::SGE, left, ir.int(fuel::BEHIND as u64)));
        registers.set(FUEL, Value::Word(left));
    }

    /// Replaces a call of a libcall by inline code, if its length is a small constant; returns whether it did. The result is
    /// the first argument, which is already in a0.
    pub(super) fn inline_libcall(&self, known: Libcall) -> bool {
        let ir = self.ir;
        if ir.options.fuel {
            return false;
        }
        let len = ir.constant(self.registers.get(ir, A2)).filter(|len| *len <= LITTLE);
        let Some(len) = len.filter(|_| known != Libcall::Compare) else { return false };
        let by_words = known != Libcall::Fill && len <= BY_WORDS;
        let most = if by_words { 8 } else { NARROW };
        let Some(bytes) = [most, 8, 4, 2, 1].into_iter().find(|bytes| *bytes <= len) else { return true };
        // Pieces that together are the whole; the last two may overlap.
        let distances = (0..len.div_ceil(bytes)).map(|index| (index * bytes).min(len - bytes));
        let place = |register, distance| ir.at(self.place(self.registers.get(ir, register)), ir.int(distance));
        let pieces: Vec<_> = match known {
            Libcall::Fill => {
                let piece = self.filled(self.repeated(self.register(A1)), bytes);
                distances.map(|distance| (distance, piece)).collect()
            }
            // All is loaded before anything is stored, and so may overlap.
            _ => distances
                .map(|distance| {
                    let piece = ir.load(self.piece(bytes), place(A1, distance), Space::Guest);
                    if by_words {
                        ir.keep_apart(piece);
                    }
                    (distance, piece)
                })
                .collect(),
        };
        pieces.into_iter().for_each(|(distance, piece)| ir.store(place(A0, distance), piece, Space::Guest));
        true
    }

    fn register(&self, register: usize) -> IntValue<'c> {
        self.ir.word(self.registers.get(self.ir, register))
    }

    /// Where guest addresses are, if `len` bytes from each on are in the window; goes on at `own` if not.
    fn places<const N: usize>(
        &self,
        addresses: [IntValue<'c>; N],
        len: IntValue<'c>,
        own: Label<'c>,
    ) -> [PointerValue<'c>; N] {
        let ir = self.ir;
        let low = addresses.map(|address| self.lower_bits(address));
        let (far, inside) = (ir.block(self.function), ir.block(self.function));
        ir.branch_likely(ir.compare(IntPredicate::ULE, len, ir.int(NEAR)), inside, far);
        ir.builder.position_at_end(far);
        // The length by itself first, lest the sums wrap.
        let is_short = ir.compare(IntPredicate::ULE, len, ir.int(LONG));
        let fits = low.iter().fold(is_short, |fits, &low| {
            let end = built(ir.builder.build_int_add(low, len, ""));
            let inside = ir.compare(IntPredicate::ULE, end, ir.int(ir.options.space.size()));
            built(ir.builder.build_and(fits, inside, ""))
        });
        ir.branch_likely(fits, inside, own);
        ir.builder.position_at_end(inside);
        low.map(|low| ir.at(self.registers.base(ir), low))
    }

    /// The type of pieces of so many bytes.
    fn piece(&self, bytes: u64) -> BasicTypeEnum<'c> {
        match bytes {
            1 | 2 | 4 | 8 => self.ir.bits(8 * bytes as u32).into(),
            _ => self.ir.context.i8_type().vec_type(bytes as u32).into(),
        }
    }

    /// Makes cases for lengths up to 64 bytes, `small` of each with the size of two pieces that together are the
    /// whole, and returns from each; goes on behind with longer ones.
    fn by_length(&self, len: IntValue<'c>, small: impl Fn(u64)) {
        let ir = self.ir;
        let test = |predicate, bound| {
            let (holds, other) = (ir.block(self.function), ir.block(self.function));
            let condition = ir.compare(predicate, len, ir.int(bound));
            built(ir.builder.build_conditional_branch(condition, holds, other));
            ir.builder.position_at_end(holds);
            other
        };
        let case = |bytes| {
            small(bytes);
            self.return_to_caller();
        };
        // The longest first: what is left is the same code, one case less.
        let mut long = None;
        for bytes in [WIDE, 16, 8, 4, 2] {
            let shorter = test(IntPredicate::UGE, bytes);
            if bytes == WIDE {
                // Up to two pieces, or longer.
                let more = test(IntPredicate::ULE, 2 * bytes);
                long = Some(more);
            }
            case(bytes);
            ir.builder.position_at_end(shorter);
        }
        let nothing = test(IntPredicate::UGE, 1);
        case(1);
        ir.builder.position_at_end(nothing);
        self.return_to_caller();
        ir.builder.position_at_end(long.expect("the first case is the widest"));
    }

    /// The place of the last piece of so many bytes.
    fn last(&self, place: PointerValue<'c>, len: IntValue<'c>, bytes: u64) -> PointerValue<'c> {
        let ir = self.ir;
        ir.at(place, built(ir.builder.build_int_sub(len, ir.int(bytes), "")))
    }

    /// Calls `each` with the distances of all pieces but the last one, which may overlap the one before.
    fn for_pieces(&self, len: IntValue<'c>, each: impl Fn(IntValue<'c>)) {
        let ir = self.ir;
        let end = built(ir.builder.build_int_sub(len, ir.int(WIDE), ""));
        let before = ir.here();
        let (body, behind) = (ir.block(self.function), ir.block(self.function));
        ir.jump(body);
        ir.builder.position_at_end(body);
        let phi = built(ir.builder.build_phi(ir.i64, ""));
        let at = phi.as_basic_value().into_int_value();
        each(at);
        let next = built(ir.builder.build_int_add(at, ir.int(WIDE), ""));
        let body_end = ir.here();
        phi.add_incoming(&[(&ir.int(0), before), (&next, body_end)]);
        let more = ir.compare(IntPredicate::ULT, next, end);
        built(ir.builder.build_conditional_branch(more, body, behind));
        ir.builder.position_at_end(behind);
    }

    /// Calls `each` with the distances of all pieces but the first one, the last piece first. The first may overlap
    /// the one behind.
    fn for_pieces_backward(&self, len: IntValue<'c>, each: impl Fn(IntValue<'c>)) {
        let ir = self.ir;
        let before = ir.here();
        let (body, behind) = (ir.block(self.function), ir.block(self.function));
        ir.jump(body);
        ir.builder.position_at_end(body);
        let phi = built(ir.builder.build_phi(ir.i64, ""));
        let end = phi.as_basic_value().into_int_value();
        let at = built(ir.builder.build_int_sub(end, ir.int(WIDE), ""));
        each(at);
        phi.add_incoming(&[(&len, before), (&at, body)]);
        let more = ir.compare(IntPredicate::UGT, at, ir.int(WIDE));
        built(ir.builder.build_conditional_branch(more, body, behind));
        ir.builder.position_at_end(behind);
    }

    /// Where the ranges overlap so that the last byte has to be copied first, it is the guest's own code that does so
    /// unless they `may_overlap`.
    fn copy(&self, own: Label<'c>, may_overlap: bool) {
        let ir = self.ir;
        let [to, from, len] = [A0, A1, A2].map(|register| self.register(register));
        let [to, from] = self.places([to, from], len, own);
        let load = |place, bytes| ir.load(self.piece(bytes), place, Space::Guest);
        let store = |place, value| ir.store(place, value, Space::Guest);
        // What is loaded before anything is stored may overlap.
        self.by_length(len, |bytes| {
            let (first, last) = (load(from, bytes), load(self.last(from, len, bytes), bytes));
            store(to, first);
            store(self.last(to, len, bytes), last);
        });
        let address = |place| built(ir.builder.build_ptr_to_int(place, ir.i64, ""));
        let distance = built(ir.builder.build_int_sub(address(to), address(from), ""));
        let forward = ir.block(self.function);
        // Below its source, or behind it.
        let is_forward = ir.compare(IntPredicate::UGE, distance, len);
        if may_overlap {
            let backward = ir.block(self.function);
            built(ir.builder.build_conditional_branch(is_forward, forward, backward));
            ir.builder.position_at_end(backward);
            let first = load(from, WIDE);
            self.for_pieces_backward(len, |at| store(ir.at(to, at), load(ir.at(from, at), WIDE)));
            store(to, first);
            self.return_to_caller();
        } else {
            ir.branch_likely(is_forward, forward, own);
        }
        ir.builder.position_at_end(forward);
        let last = load(self.last(from, len, WIDE), WIDE);
        self.for_pieces(len, |at| store(ir.at(to, at), load(ir.at(from, at), WIDE)));
        store(self.last(to, len, WIDE), last);
        self.return_to_caller();
    }

    /// A word of eight bytes that are the low one of `byte`.
    fn repeated(&self, byte: IntValue<'c>) -> IntValue<'c> {
        let byte = built(self.ir.builder.build_and(byte, self.ir.int(0xff), ""));
        built(self.ir.builder.build_int_mul(byte, self.ir.int(0x0101_0101_0101_0101), ""))
    }

    /// A piece of so many bytes that are all those of `word`.
    fn filled(&self, word: IntValue<'c>, bytes: u64) -> BasicValueEnum<'c> {
        let ir = self.ir;
        match bytes {
            1 | 2 | 4 => ir.truncate(word, 8 * bytes as u32).into(),
            8 => word.into(),
            _ => {
                let words = (bytes / 8) as u32;
                let none = ir.i64.vec_type(words).get_poison();
                let whole = (0..words).fold(none, |vector, index| {
                    let index = ir.int(index.into());
                    built(ir.builder.build_insert_element(vector, word, index, ""))
                });
                whole.into()
            }
        }
    }

    fn fill(&self, own: Label<'c>) {
        let ir = self.ir;
        let [to, byte, len] = [A0, A1, A2].map(|register| self.register(register));
        let [to] = self.places([to], len, own);
        let word = self.repeated(byte);
        let store = |place, bytes| ir.store(place, self.filled(word, bytes), Space::Guest);
        self.by_length(len, |bytes| {
            store(to, bytes);
            store(self.last(to, len, bytes), bytes);
        });
        self.for_pieces(len, |at| store(ir.at(to, at), WIDE));
        store(self.last(to, len, WIDE), WIDE);
        self.return_to_caller();
    }

    /// Skips what is equal. Which result says how two bytes differ is the guest's to know, by `rest`.
    fn compare_equal(&self, own: Label<'c>, rest: PointerValue<'c>) {
        let (ir, registers) = (self.ir, self.registers);
        let [a, b, len] = [A0, A1, A2].map(|register| self.register(register));
        let [a_place, b_place] = self.places([a, b], len, own);
        let differs = ir.block(self.function);
        // The distances at which the first bytes differ, with the blocks that they come from.
        let found = RefCell::new(Vec::new());
        let skip = |at: IntValue<'c>, bytes| {
            let (position, is_different) = self.difference(ir.at(a_place, at), ir.at(b_place, at), bytes);
            let (here, behind) = (ir.block(self.function), ir.block(self.function));
            built(ir.builder.build_conditional_branch(is_different, here, behind));
            ir.builder.position_at_end(here);
            found.borrow_mut().push((built(ir.builder.build_int_add(at, position(), "")), here));
            ir.jump(differs);
            ir.builder.position_at_end(behind);
        };
        let skip_last = |bytes| skip(built(ir.builder.build_int_sub(len, ir.int(bytes), "")), bytes);
        let fork = registers.fork();
        registers.set(A0, Value::Word(ir.int(0)));
        self.by_length(len, |bytes| {
            skip(ir.int(0), bytes);
            skip_last(bytes);
        });
        self.for_pieces(len, |at| skip(at, WIDE));
        skip_last(WIDE);
        self.return_to_caller();

        ir.builder.position_at_end(differs);
        let phi = built(ir.builder.build_phi(ir.i64, ""));
        found.borrow().iter().for_each(|(at, from)| phi.add_incoming(&[(at, *from)]));
        let at = phi.as_basic_value().into_int_value();
        registers.rejoin(fork);
        for (register, value) in [(A0, a), (A1, b)] {
            registers.set(register, Value::Word(built(ir.builder.build_int_add(value, at, ""))));
        }
        registers.set(A2, Value::Word(ir.int(1)));
        self.tail_call(rest);
    }

    /// Whether two pieces differ; and, made only where they do, the distance of the first bytes that do.
    fn difference(
        &self,
        a: PointerValue<'c>,
        b: PointerValue<'c>,
        bytes: u64,
    ) -> (impl Fn() -> IntValue<'c>, IntValue<'c>) {
        let ir = self.ir;
        let [a, b] = [a, b].map(|place| ir.load(self.piece(bytes), place, Space::Guest));
        // Bits for each byte.
        let (bits, difference) = match (a, b) {
            (BasicValueEnum::VectorValue(a), BasicValueEnum::VectorValue(b)) => {
                let differ = built(ir.builder.build_int_compare(IntPredicate::NE, a, b, ""));
                (1, ir.bit_cast(differ.into(), ir.bits(bytes as u32).into()).into_int_value())
            }
            (a, b) => (8, built(ir.builder.build_xor(a.into_int_value(), b.into_int_value(), ""))),
        };
        let kind = difference.get_type();
        let is_different = ir.compare(IntPredicate::NE, difference, kind.const_zero());
        let position = move || {
            let defined = ir.bits(1).const_all_ones();
            let zeros = ir.intrinsic("llvm.cttz", &[kind.into()], &[difference.into(), defined.into()]);
            let zeros = built(ir.builder.build_int_z_extend_or_bit_cast(zeros.into_int_value(), ir.i64, ""));
            built(ir.builder.build_int_unsigned_div(zeros, ir.int(bits), ""))
        };
        (position, is_different)
    }
}
