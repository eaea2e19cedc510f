//! Xriverrun: this project's own instruction, in the encoding space of custom extensions
//! (Unprivileged ISA, "Base Opcode Map": custom-0).

macro_rules! rows {
    ([$($next:ident)*] $callback:ident { $($rows:tt)* }) => {
        $crate::ext::chain! { [$($next)*] $callback { $($rows)* Xriverrun {

/// Calls the host function that is bound to import `imm`. Assembled by `.insn u 0x0b, x0, imm`.
rr_call = Import { mask: 0xfff, match: 0xb } |o, imm| { o.call_import(imm); o.unit() };

        } } }
    };
}
pub(crate) use rows;
