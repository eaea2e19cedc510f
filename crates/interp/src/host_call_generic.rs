//! Host calls in portable Rust: for processors without assembly handlers, and for builds with a trampoline.

use riverrun_program::CallRegisters;
use riverrun_vm::{DYNAMIC_CALL, Import, Polls, Reason, SYSTEM_CALLS, SYSTEM_CALLS_OFFSET, SystemCall, VmContext};

use crate::arguments::Arguments;
use crate::decoded_op::{DecodedOp, Extra, Handler, Next};
use crate::fast::Fast;
use crate::handlers::{exit_chain, go_checked, handlers};

/// The handler of a call of a host function by its number in the machine's table.
pub(crate) fn host_call(_: CallRegisters) -> Handler {
    host_call_any
}

/// No handler here sets a host call's arguments as well.
pub(crate) fn host_call_with(_: &Arguments) -> Option<Handler> {
    None
}

handlers! {
    /// A call of a host function by its number.
    fn host_call_any[](hart) {
        let exit = &raw const (*hart.state).exit;
        let distance = (*hart.op).imm() as u32;
        if u64::from(distance) >= (*exit).imports_size {
            return exit_chain(hart, Reason::Step, 0);
        }
        call_host(hart, ((*exit).imports as *const Import).byte_add(distance as usize))
    }

    /// An `ecall`, which may have a cached host function.
    fn system_call[](hart) {
        let a7 = hart.get(17);
        let key = if a7 == DYNAMIC_CALL { hart.get(5) } else { a7 };
        let known = hart.state.wrapping_byte_add(SYSTEM_CALLS_OFFSET).cast::<SystemCall>();
        let known = known.wrapping_add(key as usize % SYSTEM_CALLS);
        if (*known).key != key {
            return exit_chain(hart, Reason::Step, 0);
        }
        call_host(hart, &raw const (*known).import)
    }
}

/// Calls a host function and continues after the hart's op and the [`crate::handlers::second_op`] that follows it.
///
/// # Safety
/// The hart stands at such a op, the import is one of the state's machine, and the caller returns at once what this
/// returns.
#[inline(always)]
unsafe fn call_host(hart: Fast, import: *const Import) -> Next {
    // SAFETY: as the caller promises; the state is exact but for what the convention hands over.
    unsafe {
        let exit = &raw mut (*hart.state).exit;
        let second = &*hart.op.add(1);
        let ordinal = second.difference();
        (*hart.state).hart.pc = second.imm() as u32 as u64;
        (*exit).fuel = hart.fuel.wrapping_sub(ordinal);
        (*exit).returns = hart.returns;
        let results = ((*import).code)(import, hart.get(10), hart.get(11), hart.get(12), hart.get(13), hart.get(14));
        hart.set(10, results.a0);
        hart.set(11, results.a1);
        // Guest functions that the host function has called have used fuel.
        let hart = Fast { op: hart.op.add(2), fuel: (*exit).fuel.wrapping_add(ordinal), ..hart };
        match Polls::of(hart.state).are_asked() {
            true => exit_chain(hart, Reason::Limit, 0),
            false => go_checked::<true>(hart.op, hart),
        }
    }
}
