//! What `riverrun inspect` shows.

use crate::common::{Folder, riverrun};

#[test]
fn an_overview() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &["-Wl,--build-id=0xc0ffee"]);
    let ended = riverrun(args!["inspect", guest]);
    ended.expect(0, &[]);
    for line in ["kind           static\n", "isa            rv64i2p", "abi            lp64d, compressed instructions\n"]
    {
        assert!(ended.stdout.contains(line), "{line}: {}", ended.stdout);
    }
    for line in ["build id       c0ffee\n", "debug info     yes\n", "unwind tables  yes\n", "  r-x\n", "  rw-\n"] {
        assert!(ended.stdout.contains(line), "{line}: {}", ended.stdout);
    }
    let stripped = riverrun(args!["inspect", folder.guest("tiny.S", &["-nostdlib", "-s", "-Wl,--build-id=none"])]);
    for line in ["build id       none\n", "symbols        0\n", "debug info     no\n", "unwind tables  no\n"] {
        assert!(stripped.stdout.contains(line), "{line}: {}", stripped.stdout);
    }
}

#[test]
fn the_overview_as_json() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib", "-static-pie", "-Wl,--no-dynamic-linker"]);
    let ended = riverrun(args!["inspect", "--json", guest]);
    let seen: serde_json::Value = serde_json::from_str(&ended.expect(0, &[]).stdout).unwrap();
    assert_eq!(seen["position_independent"], true);
    assert_eq!(seen["load_bias"], 0x40_0000);
    assert!(seen["entry"].as_u64().is_some_and(|entry| entry > 0x40_0000), "{seen}");
    assert!(seen["extensions"].as_array().is_some_and(|all| all.iter().any(|one| one == "zicsr")), "{seen}");
    let executable = |segment: &serde_json::Value| segment["permissions"] == "r-x";
    assert!(seen["segments"].as_array().is_some_and(|all| all.iter().any(executable)), "{seen}");
    assert!(seen.get("symbols").is_none() && seen.get("instructions").is_none(), "{seen}");
}

#[test]
fn symbols() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib", "-Wl,-Ttext=0x10400"]);
    let ended = riverrun(args!["inspect", "--symbols", guest]);
    assert!(ended.expect(0, &[]).stdout.contains("00010400        0 label    _start\n"), "{}", ended.stdout);
    let ended = riverrun(args!["inspect", "--symbols", "--json", guest]);
    let seen: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let start = seen["symbols"].as_array().unwrap().iter().find(|symbol| symbol["name"] == "_start").unwrap();
    assert_eq!(start["address"], 0x10400);
    assert_eq!(start["kind"], "label");
}

#[test]
fn instructions_as_objdump_shows_them() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib", "-Wl,-Ttext=0x10400"]);
    let listing = |args: &[&str]| {
        let ended = riverrun([&args[..1], &[guest.to_str().unwrap()], &args[1..]].concat());
        ended.expect(0, &[]);
        ended.stdout
    };
    let whole = "
0000000000010400 <_start>:
   10400:\t02a00513\tli\ta0,42
   10404:\t05d00893\tli\ta7,93
   10408:\t00000073\tecall
";
    assert_eq!(listing(&["inspect", "--disassemble=_start"]), whole);
    assert_eq!(listing(&["inspect", "--disassemble", "_start"]), whole);
    assert_eq!(listing(&["inspect", "--disassemble", "0x10404"]), whole);
    assert_eq!(
        listing(&["inspect", "--disassemble=0x10404..0x10408", "--raw"]),
        "   10404:\t05d00893\taddi\ta7,zero,93\n"
    );
    assert!(listing(&["inspect", "--disassemble"]).ends_with(whole));

    let semantics = listing(&["inspect", "--semantics", "0x10400..0x10404"]);
    assert!(semantics.contains(":\t02a00513\tli a0,42 ") && semantics.ends_with("\taddi: x10 = 42\n"), "{semantics}");

    let json = listing(&["inspect", "--json", "--disassemble=_start"]);
    let seen: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        seen["instructions"][2],
        serde_json::json!({"address": 0x10408, "length": 4, "bits": 0x73, "text": "ecall"})
    );
}

#[test]
fn places_that_have_no_instructions() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib", "-Wl,-Ttext=0x10400"]);
    let listing = |place: &str| riverrun(args!["inspect", guest, "--disassemble", place]);
    listing("start").expect(125, &["no symbol is named start; riverrun inspect --symbols lists them"]);
    for place in ["0x20000", "0x10408..0x10400", "0x0..0xffffffffffffffff", "0xffffffffffffffff"] {
        listing(place).expect(125, &[&format!("{place}: no instructions there; the program's are in 0x")]);
    }
}

#[test]
fn a_function_beside_its_source() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib", "-g", "-Wl,--build-id=none"]);
    let ended = riverrun(args!["inspect", &guest, "--function", "_start", "--show", "guest"]);
    ended.expect(0, &[]);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines[0], "guest");
    assert!(lines[1].starts_with("; ") && lines[1].contains("tiny.S:"), "{lines:?}");
    assert!(lines[2].contains(": li a"), "{lines:?}");
    let wrong = riverrun(args!["inspect", &guest, "--function", "_start", "--show", "guest,all"]);
    assert!(
        wrong.stderr.contains("'all' for '--show <SHOW>'\n  [possible values: guest, ir, host]"),
        "{}",
        wrong.stderr
    );
    let missing = riverrun(args!["inspect", &guest, "--show", "guest"]);
    assert!(missing.stderr.contains("--function <NAME>"), "{}", missing.stderr);
}
