//! Code that was compiled with another version's header does not link, and two versions work in one program.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{folder, guests, here, libraries, run};

/// The text of a declaration in the header, or of all that follows the generated part.
fn part<'a>(header: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, rest) = header.split_once(begin).unwrap_or_else(|| panic!("{begin}"));
    rest.split_once(end).unwrap_or_else(|| panic!("{end}")).0
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// If this fails, and what inline code does or knows has changed: give `riverrun_layout_N` its next number in the header and in
/// `src/call.rs`, and this test its hash.
#[test]
fn layouts_that_inline_code_knows_have_a_version() {
    const VERSION: (&str, u64) = ("riverrun_layout_1", 0xed3e_c4bc_1876_c9ef);
    let header = fs::read_to_string(here().join("include/riverrun.h")).unwrap();
    let names = ["machine_head", "entry_guard_head", "func_head", "import", "environment", "host_results", "value"];
    let structs = names.map(|name| part(&header, &format!("\nstruct riverrun_{name} {{"), "};"));
    let code = part(&header, "/* ---- To here. ---- */", "\n#ifdef __cplusplus\n}");
    let text = structs.concat() + code;
    let without_comments: String =
        text.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code)).collect();
    let words: Vec<&str> = without_comments.split_whitespace().collect();
    assert!(code.contains(VERSION.0));
    assert_eq!(hash(&words.join(" ")), VERSION.1, "the layouts of {} have changed", VERSION.0);
}

fn compile(source: &Path, object: &Path, flags: &[&str]) {
    let mut command = Command::new("gcc");
    command.args(["-std=gnu11", "-Wall", "-Werror", "-O2", "-c", "-I"]).arg(here().join("include"));
    run(command.args(flags).arg(source).arg("-o").arg(object));
}

fn link(objects: &[&Path], program: &Path) -> Command {
    let mut command = Command::new("gcc");
    command.args(objects).args(["-lpthread", "-ldl", "-lm", "-lgcc_s", "-o"]).arg(program);
    command
}

#[test]
fn another_versions_header_does_not_link() {
    let folder = folder();
    let source = folder.path().join("host.c");
    fs::write(&source, "#include <riverrun.h>\nint main(void) { return riverrun_config_new() == NULL; }\n").unwrap();
    let object = folder.path().join("host.o");
    let library = libraries().join("libriverrun_capi.a");
    for (flags, links) in [(&[][..], true), (&["-Driverrun_layout_1=riverrun_layout_0"], false)] {
        compile(&source, &object, flags);
        let output = link(&[&object, &library], &folder.path().join("host")).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), links, "{errors}");
        assert!(links || errors.contains("riverrun_layout_0"), "{errors}");
    }
}

/// As a program does whose parts bring a version each: the symbols of one have a prefix, all others are its own. Both run
/// guests, and take faults of their own guests only.
#[test]
fn two_versions_work_in_one_program() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let library = libraries().join("libriverrun_capi.a");
    let whole = path("whole.o");
    run(Command::new("ld").args(["-r", "--whole-archive"]).arg(&library).arg("-o").arg(&whole));
    let output = run(Command::new("nm").args(["--extern-only", "--defined-only"]).arg(&library));
    let text = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> =
        text.lines().filter_map(|line| line.rsplit(' ').next()).filter(|name| name.starts_with("riverrun_")).collect();
    assert!(names.len() > 80, "{names:?}");
    let write = |name: &str, line: &dyn Fn(&str) -> String| {
        fs::write(path(name), names.iter().map(|name| line(name)).collect::<String>()).unwrap();
        path(name)
    };
    let keep = write("keep", &|name| format!("{name}\n"));
    let rename = write("rename", &|name| format!("{name} other_{name}\n"));
    let [one, other] = ["one.o", "other.o"].map(path);
    let objcopy = |flags: &[String], from: &Path, to: &Path| {
        run(Command::new("objcopy").args(flags).arg(from).arg(to));
    };
    objcopy(&[format!("--keep-global-symbols={}", keep.display())], &whole, &one);
    let renamed = [format!("--redefine-syms={}", rename.display())];
    objcopy(&renamed, &one, &other);
    let source = here().join("tests/c/versions.c");
    let [first, second, others] = ["first.o", "second.o", "others.o"].map(path);
    compile(&source, &first, &["-DPART=first", "-DMAIN"]);
    compile(&source, &second, &["-DPART=second"]);
    objcopy(&renamed, &second, &others);
    let program = path("program");
    run(&mut link(&[&first, &others, &one, &other], &program));
    guests().iter().for_each(|guest| drop(run(Command::new(&program).arg(guest))));
}
