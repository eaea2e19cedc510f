//! `ret` on x86-64 Unix, in assembly, because each instruction and the code's alignment matter here.

use std::arch::naked_asm;
use std::mem::{offset_of, size_of};

use riverrun_vm::{RETURNS_OFFSET, VmContext};

use crate::decoded_op::{DecodedOp, Extra, Next};
use crate::handlers::{out_of_fuel, return_elsewhere};
use crate::return_ring::{RETURNS_MASK, Return};

/// From the state to the ra.
const RA: usize = offset_of!(VmContext, hart.slots) + size_of::<u64>();

/// A return, predicted by the return ring to go to the continuation of the last call.
#[unsafe(naked)]
pub(super) unsafe extern "sysv64" fn ret(
    _: *const DecodedOp,
    _: *mut VmContext,
    _: Extra,
    _: u64,
    _: i64,
    _: *const DecodedOp,
) -> Next {
    naked_asm!(
        "movsx rax, word ptr [rdi + {difference}]",
        // An entry less, where the ring ends as well.
        "add ecx, {mask}",
        "mov rdx, [rsi + {ra}]",
        "and ecx, {mask}",
        "add r8, rax",
        "mov eax, [rsi + rcx + {address}]",
        // What was noted has it set, too.
        "or rdx, 1",
        "cmp rdx, rax",
        "jne 2f",
        "movsx rax, word ptr [rsi + rcx + {ordinal}]",
        "mov rdi, [rsi + rcx + {op}]",
        "add r8, rax",
        "js {out_of_fuel}",
        "jmp [rdi]",
        "2:",
        "dec rdx",
        "jmp {elsewhere}",
        // Has the function begin at such an address, too.
        ".balign 64",
        difference = const DecodedOp::DIFFERENCE_OFFSET,
        ra = const RA,
        mask = const RETURNS_MASK,
        address = const RETURNS_OFFSET + Return::ADDRESS_OFFSET,
        ordinal = const RETURNS_OFFSET + Return::ORDINAL_OFFSET,
        op = const RETURNS_OFFSET + Return::OP_OFFSET,
        out_of_fuel = sym out_of_fuel,
        elsewhere = sym return_elsewhere,
    )
}
