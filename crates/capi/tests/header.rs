//! `include/riverrun.h` says what the Rust sources do: this writes its middle part from them, and compares.
//! `RIVERRUN_BLESS=1 cargo test -p riverrun-capi --test header` puts it there.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::{Attribute, Expr, Fields, FnArg, GenericArgument, Item, ItemFn, ItemStruct, PathArguments, ReturnType, Type};

/// The modules, each behind those whose types it uses.
const MODULES: [&str; 19] = [
    "error",
    "owned",
    "failure",
    "diagnosis",
    "value",
    "config",
    "program",
    "file_system",
    "linux",
    "host",
    "linker",
    "trap",
    "machine",
    "snapshot",
    "func",
    "call",
    "token",
    "future",
    "memory",
];
const LAST: &str = "heap";

const BEGIN: &str =
    "/* ---- From here on it is written by crates/capi/tests/header.rs: change the Rust sources instead. ---- */\n";
const END: &str = "/* ---- To here. ---- */\n";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

#[test]
fn the_header_is_what_the_sources_say() {
    let path = folder().join("include/riverrun.h");
    let header = fs::read_to_string(&path).unwrap();
    let (head, rest) = header.split_once(BEGIN).expect("the line where it begins");
    let (found, tail) = rest.split_once(END).expect("the line where it ends");
    let wanted = declarations();
    if std::env::var_os("RIVERRUN_BLESS").is_some() {
        fs::write(&path, format!("{head}{BEGIN}{wanted}{END}{tail}")).unwrap();
        return;
    }
    for (found, wanted) in found.lines().zip(wanted.lines()) {
        assert_eq!(found, wanted, "RIVERRUN_BLESS=1 writes the header anew");
    }
    assert_eq!(found.len(), wanted.len(), "RIVERRUN_BLESS=1 writes the header anew");
}

/// Every module is read: one that is forgotten would leave out its functions.
#[test]
fn every_exported_function_is_declared() {
    let wanted = declarations();
    for entry in fs::read_dir(folder().join("src")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for rest in text.split("extern \"C\" fn riverrun_").skip(1) {
            let name = rest.split('(').next().unwrap();
            assert!(wanted.contains(&format!("riverrun_{name}(")), "riverrun_{name}");
        }
    }
}

fn declarations() -> String {
    let files: Vec<syn::File> = MODULES
        .iter()
        .chain([&LAST])
        .map(|name| {
            let text = fs::read_to_string(folder().join("src").join(name).with_extension("rs")).unwrap();
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{name}.rs: {error}"))
        })
        .collect();
    let mut out = String::from("\n");
    for item in files.iter().flat_map(|file| &file.items) {
        if let Item::Struct(item) = item
            && is_public(&item.vis)
        {
            // What has fields is described where they are.
            let is_opaque = !has_layout(item);
            if is_opaque {
                comment(&item.attrs, "", &mut out);
            }
            let name = c_name(&item.ident.to_string());
            writeln!(out, "typedef struct {name} {name}_t;{}", if is_opaque { "\n" } else { "" }).unwrap();
        }
    }
    for item in files.iter().flat_map(|file| &file.items) {
        declare(item, &mut out);
    }
    for item in files.iter().flat_map(|file| &file.items) {
        if let Item::Fn(item) = item
            && item.attrs.iter().any(|attribute| text(attribute).contains("no_mangle"))
        {
            function(item, &mut out);
        }
    }
    out
}

fn text(tokens: impl ToTokens) -> String {
    tokens.to_token_stream().to_string()
}

fn is_public(visibility: &syn::Visibility) -> bool {
    matches!(visibility, syn::Visibility::Public(_))
}

/// Whether C sees the fields.
fn has_layout(item: &ItemStruct) -> bool {
    let is_laid_out = item.attrs.iter().any(|attribute| text(attribute).replace(' ', "").contains("repr(C)"));
    is_laid_out && item.fields.iter().all(|field| is_public(&field.vis))
}

/// A type that C knows by a definition of its own.
fn declare(item: &Item, out: &mut String) {
    match item {
        Item::Const(item) if is_public(&item.vis) => {
            comment(&item.attrs, "", out);
            let value = text(&item.expr).replace(' ', "").replace("u64::MAX", "UINT64_MAX");
            writeln!(out, "#define RIVERRUN_{} {value}\n", item.ident).unwrap();
        }
        Item::Enum(item) if is_public(&item.vis) => {
            comment(&item.attrs, "", out);
            let rust_name = item.ident.to_string();
            let name = c_name(&rust_name);
            let prefix = if rust_name == "Kind" { "kind" } else { rust_name.strip_suffix("Kind").unwrap() };
            writeln!(out, "typedef enum {name} {{").unwrap();
            for variant in &item.variants {
                comment(&variant.attrs, "    ", out);
                let (_, Expr::Lit(number)) = variant.discriminant.as_ref().expect("a number") else {
                    panic!("a number")
                };
                let constant = format!("riverrun_{}_{}", snake(prefix), snake(&variant.ident.to_string()));
                writeln!(out, "    {} = {},", constant.to_uppercase(), text(number)).unwrap();
            }
            // C++11 and C99 have no comma behind the last one in common.
            out.truncate(out.len() - 2);
            writeln!(out, "\n}} {name}_t;\n").unwrap();
        }
        Item::Struct(item) if is_public(&item.vis) && has_layout(item) => {
            let Fields::Named(fields) = &item.fields else { panic!("{} has fields without names", item.ident) };
            let fields = fields.named.iter();
            record("struct", &item.ident.to_string(), &item.attrs, fields, out);
        }
        Item::Union(item) if is_public(&item.vis) => {
            record("union", &item.ident.to_string(), &item.attrs, item.fields.named.iter(), out);
        }
        Item::Type(item) if is_public(&item.vis) => {
            let Type::FnPtr(pointer) = &*item.ty else { return };
            comment(&item.attrs, "", out);
            let parameters = pointer.inputs.iter().map(|input| {
                let name = input.name.as_ref().expect("parameters have names").0.to_string();
                declared(&c_type(&input.ty), &name)
            });
            let name = c_name(&item.ident.to_string());
            let parameters = parameters.collect::<Vec<_>>().join(", ");
            let declaration = declared(&result(&pointer.output), &format!("(*{name}_t)({parameters})"));
            writeln!(out, "{}\n", wrapped(&format!("typedef {declaration};"))).unwrap();
        }
        _ => {}
    }
}

fn record<'a>(
    what: &str,
    name: &str,
    attributes: &[Attribute],
    fields: impl Iterator<Item = &'a syn::Field>,
    out: &mut String,
) {
    comment(attributes, "", out);
    let name = c_name(name);
    // Structs were named before: functions have them for parameters.
    let (begin, end) = if what == "struct" { ("", String::new()) } else { ("typedef ", format!(" {name}_t")) };
    writeln!(out, "{begin}{what} {name} {{").unwrap();
    for field in fields {
        comment(&field.attrs, "    ", out);
        let field_name = field.ident.as_ref().expect("a name").to_string();
        let declaration = match &field.ty {
            Type::Array(array) => declared(&c_type(&array.elem), &format!("{field_name}[{}]", text(&array.len))),
            ty => declared(&c_type(ty), &field_name),
        };
        writeln!(out, "    {declaration};").unwrap();
    }
    writeln!(out, "}}{end};\n").unwrap();
}

fn function(item: &ItemFn, out: &mut String) {
    comment(&item.attrs, "", out);
    let parameters = item.sig.inputs.iter().map(|input| {
        let FnArg::Typed(parameter) = input else { panic!("{}", item.sig.ident) };
        declared(&c_type(&parameter.ty), &text(&parameter.pat))
    });
    let parameters: Vec<String> = parameters.collect();
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    let mark = match text(&item.sig.output).as_str() {
        "-> Returned" => "RIVERRUN_MUST_USE ",
        "-> !" => "RIVERRUN_NORETURN ",
        _ => "",
    };
    let declaration = declared(&result(&item.sig.output), &format!("{}({parameters})", item.sig.ident));
    writeln!(out, "{}\n", wrapped(&format!("{mark}{declaration} RIVERRUN_NOEXCEPT;"))).unwrap();
}

fn result(output: &ReturnType) -> String {
    match output {
        ReturnType::Default => "void".to_owned(),
        ReturnType::Type(_, ty) => c_type(ty),
    }
}

/// A type, without the name that it declares.
fn c_type(ty: &Type) -> String {
    match ty {
        Type::Never(_) => "void".to_owned(),
        Type::Ptr(pointer) => {
            let constant = if matches!(pointer.mutability, syn::PointerMutability::Const(_)) { "const " } else { "" };
            star(&format!("{constant}{}", c_type(&pointer.elem)))
        }
        Type::Reference(reference) => {
            let constant = if reference.mutability.is_none() { "const " } else { "" };
            star(&format!("{constant}{}", c_type(&reference.elem)))
        }
        Type::Path(path) => {
            let last = path.path.segments.last().expect("a path");
            let name = last.ident.to_string();
            let inner = match &last.arguments {
                PathArguments::AngleBracketed(arguments) => arguments.args.iter().find_map(|argument| match argument {
                    GenericArgument::Type(ty) => Some(ty),
                    _ => None,
                }),
                _ => None,
            };
            match (name.as_str(), inner) {
                ("Option", Some(inner)) => c_type(inner),
                ("Box", Some(inner)) => star(&c_type(inner)),
                ("Out", Some(inner)) => star(&c_type(inner)),
                ("Returned", _) => "riverrun_error_t *".to_owned(),
                ("Machine", _) => "riverrun_machine_t *".to_owned(),
                ("KindCode", _) => "riverrun_kind_t".to_owned(),
                ("FlowCode", _) => "riverrun_flow_kind_t".to_owned(),
                ("c_char", _) => "char".to_owned(),
                ("c_void", _) => "void".to_owned(),
                ("bool", _) => "bool".to_owned(),
                ("f32", _) => "float".to_owned(),
                ("f64", _) => "double".to_owned(),
                ("usize", _) => "size_t".to_owned(),
                ("u8" | "u16" | "u32" | "u64", _) => format!("uint{}_t", &name[1..]),
                ("i8" | "i16" | "i32" | "i64", _) => format!("int{}_t", &name[1..]),
                _ => format!("{}_t", c_name(&name)),
            }
        }
        other => panic!("C has no {}", text(other)),
    }
}

fn star(ty: &str) -> String {
    if ty.ends_with('*') { format!("{ty}*") } else { format!("{ty} *") }
}

fn declared(ty: &str, name: &str) -> String {
    if ty.ends_with('*') { format!("{ty}{name}") } else { format!("{ty} {name}") }
}

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

fn c_name(name: &str) -> String {
    format!("riverrun_{}", snake(name))
}

fn comment(attributes: &[Attribute], indent: &str, out: &mut String) {
    let lines: Vec<String> = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"))
        .map(|attribute| {
            let syn::Meta::NameValue(value) = &attribute.meta else { panic!("a comment") };
            let Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(line), .. }) = &value.value else { panic!("a comment") };
            line.value().trim().replace('`', "")
        })
        .collect();
    assert!(!lines.is_empty(), "everything is documented");
    if let [line] = &lines[..] {
        writeln!(out, "{indent}/** {line} */").unwrap();
        return;
    }
    writeln!(out, "{indent}/**").unwrap();
    for line in &lines {
        writeln!(out, "{indent}{}", format!(" * {line}").trim_end()).unwrap();
    }
    writeln!(out, "{indent} */").unwrap();
}

/// A long declaration, its parameters on several lines.
fn wrapped(declaration: &str) -> String {
    const WIDTH: usize = 118;
    if declaration.len() <= WIDTH {
        return declaration.to_owned();
    }
    // Behind a function pointer's name come the parameters.
    let name = declaration.find("(*").map_or(0, |at| at + 2);
    let open = name + declaration[name..].find('(').expect("parameters") + 1;
    let (head, parameters) = declaration.split_at(open);
    let mut lines = vec![head.to_owned()];
    for parameter in parameters.split_inclusive(", ") {
        let line = lines.last_mut().expect("there is one");
        if line.len() + parameter.trim_end().len() > WIDTH {
            line.truncate(line.trim_end().len());
            lines.push(format!("    {parameter}"));
        } else {
            line.push_str(parameter);
        }
    }
    lines.join("\n")
}
