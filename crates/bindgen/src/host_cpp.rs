//! Generates the bindings of hosts in C++: a header with a function that registers the member functions of a host's class
//! as calls. A member function that is missing or has other types than the description does not compile.
//!
//! The header uses of `<riverrun.hpp>` the types `riverrun::Caller`, `riverrun::Ptr<T>`,
//! `riverrun::Slice<T>` and `riverrun::Str`, and a linker's member function template
//! `func<Result(Arguments...)>(name, signature, function)`, where `function` takes a `riverrun::Caller &` and
//! the arguments. Structs by value are structs of C++ there, with a `riverrun::Layout`.

use crate::abi::{MAX_BY_VALUE, flatten};
use crate::declaration::Parameter;
use crate::description::{Api, Call, Side};
use crate::names;
use crate::text::{comment, head, put, quoted};
use crate::types::{Record, Scalar, Type, prototype};

impl Api {
    /// The header for hosts in C++17. It uses the header `riverrun.hpp`.
    pub fn host_cpp(&self) -> String {
        let mut out = String::new();
        put!(out, "// {}\n#pragma once\n", head(self));
        put!(out, "#include <cstddef>\n#include <cstdint>\n\n#include <riverrun.hpp>\n");
        let stem = self.file.file_stem().unwrap_or_default().to_string_lossy();
        let namespace: String =
            stem.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
        let namespace = format!("{}_api", namespace.trim_start_matches(|c: char| c.is_ascii_digit()));
        put!(out, "namespace {namespace} {{\n");
        for name in &self.opaque {
            put!(out, "/// The guest's `{name}`.\nstruct {};\n", names::cpp_type(name));
        }
        for record in &self.records {
            structure(record, &mut out);
        }
        let by_value: Vec<&Record> =
            self.records.iter().map(|record| &**record).filter(|one| is_by_value(one)).collect();
        if !by_value.is_empty() {
            put!(out, "}}\n");
            for record in by_value {
                layout(&namespace, record, &mut out);
            }
            put!(out, "namespace {namespace} {{\n");
        }
        let has_sides = self.calls.iter().any(|call| call.side != Side::Both);
        if has_sides {
            self.link_cpp("link_client", Side::Server, &mut out);
            self.link_cpp("link_server", Side::Client, &mut out);
        } else {
            self.link_cpp("link", Side::Both, &mut out);
        }
        put!(out, "}}");
        out
    }

    /// The function that registers all calls but those that only `others` have, which are errors when they
    /// are made.
    fn link_cpp(&self, name: &str, others: Side, out: &mut String) {
        put!(out, "/// Registers the calls as member functions of `api`, which outlives the linker and its machines:");
        for call in self.calls.iter().filter(|call| call.side == Side::Both || call.side != others) {
            put!(out, "///     {} {}({});", cpp(&call.result, None), member(call), types(call, true).join(", "));
        }
        put!(out, "template <class Linker, class Class>\nvoid {name}(Linker &linker, Class &api)\n{{");
        for call in &self.calls {
            registration(call, call.side != Side::Both && call.side == others, out);
        }
        put!(out, "}}\n");
    }
}

fn structure(record: &Record, out: &mut String) {
    let name = names::cpp_type(&record.name);
    put!(out, "/// The guest's `{}`.\nstruct {name} {{", record.name);
    for field in &record.fields {
        let text = in_memory(&field.ty, &names::for_c(&field.name));
        let ty = text.split([' ', '[']).next();
        let is_hidden = record.fields.iter().any(|other| Some(&*names::for_c(&other.name)) == ty);
        put!(out, "    {}{text};", if is_hidden { "struct " } else { "" });
    }
    put!(out, "}};");
    if let Some((size, _)) = record.layout() {
        put!(out, "static_assert(sizeof({name}) == {size}, \"{name} lies in memory as the guest has it\");\n");
    }
}

/// Whether calls may have it by value.
fn is_by_value(record: &Record) -> bool {
    record.layout().is_some_and(|(size, _)| size <= MAX_BY_VALUE)
}

/// Which scalars are in a struct, and where, for `riverrun.hpp`.
fn layout(namespace: &str, record: &Record, out: &mut String) {
    let scalars = flatten(record);
    let names = scalars.iter().map(|(_, scalar)| scalar.map_or("riverrun::Ptr<void>", number));
    let names: Vec<&str> = names.collect();
    let offsets: Vec<String> = scalars.iter().map(|(offset, _)| offset.to_string()).collect();
    put!(out, "template <> struct riverrun::Layout<{namespace}::{}> {{", names::cpp_type(&record.name));
    put!(out, "    using Scalars = riverrun::Types<{}>;", names.join(", "));
    put!(out, "    static constexpr std::size_t offsets[] = {{{}}};\n}};\n", offsets.join(", "));
}

/// Declares `name` in its layout in guest memory: pointers are addresses, numbers have their sizes, and a bool is a
/// byte, of which a guest may make any number.
fn in_memory(ty: &Type, name: &str) -> String {
    let space = if name.is_empty() || name.starts_with('[') { "" } else { " " };
    match ty.bare() {
        Type::Scalar(Scalar::Bool) => format!("std::uint8_t{space}{name}"),
        Type::Scalar(scalar) => format!("{}{space}{name}", number(*scalar)),
        Type::Record(record) => format!("{}{space}{name}", names::cpp_type(&record.name)),
        Type::Array(of, length) => in_memory(of, &format!("{name}[{}]", length.unwrap_or(0))),
        _ => format!("std::uint64_t{space}{name}"),
    }
}

fn number(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "bool",
        Scalar::I8 => "std::int8_t",
        Scalar::U8 => "std::uint8_t",
        Scalar::I16 => "std::int16_t",
        Scalar::U16 => "std::uint16_t",
        Scalar::I32 => "std::int32_t",
        Scalar::U32 => "std::uint32_t",
        Scalar::I64 => "std::int64_t",
        Scalar::U64 => "std::uint64_t",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
    }
}

/// The type of a parameter or result.
fn cpp(ty: &Type, length: Option<u64>) -> String {
    match ty.bare() {
        Type::Scalar(scalar) => number(*scalar).to_owned(),
        Type::Record(record) => names::cpp_type(&record.name),
        Type::Pointer(..) if ty.is_text() && length.is_none() => "riverrun::Str".to_owned(),
        Type::Pointer(to, constant) => {
            let constant = if *constant { "const " } else { "" };
            let length = length.map_or_else(String::new, |length| format!("[{length}]"));
            format!("riverrun::Ptr<{constant}{}>", element(to, &length))
        }
        _ => "void".to_owned(),
    }
}

/// The pointee of a pointer; `void` for functions.
fn element(to: &Type, length: &str) -> String {
    match to.bare() {
        Type::Void if length.is_empty() => "void".to_owned(),
        Type::Opaque(name) => names::cpp_type(name),
        Type::Function(..) => "void".to_owned(),
        to => in_memory(to, length),
    }
}

fn member(call: &Call) -> String {
    names::for_c(names::plain(&call.symbol))
}

/// The parameters of the host's function without the caller; with names for readers.
fn types(call: &Call, named: bool) -> Vec<String> {
    let mut types = Vec::new();
    if named && !call.leaf {
        types.push("riverrun::Caller &caller".to_owned());
    }
    if named && call.leaf {
        types.push("riverrun::Memory &memory".to_owned());
    }
    let mut parameters = call.parameters.iter().peekable();
    while let Some(parameter) = parameters.next() {
        let counted = parameters.next_if(|count| is_count(parameter, count)).is_some();
        let ty = match parameter.ty.bare() {
            Type::Pointer(to, constant) if counted => {
                format!("riverrun::Slice<{}{}>", if *constant { "const " } else { "" }, element(to, ""))
            }
            _ => cpp(&parameter.ty, parameter.length),
        };
        types.push(if named { format!("{ty} {}", names::for_c(&parameter.name)) } else { ty });
    }
    types
}

/// Whether `count` is the number of elements behind `parameter`.
fn is_count(parameter: &Parameter, count: &Parameter) -> bool {
    parameter.counted_by.as_ref() == Some(&count.name)
        && matches!(parameter.ty.bare(), Type::Pointer(..))
        && matches!(count.ty.bare(), Type::Scalar(Scalar::U64))
}

fn registration(call: &Call, refused: bool, out: &mut String) {
    let result = cpp(&call.result, None);
    let types = types(call, false);
    let named: Vec<(String, Type)> = call.parameters.iter().map(|one| (one.name.clone(), one.ty.clone())).collect();
    put!(out, "    // {}", comment(&prototype(&call.result, &call.symbol, &named)));
    let list: String = types.iter().map(|ty| format!(", {ty}")).collect();
    let function = member(call);
    let context = if call.leaf { "riverrun::Memory &" } else { "riverrun::Caller &" };
    if !refused {
        put!(out, "    {result} (Class::*riverrun_{function})({context}{list}) = &Class::{function};");
    }
    let parameters: String = types.iter().enumerate().map(|(index, ty)| format!(", {ty} a{index}")).collect();
    let arguments: String = (0..types.len()).map(|index| format!(", a{index}")).collect();
    let name = quoted(&call.name, "\\");
    put!(
        out,
        "    linker.template func<{result}({})>(\"{name}\", \"{}\",",
        types.join(", "),
        quoted(&call.signature(), "\\")
    );
    if refused {
        let has = if call.side == Side::Client { "clients" } else { "servers" };
        let unnamed: String = types.iter().map(|ty| format!(", {ty}")).collect();
        put!(out, "        [](riverrun::Caller &caller{unnamed}) -> {result} {{");
        put!(out, "            caller.fail(\"{name} is a call that only {has} have\");\n        }});");
        return;
    }
    put!(out, "        [&api, riverrun_{function}](riverrun::Caller &caller{parameters}) -> {result} {{");
    if call.initialization {
        put!(out, "            caller.only_while_initializing();");
    }
    let first = if call.leaf { "caller.memory()" } else { "caller" };
    put!(out, "            return (api.*riverrun_{function})({first}{arguments});\n        }});");
}
