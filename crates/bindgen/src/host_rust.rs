//! Generates the bindings of hosts in Rust: a trait with a function for every call, and a function that registers them. An
//! implementation that lacks a function, or has other types than the description, does not compile.

use crate::abi::{MAX_BY_VALUE, flatten};
use crate::declaration::Parameter;
use crate::description::{Api, Call, Side};
use crate::names;
use crate::text::{head, put};
use crate::types::{Record, Scalar, Type, prototype};

/// Arguments of a function up to which Clippy does not complain.
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
            put!(out, "/// The guest's `{name}`.\n#[derive(Debug)]\npub enum {} {{}}\n", names::rust_type(name));
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

/// A struct in its layout in memory, with padding as fields.
fn structure(record: &Record, out: &mut String) {
    put!(out, "/// The guest's `{}`.\n#[repr(C)]", record.name);
    put!(out, "#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]");
    put!(out, "#[bytemuck(crate = \"riverrun::bytemuck\")]\npub struct {} {{", names::rust_type(&record.name));
    let mut end = 0;
    let gap = |from: u64, to: u64, out: &mut String| {
        if from < to {
            let mut name = format!("padding_{from}");
            while record.fields.iter().any(|field| field.name == name) {
                name.push('_');
            }
            put!(out, "    /// Padding.\n    pub {name}: [u8; {}],", to - from);
        }
    };
    for (offset, field) in record.offsets() {
        gap(end, offset, out);
        end = offset + field.ty.layout().map_or(0, |(size, _)| size);
        put!(out, "    /// `{}`.", field.ty.declare(&field.name));
        put!(out, "    pub {}: {},", names::for_rust(&field.name), in_memory(&field.ty).unwrap_or_default());
    }
    let size = record.layout().map_or(end, |(size, _)| size);
    gap(end, size, out);
    put!(out, "}}\n");
    if (1..=MAX_BY_VALUE).contains(&size) {
        let scalar = |scalar: Option<Scalar>| scalar.map_or("Ptr".to_owned(), |scalar| scalar.rust().to_owned());
        let fields = flatten(record)
            .into_iter()
            .map(|(offset, ty)| format!("({offset}, riverrun::Scalar::{})", capital(&scalar(ty))));
        put!(
            out,
            "riverrun::by_value!({} = [{}]);\n",
            names::rust_type(&record.name),
            fields.collect::<Vec<_>>().join(", ")
        );
    }
}

/// `i32` is `I32`.
fn capital(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_ascii_uppercase() + rest
}

/// The type of values in guest memory, where pointers are addresses; `None` if it is not known.
fn in_memory(ty: &Type) -> Option<String> {
    match ty.bare() {
        Type::Scalar(Scalar::Bool) => Some("u8".to_owned()),
        Type::Scalar(scalar) => Some(scalar.rust().to_owned()),
        Type::Pointer(..) => Some("u64".to_owned()),
        Type::Array(of, length) => Some(format!("[{}; {}]", in_memory(of)?, (*length)?)),
        Type::Record(record) => Some(names::rust_type(&record.name)),
        Type::Void | Type::Opaque(_) | Type::Function(..) | Type::Named(..) => None,
    }
}

/// The type of a parameter or result.
fn rust(ty: &Type, length: Option<u64>) -> String {
    match ty.bare() {
        Type::Scalar(scalar) => scalar.rust().to_owned(),
        Type::Record(record) => names::rust_type(&record.name),
        Type::Pointer(..) if ty.is_text() && length.is_none() => "riverrun::Str".to_owned(),
        Type::Pointer(to, _) => match (element(to), length) {
            (element, Some(length)) => format!("riverrun::Ptr<[{element}; {length}]>"),
            (element, None) => format!("riverrun::Ptr<{element}>"),
        },
        _ => "()".to_owned(),
    }
}

/// The pointee of a pointer: `u8` for `void *`, `()` for functions.
fn element(to: &Type) -> String {
    match to.bare() {
        Type::Void => "u8".to_owned(),
        Type::Opaque(name) => names::rust_type(name),
        to => in_memory(to).unwrap_or_else(|| "()".to_owned()),
    }
}

/// A parameter of the trait's function, and of the closure around it.
struct Argument {
    name: String,
    ty: String,
}

fn arguments(call: &Call) -> Vec<Argument> {
    let mut arguments = Vec::new();
    let mut parameters = call.parameters.iter().peekable();
    while let Some(parameter) = parameters.next() {
        let name = names::rust_argument(&parameter.name);
        let counted = parameters.next_if(|count| is_count(parameter, count));
        let ty = match parameter.ty.bare() {
            Type::Pointer(to, _) if counted.is_some() => format!("riverrun::Slice<{}>", element(to)),
            _ => rust(&parameter.ty, parameter.length),
        };
        arguments.push(Argument { name, ty });
    }
    arguments
}

/// Whether `count` is the number of elements behind `parameter`.
fn is_count(parameter: &Parameter, count: &Parameter) -> bool {
    parameter.counted_by.as_ref() == Some(&count.name)
        && matches!(parameter.ty.bare(), Type::Pointer(..))
        && matches!(count.ty.bare(), Type::Scalar(Scalar::U64))
}

fn returns(call: &Call) -> String {
    if call.convention.result.is_empty() { "()".to_owned() } else { rust_result(&call.result) }
}

/// The type of a result; pointers are guest addresses.
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
    let typed: String = arguments.iter().map(|Argument { name, ty }| format!(", {name}: {ty}")).collect();
    let mutable = if call.leaf { "mut " } else { "" };
    put!(out, "    linker.func(\"{}\", |{mutable}caller: riverrun::Caller<'_, T>{typed}| {{", call.name);
    if call.initialization {
        put!(out, "        caller.only_while_initializing()?;");
    }
    let values: String = arguments.iter().map(|one| format!(", {}", one.name)).collect();
    let name = names::for_rust(names::plain(&call.symbol));
    if call.leaf {
        put!(out, "        let (riverrun_data, riverrun_memory) = caller.split();");
        put!(out, "        T::{name}(riverrun_data, riverrun_memory{values})");
    } else {
        put!(out, "        T::{name}(caller{values})");
    }
    put!(out, "    }})?;");
}

/// A call that only hosts of the other side have: the guest loads, and making the call is an error.
fn refusal(call: &Call, out: &mut String) {
    let types: Vec<String> = arguments(call).into_iter().map(|one| format!("_: {}", one.ty)).collect();
    let result = returns(call);
    let has = if call.side == Side::Client { "clients" } else { "servers" };
    put!(out, "    linker.func(\"{}\", |{}| {{", call.name, types.join(", "));
    put!(out, "        Err::<{result}, riverrun::HostError>(\"{} is a call that only {has} have\".into())", call.name);
    put!(out, "    }})?;");
}
