//! The README and the guide are true: their commands work, and the README's example is the one that is tested.

use std::path::Path;
use std::process::Command;

use crate::common::Folder;

const README: &str = include_str!("../../../README.md");
const GUIDE: [&str; 2] =
    [include_str!("../../../docs/guide/projects.md"), include_str!("../../../docs/guide/command.md")];

/// From nothing to a guest in C++ that is called and calls.
const PROJECT: [&str; 3] = ["cargo install --path crates/cli", "riverrun new hello", "cd hello && cargo run"];

/// Played by tests of its own (`examples/game/tests/`).
const GAME: &str = "cargo run --release --manifest-path examples/game/Cargo.toml";

/// Likewise (`examples/console/tests/`).
const CONSOLE: &str = "cargo run --release --manifest-path examples/console/Cargo.toml";

/// Likewise (`examples/requests/tests/`).
const REQUESTS: &str = "cargo run --release --manifest-path examples/requests/Cargo.toml";

/// Likewise (`examples/rollback/tests/`).
const ROLLBACK: &str = "cargo run --release --manifest-path examples/rollback/Cargo.toml";

/// The contents of the code blocks in this language.
fn blocks(document: &'static str, language: &str) -> impl Iterator<Item = &'static str> {
    let opening = format!("\n```{language}\n");
    let starts: Vec<usize> = document.match_indices(&opening).map(|(at, _)| at + opening.len()).collect();
    starts.into_iter().map(|start| document[start..].split("```").next().unwrap())
}

#[test]
fn the_commands_work() {
    let folder = Folder::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    std::os::unix::fs::symlink(root.join("examples"), folder.path().join("examples")).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_riverrun")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    // The guide goes on with the program that the README's commands have compiled.
    let documents = std::iter::once(README).chain(GUIDE);
    let commands: Vec<&str> = documents.flat_map(|document| blocks(document, "sh")).flat_map(str::lines).collect();
    // CI runs `cargo xtask` itself, and tests what it installs (`crates/capi/tests/installed.rs`).
    let (chores, commands): (Vec<&str>, Vec<&str>) =
        commands.into_iter().partition(|command| command.starts_with("cargo xtask "));
    assert_eq!(chores.len(), 3);
    // A new project is built and run by a test of its own (`new.rs`); the command itself is what is tested.
    let (project, commands): (Vec<&str>, Vec<&str>) =
        commands.into_iter().partition(|command| PROJECT.contains(command));
    assert_eq!(project, PROJECT);
    let (game, commands): (Vec<&str>, Vec<&str>) = commands.into_iter().partition(|command| command.starts_with(GAME));
    assert_eq!(game.len(), 2);
    let (console, commands): (Vec<&str>, Vec<&str>) =
        commands.into_iter().partition(|command| command.starts_with(CONSOLE));
    assert_eq!(console.len(), 1);
    let (requests, commands): (Vec<&str>, Vec<&str>) =
        commands.into_iter().partition(|command| command.starts_with(REQUESTS));
    assert_eq!(requests.len(), 1);
    let (rollback, commands): (Vec<&str>, Vec<&str>) =
        commands.into_iter().partition(|command| command.starts_with(ROLLBACK));
    assert_eq!(rollback.len(), 1);
    assert!(commands.len() > 10, "{commands:?}");
    // Some compile: `cargo build --package riverrun-compile` makes what that takes.
    assert!(programs.join("riverrun-compile").exists(), "no riverrun-compile in {}", programs.display());
    for command in commands {
        let mut run = Command::new("sh");
        run.args(["-c", command]).current_dir(folder.path()).env("PATH", &path).env("XDG_CACHE_HOME", folder.path());
        let run = run.output().unwrap();
        assert!(run.status.success(), "{command}: {}", String::from_utf8_lossy(&run.stderr));
        let is_silent = ["riscv64-linux-gnu-gcc ", "riverrun compile ", "riverrun snapshot "];
        let is_silent = is_silent.iter().any(|name| command.starts_with(name));
        assert!(is_silent || !run.stdout.is_empty(), "{command} printed nothing");
    }
}

/// The library's documentation tests run the README's examples.
#[test]
fn the_examples_are_small_and_run() {
    let library = include_str!("../../riverrun/src/lib.rs");
    assert!(library.contains("#[cfg(doctest)]\n#[doc = include_str!(\"../../../README.md\")]"));
    for example in blocks(README, "rust") {
        assert!(example.lines().count() <= 25, "{example}");
        assert!(example.contains("fn main()"), "{example}");
    }
}
