//! The libraries export what the header declares, and nothing else; the header suits every compiler.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use common::{COMPILERS, folder, here, libraries, run};

/// The functions that the header declares.
fn declared() -> BTreeSet<String> {
    let header = fs::read_to_string(here().join("include/riverrun.h")).unwrap();
    let declarations = header.split_inclusive(';').filter(|text| text.ends_with("RIVERRUN_NOEXCEPT;"));
    let names = declarations.map(|text| {
        let declaration = text.rsplit("*/").next().unwrap();
        declaration.split('(').next().unwrap().rsplit([' ', '*']).next().unwrap().to_owned()
    });
    names.chain(["riverrun_layout_1".to_owned()]).collect()
}

fn symbols(flags: &[&str], library: &str) -> BTreeSet<String> {
    let output = run(Command::new("nm").args(flags).arg("--defined-only").arg(libraries().join(library)));
    let text = String::from_utf8(output.stdout).unwrap();
    let symbols = text.lines().filter_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [_, _, name] => Some(name.to_owned()),
        _ => None,
    });
    symbols.collect()
}

#[test]
fn the_shared_library_exports_what_is_declared() {
    let declared = declared();
    assert!(declared.len() > 80 && declared.contains("riverrun_func_call_raw"), "{declared:?}");
    let exported = symbols(&["-D"], "libriverrun_capi.so");
    assert_eq!(exported.symmetric_difference(&declared).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn the_static_library_has_what_is_declared() {
    let ours: BTreeSet<String> = symbols(&["--extern-only"], "libriverrun_capi.a")
        .into_iter()
        .filter(|name| name.starts_with("riverrun_"))
        .collect();
    assert_eq!(ours, declared());
}

/// Symbols that Rust does not mangle have the version in their names, so that two versions can be linked into one program.
#[test]
fn no_symbol_of_ours_is_in_the_way_of_another_version() {
    let is_mangled = |name: &str| name.starts_with("_R") || name.starts_with("_ZN");
    let ours = symbols(&["--extern-only"], "libriverrun_capi.a");
    let ours: Vec<&String> = ours
        .iter()
        .filter(|name| name.contains("riverrun") && !is_mangled(name) && !name.starts_with("riverrun_"))
        .collect();
    let version = env!("CARGO_PKG_VERSION");
    assert!(!ours.is_empty() && ours.iter().all(|name| name.ends_with(version)), "{ours:?}");
}

#[test]
fn programs_ask_for_the_library_by_its_version() {
    let library = libraries().join("libriverrun_capi.so");
    let output = run(Command::new("objdump").arg("-p").arg(library));
    let text = String::from_utf8(output.stdout).unwrap();
    let soname = text.lines().find_map(|line| line.trim().strip_prefix("SONAME")).map(str::trim);
    assert_eq!(soname, Some("libriverrun.so.0"));
}

const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

#[test]
fn the_headers_suit_every_standard() {
    let folder = folder();
    let compile = |compiler: &str, flags: &[&str], header: &str, language: &str| {
        let source = folder.path().join(format!("one.{language}"));
        fs::write(&source, format!("#include <{header}>\n#include <{header}>\nint main(void) {{ return 0; }}\n"))
            .unwrap();
        let mut command = Command::new(compiler);
        // With the calls that are part of their callers.
        command.args(STRICT).args(["-O1", "-fsyntax-only", "-I"]).arg(here().join("include")).args(flags).arg(source);
        if language == "cpp" {
            command.args(["-Wshadow", "-Wold-style-cast"]);
        }
        run(&mut command);
    };
    for [c, cxx] in COMPILERS {
        for standard in ["-std=c99", "-std=gnu99", "-std=c11", "-std=c17", "-std=gnu17"] {
            compile(c, &[standard], "riverrun.h", "c");
        }
        for standard in ["-std=c++11", "-std=c++14", "-std=c++17", "-std=gnu++17", "-std=c++20"] {
            compile(cxx, &[standard], "riverrun.h", "cpp");
        }
        for standard in ["-std=c++17", "-std=gnu++17", "-std=c++20", "-std=gnu++20"] {
            compile(cxx, &[standard], "riverrun.hpp", "cpp");
            compile(cxx, &[standard, "-fno-exceptions", "-fno-rtti"], "riverrun.hpp", "cpp");
        }
    }
}
