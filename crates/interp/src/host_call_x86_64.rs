//! Host calls on x86-64 Unix, in assembly: a compiler saves and reloads more registers around a call than needed.

use std::arch::naked_asm;
use std::mem::{offset_of, size_of};

use riverrun_program::{CallRegisters, CallResults};
use riverrun_vm::{
    DYNAMIC_CALL, EngineContext, Import, POLLS_OFFSET, Polls, SYSTEM_CALLS, SYSTEM_CALLS_OFFSET, SystemCall, VmContext,
};

use crate::arguments::{ARGUMENTS, Arguments};
use crate::decoded_op::{DecodedOp, Extra, Handler, Next};
use crate::handlers::{out_of_fuel, step};

const T0: usize = register(5);
const A0: usize = register(10);
const A7: usize = register(17);
const PC: usize = offset_of!(VmContext, hart.pc);
const FUEL: usize = offset_of!(VmContext, exit) + offset_of!(EngineContext, fuel);
const POLL: usize = POLLS_OFFSET + Polls::POLL;
const RETURNS: usize = offset_of!(VmContext, exit) + offset_of!(EngineContext, returns);
const IMPORTS: usize = offset_of!(VmContext, exit) + offset_of!(EngineContext, imports);
const IMPORTS_SIZE: usize = offset_of!(VmContext, exit) + offset_of!(EngineContext, imports_size);
/// Of the op behind: the ordinal there.
const ORDINAL: usize = size_of::<DecodedOp>() + DecodedOp::DIFFERENCE_OFFSET;
/// Likewise: the guest address of the call.
const ADDRESS: usize = size_of::<DecodedOp>() + DecodedOp::IMM_OFFSET;
/// Likewise: the arguments.
const WORDS: usize = size_of::<DecodedOp>();
/// Twice as far as that op.
const BEHIND: usize = 2 * size_of::<DecodedOp>();

const _: () = assert!(offset_of!(Import, code) == 0);
const _: () = assert!(size_of::<SystemCall>() == 32 && SYSTEM_CALLS.is_power_of_two());

const fn register(n: usize) -> usize {
    offset_of!(VmContext, hart.slots) + n * size_of::<u64>()
}

/// The handler of a call of a host function by its number in the machine's table.
pub(crate) fn host_call(registers: CallRegisters) -> Handler {
    use CallResults::{Any, Float, Integer, None};
    match (registers.integers, registers.results) {
        (0, None | Float) => host_call_of_none,
        (0, Integer) => host_call_of_none_for_one,
        (..=2, None | Float) => host_call_of_two,
        (..=2, Integer) => host_call_of_two_for_one,
        (_, None | Float) => host_call_of_any,
        (_, Integer) => host_call_of_any_for_one,
        (_, Any) => host_call_of_any_for_any,
    }
}

/// Defines a handler from three pieces of code: the first finds the import and leaves the call's op in rdi, the second loads
/// the import into rdi and the arguments, the third stores the results.
macro_rules! calls {
    (
        $(#[$doc:meta])*
        $name:ident[$($generics:tt)*]: [$($find:literal)*] [$($take:expr),*] [$($put:literal)*] $($constant:ident = $value:expr),*
    ) => {
        $(#[$doc])*
        #[unsafe(naked)]
        pub(crate) unsafe extern "sysv64" fn $name<$($generics)*>(
            _: *const DecodedOp,
            _: *mut VmContext,
            _: Extra,
            _: u64,
            _: i64,
            _: *const DecodedOp,
        ) -> Next {
            naked_asm!(
                $($find,)*
                "push rdi",
                "push rsi",
                "push r9",
                "mov eax, [rdi + {address}]",
                "mov [rsi + {pc}], rax",
                "movsx rax, word ptr [rdi + {ordinal}]",
                "sub r8, rax",
                "mov [rsi + {fuel}], r8",
                "mov [rsi + {returns}], rcx",
                $($take,)*
                "call [rdi]",
                "pop r9",
                "pop rsi",
                "pop rdi",
                $($put,)*
                "mov rcx, [rsi + {returns}]",
                // Guest functions that the host function has called have used fuel.
                "movsx r8, word ptr [rdi + {ordinal}]",
                "add rdi, {behind}",
                "add r8, [rsi + {fuel}]",
                "js {out_of_fuel}",
                "cmp qword ptr [rsi + {poll}], 0",
                "jne {out_of_fuel}",
                "jmp [rdi]",
                // Has the function begin at such an address, too.
                ".balign 64",
                pc = const PC,
                fuel = const FUEL,
                poll = const POLL,
                returns = const RETURNS,
                ordinal = const ORDINAL,
                address = const ADDRESS,
                behind = const BEHIND,
                step = sym step,
                out_of_fuel = sym out_of_fuel,
                $($constant = const $value,)*
            )
        }
    };
}

/// Handlers of calls by number.
macro_rules! host_calls {
    ($($name:ident $take:tt $put:tt $($a0:ident)?;)*) => {
        $(calls! {
            /// A call of a host function by its number.
            $name[]:
                [
                    "mov edx, [rdi + {imm}]"
                    "cmp [rsi + {imports_size}], rdx"
                    "jbe {step}"
                    "add rdx, [rsi + {imports}]"
                ]
                $take
                $put
                imm = DecodedOp::IMM_OFFSET, imports = IMPORTS, imports_size = IMPORTS_SIZE $(, $a0 = A0)?
        })*
    };
}

host_calls! {
    host_call_of_none ["mov rdi, rdx"] [];
    host_call_of_none_for_one ["mov rdi, rdx"] ["mov [rsi + {a0}], rax"] a0;
    host_call_of_two ["mov rdi, rdx", "mov rdx, [rsi + {a0} + 8]", "mov rsi, [rsi + {a0}]"] [] a0;
    host_call_of_two_for_one ["mov rdi, rdx", "mov rdx, [rsi + {a0} + 8]", "mov rsi, [rsi + {a0}]"] ["mov [rsi + {a0}], rax"] a0;
    host_call_of_any
        [
            "mov rdi, rdx", "mov rdx, [rsi + {a0} + 8]", "mov rcx, [rsi + {a0} + 16]", "mov r8, [rsi + {a0} + 24]",
            "mov r9, [rsi + {a0} + 32]", "mov rsi, [rsi + {a0}]"
        ]
        []
        a0;
    host_call_of_any_for_one
        [
            "mov rdi, rdx", "mov rdx, [rsi + {a0} + 8]", "mov rcx, [rsi + {a0} + 16]", "mov r8, [rsi + {a0} + 24]",
            "mov r9, [rsi + {a0} + 32]", "mov rsi, [rsi + {a0}]"
        ]
        ["mov [rsi + {a0}], rax"]
        a0;
    host_call_of_any_for_any
        [
            "mov rdi, rdx", "mov rdx, [rsi + {a0} + 8]", "mov rcx, [rsi + {a0} + 16]", "mov r8, [rsi + {a0} + 24]",
            "mov r9, [rsi + {a0} + 32]", "mov rsi, [rsi + {a0}]"
        ]
        ["mov [rsi + {a0}], rax" "mov [rsi + {a0} + 8], rdx"]
        a0;
}

calls! {
    /// An `ecall`, which may have a cached host function.
    system_call[]:
        [
            "mov rax, [rsi + {a7}]"
            "cmp rax, {dynamic_call}"
            "cmove rax, [rsi + {t0}]"
            "mov edx, eax"
            "and edx, {last}"
            "shl edx, 5"
            "lea rdx, [rsi + rdx + {known}]"
            "cmp [rdx + {key}], rax"
            "jne {step}"
            "add rdx, {import}"
        ]
        [
            "mov rdi, rdx", "mov rdx, [rsi + {a0} + 8]", "mov rcx, [rsi + {a0} + 16]", "mov r8, [rsi + {a0} + 24]",
            "mov r9, [rsi + {a0} + 32]", "mov rsi, [rsi + {a0}]"
        ]
        ["mov [rsi + {a0}], rax" "mov [rsi + {a0} + 8], rdx"]
        a0 = A0,
        a7 = A7,
        t0 = T0,
        dynamic_call = DYNAMIC_CALL,
        last = SYSTEM_CALLS - 1,
        known = SYSTEM_CALLS_OFFSET,
        key = offset_of!(SystemCall, key),
        import = offset_of!(SystemCall, import)
}

/// The handler of the first of the instructions that set a host call's arguments: sets all and makes the call.
pub(crate) fn host_call_with(arguments: &Arguments) -> Option<Handler> {
    let handlers = if arguments.has_integer_result() { &WITH_ARGUMENTS_FOR_ONE } else { &WITH_ARGUMENTS };
    Some(handlers[arguments.kinds()])
}

macro_rules! with_arguments {
    (<$for_one:literal> $($kinds:literal)*) => { [$(host_call_with_arguments::<$kinds, $for_one>),*] };
    ($for_one:literal) => {
        with_arguments!(<$for_one>
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39
            40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63)
    };
}

/// By [`Arguments::kinds`].
static WITH_ARGUMENTS: [Handler; 1 << (ARGUMENTS + 1)] = with_arguments!(0);
/// Of functions that give an integer.
static WITH_ARGUMENTS_FOR_ONE: [Handler; 1 << (ARGUMENTS + 1)] = with_arguments!(1);

/// Sets an argument, and has it in a register, if there are so many.
macro_rules! set {
    ($n:literal, $register:literal, $half:literal) => {
        concat!(
            concat!(".if {kinds} >> (", $n, " + 1)\n"),
            concat!(".if ({kinds} >> ", $n, ") & 1\n"),
            concat!("movsx ", $register, ", word ptr [rdi + {words} + 2 * ", $n, "]\n"),
            ".else\n",
            concat!("movzx ", $half, ", word ptr [rdi + {words} + 2 * ", $n, "]\n"),
            concat!("mov ", $register, ", [rsi + {slots} + 8 * ", $register, "]\n"),
            ".endif\n",
            concat!("mov [rsi + {a0} + 8 * ", $n, "], ", $register, "\n"),
            ".endif",
        )
    };
}

calls! {
    /// A call of a host function by its number, with the instructions in front of it, which set arguments.
    host_call_with_arguments[const KINDS: usize, const FOR_ONE: usize]:
        [
            "movzx eax, byte ptr [rdi + {call}]"
            "mov r10d, [rdi + rax + {imm}]"
            "cmp [rsi + {imports_size}], r10"
            "jbe {step}"
            "add rdi, rax"
            "add r10, [rsi + {imports}]"
        ]
        [
            set!(4, "r9", "r9d"), set!(3, "r8", "r8d"), set!(2, "rcx", "ecx"), set!(1, "rdx", "edx"), set!(0, "rax", "eax"),
            "mov rsi, rax", "mov rdi, r10",
            // The 54 bytes after the call are in one cache line.
            ".balign 64, , 54"
        ]
        [".if {for_one}" "mov [rsi + {a0}], rax" ".endif"]
        kinds = KINDS,
        for_one = FOR_ONE,
        call = DecodedOp::RS2_OFFSET,
        words = WORDS,
        slots = offset_of!(VmContext, hart.slots),
        a0 = A0,
        imm = DecodedOp::IMM_OFFSET,
        imports = IMPORTS,
        imports_size = IMPORTS_SIZE
}
