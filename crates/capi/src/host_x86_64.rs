//! Adapters in assembly, on x86-64 Unix, from engines to host functions in C that take few integers as values.
//!
//! An adapter pushes the arguments as the host function reads them, and uses no registers that it would have to save:
//! that is one to two bare calls faster than the code in Rust, which writes each value by halves.

use std::arch::naked_asm;
use std::mem::offset_of;

use riverrun::Scalar;
use riverrun::raw::{HostFunction, Import, Results};

use crate::error::fail;
use crate::host::{Checked, FIRST};
use crate::owned::Owned;
use crate::value::{KindCode, wrong_kind};

/// Defines a function by values, so many of which are pushed: the lowest word of each is its kind.
macro_rules! by_values {
    (
        $name:ident, $count:literal [$($value:literal),*], results $results:literal, [$($begin:literal),*],
        [$($end:literal),*], [$($give:literal),*]
    ) => {
        #[unsafe(naked)]
        unsafe extern "sysv64" fn $name(_: *const Import, _: u64, _: u64, _: u64, _: u64, _: u64) -> Results {
            naked_asm!(
                "push rdi",
                "push rdx",
                "push rsi",
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
                import = const 16 * ($count + $results) + 16,
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
/// 32-bit result, which is sign-extended. Registers that hold no result stay as they were.
macro_rules! all_by_values {
    ($($count:literal: $values:tt;)*) => {
        const BY_VALUES: [[HostFunction; 3]; FIRST + 1] = [$({
            by_values!(
                nothing, $count $values, results 0, [], [],
                ["mov rax, [rsp + {saved}]", "mov rdx, [rsp + {saved} + 8]"]
            );
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
                        ["mov rdx, [rsp + {saved} + 8]"]
                    );
                };
            }
            giving!(word, "mov rax, [rsp + 8]");
            giving!(half, "movsxd rax, dword ptr [rsp + 8]");
            [nothing as HostFunction, word, half]
        }),*];
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

/// The code of functions by values: nothing, if a value is not its register's lowest bytes as they are, or a result not a
/// register or half of one.
pub(crate) fn by_values(parameters: &[Scalar], result: Option<Scalar>) -> Option<HostFunction> {
    if parameters.contains(&Scalar::Bool) {
        return None;
    }
    let kind = match result {
        None => 0,
        Some(Scalar::I64 | Scalar::U64 | Scalar::Ptr) => 1,
        Some(Scalar::I32 | Scalar::U32) => 2,
        Some(_) => return None,
    };
    BY_VALUES.get(parameters.len()).map(|codes| codes[kind])
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
