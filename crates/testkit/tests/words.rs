//! Documents and code use the words of `docs/glossary.md`, and not those that it has replaced.

#[path = "common/documents.rs"]
mod documents;

use std::fs;
use std::path::Path;

use documents::{files, root};

/// Words that are retired, with the glossary's word. Each matches regardless of case, at the beginning of a word.
const RETIRED: &[(&str, &str)] = &[
    ("astray", "mismatched return"),
    ("fast engine", "interpreter"),
    ("fast interpreter", "interpreter"),
    ("host entries", "host-ABI entry points"),
    ("host entry", "host-ABI entry point"),
    ("known function", "libcall"),
    ("landing place", "indirect-jump cache"),
    ("lively", "live-in"),
    ("plain engine", "interpreter"),
    ("reference engine", "reference interpreter"),
    ("run of cells", "decoded block"),
    ("short way", "fast path"),
    ("short_way", "fast path"),
    ("signpost", "unwind marker"),
    ("single-step engine", "reference interpreter"),
    ("whoever", "the name of the actor"),
];

/// Words that are retired in documents, but have other uses in code.
const RETIRED_IN_DOCUMENTS: &[(&str, &str)] =
    &[("nobody", "the name of the actor"), ("somebody", "the name of the actor"), ("the watch ", "the watchdog")];

/// Identifiers that are retired, with those that have replaced them; each is a whole identifier, in the crates that are
/// named, and in all where none is.
const RETIRED_IDENTIFIERS: &[(&str, &str, &[&str])] = &[
    ("BOARD", "CURRENT", &["vm"]),
    ("Claim", "Ownership", &["vm", "riverrun"]),
    ("ENTRANCES_SYMBOL", "REENTRY_POINTS_SYMBOL", &[]),
    ("Entrance", "ReentryPoint, EntryPoint", &[]),
    ("Gate", "EntryGuard", &[]),
    ("GateHead", "EntryGuardHead", &[]),
    ("HOT", "PINNED", &[]),
    ("LANDINGS", "JUMP_CACHE_LEN", &[]),
    ("LANDINGS_OFFSET", "JUMP_CACHE_OFFSET", &[]),
    ("LEAVE", "EXIT", &[]),
    ("Leave", "Exit", &["aot"]),
    ("Left", "Exited, Forwarded", &["interp", "riverrun"]),
    ("NO_CLAIM", "NO_OWNER", &[]),
    ("Opening", "EntryToken", &[]),
    ("Running", "Activation", &["vm"]),
    ("Said", "Published", &["vm"]),
    ("Way", "the thing's own name", &["aot", "interp", "riverrun"]),
    ("TABLE_CELLS", "TABLE_OPS", &[]),
    ("around", "fallback", &["interp"]),
    ("claim", "owner, own", &["vm", "riverrun", "interp"]),
    ("entrance", "reentry_point, entry_point", &[]),
    ("entrances", "reentry_points", &[]),
    ("gate", "entry_guard", &[]),
    ("give_back", "free, release, return", &[]),
    ("host_entries", "host_abi_entries", &["aot", "vm", "riverrun"]),
    ("host_entry", "host_abi_entry", &["aot", "vm", "riverrun"]),
    ("hot_set", "pinned_set", &[]),
    ("landing", "fault_entry", &["vm", "interp"]),
    ("leave_at_start", "exit_at_start", &[]),
    ("leave_engine", "exit_engine", &[]),
    ("opening", "entry_token", &["vm", "riverrun", "capi"]),
    ("second_cell", "second_op", &[]),
    ("settle", "commit", &["vm", "riverrun"]),
];

/// The folders of code.
const CODE: &[&str] = &["bench/peers", "bench/src", "crates", "examples", "fuzz", "guest", "xtask"];

/// Where a text has a word, by line.
fn lines_with(text: &str, word: &str) -> Vec<usize> {
    let begins_word = |line: &str, at: usize| !line[..at].ends_with(char::is_alphanumeric);
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.to_lowercase()));
    let has = lines.filter(|(_, line)| line.match_indices(word).any(|(at, _)| begins_word(line, at)));
    has.map(|(number, _)| number).collect()
}

fn check(name: &str, text: &str, words: &[(&str, &str)], found: &mut Vec<String>) {
    for (word, instead) in words {
        let lines = lines_with(text, word);
        found.extend(lines.iter().map(|line| format!("{name}:{line}: \"{word}\" is retired, use {instead}")));
    }
}

#[test]
fn documents_use_the_glossarys_words() {
    let mut found = Vec::new();
    // The glossary itself names what it replaces.
    for name in documents::all().iter().filter(|name| *name != "docs/glossary.md") {
        let text = fs::read_to_string(root().join(name)).unwrap();
        check(name, &text, RETIRED, &mut found);
        check(name, &text, RETIRED_IN_DOCUMENTS, &mut found);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn code_uses_the_glossarys_words() {
    let own = root().join(file!());
    let mut found = Vec::new();
    for folder in CODE {
        for path in files(&root().join(folder), true, &["rs", "c", "cpp", "h", "hpp", "md", "toml"]) {
            if path != own {
                let text = fs::read_to_string(&path).unwrap();
                check(&shown(&path), &text, RETIRED, &mut found);
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn retired_identifiers_do_not_come_back() {
    let mut found = Vec::new();
    for path in files(&root().join("crates"), true, &["rs", "h", "hpp"]) {
        let shown = shown(&path);
        let name = shown.split('/').nth(1).unwrap_or_default();
        if !shown.split('/').any(|part| ["src", "include"].contains(&part)) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for (identifier, instead, crates) in RETIRED_IDENTIFIERS {
            if crates.is_empty() || crates.contains(&name) {
                let lines = lines_with_identifier(&text, identifier);
                found.extend(
                    lines.iter().map(|line| format!("{shown}:{line}: `{identifier}` is retired, use {instead}")),
                );
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The lines whose code has an identifier; those of the standard library's paths do not count.
fn lines_with_identifier(text: &str, identifier: &str) -> Vec<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let has = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        !code.contains("std::cell::") && code.split(|c| !is_part(c)).any(|word| word == identifier)
    };
    text.lines().enumerate().filter(|(_, line)| has(line)).map(|(index, _)| index + 1).collect()
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

#[test]
fn words_are_found_where_they_begin() {
    assert_eq!(lines_with("a Signpost\nno\nsignposts, resignpost", "signpost"), [1, 3]);
    assert_eq!(lines_with("resignpost", "signpost"), [] as [usize; 0]);
    assert_eq!(lines_with_identifier("gate.open();\n// the gate\ndelegate(gate_2);\nx.gate", "gate"), [1, 4]);
}
