//! The documents are true: their paths exist, their commands are run by CI or here, the table of crates is that of the
//! manifests, and CONTRIBUTING's walks end in passing tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use riverrun_isa::Extension;

#[path = "common/documents.rs"]
mod documents;

use documents::root;

/// Most lines of README.md.
const README_LINES: usize = 250;
/// Largest size of ARCHITECTURE.md in bytes, and of a page of `docs/decisions/`.
const ARCHITECTURE_SIZE: usize = 16 << 10;
const PAGE_SIZE: usize = 4 << 10;

/// Commands of ARCHITECTURE.md and CONTRIBUTING.md that neither CI's steps nor the walks run. (The README's are run by a
/// test of the command.)
const ELSEWHERE: &[(&str, &str)] = &[
    ("cargo xtask test", "it is what CI runs"),
    ("cargo xtask verify", "CI runs the short forms"),
    ("cargo xtask zig", "downloads a compiler, and builds a libc with it"),
    ("cargo xtask programs", "takes half an hour; CI runs its short form"),
    ("cargo xtask newcomer", "downloads and builds everything anew"),
    (
        "cargo run --release -p riverrun-interp --features profile --example sequences -- target/guests/hello",
        "clippy compiles it",
    ),
    ("RIVERRUN_BLESS=1 cargo test -p riverrun-capi --test header", "CI runs it without the variable"),
    ("cargo install cargo-deny --locked", "takes minutes"),
    ("cargo deny check", "needs the network"),
    ("cargo deny --manifest-path bench/Cargo.toml check", "needs the network"),
    ("cargo deny --manifest-path fuzz/Cargo.toml --workspace check", "needs the network"),
    ("cargo deny --manifest-path examples/sources/Cargo.toml check", "needs the network"),
];

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The code blocks of a document: language and contents.
fn blocks(document: &str) -> Vec<(&str, &str)> {
    let fences: Vec<&str> = document.split("\n```").collect();
    let inside = fences.iter().skip(1).step_by(2);
    inside.map(|block| block.split_once('\n').expect("a fence ends its line")).collect()
}

/// The commands in a block, comments left out.
fn commands(block: &str) -> impl Iterator<Item = &str> {
    block.lines().map(|line| line.split(" #").next().unwrap_or_default().trim()).filter(|command| !command.is_empty())
}

/// The sections of CONTRIBUTING.md that are walks.
fn walks(contributing: &str) -> Vec<&str> {
    contributing.split("\n## ").filter(|section| section.starts_with("A walk: ")).collect()
}

/// The crates whose documentation tests run the guide's programs.
const RUNS_THE_GUIDE: [&str; 2] = ["crates/riverrun/src/lib.rs", "crates/linux/src/lib.rs"];

#[test]
fn programs_of_the_guide_run() {
    let crates = RUNS_THE_GUIDE.map(read);
    let guide = documents::files(&root().join("docs/guide"), false, &["md"]);
    let with_programs = guide.iter().filter(|page| fs::read_to_string(page).unwrap().contains("\n```rust"));
    let mut count = 0;
    for page in with_programs {
        let name = page.file_name().unwrap().display();
        let includes = format!("#[cfg(doctest)]\n#[doc = include_str!(\"../../../docs/guide/{name}\")]");
        assert!(crates.iter().any(|source| source.contains(&includes)), "no documentation test runs {name}'s programs");
        count += 1;
    }
    assert!(count >= 7, "{count} pages have programs");
}

#[test]
fn paths_exist() {
    // Paths under guest/ alone may be those of a project that `riverrun new` makes.
    let guest = ["guest/rust/", "guest/include/", "guest/src/", "guest/cmake/"];
    let folders = [&["crates/", "docs/", "xtask/", "bench/", "fuzz/", "examples/"][..], &guest].concat();
    let mut count = 0;
    for name in documents::all() {
        let document = read(&name);
        // Spans of code are paths from the root; links are relative to the document.
        let code = document.split('`').skip(1).step_by(2);
        let paths = code.filter(|span| folders.iter().any(|folder| span.starts_with(folder)) && !span.contains(' '));
        let links = document.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let links = links.filter(|link| !link.contains("://"));
        let folder = root().join(&name).parent().expect("a file is in a folder").to_owned();
        for path in paths.map(|path| root().join(path)).chain(links.map(|link| folder.join(link))) {
            assert!(path.exists(), "{name} names {}, which does not exist", path.display());
            count += 1;
        }
    }
    assert!(count > 200, "only {count} paths in the documents");
}

#[test]
fn documents_keep_their_size() {
    assert!(read("README.md").lines().count() <= README_LINES);
    assert!(read("ARCHITECTURE.md").len() <= ARCHITECTURE_SIZE);
    for name in documents::all().iter().filter(|name| name.starts_with("docs/decisions/")) {
        assert!(read(name).len() <= PAGE_SIZE, "{name} is more than a page");
    }
}

#[test]
fn the_list_of_decisions_has_the_titles_of_the_pages() {
    let list = read("docs/decisions/README.md");
    let listed: Vec<&str> = list.lines().filter(|line| line.starts_with("- [")).collect();
    let files = documents::files(&root().join("docs/decisions"), false, &["md"]);
    let pages = files.iter().filter(|page| !page.ends_with("README.md")).map(|page| {
        let (name, text) = (page.file_name().unwrap().display(), fs::read_to_string(page).unwrap());
        let title = text.lines().next().and_then(|line| line.strip_prefix("# ")?.split_once(' '));
        let (number, title) = title.unwrap_or_else(|| panic!("{name} does not begin with its number and title"));
        format!("- [{number}]({name}) {title}")
    });
    assert_eq!(listed, pages.collect::<Vec<_>>());
}

#[test]
fn commands_are_run() {
    let steps = read("xtask/src/steps.rs");
    let steps: Vec<String> = steps
        .split("&[")
        .skip(1)
        .filter_map(|list| list.split(']').next())
        .map(|list| list.split('"').skip(1).step_by(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert!(steps.iter().any(|step| step == "fmt --all --check"), "{steps:?}");
    // A documented command may leave out the last arguments of a step.
    let in_ci = |command: &str| {
        let given = command.strip_prefix("cargo ");
        given.is_some_and(|given| steps.iter().any(|step| format!("{step} ").starts_with(&format!("{given} "))))
    };

    let documents = [read("ARCHITECTURE.md"), read("CONTRIBUTING.md")];
    let walks = walks(&documents[1]);
    let mut documented = BTreeSet::new();
    for (_, block) in documents.iter().flat_map(|document| blocks(document)).filter(|(language, _)| *language == "sh") {
        documented.extend(commands(block));
    }
    assert!(documented.len() > 10, "{documented:?}");
    for command in &documented {
        let known = ELSEWHERE.iter().any(|(elsewhere, _)| elsewhere == command);
        let in_walk = walks.iter().any(|walk| walk.contains(&format!("\n{command}\n")));
        assert!(known || in_ci(command) || in_walk, "no step and no walk runs `{command}`");
    }
    for (command, why) in ELSEWHERE {
        assert!(documented.contains(command), "`{command}` ({why}) is in no document");
    }
}

/// `cargo xtask bench compute --publish` writes both.
#[test]
fn the_readmes_speeds_are_those_of_the_report() {
    let measured = read("docs/measurements/speed.md");
    let marked = format!("\n<!-- measured: bench/README.md says how -->\n{measured}<!-- /measured -->\n");
    assert!(read("README.md").contains(&marked), "README.md has other figures than docs/measurements/speed.md");
    assert!(measured.contains("geometric mean"), "{measured}");
}

/// The Rust sources of a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    documents::files(folder, true, &["rs"])
}

/// Whether a source has an unsafe block or function.
fn uses_unsafe(text: &str) -> bool {
    text.split("unsafe ").skip(1).any(|rest| rest.starts_with('{') || rest.starts_with("fn"))
}

#[test]
fn the_table_of_crates_is_that_of_the_manifests() {
    let document = read("ARCHITECTURE.md");
    let mut listed = BTreeSet::new();
    for row in document.lines().filter(|line| line.starts_with("| `crates/")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, path, _, uses, room, _] = cells[..] else { panic!("a row of another shape: {row}") };
        let path = path.trim_matches('`');
        let manifest = read(&format!("{path}/Cargo.toml"));
        let (_, dependencies) = manifest.split_once("\n[dependencies]\n").expect("every crate has the section");
        let dependencies = dependencies.split("\n[").next().unwrap_or_default();
        let dependencies: BTreeSet<&str> = dependencies
            .lines()
            .filter_map(|line| line.split(['.', ' ']).next()?.strip_prefix("riverrun"))
            .map(|name| name.strip_prefix('-').unwrap_or("riverrun"))
            .collect();
        let uses: BTreeSet<&str> = uses.split(", ").filter(|name| !name.is_empty()).collect();
        assert_eq!(uses, dependencies, "what {path} uses");

        let texts: Vec<String> =
            sources(&root().join(path).join("src")).iter().map(|file| fs::read_to_string(file).unwrap()).collect();
        let forbids = texts.iter().any(|text| text.contains("\n#![forbid(unsafe_code)]"));
        // Where it is forbidden there is none: what looks so is text that is generated.
        let has = !forbids && texts.iter().any(|text| uses_unsafe(text));
        assert_eq!((forbids, has), (room == "forbidden", room == "here"), "unsafe in {path}, which is \"{room}\"");
        listed.insert(root().join(path));
    }
    let present: BTreeSet<PathBuf> =
        fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(listed, present);
}

/// A file of tests that neither a suite nor a manifest names would not be run.
#[test]
fn every_file_of_tests_is_run() {
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let mut suites = 0;
    for (path, suite) in
        crates.filter_map(|path| Some((path.clone(), fs::read_to_string(path.join("tests/suite.rs")).ok()?)))
    {
        suites += 1;
        let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap();
        for file in fs::read_dir(path.join("tests")).unwrap().map(|entry| entry.unwrap().path()) {
            let name = file.file_stem().unwrap().to_str().unwrap();
            let is_run =
                suite.contains(&format!("\nmod {name};\n")) || manifest.contains(&format!("\nname = \"{name}\"\n"));
            assert!(is_run || file.extension().is_none_or(|extension| extension != "rs"), "{}", file.display());
        }
    }
    assert!(suites > 1);
}

/// `cargo build` and `cargo doc` work where there is no LLVM.
#[test]
fn what_needs_llvm_is_no_default_member() {
    let manifest = read("Cargo.toml");
    let (_, members) = manifest.split_once("\ndefault-members = [").expect("the workspace has default members");
    let members: BTreeSet<PathBuf> = members
        .split(']')
        .next()
        .unwrap_or_default()
        .split('"')
        .skip(1)
        .step_by(2)
        .map(|path| root().join(path))
        .collect();
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    // Elsewhere the dependency is optional.
    let takes_llvm = |path: &PathBuf| {
        let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap();
        path.ends_with("aot") || manifest.contains("\nriverrun-aot.workspace = true\n")
    };
    let expected: BTreeSet<PathBuf> = crates.filter(|path| !takes_llvm(path)).chain([root().join("xtask")]).collect();
    assert_eq!(members, expected);
}

#[test]
fn every_extension_is_named() {
    let sources = ["README.md", "crates/isa/src/lib.rs"].map(|name| (name, read(name)));
    let extensions = Extension::ALL.iter().map(|extension| extension.name()).filter(|name| name.len() > 1);
    for extension in extensions.chain(["Zcb"]) {
        // Zicsr and Zifencei are part of G.
        for (name, text) in sources.iter().filter(|(name, _)| !name.ends_with(".rs") || !extension.starts_with("Zi")) {
            assert!(text.contains(extension), "{name} does not name {extension}");
        }
    }
}

/// Following the walks takes minutes, so only the optimised tests do it: how they are compiled changes nothing here.
#[cfg(not(debug_assertions))]
mod following {
    use std::collections::BTreeMap;
    use std::process::Command;

    use super::*;

    /// Files by their paths from the root; not all of them are text.
    type Tree = BTreeMap<PathBuf, Vec<u8>>;

    fn add(tree: &mut Tree, path: &Path) {
        let whole = root().join(path);
        if whole.is_dir() {
            for entry in fs::read_dir(whole).unwrap() {
                add(tree, &path.join(entry.unwrap().file_name()));
            }
        } else {
            tree.insert(path.to_owned(), fs::read(whole).unwrap());
        }
    }

    /// Applies a change: `+++ path`, then hunks without numbers, each of which fits one place. One
    /// without old lines makes a new file.
    fn apply(tree: &mut Tree, change: &str) {
        let (path, hunks) = change.split_once('\n').expect("a change has lines");
        let path = Path::new(path.strip_prefix("+++ ").expect("a change begins with its file"));
        for hunk in hunks.split("@@\n").filter(|hunk| !hunk.is_empty()) {
            let side = |other: char| -> String {
                let lines = hunk.lines().filter(|line| !line.starts_with(other));
                lines.flat_map(|line| [line.get(1..).unwrap_or_default(), "\n"]).collect()
            };
            let (old, new) = (side('+'), side('-'));
            if old.is_empty() {
                let before = tree.insert(path.to_owned(), new.into_bytes());
                assert!(before.is_none(), "{} is there already", path.display());
                continue;
            }
            let bytes = tree.get_mut(path).unwrap_or_else(|| panic!("there is no {}", path.display()));
            let text = str::from_utf8(bytes).unwrap();
            assert_eq!(text.matches(&old).count(), 1, "places in {} that are\n{old}", path.display());
            *bytes = text.replacen(&old, &new, 1).into_bytes();
        }
    }

    /// Makes `folder` hold the tree. Files that are right stay, so that Cargo builds no more than
    /// it has to.
    fn write(tree: &Tree, folder: &Path) {
        for (path, bytes) in tree {
            let path = folder.join(path);
            if fs::read(&path).is_ok_and(|present| present == *bytes) {
                continue;
            }
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        for path in sources(&folder.join("crates")) {
            if !tree.contains_key(path.strip_prefix(folder).unwrap()) {
                fs::remove_file(path).unwrap();
            }
        }
    }

    #[test]
    fn the_walks_end_in_passing_tests() {
        let contributing = read("CONTRIBUTING.md");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("walk");
        let mut tree = Tree::new();
        for path in ["Cargo.toml", "Cargo.lock", "README.md", "crates", "examples", "guest", "xtask"] {
            add(&mut tree, Path::new(path));
        }
        let walks = walks(&contributing);
        assert_eq!(walks.len(), 2, "adding an instruction, and adding a system call");
        for walk in walks {
            let (changes, runs) = follow(walk, &mut tree, &folder);
            assert!(changes > 3 && runs > 0, "{changes} changes, {runs} commands in {walk}");
        }
    }

    /// Makes the changes of a walk and runs its commands, in order; how many of each there were.
    fn follow(walk: &str, tree: &mut Tree, folder: &Path) -> (usize, usize) {
        let (mut changes, mut runs) = (0, 0);
        for (language, block) in blocks(walk) {
            match language {
                "diff" => {
                    apply(tree, &format!("{block}\n"));
                    changes += 1;
                }
                "sh" => {
                    write(tree, folder);
                    for command in commands(block) {
                        run(command, folder);
                        runs += 1;
                    }
                }
                other => panic!("a walk has blocks of diff and sh, not of {other}"),
            }
        }
        (changes, runs)
    }

    fn run(command: &str, folder: &Path) {
        let mut shell = Command::new("sh");
        // Not the target directory of these tests: Cargo would take the copy's crates for those here.
        shell.args(["-c", command]).current_dir(folder).env("CARGO_TARGET_DIR", folder.join("target"));
        let run = shell.output().unwrap();
        let output = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{command}:\n{output}\n{}", String::from_utf8_lossy(&run.stderr));
        let passed = output.lines().any(|line| line.contains("test result: ok.") && !line.contains(" 0 passed"));
        assert!(passed, "{command} tested nothing:\n{output}");
    }
}
