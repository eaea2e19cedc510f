//! Handlers: functions that execute one decoded op, or several as a superinstruction, and tail-call the next handler.
//!
//! A handler is composed of [`Micro`] operations, which evaluate rows of the instruction table; semantics are never written
//! here. Handlers own nothing that must be dropped, because a fault drops their frame.

use std::hint::cold_path;
use std::sync::atomic::{AtomicU64, Ordering};

use riverrun_isa::ops::{Mem, Ops};
use riverrun_isa::words::Words;
use riverrun_isa::{Operands, Row};
use riverrun_vm::{JUMP_CACHE_OFFSET, JUMP_CACHE_SIZE, RETURNS_OFFSET, Reason, SINK_SLOT, VmContext};

use crate::decoded_op::{DecodedOp, Extra, Handler, Next};
use crate::fast::{COUNTED, Fast};
use crate::forward::NO_FORWARD;
use crate::micro::{Forwarded, Micro, Value, registers};
use crate::return_ring::{RETURN_SIZE, RETURNS_MASK, Return};

/// Indices of [`riverrun_vm::EngineContext::tables`].
pub(crate) const TABLE_BASE: usize = 0;
pub(crate) const TABLE_LEN: usize = 1;
pub(crate) const TABLE_MAP: usize = 2;
pub(crate) const TABLE_OPS: usize = 3;

/// Goes on with the handler of `op`.
///
/// # Safety
/// `op` is a published op, and the caller returns at once what this returns.
#[cfg(not(trampoline))]
#[inline(always)]
unsafe fn go(op: *const DecodedOp, hart: Fast) -> Next {
    // SAFETY: a published op's handler takes exactly these arguments.
    unsafe { (*op).handler()(op, hart.state, Extra::uninit(), hart.returns, hart.fuel, hart.near) }
}

/// Goes on with the handler of `op`.
///
/// # Safety
/// `op` is a published op, and the caller returns at once what this returns.
#[cfg(trampoline)]
#[inline(always)]
unsafe fn go(op: *const DecodedOp, hart: Fast) -> Next {
    Next { op, returns: hart.returns, fuel: hart.fuel, near: hart.near }
}

/// Exits the chain of handlers without returning from the guest function.
///
/// # Safety
/// The hart's state is alive, and the caller returns at once what this returns.
#[cfg(not(trampoline))]
#[inline(always)]
unsafe fn end(hart: Fast) -> Next {
    // SAFETY: as the caller promises.
    unsafe { crate::enter::exit(hart.op, hart.state, Extra::uninit(), hart.returns, hart.fuel, hart.near) }
}

/// The result of a handler that exits.
#[cfg(trampoline)]
#[inline(always)]
unsafe fn end(_: Fast) -> Next {
    Next { op: std::ptr::null(), returns: 0, fuel: 0, near: std::ptr::null() }
}

/// Exits before the hart's op.
///
/// # Safety
/// The hart's state is alive, and the caller returns at once what this returns.
#[inline(always)]
pub(crate) unsafe fn exit_chain(hart: Fast, reason: Reason, target: u64) -> Next {
    // SAFETY: as the caller promises.
    unsafe {
        let exit = &mut (*hart.state).exit;
        exit.op = hart.op as u64;
        exit.fuel = hart.fuel;
        exit.reason = reason as u64;
        exit.target = target;
        exit.returns = hart.returns;
        end(hart)
    }
}

/// Continues at `op` with its fuel, if that is not negative; exits otherwise.
///
/// # Safety
/// As [`go`].
#[inline(always)]
pub(crate) unsafe fn go_checked<const CHECK: bool>(op: *const DecodedOp, hart: Fast) -> Next {
    // SAFETY: as the caller promises.
    unsafe {
        if CHECK && COUNTED && hart.fuel < 0 {
            cold_path();
            return exit_chain(Fast { op, ..hart }, Reason::Limit, 0);
        }
        go(op, hart)
    }
}

/// The target of the hart's op, a jump by register.
///
/// # Safety
/// As [`Micro::execute`].
#[inline(always)]
unsafe fn indirect_target<R: Row>(hart: Fast) -> u64 {
    // SAFETY: as the caller promises.
    unsafe {
        let op = &*hart.op;
        let sources = registers::<R, NO_FORWARD>(&hart, op, Forwarded::default());
        R::eval(&Words(hart), &Operands { imm: op.imm() as u64, ..sources })
    }
}

/// Defines handlers: their common signature, and the section by which the fault handler recognises them.
///
/// The chain enters every body with a published op of this handler and a live state. The decoder guarantees that an op
/// follows each one that falls through, and that the targets of linked ops are published.
macro_rules! handlers {
    ($($(#[$attribute:meta])* fn $name:ident [$($generics:tt)*] ($hart:ident $(, $extra:ident)?) $body:block)*) => {
        $(
            $(#[$attribute])*
            #[unsafe(link_section = "riverrun_interp")]
            pub(crate) unsafe extern "sysv64" fn $name<$($generics)*>(
                op: *const DecodedOp,
                state: *mut VmContext,
                #[allow(unused_variables)] extra: Extra,
                returns: u64,
                fuel: i64,
                near: *const DecodedOp,
            ) -> Next {
                let $hart: Fast = Fast { op, state, returns, fuel, near };
                $(let $extra = extra;)?
                // SAFETY: as the macro's comment says; the chain is entered by the engine alone.
                unsafe { $body }
            }
        )*
    };
}
#[cfg(not(by_hand))]
pub(crate) use handlers;

/// The beginning of the section of handlers. It fixes their offsets in cache lines, at the one where loops around host calls
/// are fastest, wherever the linker puts the section.
#[cfg(by_hand)]
#[unsafe(naked)]
#[unsafe(link_section = "riverrun_interp")]
unsafe extern "sysv64" fn beginning() {
    std::arch::naked_asm!(".balign 64", ".skip 46, 0xcc", "ud2")
}

#[cfg(by_hand)]
#[used]
static BEGINNING: unsafe extern "sysv64" fn() = beginning;

handlers! {
    /// Executes `M` and continues after it.
    fn straight[M: Micro](hart) {
        M::execute::<NO_FORWARD>(&hart, hart.op, Forwarded::default());
        go(hart.op.add(M::OPS), hart)
    }

    /// Executes `M`, then branches on the row `R`, whose operand `FORWARD` is the result of `M`.
    fn branch[M: Micro, R: Row, const FORWARD: u8, const CHECK: bool](hart) {
        let forwarded = M::execute::<NO_FORWARD>(&hart, hart.op, Forwarded::default());
        let hart = Fast { op: hart.op.add(M::OPS), ..hart };
        if R::eval(&Words(hart), &registers::<R, FORWARD>(&hart, &*hart.op, forwarded)) != 0 {
            go_linked::<CHECK>(hart)
        } else {
            go(hart.op.add(1), hart)
        }
    }

    /// A branch whose target is not decoded yet.
    fn branch_unresolved[R: Row](hart) {
        if R::eval(&Words(hart), &registers::<R, NO_FORWARD>(&hart, &*hart.op, Forwarded::default())) != 0 {
            exit_chain(hart, Reason::Undecoded, 0)
        } else {
            go(hart.op.add(1), hart)
        }
    }

    /// An unconditional jump, or the end of a block that continues in another one.
    fn jump[const CHECK: bool](hart) {
        go_linked::<CHECK>(hart)
    }

    /// A direct call: the link register is `rs1`, the next op holds the [`Return`].
    fn call[](hart) {
        let hart = link(hart, (*hart.op).rs1);
        let fuel = hart.after((*hart.op).difference());
        go_checked::<true>(target(hart), Fast { fuel, ..hart })
    }

    /// A branch or jump whose target is not decoded yet.
    fn unresolved[](hart) {
        exit_chain(hart, Reason::Undecoded, 0)
    }

    /// An instruction that the reference interpreter must execute.
    fn step[](hart) {
        exit_chain(hart, Reason::Step, 0)
    }

    /// Where compiled code is entered.
    fn reentry_point[](hart) {
        exit_chain(hart, Reason::Entry, 0)
    }

    /// An indirect jump.
    fn jump_indirect[R: Row](hart) {
        let target = indirect_target::<R>(hart);
        let fuel = hart.after((*hart.op).difference());
        go_indirect(target, Fast { fuel, ..hart })
    }

    /// An indirect jump with a link register, `rs2`; the next op holds the address for it.
    fn jump_indirect_linking[R: Row](hart) {
        let target = indirect_target::<R>(hart);
        hart.set((*hart.op).rs2, linked(continuation(hart)));
        let fuel = hart.after((*hart.op).difference());
        go_indirect(target, Fast { fuel, ..hart })
    }

    /// An indirect call: `rs2` is the link register, the next op holds the [`Return`].
    fn call_indirect[R: Row](hart) {
        let target = indirect_target::<R>(hart);
        let hart = link(hart, (*hart.op).rs2);
        let fuel = hart.after((*hart.op).difference());
        go_indirect(target, Fast { fuel, ..hart })
    }

    /// Entry `N` of the indirect-jump cache: the target is the extra argument.
    fn cached_jump[const N: usize](hart, target) {
        let target = target.assume_init();
        let known = jump_cache_at(hart, N);
        if (*known).is_at(target) {
            let fuel = hart.after((*known).ordinal());
            go_checked::<true>((*known).op, Fast { fuel, ..hart })
        } else {
            go_mapped(target, hart)
        }
    }

    /// A return, predicted by the return ring to go to the continuation of the last call.
    fn return_by[R: Row](hart) {
        let target = indirect_target::<R>(hart);
        let fuel = hart.after((*hart.op).difference());
        let returns = hart.returns.wrapping_sub(RETURN_SIZE) & RETURNS_MASK;
        let hart = Fast { returns, fuel, ..hart };
        let expected = returns_at(hart);
        if (*expected).is_at(target) {
            let fuel = hart.after((*expected).ordinal());
            go_checked::<true>((*expected).op, Fast { fuel, ..hart })
        } else {
            go_mapped(target, hart)
        }
    }

    /// Exits after a host call: the remaining fuel may not reach the end of the block, or the engine is asked to.
    #[cfg(by_hand)]
    fn out_of_fuel[](hart) {
        exit_chain(hart, Reason::Limit, 0)
    }

    /// The op to which functions that the host has called return.
    #[cfg(trampoline)]
    fn returned[](hart) {
        exit_chain(hart, Reason::Returned, 0)
    }

    /// A return that the return ring has not predicted.
    #[cfg(by_hand)]
    fn return_elsewhere[](hart, target) {
        go_mapped(target.assume_init(), hart)
    }

    /// An atomic access. A misaligned one exits: the reference interpreter traps.
    fn atomic[R: Row, const MASKED: bool](hart) {
        let mem = const { if R::OP.info().bits >> 12 & 7 == 2 { Mem::U32 } else { Mem::U64 } };
        if hart.get((*hart.op).rs1) & u64::from(mem.bytes() - 1) != 0 {
            return exit_chain(hart, Reason::Step, 0);
        }
        Value::<R, MASKED>::execute::<NO_FORWARD>(&hart, hart.op, Forwarded::default());
        go(hart.op.add(1), hart)
    }
}

/// The hart's current entry of the ring.
///
/// # Safety
/// The hart's state is alive; its offset has been masked.
#[inline(always)]
unsafe fn returns_at(hart: Fast) -> *mut Return {
    hart.state.wrapping_byte_add(RETURNS_OFFSET + hart.returns as usize).cast()
}

/// The number of entries of the indirect-jump cache, [`cached_jump`].
const JUMP_CACHE_LEN: usize = 256;
const _: () = assert!(JUMP_CACHE_LEN * size_of::<Return>() == JUMP_CACHE_SIZE);

/// The last target that entry `n` of the indirect-jump cache has seen.
///
/// # Safety
/// The hart's state is alive, `n` below [`JUMP_CACHE_LEN`].
#[inline(always)]
unsafe fn jump_cache_at(hart: Fast, n: usize) -> *mut Return {
    hart.state.wrapping_byte_add(JUMP_CACHE_OFFSET + n * size_of::<Return>()).cast()
}

/// Continues at a computed guest address.
///
/// A look-up would wait for the address, then the map, then the op. So the jump goes through one of many handlers, the
/// entries of the indirect-jump cache, chosen by the address. The host predicts early which one, and each has its last
/// target at a fixed place to compare with.
///
/// # Safety
/// As [`go`].
#[inline(always)]
unsafe fn go_indirect(address: u64, hart: Fast) -> Next {
    let n = (address >> 1) as usize % JUMP_CACHE_LEN;
    // SAFETY: as the caller promises.
    unsafe { CACHED_JUMPS[n](hart.op, hart.state, Extra::new(address), hart.returns, hart.fuel, hart.near) }
}

/// Handlers of the indirect-jump cache by number.
macro_rules! cached_jumps {
    ($($high:literal)*) => { [$(
        cached_jump::<{ 16 * $high }>, cached_jump::<{ 16 * $high + 1 }>, cached_jump::<{ 16 * $high + 2 }>,
        cached_jump::<{ 16 * $high + 3 }>, cached_jump::<{ 16 * $high + 4 }>, cached_jump::<{ 16 * $high + 5 }>,
        cached_jump::<{ 16 * $high + 6 }>, cached_jump::<{ 16 * $high + 7 }>, cached_jump::<{ 16 * $high + 8 }>,
        cached_jump::<{ 16 * $high + 9 }>, cached_jump::<{ 16 * $high + 10 }>, cached_jump::<{ 16 * $high + 11 }>,
        cached_jump::<{ 16 * $high + 12 }>, cached_jump::<{ 16 * $high + 13 }>, cached_jump::<{ 16 * $high + 14 }>,
        cached_jump::<{ 16 * $high + 15 }>,
    )*] };
}

static CACHED_JUMPS: [Handler; JUMP_CACHE_LEN] = cached_jumps![0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15];

/// The second op of a call, which is never executed: it holds the continuation's ordinal and address. [`link`] makes a
/// [`Return`] of it. For a host call it holds the call's own address.
pub(crate) fn second_op(address: u64, ordinal: i32) -> DecodedOp {
    DecodedOp::jump(step, 0, 0, ordinal as i16, address as u32)
}

/// The ordinal and the address behind a call, from its second op.
///
/// # Safety
/// The hart stands at a published call, or at a jump with a link register.
#[inline(always)]
unsafe fn continuation(hart: Fast) -> u64 {
    // SAFETY: as the caller promises, there is a second op.
    unsafe { (*hart.op.add(1)).operands() }
}

/// What a link register gets of it.
#[inline(always)]
fn linked(continuation: u64) -> u64 {
    continuation >> 32 & !1
}

/// Writes the link register `slot`, and predicts the return.
///
/// # Safety
/// The hart stands at a published call.
#[inline(always)]
unsafe fn link(hart: Fast, slot: u8) -> Fast {
    // SAFETY: calls have a second op, and one follows; the state is alive.
    unsafe {
        let bits = continuation(hart);
        hart.set(slot, linked(bits));
        returns_at(hart).write(Return { bits, op: hart.op.add(2) });
        Fast { returns: hart.returns.wrapping_add(RETURN_SIZE) & RETURNS_MASK, ..hart }
    }
}

/// The target op of a linked branch or jump.
///
/// # Safety
/// The hart stands at a published, linked op.
#[inline(always)]
unsafe fn target(hart: Fast) -> *const DecodedOp {
    // SAFETY: `Code::bind` has set the tables, and a linked op's distance leads to a published op. Adding it to the
    // first op, whose address is loaded early, keeps the chain of dependencies short.
    unsafe {
        let distance = (*hart.op).imm() as u32 as usize;
        let ops = (*hart.state).exit.tables[TABLE_OPS] as *const DecodedOp;
        ops.byte_add(distance)
    }
}

/// Continues at the target of a linked branch or jump.
///
/// # Safety
/// As [`go`]; the hart stands at a published, linked op.
#[inline(always)]
unsafe fn go_linked<const CHECK: bool>(hart: Fast) -> Next {
    // SAFETY: as the caller promises.
    unsafe {
        let fuel = hart.after((*hart.op).difference());
        let target = target(hart);
        let hart = Fast { fuel, ..hart };
        if !CHECK {
            return go(target, hart);
        }
        // Loops jump to the same op again and again. Comparing with the last such target, which is in a register, lets the
        // processor continue before the distance is loaded.
        if target == hart.near {
            go_checked::<true>(opaque(hart.near), hart)
        } else {
            // This path is not rare, but marking it cold makes the loop's path fall through, which is faster than a
            // taken jump.
            cold_path();
            go_checked::<true>(target, Fast { near: target, ..hart })
        }
    }
}

/// The same pointer, hidden from the compiler.
#[inline(always)]
fn opaque(op: *const DecodedOp) -> *const DecodedOp {
    let mut address = op.addr();
    // SAFETY: no instruction at all.
    unsafe { std::arch::asm!("/* {} */", inout(reg) address, options(pure, nomem, nostack, preserves_flags)) };
    op.with_addr(address)
}

/// Continues at a guest address with the remaining fuel.
///
/// # Safety
/// As [`go`].
#[inline(always)]
unsafe fn go_mapped(address: u64, hart: Fast) -> Next {
    // SAFETY: the engine has set the tables; entries of the map are published ops or 0.
    unsafe {
        let tables = &(*hart.state).exit.tables;
        let offset = address.wrapping_sub(tables[TABLE_BASE]);
        if offset >= tables[TABLE_LEN] {
            return exit_chain(hart, Reason::Jump, address);
        }
        let map = tables[TABLE_MAP] as *const AtomicU64;
        let entry = (*map.add((offset >> 1) as usize)).load(Ordering::Acquire);
        if entry == 0 {
            return exit_chain(hart, Reason::Jump, address);
        }
        let op = (tables[TABLE_OPS] as *const DecodedOp).byte_add(entry as u32 as usize);
        let ordinal = entry as i64 >> 32;
        jump_cache_at(hart, (address >> 1) as usize % JUMP_CACHE_LEN).write(Return::new(address, ordinal, op));
        go_checked::<true>(op, Fast { fuel: hart.after(ordinal), ..hart })
    }
}

const _: () = assert!(SINK_SLOT != 0);

/// Rows evaluate with the interpreter's values.
const _: fn() = || {
    fn is_ops<O: Ops<V = u64>>() {}
    is_ops::<Words<Fast>>();
};
