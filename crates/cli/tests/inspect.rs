//! What `riverrun inspect` shows.

use std::process::Command;

use crate::common::{Ended, Folder, riverrun};

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

/// Data before a function, such as a file's own headers, may begin as an instruction does that is longer than it.
#[test]
fn an_instruction_begins_at_each_symbol() {
    let folder = Folder::new();
    let source = folder.file("data.s", ".globl _start\n.half 0x0513\n_start: li a0, 42\n.half 0x0513\n");
    let guest = folder.guest(source.to_str().unwrap(), &["-nostdlib", "-Wl,-Ttext=0x10400"]);
    let whole = "   10400:\t0513    \t.2byte\t0x513

0000000000010402 <_start>:
   10402:\t02a00513\tli\ta0,42
   10406:\t0513    \t.2byte\t0x513
";
    let ended = riverrun(args!["inspect", "--disassemble", "0x10400..0x10408", guest]);
    assert_eq!(ended.expect(0, &[]).stdout, whole);
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

/// What a program's debug information names is any file; what has no length is read within a limit.
#[test]
fn files_without_an_end_are_not_read() {
    let folder = Folder::new();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let limited = |args: &[&str]| {
        let mut shell = Command::new("sh");
        let script = "ulimit -v 2000000; exec timeout 60 \"$0\" \"$@\"";
        shell.args(["-c", script, env!("CARGO_BIN_EXE_riverrun")]).args(args);
        Ended::from(shell.output().unwrap())
    };
    for name in ["/dev/zero", pipe.to_str().unwrap()] {
        let source = format!(".file 1 \"{name}\"\n.globl _start\n_start: .loc 1 1\nli a0, 1\n");
        let source = folder.file("names.s", source);
        let guest = folder.guest(source.to_str().unwrap(), &["-nostdlib"]);
        let shown = limited(&["inspect", "--function", "_start", "--show=guest", guest.to_str().unwrap()]);
        assert!(shown.expect(0, &[]).stdout.contains(&format!("; {name}:1\n")), "{shown:#?}");
    }
    limited(&["inspect", "/dev/zero"]).expect(125, &["/dev/zero: not an ELF file"]);
    limited(&["run", "/dev/zero"]).expect(125, &["/dev/zero: not an ELF file"]);
    let guest = folder.guest("tiny.S", &["-nostdlib"]);
    let [pipe, guest] = [pipe.to_str().unwrap(), guest.to_str().unwrap()];
    limited(&["run", "--address-bits=28", "--artifact", pipe, guest]).expect(125, &["pipe: not a regular file"]);
}

#[test]
fn control_characters_in_names_are_escaped() {
    let folder = Folder::new();
    let source = ".globl name.forged.\nname.forged.: li a0, 1\n";
    let guest = folder.guest(folder.file("names.s", source).to_str().unwrap(), &["-nostdlib"]);
    let mut bytes = std::fs::read(&guest).unwrap();
    // No assembler makes such a name.
    let at = bytes.windows(13).position(|name| name == b"\0name.forged.").unwrap();
    (bytes[at + 5], bytes[at + 12]) = (b'\n', 0x1b);
    std::fs::write(&guest, bytes).unwrap();
    for option in ["--symbols", "--disassemble"] {
        let ended = riverrun(args!["inspect", option, guest]);
        assert!(ended.expect(0, &[]).stdout.contains(r"name\nforged\u{1b}"), "{ended:#?}");
        assert!(!ended.stdout.contains('\u{1b}') && !ended.stdout.contains("\nforged"), "{ended:#?}");
    }
}

#[test]
fn options_that_show_different_things_go_together_or_are_refused() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib"]);
    let both = riverrun(args!["inspect", "--symbols", "--disassemble=_start", guest]);
    assert!(both.expect(0, &[]).stdout.contains("label    _start\n") && both.stdout.contains("li\ta0,42"), "{both:#?}");
    for option in ["--symbols", "--disassemble", "--semantics"] {
        riverrun(args!["inspect", guest, "--function", "_start", option]).expect(125, &["--function", option]);
    }
    // The only name is the program's, and not a command's.
    let ended = riverrun(args!["inspect", "--disassemble", "main"]);
    assert!(!ended.expect(125, &["main"]).stderr.contains("did you mean"), "{ended:#?}");
}
