//! Generates the bindings of guests in Rust: a `no_std` module with the same three functions for every call as in C.

use crate::abi::{Piece, Place};
use crate::declaration::Parameter;
use crate::description::{Api, Call};
use crate::names;
use crate::text::{head, put, quoted};
use crate::types::{Record, Scalar, Type};

impl Api {
    /// The module for guests in Rust. It depends on `core` only.
    pub fn guest_rust(&self) -> String {
        let mut out = String::new();
        put!(out, "// {}\n", head(self));
        put!(out, "#[cfg(not(target_arch = \"riscv64\"))]");
        put!(out, "compile_error!(\"these are calls of a riverrun guest: compile for riscv64\");\n");
        for record in &self.records {
            structure(record, &mut out);
        }
        for name in &self.opaque {
            put!(
                out,
                "/// `{name}`, known to the host.\n#[repr(C)]\npub struct {} {{\n    _private: [u8; 0],\n}}\n",
                names::rust_type(name)
            );
        }
        // The functions that C gets from an assembler file.
        put!(out, "core::arch::global_asm!(\n    r#\"");
        out.push_str(&self.assembly("\"awG\""));
        put!(out, "\"#,\n    options(raw)\n);\n");
        put!(out, "unsafe extern \"C\" {{");
        for call in &self.calls {
            put!(
                out,
                "    /// `{}`.\n    pub fn {}({}){};",
                call.name,
                names::for_rust(&call.symbol),
                parameters(call),
                returns(call)
            );
            if call.convention.uses_stack() {
                for stub in [names::inline(&call.symbol), names::direct(&call.symbol)] {
                    put!(
                        out,
                        "    /// `{}`.\n    pub fn {}({}){};",
                        call.name,
                        names::for_rust(&stub),
                        parameters(call),
                        returns(call)
                    );
                }
            }
        }
        put!(out, "}}\n");
        for call in self.calls.iter().filter(|call| !call.convention.uses_stack()) {
            let by_number = !call.convention.uses_a7();
            inline(call, &names::inline(&call.symbol), by_number, &mut out);
            inline(call, &names::direct(&call.symbol), false, &mut out);
        }
        out
    }
}

fn structure(record: &Record, out: &mut String) {
    put!(
        out,
        "/// `{}`.\n#[repr(C)]\n#[derive(Clone, Copy)]\npub struct {} {{",
        record.name,
        names::rust_type(&record.name)
    );
    for field in &record.fields {
        put!(out, "    /// `{}`.\n    pub {}: {},", field.name, names::for_rust(&field.name), rust(&field.ty));
    }
    put!(out, "}}\n");
}

/// The type as a guest has it.
fn rust(ty: &Type) -> String {
    match ty.bare() {
        Type::Void => "core::ffi::c_void".to_owned(),
        Type::Scalar(scalar) => scalar.rust().to_owned(),
        Type::Record(record) => names::rust_type(&record.name),
        Type::Opaque(name) => names::rust_type(name),
        Type::Array(of, length) => format!("[{}; {}]", rust(of), length.unwrap_or(0)),
        Type::Pointer(to, constant) => match to.bare() {
            Type::Function(result, parameters) => {
                let parameters: Vec<String> = parameters.iter().map(rust).collect();
                let returns = if **result == Type::Void { String::new() } else { format!(" -> {}", rust(result)) };
                format!("Option<unsafe extern \"C\" fn({}){returns}>", parameters.join(", "))
            }
            _ => format!("*{} {}", if *constant { "const" } else { "mut" }, rust(to)),
        },
        Type::Function(..) | Type::Named(..) => "core::ffi::c_void".to_owned(),
    }
}

fn parameters(call: &Call) -> String {
    let one = |parameter: &Parameter| format!("{}: {}", names::rust_parameter(&parameter.name), rust(&parameter.ty));
    call.parameters.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn returns(call: &Call) -> String {
    if call.convention.result.is_empty() { String::new() } else { format!(" -> {}", rust(&call.result)) }
}

/// A function of one instruction. It is unsafe as `extern` functions are: the host may use pointers in ways that the
/// description does not say.
fn inline(call: &Call, name: &str, by_number: bool, out: &mut String) {
    let how = if by_number { "by its hash" } else { "directly" };
    put!(out, "/// `{}`, called {how}.\n///\n/// # Safety\n/// Pointers lead to what the host expects.", call.name);
    if !by_number {
        // `.ifndef` guards them.
        put!(out, "#[allow(named_asm_labels)]");
    }
    put!(out, "#[inline(always)]\npub unsafe fn {}({}){} {{", names::for_rust(name), parameters(call), returns(call));
    let mut operands = Vec::new();
    let mut results: Vec<&Piece> = call.convention.result.iter().collect();
    for (parameter, pieces) in call.parameters.iter().zip(&call.convention.parameters) {
        for piece in pieces {
            let value = value(parameter, piece);
            // A register that is argument and result has one type.
            let value = match is_widened(call, piece.place) && piece.scalar == Some(Scalar::F32) {
                true => format!("f64::from_bits(0xffff_ffff_0000_0000 | {value}.to_bits() as u64)"),
                false => value,
            };
            let register = register(piece.place);
            match results.iter().position(|result| result.place == piece.place) {
                Some(index) => {
                    results.remove(index);
                    operands.push(format!("inlateout(\"{register}\") {value} => riverrun_result_{register}"));
                }
                None => operands.push(format!("in(\"{register}\") {value}")),
            }
        }
    }
    operands.extend(results.iter().map(|piece| {
        let register = register(piece.place);
        format!("lateout(\"{register}\") riverrun_result_{register}")
    }));
    for piece in &call.convention.result {
        let ty = if is_widened(call, piece.place) { "f64" } else { register_type(piece) };
        put!(out, "    let riverrun_result_{}: {ty};", register(piece.place));
    }
    if by_number {
        operands.push(format!("in(\"a7\") {:#010x}_u32 as i32 as i64", call.hash));
    }
    put!(
        out,
        "    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises."
    );
    put!(out, "    unsafe {{\n        core::arch::asm!(");
    for line in if by_number { vec!["ecall".to_owned()] } else { record(call) } {
        put!(out, "            \"{line}\",");
    }
    for operand in operands {
        put!(out, "            {operand},");
    }
    put!(out, "            options({})\n        );\n    }}", options(call));
    for piece in &call.convention.result {
        if is_widened(call, piece.place) && piece.scalar == Some(Scalar::F32) {
            let register = register(piece.place);
            put!(
                out,
                "    let riverrun_result_{register} = f32::from_bits(riverrun_result_{register}.to_bits() as u32);"
            );
        }
    }
    result(call, out);
    put!(out, "}}\n");
}

/// The import's record, once in a file however often the function is inlined, and the instruction.
fn record(call: &Call) -> Vec<String> {
    let Call { symbol, index, hash, .. } = call;
    let [name, signature] = [&call.name, &call.signature()].map(|text| quoted(text, "\\\\"));
    vec![
        format!(".ifndef riverrun_import_{symbol}"),
        format!(".pushsection .riverrun.imports, \\\"awG\\\", @progbits, riverrun_import_{symbol}, comdat"),
        ".balign 8".to_owned(),
        format!(".weak riverrun_import_{symbol}"),
        format!(".hidden riverrun_import_{symbol}"),
        format!("riverrun_import_{symbol}:"),
        format!(".word {index}, {hash:#010x}"),
        format!(".dword .Limport_name_{symbol}, .Limport_signature_{symbol}"),
        ".popsection".to_owned(),
        format!(".pushsection .rodata.riverrun_import, \\\"aG\\\", @progbits, riverrun_import_{symbol}, comdat"),
        format!(".Limport_name_{symbol}: .asciz \\\"{name}\\\""),
        format!(".Limport_signature_{symbol}: .asciz \\\"{signature}\\\""),
        ".popsection".to_owned(),
        ".endif".to_owned(),
        format!(".reloc ., R_RISCV_NONE, riverrun_import_{symbol}"),
        format!(".insn u 0x0b, x0, {index}"),
    ]
}

/// The options of the inline assembly: only leaves let the compiler assume anything about memory.
fn options(call: &Call) -> &'static str {
    let pointers = call.parameters.iter().filter_map(|parameter| match parameter.ty.bare() {
        Type::Pointer(_, constant) => Some(*constant),
        _ => None,
    });
    match (call.leaf, pointers.clone().next().is_none(), pointers.clone().all(|constant| constant)) {
        (true, true, _) => "nostack, nomem",
        (true, _, true) => "nostack, readonly",
        _ => "nostack",
    }
}

/// Whether a float register is an argument of one width and a result of the other.
fn is_widened(call: &Call, place: Place) -> bool {
    let float = |piece: &&Piece| piece.place == place && piece.scalar.is_some_and(Scalar::is_float);
    let argument = call.convention.parameters.iter().flatten().find(float).map(|piece| piece.scalar);
    let result = call.convention.result.iter().find(float).map(|piece| piece.scalar);
    argument.is_some() && result.is_some() && argument != result
}

fn register(place: Place) -> String {
    place.register().unwrap_or_default()
}

fn register_type(piece: &Piece) -> &'static str {
    match piece.scalar {
        Some(scalar) if scalar.is_float() => scalar.rust(),
        _ => "u64",
    }
}

/// The value of a piece's register: a float, or 64 bits, to which 32-bit values are sign-extended.
fn value(parameter: &Parameter, piece: &Piece) -> String {
    let name = names::rust_parameter(&parameter.name);
    let value = match parameter.ty.bare() {
        Type::Record(_) => part(piece, &format!("(&raw const {name}).cast::<u8>().add({})", piece.offset)),
        Type::Pointer(to, _) if matches!(to.bare(), Type::Function(..)) => {
            return format!("core::mem::transmute::<_, u64>({name})");
        }
        _ => name,
    };
    match piece.scalar {
        None => value,
        Some(scalar) if scalar.is_float() => value,
        Some(Scalar::U32) => format!("{value} as i32 as i64"),
        Some(_) => format!("{value} as i64"),
    }
}

/// The type of a piece of a struct as it lies in memory; a bool is a byte there.
fn memory_type(piece: &Piece) -> &'static str {
    match piece.scalar {
        None => "u64",
        Some(Scalar::Bool) => "u8",
        Some(scalar) => scalar.rust(),
    }
}

/// Copies a part of a struct's bytes into a number, the rest of which is zero.
fn part(piece: &Piece, from: &str) -> String {
    let ty = memory_type(piece);
    let zero = if piece.scalar.is_some_and(Scalar::is_float) { "0.0" } else { "0" };
    let copy = format!("core::ptr::copy_nonoverlapping({from}, (&raw mut riverrun_part).cast(), {})", piece.size);
    format!("{{ let mut riverrun_part: {ty} = {zero}; {copy}; riverrun_part }}")
}

fn result(call: &Call, out: &mut String) {
    let ty = rust(&call.result);
    match (call.result.bare(), call.convention.result.as_slice()) {
        (Type::Record(_), pieces) => {
            put!(out, "    let mut result = core::mem::MaybeUninit::<{ty}>::zeroed();");
            put!(out, "    // SAFETY: the pieces lie in the result, of whose type the host gives a value.");
            put!(out, "    unsafe {{");
            for Piece { place, offset, size, .. } in pieces {
                let from = format!("(&raw const riverrun_result_{}).cast::<u8>()", register(*place));
                let to = format!("result.as_mut_ptr().cast::<u8>().add({offset})");
                put!(out, "        core::ptr::copy_nonoverlapping({from}, {to}, {size});");
            }
            put!(out, "        result.assume_init()\n    }}");
        }
        (bare, [piece]) => {
            let result = format!("riverrun_result_{}", register(piece.place));
            match bare {
                Type::Scalar(Scalar::Bool) => put!(out, "    {result} as u8 != 0"),
                Type::Scalar(scalar) if scalar.is_float() => put!(out, "    {result}"),
                Type::Pointer(to, _) if matches!(to.bare(), Type::Function(..)) => {
                    put!(out, "    // SAFETY: a pointer to a function, or none, is an address.");
                    put!(out, "    unsafe {{ core::mem::transmute::<u64, {ty}>({result}) }}");
                }
                _ => put!(out, "    {result} as {ty}"),
            }
        }
        _ => {}
    }
}
