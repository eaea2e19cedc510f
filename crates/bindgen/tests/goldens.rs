//! What is generated, whole. `RIVERRUN_BLESS=1 cargo test -p riverrun-bindgen --test suite goldens` writes the
//! files again; look at the difference before you commit them.

use std::fs;
use std::path::Path;

use riverrun_bindgen::Api;

#[track_caller]
fn golden(name: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens").join(name);
    if std::env::var_os("RIVERRUN_BLESS").is_some() {
        fs::write(&path, made).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    if known != made {
        let line = known.lines().zip(made.lines()).take_while(|(known, made)| known == made).count();
        panic!(
            "{name} differs from line {} on:\n  known: {:?}\n  made:  {:?}\nRIVERRUN_BLESS=1 writes it again",
            line + 1,
            known.lines().nth(line),
            made.lines().nth(line)
        );
    }
}

fn game() -> Api {
    Api::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apis/game.json")).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn guest_c() {
    golden("game.h", &game().guest_c_header());
    golden("game.S", &game().guest_assembly());
}

#[test]
fn guest_rust() {
    golden("game_guest.rs", &game().guest_rust());
}

#[test]
fn host_rust() {
    golden("game_host.rs", &game().host_rust());
}

/// Other tests compile it.
#[test]
fn host_rust_of_memory() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apis/memory.json");
    golden("memory_host.rs", &Api::read(file).unwrap_or_else(|e| panic!("{e}")).host_rust());
}

#[test]
fn host_cpp() {
    golden("game_host.hpp", &game().host_cpp());
}

/// Other tests compile it.
#[test]
fn host_rust_of_names() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apis/names.json");
    golden("names_host.rs", &Api::read(file).unwrap_or_else(|e| panic!("{e}")).host_rust());
}
