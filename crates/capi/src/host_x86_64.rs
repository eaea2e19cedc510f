//! Adapters in assembly, on x86-64 Unix, from engines to host functions in C with few integer arguments.
//!
//! An adapter pushes the arguments as the host function reads them, and uses no registers that it would have to save.

use std::arch::naked_asm;
use std::mem::offset_of;

use riverrun::Scalar;
use riverrun::raw::{HostFunction, Import, Results, SlotFunction};

use crate::host::{Checked, FIRST, Raw, fail};
use crate::owned::Owned;
use crate::value::{KindCode, wrong_kind};

/// Defines an adapter for raw values, with one push for each.
macro_rules! by_slots {
    ($name:ident, saved [$($saved:literal),*], slots [$($slot:literal),*], a0 $a0:expr, a1 $a1:expr) => {
        #[unsafe(naked)]
        unsafe extern "sysv64" fn $name(_: *const Import, _: u64, _: u64, _: u64, _: u64, _: u64) -> Results {
            naked_asm!(
                "push rdi",
                $($saved,)*
                $($slot,)*
                "mov rax, [rdi + {environment}]",
                "mov rsi, [rdi + {machine}]",
                "mov rdx, rsp",
                "mov rdi, [rax + {data}]",
                "call [rax + {function}]",
                "test rax, rax",
                "jne 2f",
                "mov rax, [rsp + {a0}]",
                "mov rdx, [rsp + {a1}]",
                "add rsp, {a1} + 16",
                "ret",
                "2:",
                "mov rdi, [rsp + {a1} + 8]",
                "mov rsi, rax",
                "call {fail}",
                // Has the function begin at such an address, too.
                ".balign 64",
                a0 = const 8 * $a0,
                a1 = const 8 * $a1,
                environment = const offset_of!(Import, environment),
                machine = const offset_of!(Import, context),
                data = const offset_of!(Raw, function) + offset_of!(SlotFunction, data),
                function = const offset_of!(Raw, function) + offset_of!(SlotFunction, code),
                fail = sym fail,
            )
        }
    };
}

// The first slot is the result.
by_slots!(result_of_1, saved ["push rdx"], slots ["push rsi"], a0 0, a1 1);
by_slots!(result_of_3, saved ["push rdx"], slots ["push rcx", "push rdx", "push rsi"], a0 0, a1 3);
by_slots!(
    result_of_5,
    saved ["push rdx"],
    slots ["push r9", "push r8", "push rcx", "push rdx", "push rsi"],
    a0 0,
    a1 5
);
// Whatever becomes of the slots, a0 stays as it was.
by_slots!(nothing_of_1, saved ["push rdx", "push rsi", "push rsi"], slots ["push rsi"], a0 1, a1 3);
by_slots!(
    nothing_of_3,
    saved ["push rdx", "push rsi", "push rsi"],
    slots ["push rcx", "push rdx", "push rsi"],
    a0 3,
    a1 5
);
by_slots!(
    nothing_of_5,
    saved ["push rdx", "push rsi", "push rsi"],
    slots ["push r9", "push r8", "push rcx", "push rdx", "push rsi"],
    a0 5,
    a1 7
);

/// The adapters for functions with raw values.
pub(crate) fn by_slots(parameters: usize, has_result: bool) -> HostFunction {
    match (parameters, has_result) {
        (0 | 1, true) => result_of_1,
        (2 | 3, true) => result_of_3,
        (_, true) => result_of_5,
        (0 | 1, false) => nothing_of_1,
        (2 | 3, false) => nothing_of_3,
        (_, false) => nothing_of_5,
    }
}

/// Defines a function by values, so many of which are pushed: the lowest word of each is its kind.
macro_rules! by_values {
    (
        $name:ident, $count:literal [$($value:literal),*], results $results:literal, [$($begin:literal),*],
        [$($end:literal),*], kept $kept:literal [$($keep:literal),*], [$($give:literal),*]
    ) => {
        #[unsafe(naked)]
        unsafe extern "sysv64" fn $name(_: *const Import, _: u64, _: u64, _: u64, _: u64, _: u64) -> Results {
            naked_asm!(
                "push rdi",
                $($keep,)*
                "mov rax, [rdi + {environment}]",
                $($value,)*
                $($begin,)*
                "mov rsi, [rdi + {machine}]",
                "mov r8, rsp",
                "lea rdx, [rsp + 16 * {results}]",
                "mov ecx, {count}",
                "mov r9d, {results}",
                "mov rdi, [rax + {data}]",
                "call [rax + {function}]",
                "test rax, rax",
                "jne 2f",
                $($end,)*
                $($give,)*
                "add rsp, {import} + 8",
                "ret",
                "2:",
                "mov rdi, [rsp + {import}]",
                "mov rsi, rax",
                "call {fail}",
                "3:",
                "mov rdi, [rsp + {import}]",
                "mov esi, eax",
                "call {wrong_result}",
                ".balign 64 # {kinds} {result} {saved}",
                count = const $count,
                results = const $results,
                saved = const 16 * ($count + $results),
                import = const 16 * ($count + $results) + 8 * $kept,
                environment = const offset_of!(Import, environment),
                machine = const offset_of!(Import, context),
                kinds = const offset_of!(Checked, kinds),
                result = const offset_of!(Checked, result_kind),
                data = const offset_of!(Checked, owned) + offset_of!(Owned, data),
                function = const offset_of!(Checked, function),
                fail = sym fail,
                wrong_result = sym wrong_result,
            )
        }
    };
}

/// Defines the adapters for values with some number of parameters: without a result, with a 64-bit result, and with a
/// 32-bit result, which is sign-extended.
macro_rules! three_by_values {
    ($count:literal $values:tt, kept $kept:literal $keep:tt, nothing $nothing:tt, result $give:tt) => {{
        by_values!(nothing, $count $values, results 0, [], [], kept $kept $keep, $nothing);
        macro_rules! giving {
            ($name:ident, $last:literal) => {
                by_values!(
                    $name, $count $values,
                    results 1,
                    ["push 0", "push [rax + {result}]"],
                    [
                        "mov rcx, [rsp + {import}]",
                        "mov rcx, [rcx + {environment}]",
                        "mov eax, [rsp]",
                        "cmp eax, [rcx + {result}]",
                        "jne 3f",
                        $last
                    ],
                    kept $kept $keep, $give
                );
            };
        }
        giving!(word, "mov rax, [rsp + 8]");
        giving!(half, "movsxd rax, dword ptr [rsp + 8]");
        [nothing as HostFunction, word, half]
    }};
}

/// The functions by values of each number of parameters, for engines that know nothing of types and for others: for
/// these, registers that hold no result need not be as they were.
macro_rules! all_by_values {
    ($($count:literal: $values:tt;)*) => {
        const BY_VALUES: [[[HostFunction; 3]; 2]; FIRST + 1] = [$([
            three_by_values!(
                $count $values,
                kept 2 ["push rdx", "push rsi"],
                nothing ["mov rax, [rsp + {saved}]", "mov rdx, [rsp + {saved} + 8]"],
                result ["mov rdx, [rsp + {saved} + 8]"]
            ),
            three_by_values!($count $values, kept 0 [], nothing [], result []),
        ]),*];
    };
}

all_by_values! {
    0: [];
    1: ["push rsi", "push [rax + {kinds}]"];
    2: ["push rdx", "push [rax + {kinds} + 8]", "push rsi", "push [rax + {kinds}]"];
    3: ["push rcx", "push [rax + {kinds} + 16]", "push rdx", "push [rax + {kinds} + 8]", "push rsi",
        "push [rax + {kinds}]"];
    4: ["push r8", "push [rax + {kinds} + 24]", "push rcx", "push [rax + {kinds} + 16]", "push rdx",
        "push [rax + {kinds} + 8]", "push rsi", "push [rax + {kinds}]"];
    5: ["push r9", "push [rax + {kinds} + 32]", "push r8", "push [rax + {kinds} + 24]", "push rcx",
        "push [rax + {kinds} + 16]", "push rdx", "push [rax + {kinds} + 8]", "push rsi", "push [rax + {kinds}]"];
}

/// The code of functions by values, for engines that know nothing of types and for others: nothing, if a value is not
/// its register's lowest bytes as they are, or a result not a register or half of one.
pub(crate) fn by_values(parameters: &[Scalar], result: Option<Scalar>) -> Option<[HostFunction; 2]> {
    if parameters.contains(&Scalar::Bool) {
        return None;
    }
    let kind = match result {
        None => 0,
        Some(Scalar::I64 | Scalar::U64 | Scalar::Ptr) => 1,
        Some(Scalar::I32 | Scalar::U32) => 2,
        Some(_) => return None,
    };
    BY_VALUES.get(parameters.len()).map(|codes| codes.map(|codes| codes[kind]))
}

/// Ends the guest's run: its host function has given a result of another type.
///
/// # Safety
/// As [`fail`], by a function by values that has one result.
#[cold]
unsafe extern "sysv64" fn wrong_result(import: *const Import, found: KindCode) -> ! {
    // SAFETY: as the caller promises.
    unsafe {
        let function = &*(*import).environment.cast::<Checked>();
        fail(import, wrong_kind("result", 0, found, function.results[0]))
    }
}
