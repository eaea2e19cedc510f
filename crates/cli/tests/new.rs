//! `riverrun new`: the project that it makes builds and runs, and its host is checked by the compiler.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Ended, Folder, riverrun};

fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// Cargo in a project that was made here. What it builds of riverrun is kept, and the same for every run of
/// the tests, however they are optimised.
fn cargo(project: &Path, command: &str) -> Ended {
    let target: PathBuf = checkout().join("target/new");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.arg(command).current_dir(project).env("CARGO_TARGET_DIR", target).env_remove("RIVERRUN_CC");
    cargo.output().unwrap().into()
}

/// A project that `riverrun new` has made with these options, in a folder that lives as long, with the versions that
/// everything here is tested with.
fn new_project(name: &str, options: &[&str]) -> (Folder, PathBuf) {
    let folder = Folder::new();
    let project = folder.path().join(name);
    let arguments = ["new"].iter().chain(options).map(OsStr::new);
    riverrun(arguments.chain([project.as_os_str()])).expect(0, &[]);
    fs::copy(checkout().join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
    (folder, project)
}

#[test]
#[cfg_attr(debug_assertions, ignore = "it takes minutes; the optimised tests do it")]
fn a_new_project_runs() {
    let (_folder, project) = new_project("hello", &[]);
    let ended = cargo(&project, "run");
    ended.expect(0, &[]);
    let expected = "guest: hello from C++\n\
                    guest: scored\nhost: frame 1, score 10\n\
                    guest: scored\nhost: frame 2, score 20\n\
                    guest: a new record\nhost: frame 3, score 30\n";
    assert_eq!(ended.stdout, expected);

    // A guest that does not return in time is stopped, and the error says so.
    let guest = project.join("guest/main.cpp");
    let source = fs::read_to_string(&guest).unwrap();
    let long = "volatile long rounds = frames == 2 ? 2000000000 : 0;\n    while (rounds > 0)\n        rounds = rounds - 1;\n    \
                return ++frames;";
    fs::write(&guest, source.replace("return ++frames;", long)).unwrap();
    let ended = cargo(&project, "run");
    ended.expect(1, &["Error: the deadline has passed", " in update+", "guest/main.cpp"]);
    assert_eq!(ended.stdout, expected.replace("host: frame 3, score 30\n", ""));

    // One that is wrong is an error of its compiler's.
    fs::write(&guest, source.replace("dsys_print(\"hello", "dsys_print(7, \"hello")).unwrap();
    let ended = cargo(&project, "run");
    ended.expect(101, &["main.cpp:", "dsys_print", "the compiler failed"]);
    fs::write(&guest, source).unwrap();

    // So is a host whose function has another type than the description says.
    let host = project.join("src/main.rs");
    let source = fs::read_to_string(&host).unwrap();
    fs::write(&host, source.replace("points: i32", "points: u32")).unwrap();
    cargo(&project, "build").expect(101, &["method `add_score` has an incompatible type for trait"]);
    fs::write(&host, source.replace("fn print(", "fn write(")).unwrap();
    cargo(&project, "build").expect(101, &["missing: `print`"]);
    fs::write(&host, source).unwrap();

    // Structs of the description can have arrays of any length.
    let api = project.join("api.json");
    let text = fs::read_to_string(&api).unwrap();
    let structs = [33, 100, 1000].map(|length| format!("\"typedef struct {{ char name[{length}]; }} N{length}\""));
    let types = text.replace("\"typedef\": ", &format!("\"typedef\": [{}, ", structs.join(", ")));
    fs::write(&api, types.replace("(int score)\"", "(int score)\"]")).unwrap();
    cargo(&project, "build").expect(0, &[]);

    // And a description that is wrong says where.
    fs::write(&api, text.replace("int points", "points")).unwrap();
    cargo(&project, "build").expect(101, &["api.json:6:", "Game::add_score: unknown type `points`"]);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "it takes minutes; the optimised tests do it")]
fn a_new_project_with_a_guest_in_rust_runs() {
    let (_folder, project) = new_project("rusty", &["--rust-guest"]);
    let ended = cargo(&project, "run");
    ended.expect(0, &[]);
    assert!(ended.stdout.starts_with("guest: hello from Rust\nguest: scored\nhost: frame 1, "), "{}", ended.stdout);

    // A guest that is wrong is an error of its compiler's, and one that panics is an error of the host's.
    let guest = project.join("guest/src/main.rs");
    let source = fs::read_to_string(&guest).unwrap();
    fs::write(&guest, source.replace("dsys_on_score(Some(scored))", "dsys_on_score(7)")).unwrap();
    cargo(&project, "run").expect(101, &["src/main.rs:", "mismatched types", "the compiler failed"]);
    fs::write(&guest, source.replace("FRAMES.fetch_add", "assert_eq!(seconds, 1.0);\n        FRAMES.fetch_add"))
        .unwrap();
    cargo(&project, "run").expect(1, &["the guest panicked", "src/main.rs:", "left: 0.5"]);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "it takes minutes; the optimised tests do it")]
fn a_new_project_with_a_guest_in_rust_with_std_runs() {
    let (_folder, project) = new_project("threads", &["--rust-guest", "--std"]);
    let ended = cargo(&project, "run");
    ended.expect(0, &[]);
    assert_eq!(
        ended.stdout,
        "guest: hello from Rust\nguest: scored\nhost: frame 1, score 10\nguest: scored\nhost: frame 2, score 20\n\
         guest: a new record\nhost: frame 3, score 30\n"
    );

    // A panic that leaves a called function is an error of the host's, in the program's own words.
    let guest = project.join("guest/src/main.rs");
    let source = fs::read_to_string(&guest).unwrap();
    fs::write(&guest, source.replace("frame as i32", "assert_eq!(frame, 1);\n        frame as i32")).unwrap();
    let ended = cargo(&project, "run");
    assert_eq!(ended.status, Some(1), "{ended:#?}");
    let said = ended.stderr.split("Error: the guest aborted: thread 'main' ").nth(1).expect("an error of the host's");
    for words in ["panicked at src/main.rs:", " failed: left: 2: right: 1", "guest::update"] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    assert!(ended.stdout.ends_with("host: frame 1, score 10\nguest: scored\n"), "{}", ended.stdout);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "it takes minutes; the optimised tests do it")]
fn a_new_project_with_a_libc_runs() {
    let (_folder, project) = new_project("whole", &["--libc"]);
    let ended = cargo(&project, "run");
    ended.expect(0, &[]);
    assert!(ended.stdout.starts_with("guest: hello from C++\nguest: scored\nhost: frame 1, "), "{}", ended.stdout);

    // An exception that leaves a called function is an error of the host's, with its type and what it says.
    let guest = project.join("guest/main.cpp");
    let source = fs::read_to_string(&guest).unwrap();
    let throws = "if (frames.size() == 1)\n        throw std::runtime_error(\"no such frame\");\n    frames.push_back";
    let source = source.replace("frames.push_back", throws).replace("<string>", "<string>\n#include <stdexcept>");
    fs::write(&guest, source).unwrap();
    let ended = cargo(&project, "run");
    let said =
        "the guest aborted: terminate called after throwing an instance of 'std::runtime_error': what(): no such frame";
    ended.expect(1, &[said, "in update at ", "main.cpp:"]);
    assert!(ended.stdout.ends_with("host: frame 1, score 10\nguest: scored\n"), "{}", ended.stdout);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "it takes minutes; the optimised tests do it")]
fn a_new_project_with_a_guest_in_go_runs() {
    let (_folder, project) = new_project("gopher", &["--go"]);
    let ended = cargo(&project, "run");
    ended.expect(0, &[]);
    assert_eq!(
        ended.stdout,
        "guest: \"one\", score 3\nguest: \"two\", score 6\nguest: \"three\", score 11\n\
         host: hello from Go\nhost: the guest ended with 0, score 11\n"
    );

    // A guest that is wrong is an error of its compiler's, and a function that the host lacks one of the run's, by its name.
    let guest = project.join("guest/main.go");
    let source = fs::read_to_string(&guest).unwrap();
    fs::write(&guest, source.replace("announce(\"hello from Go\")", "announce(7)")).unwrap();
    cargo(&project, "run").expect(101, &["main.go:", "cannot use 7", "go build failed"]);
    fs::write(&guest, source).unwrap();
    let functions = project.join("guest/host.go");
    let source = fs::read_to_string(&functions).unwrap();
    fs::write(&functions, source.replace("Game::announce", "Game::shout")).unwrap();
    cargo(&project, "run").expect(1, &["Game::shout"]);
}

/// Builds for debugging have an optimised riverrun, and a README says what is there.
#[test]
fn a_new_project_has_a_profile_and_a_readme() {
    for options in [&[][..], &["--rust-guest"], &["--rust-guest", "--std"], &["--libc"], &["--go"]] {
        let (_folder, project) = new_project("hello", options);
        let manifest = fs::read_to_string(project.join("Cargo.toml")).unwrap();
        let (_, profile) = manifest.split_once("[profile.dev.package]\n").expect(&manifest);
        for package in ["riverrun", "riverrun-interp", "riverrun-program", "riverrun-vm"] {
            let line = format!("{package} = {{ opt-level = 3, ");
            assert!(profile.lines().any(|other| other.starts_with(&line)), "{package}: {manifest}");
        }
        let host = fs::read_to_string(project.join("src/main.rs")).unwrap();
        assert!(host.contains("const TIME_LIMIT: Duration = ") && host.contains("+ TIME_LIMIT"), "{host}");
        let readme = fs::read_to_string(project.join("README.md")).unwrap();
        assert!(readme.starts_with("# hello\n") && readme.contains("`TIME_LIMIT`"), "{readme}");
        let names = readme.split('`').skip(1).step_by(2);
        let files: Vec<&str> =
            names.filter(|name| name.contains(['.', '/']) && !name.contains([' ', ':', '('])).collect();
        assert!(files.contains(&"src/main.rs"), "{readme}");
        for file in files {
            assert!(project.join(file).exists() || project.join("guest").join(file).exists(), "{options:?}: {file}");
        }
    }
}

#[test]
fn mistakes_are_said() {
    let folder = Folder::new();
    let project = folder.path().join("hello");
    riverrun(args!["new", "--riverrun", checkout(), project]).expect(0, &[]);
    let manifest = fs::read_to_string(project.join("Cargo.toml")).unwrap();
    assert!(manifest.contains("crates/riverrun\" }"), "{manifest}");
    riverrun(args!["new", project]).expect(125, &["hello is there already; give another name"]);
    let dangling = folder.path().join("dangling");
    std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
    riverrun(args!["new", dangling]).expect(125, &["dangling is there already; give another name"]);
    riverrun(["new"]).expect(125, &["<NAME>", "riverrun new"]);
    riverrun(["new", "1a"]).expect(125, &["1a: no name for a package"]);
    for name in ["fn", "async", "proc_macro", "test", "core", "riverrun_linux"] {
        riverrun(["new", name]).expect(125, &[&format!("{name}: Rust or Cargo uses this name itself")]);
    }
    let mut packages: Vec<PathBuf> =
        fs::read_dir(checkout().join("crates")).unwrap().map(|entry| entry.unwrap().path()).collect();
    packages.push(checkout().join("guest/rust"));
    for package in packages {
        let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap();
        let name = manifest.split("name = \"").nth(1).unwrap().split('"').next().unwrap();
        riverrun(["new", name]).expect(125, &[&format!("{name}: Rust or Cargo uses this name itself")]);
    }
    riverrun(["new", "a", "b"]).expect(125, &["unexpected argument 'b'"]);
    riverrun(args!["new", "--riverrun", folder.path(), "x"]).expect(125, &["no sources of riverrun are there"]);
    riverrun(["new", "--std", "x"]).expect(125, &["--rust-guest"]);
    riverrun(["new", "--go", "--rust-guest", "x"]).expect(125, &["--go", "cannot be used with"]);
    riverrun(["new", "--rivverrun", "x"]).expect(125, &["a similar argument exists: '--riverrun'"]);
}

/// Cargo reads the dependency on a checkout, whatever its folder is called, or the command refuses it.
#[test]
fn checkouts_have_any_name_that_cargo_can_hold() {
    let folder = Folder::new();
    let sources_in = |name: &OsStr| {
        let sources = folder.path().join(name);
        for (package, folder) in [("riverrun", "crates/riverrun"), ("riverrun-bindgen", "crates/bindgen")] {
            let folder = sources.join(folder);
            fs::create_dir_all(folder.join("src")).unwrap();
            fs::write(folder.join("src/lib.rs"), "").unwrap();
            fs::write(folder.join("Cargo.toml"), format!("[package]\nname = {package:?}\n")).unwrap();
        }
        sources
    };
    for (number, name) in ["e\u{301}\u{200b}", "a b\t\"c\"\\d'", "\u{1}\u{1f}"].into_iter().enumerate() {
        let sources = sources_in(name.as_ref());
        let project = folder.path().join(format!("hello{number}"));
        riverrun(args!["new", "--riverrun", sources, project]).expect(0, &[]);
        let ended = cargo(&project, "read-manifest");
        ended.expect(0, &[]);
        let manifest: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        let path = manifest["dependencies"][0]["path"].as_str().unwrap();
        assert_eq!(Path::new(path), fs::canonicalize(sources).unwrap().join("crates/riverrun"));
    }
    let sources = sources_in(OsStr::from_bytes(b"\xff"));
    riverrun(args!["new", "--riverrun", sources, folder.path().join("x")]).expect(125, &["as it is not UTF-8"]);
    assert!(!folder.path().join("x").exists());
}

/// A project is there as a whole, or not at all.
#[test]
fn a_project_that_cannot_be_written_leaves_nothing() {
    let folder = Folder::new();
    // The first file fits, and no other one.
    let script = "ulimit -f 1; trap '' XFSZ; exec \"$0\" new hello";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_riverrun")]).current_dir(folder.path());
    Ended::from(command.output().unwrap()).expect(125, &["hello: File too large"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
