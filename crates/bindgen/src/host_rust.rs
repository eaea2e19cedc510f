//! What a host in Rust gets: a trait with a function for every call, and what registers them. A function
//! that is missing, or has other types than the description says, does not compile.

use crate::abi::Piece;
use crate::declaration::Parameter;
use crate::description::{Api, Call, Side};
use crate::names;
use crate::text::{head, put};
use crate::types::{Record, Scalar, Type, prototype};

/// Arguments of a function that Clippy has no objection to.
const MANY_ARGUMENTS: usize = 7;

impl Api {
    /// The module for hosts in Rust. It uses the crate `riverrun`.
    pub fn host_rust(&self) -> String {
        let mut out = String::new();
        put!(out, "// {}\n", head(self));
        for record in &self.records {
            structure(record, &mut out);
        }
        for name in &self.opaque {
            put!(out, "/// The guest's `{name}`.\n#[derive(Debug)]\npub enum {} {{}}\n", rust_name(name));
        }
        let sides: Vec<(Side, &str, &str)> = [
            (Side::Both, "Api", "Calls that guests can make."),
            (Side::Client, "ClientApi", "Calls that guests can make of clients."),
            (Side::Server, "ServerApi", "Calls that guests can make of servers."),
        ]
        .into_iter()
        .filter(|(side, ..)| *side == Side::Both || self.calls.iter().any(|call| call.side == *side))
        .collect();
        for (side, name, about) in &sides {
            put!(out, "/// {about} The type that it is implemented for is the data of the machines.");
            let calls = || self.calls.iter().filter(|call| call.side == *side);
            if calls().any(|call| arguments(call).len() + 2 > MANY_ARGUMENTS) {
                put!(out, "#[allow(clippy::too_many_arguments)]");
            }
            put!(out, "pub trait {name}: Sized + 'static {{");
            for call in calls() {
                declaration(call, &mut out);
            }
            put!(out, "}}\n");
        }
        if let [_] = sides.as_slice() {
            self.link("link", "T: Api", &[Side::Both], &mut out);
        } else {
            self.link("link_client", &bounds(&sides, Side::Client), &[Side::Both, Side::Client], &mut out);
            self.link("link_server", &bounds(&sides, Side::Server), &[Side::Both, Side::Server], &mut out);
        }
        let is_struct = |ty: &Type| matches!(ty.bare(), Type::Record(_));
        let has_struct =
            |call: &Call| is_struct(&call.result) || call.parameters.iter().any(|parameter| is_struct(&parameter.ty));
        if self.calls.iter().any(has_struct) {
            out.push_str(STRUCTS);
        }
        out
    }

    /// A function that registers the calls of these sides; those of the other are errors when they are made.
    fn link(&self, name: &str, bounds: &str, sides: &[Side], out: &mut String) {
        put!(
            out,
            "/// Registers the calls.\n///\n/// # Errors\n/// If the linker has a function of one of the names already."
        );
        put!(out, "pub fn {name}<{bounds}>(linker: &mut riverrun::Linker<T>) -> Result<(), riverrun::Error> {{");
        for call in &self.calls {
            if sides.contains(&call.side) {
                registration(call, out);
            } else {
                refusal(call, out);
            }
        }
        put!(out, "    Ok(())\n}}\n");
    }
}

fn bounds(sides: &[(Side, &str, &str)], wanted: Side) -> String {
    let traits = sides.iter().filter(|(side, ..)| *side == Side::Both || *side == wanted).map(|(_, name, _)| *name);
    format!("T: {}", traits.collect::<Vec<_>>().join(" + "))
}

/// A struct as it lies in memory, with the bytes between its fields.
fn structure(record: &Record, out: &mut String) {
    put!(out, "/// The guest's `{}`.\n#[repr(C)]", record.name);
    put!(out, "#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]");
    put!(out, "#[bytemuck(crate = \"riverrun::bytemuck\")]\npub struct {} {{", rust_name(&record.name));
    let mut end = 0;
    let gap = |from: u64, to: u64, out: &mut String| {
        if from < to {
            put!(out, "    /// Padding.\n    pub padding_{from}: [u8; {}],", to - from);
        }
    };
    for (offset, field) in record.offsets() {
        gap(end, offset, out);
        end = offset + field.ty.layout().map_or(0, |(size, _)| size);
        put!(out, "    /// `{}`.", field.ty.declare(&field.name));
        put!(out, "    pub {}: {},", names::for_rust(&field.name), in_memory(&field.ty).unwrap_or_default());
    }
    gap(end, record.layout().map_or(end, |(size, _)| size), out);
    put!(out, "}}\n");
}

/// `struct node` is `node`.
fn rust_name(name: &str) -> String {
    names::for_rust(name.rsplit(' ').next().unwrap_or(name))
}

/// The type of values that lie in guest memory, pointers being addresses; `None` if that is not known.
fn in_memory(ty: &Type) -> Option<String> {
    match ty.bare() {
        Type::Scalar(Scalar::Bool) => Some("u8".to_owned()),
        Type::Scalar(scalar) => Some(scalar.rust().to_owned()),
        Type::Pointer(..) => Some("u64".to_owned()),
        Type::Array(of, length) => Some(format!("[{}; {}]", in_memory(of)?, (*length)?)),
        Type::Record(record) => Some(rust_name(&record.name)),
        Type::Void | Type::Opaque(_) | Type::Function(..) | Type::Named(..) => None,
    }
}

/// The type of a parameter or result.
fn rust(ty: &Type, length: Option<u64>) -> String {
    match ty.bare() {
        Type::Scalar(scalar) => scalar.rust().to_owned(),
        Type::Record(record) => rust_name(&record.name),
        Type::Pointer(..) if ty.is_text() && length.is_none() => "riverrun::Str".to_owned(),
        Type::Pointer(to, _) => match (element(to), length) {
            (element, Some(length)) => format!("riverrun::Ptr<[{element}; {length}]>"),
            (element, None) => format!("riverrun::Ptr<{element}>"),
        },
        _ => "()".to_owned(),
    }
}

/// What a pointer leads to: `u8` for `void *`, and `()` for functions.
fn element(to: &Type) -> String {
    match to.bare() {
        Type::Void => "u8".to_owned(),
        Type::Opaque(name) => rust_name(name),
        to => in_memory(to).unwrap_or_else(|| "()".to_owned()),
    }
}

/// A parameter of the trait's function, which is one or more of the guest's.
struct Argument {
    name: String,
    ty: String,
    /// The parameters of the closure: names and types.
    raw: Vec<(String, String)>,
    /// The argument, made of these.
    value: String,
}

fn arguments(call: &Call) -> Vec<Argument> {
    let mut arguments = Vec::new();
    let mut parameters = call.parameters.iter().zip(&call.convention.parameters).peekable();
    while let Some((parameter, pieces)) = parameters.next() {
        let name = names::for_rust(&parameter.name);
        let counted = parameters.next_if(|(count, _)| is_count(parameter, count));
        let slice = match parameter.ty.bare() {
            Type::Pointer(to, _) if counted.is_some() => Some(format!("riverrun::Slice<{}>", element(to))),
            _ => None,
        };
        let ty = slice.unwrap_or_else(|| rust(&parameter.ty, parameter.length));
        let (raw, value) = match parameter.ty.bare() {
            Type::Record(_) => {
                let raw: Vec<(String, String)> = pieces
                    .iter()
                    .enumerate()
                    .map(|(index, piece)| (format!("{}_{index}", parameter.name), piece_type(piece).to_owned()))
                    .collect();
                let value = assembled(&ty, pieces, &raw);
                (raw, value)
            }
            _ => (vec![(name.clone(), ty.clone())], name.clone()),
        };
        arguments.push(Argument { name, ty, raw, value });
    }
    arguments
}

/// Whether `count` is the number of elements behind `parameter`.
fn is_count(parameter: &Parameter, count: &Parameter) -> bool {
    parameter.counted_by.as_ref() == Some(&count.name)
        && matches!(parameter.ty.bare(), Type::Pointer(..))
        && matches!(count.ty.bare(), Type::Scalar(Scalar::U64))
}

fn piece_type(piece: &Piece) -> &'static str {
    piece.scalar.map_or("u64", Scalar::rust)
}

/// A struct from the registers that it came in.
fn assembled(ty: &str, pieces: &[Piece], raw: &[(String, String)]) -> String {
    let parts = pieces.iter().zip(raw).map(|(Piece { offset, size, .. }, (name, _))| {
        format!("({offset}, {size}, riverrun::GuestValue::to_bits({name}))")
    });
    format!("assembled::<{ty}>(&[{}])", parts.collect::<Vec<_>>().join(", "))
}

/// What both directions of structs by value need.
const STRUCTS: &str = "\
/// A struct of parts: where each is in it, how many bytes it has, and which.
fn assembled<S: riverrun::bytemuck::Pod>(parts: &[(usize, usize, u64)]) -> S {
    let mut value = S::zeroed();
    let bytes = riverrun::bytemuck::bytes_of_mut(&mut value);
    for &(offset, size, bits) in parts {
        bytes[offset..offset + size].copy_from_slice(&bits.to_le_bytes()[..size]);
    }
    value
}

/// A part of a struct, as a register holds it.
fn part<S: riverrun::bytemuck::Pod, V: riverrun::GuestValue>(value: &S, offset: usize, size: usize) -> V {
    let mut bits = [0; 8];
    bits[..size].copy_from_slice(&riverrun::bytemuck::bytes_of(value)[offset..offset + size]);
    V::from_bits(u64::from_le_bytes(bits))
}
";

fn returns(call: &Call) -> String {
    if call.convention.result.is_empty() { "()".to_owned() } else { rust_result(&call.result) }
}

/// A pointer that is returned is what a guest takes for one.
fn rust_result(ty: &Type) -> String {
    rust(ty, None)
}

/// The function of the trait.
fn declaration(call: &Call, out: &mut String) {
    let named: Vec<(String, Type)> = call.parameters.iter().map(|one| (one.name.clone(), one.ty.clone())).collect();
    put!(out, "    /// `{}`: `{}`.", call.name, prototype(&call.result, &call.symbol, &named));
    put!(out, "    ///\n    /// # Errors\n    /// What it returns ends the guest's run.");
    let first = if call.leaf {
        "&mut self, memory: &mut riverrun::Memory".to_owned()
    } else {
        "caller: riverrun::Caller<'_, Self>".to_owned()
    };
    let rest: String = arguments(call).iter().map(|argument| format!(", {}: {}", argument.name, argument.ty)).collect();
    let name = names::for_rust(names::plain(&call.symbol));
    put!(out, "    fn {name}({first}{rest}) -> Result<{}, riverrun::HostError>;", returns(call));
}

fn registration(call: &Call, out: &mut String) {
    let arguments = arguments(call);
    let raw: String = arguments.iter().flat_map(|one| &one.raw).map(|(name, ty)| format!(", {name}: {ty}")).collect();
    let mutable = if call.leaf { "mut " } else { "" };
    put!(out, "    linker.func(\"{}\", |{mutable}caller: riverrun::Caller<'_, T>{raw}| {{", call.name);
    if call.initialization {
        put!(out, "        caller.only_while_initializing()?;");
    }
    let values: String = arguments.iter().map(|one| format!(", {}", one.value)).collect();
    let name = names::for_rust(names::plain(&call.symbol));
    let mut value = if call.leaf {
        put!(out, "        let (data, memory) = caller.split();");
        format!("T::{name}(data, memory{values})")
    } else {
        format!("T::{name}(caller{values})")
    };
    if let (Type::Record(_), pieces) = (call.result.bare(), &call.convention.result) {
        put!(out, "        let value = {value}?;");
        let parts = pieces.iter().map(|piece| {
            let Piece { offset, size, .. } = piece;
            format!("part::<_, {}>(&value, {offset}, {size})", piece_type(piece))
        });
        let parts: Vec<String> = parts.collect();
        let tuple = if let [one] = parts.as_slice() { one.clone() } else { format!("({})", parts.join(", ")) };
        value = format!("Ok::<_, riverrun::HostError>({tuple})");
    }
    put!(out, "        {value}\n    }})?;");
}

/// A call that only hosts of the other side have: the guest loads, and is told when it makes it.
fn refusal(call: &Call, out: &mut String) {
    let raw: Vec<String> =
        arguments(call).into_iter().flat_map(|one| one.raw).map(|(_, ty)| format!("_: {ty}")).collect();
    let result = match call.convention.result.as_slice() {
        [] => "()".to_owned(),
        [_] if !matches!(call.result.bare(), Type::Record(_)) => returns(call),
        [one] => piece_type(one).to_owned(),
        several => format!("({})", several.iter().map(piece_type).collect::<Vec<_>>().join(", ")),
    };
    let has = if call.side == Side::Client { "clients" } else { "servers" };
    put!(out, "    linker.func(\"{}\", |{}| {{", call.name, raw.join(", "));
    put!(out, "        Err::<{result}, riverrun::HostError>(\"{} is a call that only {has} have\".into())", call.name);
    put!(out, "    }})?;");
}
