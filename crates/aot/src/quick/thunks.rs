//! The code between the convention of bodies and that of compiled code.
//!
//! Each function begins with code that tests the host's stack, as all compiled functions do, and enters its body by
//! [`ENTER`]; bodies call other bodies directly, and all other code by [`CALL`]. Both are part of the artifact's tables.

use std::fmt::Write as _;

use riverrun_vm::convention::{self, Pinned};
use riverrun_vm::{PINNED_REGISTERS, Reason};

/// The symbol of the code that commits the pinned registers, calls the body in r10, at the guest address in r11, and goes
/// on where it says.
pub(super) const ENTER: &str = "riverrun_quick_enter";
/// The symbol of the function that bodies call with the compiled code to call.
pub(super) const CALL: &str = "riverrun_quick_call";

/// The symbol of what bodies call where they find no body: it returns the function that finds the code at the state's pc.
pub(super) const SEARCH: &str = "riverrun_quick_search";

/// What bodies preserve for their callers: as functions of the host do, but for r15, which has the window's address always.
const PRESERVED: [&str; 5] = ["rbx", "rbp", "r12", "r13", "r14"];

/// The assembly of [`ENTER`], [`CALL`] and [`SEARCH`], by the symbol of the search function.
pub(crate) fn assembly(searcher: &str) -> String {
    let homes = || PINNED_REGISTERS.into_iter().zip(convention::pinned(false).map(Pinned::home));
    let load: String = homes().map(|(register, home)| format!("mov {register}, [r15 + {home}]\n")).collect();
    let commit: String = homes().map(|(register, home)| format!("mov [r15 + {home}], {register}\n")).collect();
    let push: String = PRESERVED.map(|register| format!("push {register}\n")).concat();
    let mut pop = String::new();
    for register in PRESERVED.iter().rev() {
        writeln!(pop, "pop {register}").expect("a string takes all");
    }
    format!(
        ".intel_syntax noprefix
.text
.globl {ENTER}
.hidden {ENTER}
.balign 64
{ENTER}:
{commit}mov rdi, r11
call r10
mov r10, rax
{load}test r10, r10
jnz 1f
ret
1: jmp r10
.globl {CALL}
.hidden {CALL}
.balign 64
{CALL}:
{push}mov r10, rdi
{load}call r10
{commit}{pop}ret
.globl {SEARCH}
.hidden {SEARCH}
{SEARCH}:
lea rax, [rip + {searcher}]
ret
.att_syntax
"
    )
}

/// Bytes of machine code.
struct Code(Vec<u8>);

impl Code {
    /// An instruction with a displacement from the window's address.
    fn field(&mut self, opcode: [u8; 3], field: i64) {
        self.0.extend(opcode);
        self.0.extend((field as i32).to_le_bytes());
    }

    /// Returns the address of this code's beginning.
    fn return_beginning(&mut self) {
        // lea rax, [beginning]; ret
        self.0.extend([0x48, 0x8d, 0x05]);
        let behind = self.0.len() + 4;
        self.0.extend((-(behind as i32)).to_le_bytes());
        self.0.push(0xc3);
    }
}

/// The code before a function's body.
pub(super) struct Beginning {
    pub(super) code: Vec<u8>,
    /// The place of the distance to [`ENTER`], from the place's end.
    pub(super) enter_at: usize,
    /// Where bodies enter by their own convention.
    pub(super) direct: usize,
}

/// The code before a body, which is aligned to this, and follows it.
///
/// A body that calls another one enters it directly. Where the stack does not suffice it gets the function's beginning
/// back as the code to go on at, which exits.
pub(super) fn beginning(alignment: usize) -> Beginning {
    let mut code = Code(Vec::new());
    // cmp rsp, [r15 + limit]
    code.field([0x49, 0x3b, 0xa7], convention::STACK_LIMIT);
    // jb .. to the exit; xor r11d, r11d; jmp .. behind it
    code.0.extend([0x72, 0x05, 0x45, 0x31, 0xdb, 0xeb, 0x0e]);
    // call [r15 + exit]: its return address tells whose beginning it is.
    code.field([0x41, 0xff, 0x97], convention::EXIT_AT_START);
    // mov r11, [r15 + pc]
    code.field([0x4d, 0x8b, 0x9f], convention::PC);
    // lea r10, [body]
    code.0.extend([0x4c, 0x8d, 0x15]);
    let body_at = code.0.len();
    code.0.extend([0; 4]);
    // jmp ENTER
    code.0.push(0xe9);
    let enter_at = code.0.len();
    code.0.extend([0; 4]);
    let refusal = code.0.len();
    code.return_beginning();
    // The last instructions before the body, of which int3 fills the space.
    let mut direct = Code(Vec::new());
    // cmp rsp, [r15 + limit]
    direct.field([0x49, 0x3b, 0xa7], convention::STACK_LIMIT);
    // jb .. to the refusal
    direct.0.extend([0x72, 0]);
    let body = (code.0.len() + direct.0.len()).next_multiple_of(alignment);
    let at = body - direct.0.len();
    *direct.0.last_mut().expect("it has code") = (refusal as isize - body as isize) as i8 as u8;
    let distance = (body - (body_at + 4)) as i32;
    code.0[body_at..body_at + 4].copy_from_slice(&distance.to_le_bytes());
    code.0.resize(at, 0xcc);
    code.0.extend(direct.0);
    Beginning { code: code.0, enter_at, direct: at }
}

/// What bodies call in place of a function by the convention of compiled code, which it returns; and the place of the
/// distance to the function, from the place's end.
pub(super) fn return_function() -> (Vec<u8>, usize) {
    // lea rax, [function]; ret
    (vec![0x48, 0x8d, 0x05, 0, 0, 0, 0, 0xc3], 3)
}

/// A function that is left to the interpreter: an exit to it; and where bodies enter it.
pub(super) fn interpreted(start: u64) -> (Vec<u8>, usize) {
    let mut code = Code(Vec::new());
    // mov r11d, start; mov [r15 + pc], r11
    code.0.extend([0x41, 0xbb]);
    code.0.extend((start as u32).to_le_bytes());
    code.field([0x4d, 0x89, 0x9f], convention::PC);
    // mov qword ptr [r15 + reason], Call
    code.field([0x49, 0xc7, 0x87], convention::REASON);
    code.0.extend((Reason::Call as u32).to_le_bytes());
    // mov [r15 + resume], rdi, which is ra
    code.field([0x49, 0x89, 0xbf], convention::RESUME);
    // jmp [r15 + exit]
    code.field([0x41, 0xff, 0xa7], convention::EXIT);
    let direct = code.0.len();
    code.return_beginning();
    (code.0, direct)
}
