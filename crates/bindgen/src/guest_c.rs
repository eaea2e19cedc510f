//! Generates the bindings of guests in C and C++: a header with three stubs for every call, and an assembler file.
//!
//! | stub | what it is | the host finds the function by |
//! | --- | --- | --- |
//! | `sys_x` | a function; `ecall` with [`DYNAMIC_CALL`](crate::DYNAMIC_CALL) in a7 | the hash in t0, for errors the name in t1 |
//! | `isys_x` | inline; `ecall` | the hash in a7 |
//! | `dsys_x` | inline; an instruction of its own, `rr.call` | the instruction's number, bound at load |
//!
//! If the arguments need a7 or the stack, all three stubs use the instruction; they are functions if they need the
//! stack.

use crate::abi::{Piece, Place};
use crate::declaration::Parameter;
use crate::description::{Api, Call};
use crate::names;
use crate::text::{comment, head, put, quoted, signed};
use crate::types::{Scalar, Type, prototype};

/// The macros that all inline stubs of a header use.
const PRELUDE: &str = include_str!("../../../guest/include/riverrun/import.h");

impl Api {
    /// The header for guests in C (C11 or newer, with GNU's `asm`) and C++.
    pub fn guest_c_header(&self) -> String {
        let mut out = String::new();
        put!(out, "/* {} */\n", head(self));
        out.push_str(PRELUDE);
        for typedef in &self.typedefs {
            put!(out, "{typedef};");
        }
        if !self.typedefs.is_empty() {
            out.push('\n');
        }
        put!(out, "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n");
        for call in &self.calls {
            stubs(call, &mut out);
        }
        put!(out, "#ifdef __cplusplus\n}}\n#endif");
        out
    }

    /// The assembler file of the header, to be compiled and linked once.
    pub fn guest_assembly(&self) -> String {
        let mut out = String::new();
        put!(out, "/* {} */\n", head(self));
        put!(out, "#ifdef __PIC__\n#define RECORD_FLAGS \"awG\"\n#else\n#define RECORD_FLAGS \"aG\"\n#endif\n");
        out + &self.assembly("RECORD_FLAGS") + ".section .note.GNU-stack, \"\", @progbits\n"
    }

    /// The functions; `flags` are those of the section of imports.
    pub(crate) fn assembly(&self, flags: &str) -> String {
        let mut out = String::new();
        for call in &self.calls {
            put!(out, "/* {} */", comment(&call.name));
            if call.convention.uses_a7() {
                direct(call, flags, &mut out);
            } else {
                opaque(call, &mut out);
            }
            out.push('\n');
        }
        out
    }
}

fn opaque(call: &Call, out: &mut String) {
    let symbol = &call.symbol;
    let body = [
        format!("li t0, {}", signed(call.hash)),
        format!("lla t1, .Lname_{symbol}"),
        format!("li a7, {}", names::DYNAMIC_CALL),
        "ecall".to_owned(),
    ];
    function(&[symbol], &body, out);
    put!(out, ".section .rodata.{symbol}, \"a\", @progbits");
    put!(out, ".Lname_{symbol}:\n    .asciz \"{}\"", quoted(&call.name, "\\"));
}

fn direct(call: &Call, flags: &str, out: &mut String) {
    let symbol = &call.symbol;
    let instruction =
        [format!(".reloc ., R_RISCV_NONE, riverrun_import_{symbol}"), format!(".insn u 0x0b, x0, {}", call.index)];
    let [inline, dynamic] = [names::inline(symbol), names::direct(symbol)];
    let symbols = if call.convention.uses_stack() { &[symbol, &*inline, &*dynamic][..] } else { &[&**symbol] };
    function(symbols, &instruction, out);
    put!(out, ".section .riverrun.imports, {flags}, @progbits, riverrun_import_{symbol}, comdat");
    put!(
        out,
        "    .balign 8\n    .weak riverrun_import_{symbol}\n    .hidden riverrun_import_{symbol}\nriverrun_import_{symbol}:\n    .word {}, {:#010x}",
        call.index,
        call.hash
    );
    put!(out, "    .dword .Limport_name_{symbol}, .Limport_signature_{symbol}");
    put!(out, ".section .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_{symbol}, comdat");
    put!(out, ".Limport_name_{symbol}:\n    .asciz \"{}\"", quoted(&call.name, "\\"));
    put!(out, ".Limport_signature_{symbol}:\n    .asciz \"{}\"", quoted(&call.signature(), "\\"));
}

/// A function that has all these names.
fn function(symbols: &[&str], body: &[String], out: &mut String) {
    put!(out, ".section .text.{}, \"ax\", @progbits\n    .balign 2", symbols[0]);
    for symbol in symbols {
        put!(out, "    .globl {symbol}\n    .type {symbol}, @function\n{symbol}:");
    }
    for line in body {
        put!(out, "    {line}");
    }
    put!(out, "    ret");
    for symbol in symbols {
        put!(out, "    .size {symbol}, . - {symbol}");
    }
}

/// The declarations of a call's three stubs, and the definitions of the inline ones.
fn stubs(call: &Call, out: &mut String) {
    let when = if call.initialization { "; while initializing only" } else { "" };
    put!(out, "/* {}, hash {:#010x}{when} */", comment(&call.name), call.hash);
    let parameters: Vec<(String, Type)> =
        call.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.ty.clone())).collect();
    let declare = |name: &str| prototype(&call.result, name, &parameters);
    let [inline, direct] = [names::inline(&call.symbol), names::direct(&call.symbol)];
    put!(out, "{};", declare(&call.symbol));
    if call.convention.uses_stack() {
        put!(out, "{};\n{};\n", declare(&inline), declare(&direct));
        return;
    }
    let instruction = {
        let [name, signature] = [&call.name, &call.signature()].map(|text| quoted(text, "\\\\"));
        let Call { symbol, index, hash, .. } = call;
        format!("RIVERRUN_IMPORT(\"{index}\", \"{hash:#010x}\", \"{symbol}\",\n        \"{name}\", \"{signature}\")")
    };
    put!(out, "RIVERRUN_INLINE {}\n{{", declare(&inline));
    if call.convention.uses_a7() {
        body(call, &instruction, None, out);
    } else {
        body(call, "\"ecall\"", Some(signed(call.hash).to_string()), out);
    }
    put!(out, "}}\nRIVERRUN_INLINE {}\n{{", declare(&direct));
    body(call, &instruction, None, out);
    put!(out, "}}\n");
}

/// The body of a stub: values to registers, the instruction, registers to a value. `number` is for a7.
fn body(call: &Call, instruction: &str, number: Option<String>, out: &mut String) {
    // Expressions that could become code come first: that code could use the argument registers.
    let mut registers: Vec<(String, String, String)> = Vec::new();
    for (parameter, pieces) in call.parameters.iter().zip(&call.convention.parameters) {
        for piece in pieces {
            let value = value(parameter, piece, out);
            let (ty, value) = extended(&parameter.ty, piece, &value);
            registers.push((ty.to_owned(), name_of(piece.place), value));
        }
    }
    registers.extend(number.map(|number| ("long".to_owned(), "a7".to_owned(), number)));
    let mut inputs = Vec::new();
    for (ty, register, value) in registers {
        let space = if ty.ends_with('*') { "" } else { " " };
        put!(out, "    register {ty}{space}riverrun_{register} __asm__(\"{register}\") = {value};");
        let constraint = if register.starts_with('f') { 'f' } else { 'r' };
        inputs.push(format!("\"{constraint}\"(riverrun_{register})"));
    }
    let mut outputs = Vec::new();
    for piece in &call.convention.result {
        let register = name_of(piece.place);
        let (ty, _) = extended(&call.result, piece, "");
        let constraint = if register.starts_with('f') { 'f' } else { 'r' };
        let space = if ty.ends_with('*') { "" } else { " " };
        put!(out, "    register {ty}{space}riverrun_result_{register} __asm__(\"{register}\");");
        outputs.push(format!("\"={constraint}\"(riverrun_result_{register})"));
    }
    let clobbers = memory(call, &mut outputs, &mut inputs);
    put!(out, "    RIVERRUN_ASM({instruction}");
    let operands = format!(": {} : {} : {clobbers}", outputs.join(", "), inputs.join(", ")).replace("  ", " ");
    put!(out, "        {});", operands.trim_end_matches([' ', ':']));
    result(call, out);
}

/// The register of a piece; those on the stack have no inline stubs.
fn name_of(place: Place) -> String {
    place.register().unwrap_or_default()
}

/// An expression for one piece of a parameter; structs have been split before.
fn value(parameter: &Parameter, piece: &Piece, out: &mut String) -> String {
    let name = &parameter.name;
    if !matches!(parameter.ty.bare(), Type::Record(_)) {
        return name.clone();
    }
    let part = format!("riverrun_part_{}", name_of(piece.place));
    put!(out, "    {} {part} = 0;", piece.scalar.map_or("long", Scalar::c));
    put!(out, "    __builtin_memcpy(&{part}, (const char *)&{name} + {}, {});", piece.offset, piece.size);
    part
}

/// The type that a register holds a piece as, and the value as the convention wants it: integers in 64
/// bits, of which those of 32 are sign-extended whether they are signed or not.
fn extended(ty: &Type, piece: &Piece, value: &str) -> (&'static str, String) {
    match (piece.scalar, ty.bare()) {
        (Some(scalar), _) if scalar.is_float() => (scalar.c(), value.to_owned()),
        (Some(Scalar::U32), _) => ("long", format!("(int){value}")),
        (Some(_), _) => ("long", format!("(long){value}")),
        (None, Type::Pointer(to, _)) if !matches!(to.bare(), Type::Function(..)) => ("const void *", value.to_owned()),
        (None, _) => ("long", format!("(long){value}")),
    }
}

/// The memory operands of the call. A leaf accesses exactly what its parameters declare; any other call may access all
/// memory, through pointers that the host has kept or by calling back.
fn memory(call: &Call, outputs: &mut Vec<String>, inputs: &mut Vec<String>) -> &'static str {
    if !call.leaf {
        return "\"memory\"";
    }
    for parameter in &call.parameters {
        let (Type::Pointer(to, constant), Some(length)) = (parameter.ty.bare(), parameter.length) else { continue };
        let whole = Type::Pointer(Box::new(Type::Array(to.clone(), Some(length))), *constant).declare("");
        let place = format!("(*({whole}){})", parameter.name);
        if *constant {
            inputs.push(format!("\"m\"{place}"));
        } else {
            outputs.push(format!("\"+m\"{place}"));
        }
    }
    ""
}

fn result(call: &Call, out: &mut String) {
    let ty = call.result.declare("");
    match (call.result.bare(), call.convention.result.as_slice()) {
        (Type::Record(_), pieces) => {
            put!(out, "    {ty} riverrun_result;");
            for Piece { place, scalar, offset, size } in pieces {
                let register = name_of(*place);
                let ty = scalar.map_or("long", Scalar::c);
                put!(out, "    {ty} riverrun_of_{register} = ({ty})riverrun_result_{register};");
                put!(
                    out,
                    "    __builtin_memcpy((char *)&riverrun_result + {offset}, &riverrun_of_{register}, {size});"
                );
            }
            put!(out, "    return riverrun_result;");
        }
        (_, [piece]) => put!(out, "    return ({ty})riverrun_result_{};", name_of(piece.place)),
        _ => {}
    }
}
