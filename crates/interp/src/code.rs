//! A program's decoded code: decoded as it is reached, shared by all machines and threads. Decoding and linking take a
//! lock; execution takes none.
//!
//! A *decoded block* (`run` in this file) begins at an address that control has reached and ends at the first instruction
//! after which control never continues. The ordinal of an instruction is minus the number of instructions from it to the
//! end of its block. Fuel is counted by position ([`crate::decoded_op::Handler`]): a jump adds the difference of ordinals,
//! straight-line code nothing. Backward jumps and jumps to another block test whether the fuel reaches the end of the block
//! that they enter; forward jumps within a block need not.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError};

use riverrun_program::{CallRegisters, Image};
use riverrun_vm::{AddressSpace, Bound, CodeRange, RETURN_ADDRESS, Window, install_fault_handler};

use crate::arena::{Arena, Zeroed};
use crate::arguments::Arguments;
use crate::decoded_op::{DecodedOp, Handler};
use crate::enter::fault_entry;
#[cfg(not(trampoline))]
use crate::enter::returned;
use crate::fast::has_hardware;
use crate::fusible::LONGEST;
#[cfg(trampoline)]
use crate::handlers::returned;
use crate::handlers::{TABLE_BASE, TABLE_LEN, TABLE_MAP, TABLE_OPS, jump, second_op, unresolved};
use crate::host_call::host_call_with;
use crate::operation::{Decoded, Operation};
use crate::{fusion, select, step};

/// Instructions of a decoded block at most, so that differences of ordinals fit 16 bits.
pub(crate) const RUN_LIMIT: usize = 8192;

/// Bytes of a decoded op with its origin and its share of the map.
const MEMORY_PER_OP: usize = size_of::<DecodedOp>() + 2 * size_of::<u64>();

// SAFETY: all zeros is a valid op, and ops are only reached by published indices, after they are written.
unsafe impl Zeroed for DecodedOp {}

/// A decoded op at which execution can continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Distance of the op from the first one in bytes, never 0.
    pub(crate) op: u32,
    /// Ordinal of its instruction.
    pub(crate) ordinal: i32,
}

impl Entry {
    fn of(bits: u64) -> Option<Entry> {
        (bits != 0).then_some(Entry { op: bits as u32, ordinal: (bits >> 32) as i32 })
    }

    fn bits(self) -> u64 {
        (self.ordinal as u32 as u64) << 32 | u64::from(self.op)
    }
}

/// A program's code.
#[derive(Debug)]
pub struct Code {
    pub(crate) image: Arc<Image>,
    /// That of the windows that it runs in. Its handlers take addresses modulo the size.
    space: AddressSpace,
    text: Range<u64>,
    /// By parcel of two bytes: the [`Entry`] of the instruction there, 0 where none is decoded.
    map: Arena<AtomicU64>,
    ops: Arena<DecodedOp>,
    /// For each op its ordinal, and its instruction's distance from the text's start in bytes.
    origins: Arena<AtomicU64>,
    /// The first unused op.
    used: Mutex<usize>,
    /// The number of ops at which decoding stops.
    limit: usize,
    hardware: bool,
    touches_float_environment: OnceLock<bool>,
    /// The argument and result registers of imports whose types the program declares, by number.
    host_calls: OnceLock<HashMap<u32, CallRegisters>>,
    /// A bit for each parcel of two bytes: the re-entry points of compiled code. Empty if there is no compiled code.
    reentry_points: Vec<u64>,
    /// A number that no other code of this process has; not 0.
    id: u64,
}

/// An instruction that is being decoded.
struct Item {
    pc: u64,
    decoded: Decoded,
    op: usize,
    /// For a host call, the arguments that the instructions before it set.
    arguments: Option<Arguments>,
    /// For the first of those instructions, the call's place in the block.
    host_call: Option<usize>,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Code {
    /// Prepares a program's text for windows of these addresses; nothing is decoded yet. Decoded code will take up to about
    /// `memory_limit` bytes; instructions beyond the limit run in the reference interpreter.
    ///
    /// # Errors
    /// If the host has no address space left.
    pub fn new(image: Arc<Image>, space: AddressSpace, memory_limit: u64) -> io::Result<Code> {
        install();
        let text = image.text();
        let span = match (text.first(), text.last()) {
            (Some(first), Some(last)) => first.start & !1..last.end,
            _ => 0..0,
        };
        let parcels: u64 = text.iter().map(|range| (range.end - range.start).div_ceil(2)).sum();
        // Each parcel can begin an instruction of up to two ops, and end a block before it.
        let ops = 3 * parcels as usize + 2;
        if u32::try_from(ops * size_of::<DecodedOp>()).is_err() {
            return Err(io::Error::new(io::ErrorKind::OutOfMemory, "the program has more than 170 MiB of text"));
        }
        let code = Code {
            map: Arena::new((span.end - span.start).div_ceil(2) as usize + 1)?,
            ops: Arena::new(ops)?,
            origins: Arena::new(ops)?,
            text: span,
            image,
            space,
            used: Mutex::new(1),
            limit: usize::try_from(memory_limit).unwrap_or(usize::MAX) / MEMORY_PER_OP,
            hardware: has_hardware(),
            touches_float_environment: OnceLock::new(),
            host_calls: OnceLock::new(),
            reentry_points: Vec::new(),
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        };
        // SAFETY: no other thread has the code yet. The first op belongs to no instruction.
        unsafe { code.ops.write(0, DecodedOp::jump(returned, 0, 0, 0, 0)) };
        code.origins[0].store(RETURN_ADDRESS.wrapping_sub(code.text.start) & 0xffff_ffff, Ordering::Relaxed);
        Ok(code)
    }

    /// A number that no other code of this process has; not 0.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The op that functions which the host has called return to.
    pub(crate) fn returned(&self) -> *const DecodedOp {
        &self.ops[0]
    }

    /// Whether the program may read accrued float exceptions, or change the rounding mode. Scans the text once.
    #[inline]
    pub fn touches_float_environment(&self) -> bool {
        *self.touches_float_environment.get_or_init(|| self.image.touches_float_environment())
    }

    /// The fallback code for compiled code: the interpreter exits wherever control reaches one of these addresses, the
    /// re-entry points of compiled code.
    pub fn fallback(mut self, reentry_points: impl Iterator<Item = u64>) -> Code {
        self.reentry_points = vec![0; self.map.len().div_ceil(64)];
        for reentry_point in reentry_points {
            if let Some((word, bit)) = self.reentry_bit(reentry_point) {
                self.reentry_points[word] |= bit;
            }
        }
        self
    }

    fn reentry_bit(&self, pc: u64) -> Option<(usize, u64)> {
        let parcel = (pc.checked_sub(self.text.start)? / 2) as usize;
        (parcel / 64 < self.reentry_points.len()).then_some((parcel / 64, 1 << (parcel % 64)))
    }

    fn is_reentry_point(&self, pc: u64) -> bool {
        self.reentry_bit(pc).is_some_and(|(word, bit)| self.reentry_points[word] & bit != 0)
    }

    /// Stores the addresses of this code's tables in the state of a machine, for handlers.
    #[inline]
    pub(crate) fn bind(&self, window: &mut Window) {
        if window.own_predictions(self.id) {
            return;
        }
        // Accesses would leave a window of other addresses.
        assert_eq!(window.space(), self.space, "code and window are of one address space");
        let state = window.state_mut();
        state.exit.tables[TABLE_BASE] = self.text.start;
        state.exit.tables[TABLE_LEN] = self.text.end - self.text.start;
        state.exit.tables[TABLE_MAP] = self.map.as_ptr() as u64;
        state.exit.tables[TABLE_OPS] = self.ops.as_ptr() as u64;
    }

    pub(crate) fn op(&self, distance: u32) -> *const DecodedOp {
        &self.ops[distance as usize / size_of::<DecodedOp>()]
    }

    fn index(&self, op: *const DecodedOp) -> usize {
        (op as usize - self.ops.as_ptr() as usize) / size_of::<DecodedOp>()
    }

    /// The address and the ordinal of an op's instruction.
    pub(crate) fn origin(&self, op: *const DecodedOp) -> (u64, i32) {
        let bits = self.origins[self.index(op)].load(Ordering::Relaxed);
        (self.text.start + (bits & 0xffff_ffff), (bits >> 32) as i32)
    }

    fn slot(&self, pc: u64) -> Option<&AtomicU64> {
        let offset = pc.checked_sub(self.text.start).filter(|offset| offset % 2 == 0)?;
        self.map.get((offset / 2) as usize)
    }

    /// The addresses at which decoded blocks begin: control has reached each of them in the interpreter.
    pub fn reached(&self) -> Vec<u64> {
        let used = *self.lock();
        let begins = (1..used).filter(|&index| self.begins_block(index));
        begins.map(|index| self.origin(&self.ops[index]).0).collect()
    }

    /// Where the decoded block begins that has the instruction at `pc`; `None` if that is not decoded.
    pub fn beginning(&self, pc: u64) -> Option<u64> {
        let op = self.decoded(pc)?.op as usize / size_of::<DecodedOp>();
        let begin = (1..=op).rev().find(|&index| self.begins_block(index))?;
        Some(self.origin(&self.ops[begin]).0)
    }

    /// Whether this op is the first one of a decoded block: the one before ends another.
    fn begins_block(&self, index: usize) -> bool {
        (self.origins[index - 1].load(Ordering::Relaxed) >> 32) as i32 == 0
    }

    /// The op of the instruction at `pc`, if it is decoded.
    fn decoded(&self, pc: u64) -> Option<Entry> {
        Entry::of(self.slot(pc)?.load(Ordering::Acquire))
    }

    /// The op of the instruction at `pc`, which is decoded now if it was not; `None` outside the text, or if the memory for
    /// decoded code is used up.
    pub(crate) fn entry(&self, pc: u64) -> Option<Entry> {
        if let Some(entry) = self.decoded(pc) {
            return Some(entry);
        }
        if !self.image.is_text(pc) {
            return None;
        }
        self.decode_run(pc, &mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        // A panic can only leave ops that are not published.
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Links the branch or jump `op`, whose target was not decoded; false if its target cannot be decoded.
    pub(crate) fn resolve(&self, op: *const DecodedOp) -> bool {
        let (pc, ordinal) = self.origin(op);
        let index = self.index(op);
        let mut used = self.lock();
        // The end of a block is an op without an instruction: it jumps to the instruction at its address.
        let continues = ordinal == 0;
        let decoded = self.instruction(pc);
        let unlinked = if continues { unresolved } else { select::unlinked(&decoded) };
        if self.ops[index].handler() as usize != unlinked as usize {
            // Another thread was faster.
            return true;
        }
        let target = if continues { pc } else { pc.wrapping_add(decoded.imm as u64) };
        let Some(entry) = self.decoded(target).or_else(|| self.decode_run(target, &mut used)) else {
            return false;
        };
        let executed = i32::from(!continues);
        let difference = entry.ordinal - ordinal - executed;
        let handler = if continues { jump::<true> } else { select::alone(&decoded, true, self.space.is_masked()) };
        let op = &self.ops[index];
        // SAFETY: the op has its first handler, which reads neither, and this thread holds the lock.
        unsafe { op.link(difference as i16, entry.op, handler) };
        if !continues {
            self.fuse_with_branch(index, &decoded);
        }
        true
    }

    /// The instructions before a branch that has just been linked can be fused with it now.
    fn fuse_with_branch(&self, branch: usize, decoded: &Decoded) {
        let Operation::Branch(_) = decoded.operation else { return };
        let mut sequence = vec![*decoded];
        for index in (1..branch).rev().take(LONGEST - 1) {
            let (pc, ordinal) = self.origin(&self.ops[index]);
            let before = self.instruction(pc);
            let next = self.origin(&self.ops[index + 1]).0;
            if ordinal == 0 || !before.is_straight() || pc + u64::from(before.len) != next {
                return;
            }
            sequence.insert(0, before);
            let whole = sequence.iter().map(|decoded| (decoded, true));
            let mut handlers = fusion::handlers(whole, self.space.is_masked());
            if let Some((_, handler)) = handlers.find(|&(len, _)| len == sequence.len()) {
                self.ops[index].set_handler(handler);
            }
        }
    }

    fn instruction(&self, pc: u64) -> Decoded {
        if self.is_reentry_point(pc) {
            return Decoded::REENTRY_POINT;
        }
        match step::fetch(&self.image, pc) {
            Ok(inst) => match Decoded::new(&inst, pc, self.hardware) {
                decoded @ Decoded { operation: Operation::HostCall(_), imm, .. } => {
                    let operation = Operation::HostCall(self.host_call(imm as u32));
                    Decoded { operation, imm: imm * size_of::<Bound>() as i32, ..decoded }
                }
                decoded => decoded,
            },
            Err(_) => Decoded::STEP,
        }
    }

    /// The argument and result registers of the import with this number. Machines refuse host functions of other types.
    fn host_call(&self, index: u32) -> CallRegisters {
        let calls = self.host_calls.get_or_init(|| {
            let imports = self.image.imports().unwrap_or_default();
            imports.into_iter().filter_map(|import| Some((import.index, import.signature?.registers()))).collect()
        });
        calls.get(&index).copied().unwrap_or(CallRegisters::ANY)
    }

    /// Decodes the block that begins at `start`, which is not decoded; `None` outside the text.
    fn decode_run(&self, start: u64, used: &mut usize) -> Option<Entry> {
        if !self.image.is_text(start) || !start.is_multiple_of(2) {
            return None;
        }
        // Another thread may have been faster.
        if let Some(entry) = self.decoded(start) {
            return Some(entry);
        }
        if *used >= self.limit {
            return None;
        }
        let (items, end) = self.collect(start, *used);
        let last = items.last()?;
        let count = items.len();
        let end_op = last.op + last.decoded.ops();
        let ordinal = |index: usize| index as i32 - count as i32;

        // The target of each direct branch or jump, if it is decoded: op, ordinal, whether it tests the fuel.
        let link = |index: usize| -> Option<(u32, i32, bool)> {
            let item = &items[index];
            let target = item.pc.wrapping_add(item.decoded.direct()? as u64);
            match items.binary_search_by_key(&target, |item| item.pc) {
                Ok(to) => Some((distance(items[to].op), ordinal(to), to <= index)),
                Err(_) => self.decoded(target).map(|entry| (entry.op, entry.ordinal, true)),
            }
        };
        let links: Vec<_> = (0..count).map(link).collect();
        let fused = fuse(&items, &links, self.space.is_masked());
        for (index, item) in items.iter().enumerate() {
            let decoded = &item.decoded;
            let op = match (decoded.direct(), links[index]) {
                (None, _) => {
                    let handler = fused[index].unwrap_or_else(|| select::alone(decoded, false, self.space.is_masked()));
                    use Operation::*;
                    match decoded.operation {
                        Indirect | IndirectCall | IndirectLinking | Return => {
                            let leaves = -(ordinal(index) + 1);
                            DecodedOp::jump(handler, decoded.rs1, decoded.rs2, leaves as i16, decoded.imm as u32)
                        }
                        _ => {
                            let rs2 = match item.host_call {
                                Some(call) => distance(items[call].op - item.op) as u8,
                                None => decoded.rs2,
                            };
                            DecodedOp::new(handler, decoded.rs1, rs2, decoded.rd, decoded.rs3, decoded.imm)
                        }
                    }
                }
                (Some(_), Some((to, to_ordinal, check))) => {
                    let difference = to_ordinal - ordinal(index) - 1;
                    let handler = fused[index].unwrap_or_else(|| select::alone(decoded, check, self.space.is_masked()));
                    DecodedOp::jump(handler, decoded.rs1, decoded.rs2, difference as i16, to)
                }
                (Some(_), None) => DecodedOp::jump(select::unlinked(decoded), decoded.rs1, decoded.rs2, 0, 0),
            };
            self.put(item.op, op, item.pc, ordinal(index));
            if decoded.ops() == 2 {
                let behind = ordinal(index) + 1;
                let second = match (&item.arguments, decoded.operation) {
                    (Some(arguments), _) => DecodedOp::arguments(arguments.words(), behind as i16, item.pc as i32),
                    (None, Operation::HostCall(_) | Operation::SystemCall) => second_op(item.pc, behind),
                    _ => second_op((item.pc + u64::from(decoded.len)) | 1, behind),
                };
                self.put(item.op + 1, second, item.pc, ordinal(index));
            }
        }
        // The block continues in another one, which is linked when it is first reached.
        self.put(end_op, DecodedOp::jump(unresolved, 0, 0, 0, 0), end, 0);
        *used = end_op + 1;
        for (index, item) in items.iter().enumerate() {
            let entry = Entry { op: distance(item.op), ordinal: ordinal(index) };
            if let Some(slot) = self.slot(item.pc) {
                slot.store(entry.bits(), Ordering::Release);
            }
        }
        self.decoded(start)
    }

    /// The instructions of the block that begins at `start` with the op `op`, and the address after them.
    fn collect(&self, start: u64, mut op: usize) -> (Vec<Item>, u64) {
        let mut items: Vec<Item> = Vec::new();
        let mut pc = start;
        loop {
            let decoded = self.instruction(pc);
            op += items.last().map_or(0, |last| last.decoded.ops());
            let arguments = match decoded.operation {
                Operation::HostCall(registers) => Arguments::of(registers, items.iter().map(|item| &item.decoded)),
                _ => None,
            };
            // Without a handler the instructions before are executed one by one.
            let arguments = arguments.filter(|arguments| host_call_with(arguments).is_some());
            if let Some(arguments) = &arguments {
                let call = items.len();
                items[call - arguments.setters()].host_call = Some(call);
            }
            items.push(Item { pc, decoded, op, arguments, host_call: None });
            pc += u64::from(decoded.len);
            let goes_on = decoded.len != 0 && decoded.falls_through();
            if !goes_on || items.len() == RUN_LIMIT || !self.image.is_text(pc) || self.decoded(pc).is_some() {
                return (items, pc);
            }
        }
    }

    fn put(&self, index: usize, op: DecodedOp, pc: u64, ordinal: i32) {
        // SAFETY: no thread reaches ops from index `used` on before they are published, and the caller holds the lock.
        unsafe { self.ops.write(index, op) };
        let bits = (ordinal as u32 as u64) << 32 | (pc - self.text.start) & 0xffff_ffff;
        self.origins[index].store(bits, Ordering::Relaxed);
    }
}

/// Distance of an op from the first one in bytes.
fn distance(index: usize) -> u32 {
    (index * size_of::<DecodedOp>()) as u32
}

/// The handlers of a block's instructions, chosen so that as few handlers as possible are executed wherever control enters
/// the block.
fn fuse(items: &[Item], links: &[Option<(u32, i32, bool)>], is_masked: bool) -> Vec<Option<Handler>> {
    let count = items.len();
    let mut chosen = vec![None; count];
    // The number of handlers from each instruction to the end of its straight-line code.
    let mut cost = vec![0u32; count + LONGEST + 1];
    for index in (0..count).rev() {
        if !items[index].decoded.is_straight() {
            let ends = !items[index].decoded.falls_through();
            cost[index] = if ends { 1 } else { 1 + cost[index + 1] };
            continue;
        }
        cost[index] = 1 + cost[index + 1];
        // Up to the first jump, and with it only if it is a branch that is linked.
        let mut open = true;
        let sequence = items[index..].iter().zip(&links[index..]).map_while(|(item, link)| {
            let straight = item.decoded.is_straight();
            let fits = open && (straight || link.is_some());
            open = straight;
            fits.then_some((&item.decoded, link.is_some_and(|(_, _, check)| check)))
        });
        for (len, handler) in fusion::handlers(sequence, is_masked) {
            let fused = 1 + cost[index + len];
            if fused <= cost[index] {
                chosen[index] = Some(handler);
                cost[index] = fused;
            }
        }
        if let Some(call) = items[index].host_call
            && let Some(handler) = items[call].arguments.as_ref().and_then(host_call_with)
        {
            chosen[index] = Some(handler);
            cost[index] = 1 + cost[call + 1];
        }
    }
    chosen
}

/// Registers the handlers as code whose faults belong to guests.
fn install() {
    unsafe extern "C" {
        #[link_name = "__start_riverrun_interp"]
        static START: u8;
        #[link_name = "__stop_riverrun_interp"]
        static STOP: u8;
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // In a program that only loads guests, linkers would drop every handler, and with them the
        // section whose ends are asked for here.
        std::hint::black_box::<Handler>(crate::handlers::step);
        let range = CodeRange {
            start: &raw const START as usize,
            end: &raw const STOP as usize,
            fault_entry: fault_entry as *const () as usize,
        };
        // SAFETY: all code in the section are handlers, which keep the contract by the operands
        // of their accesses; the section is part of this program.
        unsafe { install_fault_handler(range) };
    });
}
