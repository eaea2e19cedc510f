//! Mistakes of users: status 125 and a message that names the thing and what to do.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::FileTypeExt;
use std::process::Stdio;

use crate::common::{Ended, Folder, command, plain, riverrun};

/// What the command gives, on the engine that the arguments say.
fn ended(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Ended {
    plain(args).output().unwrap().into()
}

#[test]
fn help_names_every_exit_status() {
    for args in [&["--help"][..], &["-h"], &["help"], &["run", "--help"], &["help", "run"]] {
        let ended = riverrun(args);
        ended.expect(0, &[]);
        for status in ["123  ", "124  ", "125  ", "134  ", "141  "] {
            assert!(ended.stdout.contains(status), "{status}");
        }
    }
    assert_eq!(riverrun(["--version"]).stdout, concat!("riverrun ", env!("CARGO_PKG_VERSION"), "\n"));
}

/// What describes the command names each subcommand, and for each what belongs to it alone.
#[test]
fn help_is_of_each_subcommand() {
    let overview = riverrun(["--help"]).expect(0, &[]).stdout.clone();
    let folder = Folder::new();
    let manual = folder.path().join("man");
    riverrun(args!["man", manual]).expect(0, &[]);
    let completions = riverrun(["completions", "bash"]).expect(0, &[]).stdout.clone();
    for (command, option) in [
        ("run", "--single-step"),
        ("snapshot", "--output"),
        ("inspect", "--disassemble"),
        ("bench", "--threshold"),
        ("new", "--rust-guest"),
        ("bindgen", "--host-cpp"),
        ("cc", "--bare"),
        ("c++", "--bare"),
    ] {
        assert!(overview.contains(&format!("\n  {command} ")), "{overview}");
        assert!(!overview.contains(option), "{overview}");
        for args in [[command, "--help"], ["help", command]] {
            let help = riverrun(args).expect(0, &[]).stdout.clone();
            assert!(help.contains(option), "{help}");
            // A snapshot is taken of a run.
            assert!(["run", "snapshot"].contains(&command) || !help.contains("--single-step"), "{help}");
        }
        let page = std::fs::read_to_string(manual.join(format!("riverrun-{command}.1"))).unwrap();
        assert!(page.contains(&option.replace('-', "\\-")), "{page}");
        assert!(completions.contains(option));
    }
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        assert!(riverrun(["completions", shell]).expect(0, &[]).stdout.contains("single-step"), "{shell}");
    }
}

#[test]
fn a_command_that_is_called_nearly_so_is_named() {
    riverrun(["inspct", "a.elf"]).expect(125, &["inspct", "did you mean `riverrun inspect`?"]);
    riverrun(["help", "benhc"]).expect(125, &["did you mean `riverrun bench`?"]);
    let ended = riverrun(["./inspct"]);
    ended.expect(125, &["No such file"]);
    assert!(!ended.stderr.contains("did you mean"), "{}", ended.stderr);
}

#[test]
fn wrong_options() {
    let folder = Folder::new();
    let here = folder.path().display();
    folder.file("file", "");
    for (args, message) in [
        (vec![], "Usage: riverrun <COMMAND>"),
        (vec!["run"], "Usage: riverrun [run] [OPTIONS] PROGRAM [ARGUMENTS]"),
        (vec!["inspect"], "no program given; say riverrun inspect [OPTIONS] PROGRAM"),
        (vec!["run", "--feul", "3", "a.elf"], "a similar argument exists: '--fuel'"),
        (vec!["inspect", "--dissassemble", "a.elf"], "a similar argument exists: '--disassemble'"),
        (vec!["inspect", "a.elf", "b.elf"], "unexpected argument 'b.elf'"),
        (vec!["--engine=interp", "--compile", "a"], "'--engine interp' cannot be used with '--compile'"),
        (vec!["--engine=compiled", "--single-step", "a"], "'--engine compiled' cannot be used with '--single-step'"),
        (vec!["--artifact=x", "--single-step", "a"], "'--artifact <FILE>' cannot be used with '--single-step'"),
        (vec!["--fuel"], "a value is required for '--fuel <N>'"),
        (vec!["--fuel", "many", "a.elf"], "'many' for '--fuel <N>': invalid digit"),
        (vec!["--seed=-1", "a.elf"], "'-1' for '--seed <N>': invalid digit"),
        (
            vec!["--memory", "12Q", "a.elf"],
            "'12Q' for '--memory <SIZE>': not an amount of memory; give bytes, or a number with",
        ),
        (vec!["--address-bits", "25", "a.elf"], "'25' for '--address-bits <N>': not a number from 26 to 32"),
        (vec!["--memory", "5G", "a.elf"], "'5G' for '--memory <SIZE>': a guest has 4G of addresses"),
        (
            vec!["bench", "--memory", "4097M", "a.elf", "b.elf"],
            "'4097M' for '--memory <SIZE>': a guest has 4G of addresses",
        ),
        (vec!["--stack", "", "a.elf"], "--stack <SIZE>"),
        (
            vec!["--timeout", "soon", "a.elf"],
            "'soon' for '--timeout <TIME>': not a time; give seconds, or a number with ms, s, m or h",
        ),
        (vec!["--stats=xml", "a.elf"], "'xml' for '--stats[=<FORMAT>]'\n  [possible values: text, json]"),
        (vec!["--env", "A", "a.elf"], "'A' for '--env <NAME=VALUE>': not a variable; give NAME=VALUE"),
        (vec!["--dir", "data", "a.elf"], ": says not where the guest sees it; give HOST:GUEST or"),
        (vec!["--dir", "a:b", "a.elf"], ": the guest's path must begin with /"),
    ] {
        riverrun(&args).expect(125, &["riverrun: ", message]);
    }
    let guest = folder.guest("tiny.S", &["-nostdlib"]);
    riverrun(args!["--dir", format!("{here}/none:/data"), guest])
        .expect(125, &["cannot grant the directory ", "/none: No such file or directory"]);
    riverrun(args!["--dir", format!("{here}/file:/data"), guest])
        .expect(125, &["cannot grant the directory ", "/file: Not a directory"]);
    riverrun(args![format!("--perf-map={here}/none"), guest])
        .expect(125, &["--perf-map: cannot write ", "/none/perf-", ".map: No such file or directory"]);
    riverrun(args!["--memory", "1M", guest]).expect(125, &["tiny.elf: ", "--memory", "--stack"]);
    riverrun(args!["--address-bits", "26", "--stack", "1G", guest])
        .expect(125, &["26 bits", "raise --address-bits, or lower --stack to half of that"]);
    riverrun(args!["--address-bits", "26", "--memory", "128M", guest]).expect(125, &["or lower --memory\n"]);
    for (option, value) in [("--fuel", "-1"), ("--timeout", "-1s"), ("--memory", "-1M"), ("--threads", "-1")] {
        riverrun([option, value, "a.elf"]).expect(125, &[&format!("invalid value '{value}' for '{option} <")]);
    }
    for time in ["18446744073709551615", "99999999999999999999h"] {
        riverrun(args!["--timeout", time, guest]).expect(42, &[]);
    }
    ended(args!["--artifact", folder.path(), guest]).expect(125, &[": is a directory"]);
    ended(args!["--artifact", "/dev/null", guest]).expect(125, &["cannot read /dev/null: not a regular file"]);
    let absent = ended(args!["--artifact", "/nope", guest]);
    assert_eq!(absent.expect(125, &[]).stderr, "riverrun: cannot read /nope: No such file or directory (os error 2)\n");
    for stack in ["0", "4G", "17179869183G"] {
        riverrun(args!["--stack", stack, guest])
            .expect(125, &[&format!("'{stack}' for '--stack <SIZE>': a stack has")]);
    }
}

#[test]
fn an_artifact_that_is_refused_is_not_replaced_unasked() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib"]);
    let artifact = folder.file("tiny.rro", "");
    ended(args!["--artifact", artifact, guest]).expect(125, &["riverrun: ", "tiny.rro: "]);
    ended(args!["--engine=compiled", "--artifact", artifact, guest]).expect(125, &["tiny.rro: "]);
    ended(args!["--engine=auto", "--artifact", artifact, guest])
        .expect(42, &["tiny.rro: ", "; running in the interpreter"]);
}

/// Nor is what the program is called otherwise.
#[test]
fn a_program_is_not_replaced_by_what_is_made_of_it() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib"]);
    let bytes = std::fs::read(&guest).unwrap();
    let [link, other, artifact, object, profile] =
        ["link", "other", "prog.rro", "prog.o", "a.profile"].map(|name| folder.path().join(name));
    std::os::unix::fs::symlink(&guest, &link).unwrap();
    for name in [&other, &artifact, &object] {
        std::fs::hard_link(&guest, name).unwrap();
    }
    std::fs::write(&profile, "riverrun profile 3\n").unwrap();
    for (args, message) in [
        (&args!["compile", guest, "-o", guest][..], "tiny.elf: this is the program itself; name another file by -o"),
        (&args!["compile", guest, "-o", link], "link: this is the program itself"),
        (&args!["compile", guest, "-o", other], "other: this is the program itself"),
        (&args!["compile", artifact], "prog.rro: this is the program itself"),
        (&args!["compile", "--emit", "object", "--name", "x", object], "prog.o: this is the program itself"),
        (&args!["compile", "--profile", profile, guest, "-o", profile], "a.profile: this is the profile itself"),
        (&args!["compile", "--profile", profile, "--objects", guest, guest], "name another file by --objects"),
        (&args!["snapshot", "--fuel", "1", "-o", guest, guest], "tiny.elf: this is the program itself"),
        (&args!["snapshot", "--fuel", "1", "-o", link, guest], "link: this is the program itself"),
    ] {
        ended(args).expect(125, &[message]);
        assert_eq!(std::fs::read(&guest).unwrap(), bytes, "{args:?}");
        assert_eq!(std::fs::read(&profile).unwrap(), b"riverrun profile 3\n", "{args:?}");
    }
    assert!(link.is_symlink());
}

#[test]
fn output_goes_where_it_is_told() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib"]);
    let long = folder.path().join("n".repeat(255));
    for command in [&["compile", "-O0"][..], &["snapshot", "--fuel", "1"]] {
        let to = |output: &std::path::Path| ended(command.iter().map(OsStr::new).chain(args!["-o", output, guest]));
        to(&long).expect(0, &[]);
        assert!(std::fs::metadata(&long).unwrap().len() > 100);
        std::fs::remove_file(&long).unwrap();
        to("/dev/full".as_ref()).expect(125, &["/dev/full", "No space left"]);
        assert!(std::fs::metadata("/dev/full").unwrap().file_type().is_char_device());
        let count = plain(command).args(["-o", "/dev/stdout"]).arg(&guest).output().unwrap();
        assert!(count.stdout.len() > 100, "{count:?}");
    }
}

#[test]
fn a_program_that_cannot_be_read() {
    let folder = Folder::new();
    for command in [&["run"][..], &["inspect"], &[]] {
        let with = |path: &std::path::Path| riverrun(command.iter().map(std::ffi::OsStr::new).chain([path.as_ref()]));
        with(&folder.path().join("none.elf")).expect(125, &["none.elf: No such file or directory"]);
        with(folder.path()).expect(125, &["Is a directory"]);
        with(&folder.file("empty", "")).expect(125, &["empty: not an ELF file"]);
        with(&folder.file("script", "#!/bin/sh\n")).expect(125, &["script: not an ELF file", "riscv64-linux-gnu-gcc"]);
    }
}

#[test]
fn programs_that_are_not_for_this_sandbox() {
    let folder = Folder::new();
    let good = std::fs::read(folder.guest("tiny.S", &["-nostdlib"])).unwrap();
    let with_byte = |name: &str, at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        riverrun(args![folder.file(name, bytes)])
    };
    with_byte("other-machine", 18, 62).expect(125, &["other-machine: a program for x86-64"]);
    with_byte("narrow", 4, 1).expect(125, &["narrow: not a 64-bit program", "RV64"]);
    with_byte("big", 5, 2).expect(125, &["big: not a little-endian program"]);
    let dynamic = folder.guest("ends.c", &["-dynamic"]);
    riverrun(args![&dynamic]).expect(125, &["ends.elf: ", "ld-linux-riscv64", "-static", "--sysroot FOLDER"]);
    let sysroot = "--sysroot=/usr/riscv64-linux-gnu";
    riverrun(args!["run", sysroot, &dynamic]).expect(99, &["unknown ending: "]);
    let root = "--dir=/usr/riscv64-linux-gnu:/";
    riverrun(args!["run", sysroot, root, &dynamic]).expect(125, &["--dir grants \"/\", and so does --sysroot"]);
    riverrun(args!["run", "--sysroot=/usr/share", &dynamic]).expect(125, &["ends.elf: ", "not in the guest's tree"]);
    riverrun(args![folder.guest("tiny.S", &["-nostdlib", "-Wl,-N"])])
        .expect(125, &["tiny.elf: ", "writable and executable at once"]);
    riverrun(args![folder.guest("tiny.S", &["-nostdlib", "-c"])]).expect(125, &["tiny.elf: ", "link"]);
}

#[test]
fn a_truncated_program_runs_or_is_refused() {
    let folder = Folder::new();
    let good = std::fs::read(folder.guest("tiny.S", &["-nostdlib", "-s", "-Wl,--build-id=none"])).unwrap();
    let mut refused = 0;
    for length in 0..good.len() {
        let ended = riverrun(args![folder.file("cut.elf", &good[..length])]);
        if ended.status != Some(42) {
            ended.expect(125, &["riverrun: ", "cut.elf: "]);
            refused += 1;
        }
    }
    // All up to the end of the text; what is behind it is not needed to run.
    assert!(refused > 64 + 56, "{refused}");
}

/// Options are named as the command has them, not as a host in Rust would set them.
#[test]
fn artifacts_and_snapshots_of_other_addresses() {
    let folder = Folder::new();
    let guest = folder.guest("tiny.S", &["-nostdlib"]);
    let (artifact, snapshot) = (folder.path().join("tiny.rro"), folder.path().join("snapshot"));
    ended(args!["compile", "-O0", "-o", artifact, guest]).expect(0, &[]);
    ended(args!["snapshot", "--fuel=1", "-o", snapshot, guest]).expect(0, &[]);
    for (args, message) in [
        (args!["--artifact", artifact, "--address-bits=28", guest], "(--address-bits): compile it for these"),
        (args!["--from", snapshot, "--address-bits=28", guest], "give both the same --address-bits"),
        (args!["--from", snapshot, "--memory=1M", guest], "raise --memory\n"),
        (args!["--from", guest, "--memory=1M", guest], "give what `riverrun snapshot` has written"),
    ] {
        let ended = ended(args);
        ended.expect(125, &[message]);
        assert!(!ended.stderr.contains("::"), "{}", ended.stderr);
    }
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    for args in [&["--help"][..], &["--version"], &["run", "--help"], &["compile", "--help"], &["completions", "bash"]]
    {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ended = Ended::from(plain(args).stdout(full).output().unwrap());
        ended.expect(125, &["riverrun: ", "No space left on device"]);
    }
}

#[test]
fn nobody_need_listen() {
    let folder = Folder::new();
    let guest = folder.guest("ends.c", &[]);
    let mut child = command(args!["inspect", "--disassemble", guest])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");

    for (args, status) in [(&args!["--fuel", "x"][..], 125), (&args![guest, "null"], 134)] {
        let mut child = command(args).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stderr.take());
        assert_eq!(child.wait().unwrap().code(), Some(status));
    }
}

#[test]
fn scripts_are_told_to_be_run_by_their_interpreter() {
    let folder = Folder::new();
    let script = folder.file("script.py", "#!/usr/bin/env -S python3 -u\nprint(1)\n");
    let says = "it is a script, whose interpreter is \"/usr/bin/env -S python3 -u\"";
    riverrun(args!["run", &script]).expect(125, &[says, "run --dir FOLDER:/script:ro INTERPRETER /script/script.py"]);
    let sysroot = format!("--sysroot={}/", folder.path().display());
    riverrun(args!["run", sysroot, &script])
        .expect(125, &[says, "riverrun run --sysroot ", "/usr/bin/python3 /script.py"]);
    let grant = format!("--dir={}:/data", folder.path().display());
    riverrun(args!["run", grant, &script]).expect(125, &[says, "run INTERPRETER /data/script.py"]);
    let other = riverrun(args!["run", folder.file("text", "#")]);
    assert!(!other.expect(125, &["not an ELF file"]).stderr.contains("script"));
}
