//! Error messages for calls of host functions that the linker lacks.

use riverrun_vm::{DYNAMIC_CALL, HASH_MIN};

use crate::memory::Memory;
use crate::registers::Position;

/// Bytes of a name that is shown, at most.
const NAME_MAX: u64 = 200;

const T0: u8 = 5;
const T1: u8 = 6;
const A7: u8 = 17;

/// What is wrong with a system call for which there is no host function, if it can only have meant one:
/// its number is that of dynamic calls, or the hash of a name.
pub(crate) fn missing_function(position: Position<'_>, memory: &Memory) -> Option<String> {
    let number = position.x(A7);
    let what = if number == DYNAMIC_CALL {
        // The guest leaves the name for this message alone.
        match memory.c_string(position.x(T1), NAME_MAX).map(String::from_utf8_lossy) {
            Ok(name) if !name.is_empty() => format!("`{}`", name.escape_debug()),
            _ => hashed(position.x(T0)),
        }
    } else if is_hash(number) {
        hashed(number)
    } else {
        return None;
    };
    Some(format!("the guest calls the host function {what}, which the linker does not have"))
}

/// Whether a register holds 32 bits, with their sign extended or not, that are no number of a system call.
fn is_hash(number: u64) -> bool {
    let low = number as u32;
    low >= HASH_MIN && (number == u64::from(low) || number == low as i32 as u64)
}

fn hashed(hash: u64) -> String {
    format!("whose name has the hash {:#010x}", hash as u32)
}
