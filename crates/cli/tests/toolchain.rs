//! `riverrun bindgen`, `cc` and `c++`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Ended, Folder, command, riverrun};

/// The command with a cache of its own, and this compiler.
fn compile(folder: &Folder, compiler: Option<&str>, args: &[&str]) -> Ended {
    let mut command = command(args);
    command.env("XDG_CACHE_HOME", folder.path().join("cache")).env_remove("RIVERRUN_CC");
    if let Some(compiler) = compiler {
        command.env("RIVERRUN_CC", compiler);
    }
    command.current_dir(folder.path()).stdin(Stdio::null()).output().unwrap().into()
}

/// The compilers that guests are tested with: Debian's, or those that this variable names (`cargo xtask zig`).
fn compilers() -> Vec<String> {
    let named = std::env::var("RIVERRUN_TEST_COMPILERS");
    named.as_deref().unwrap_or("riscv64-linux-gnu-gcc,clang-22").split(',').map(str::to_owned).collect()
}

const API: &str = "{ \"Debug::is_debug\": \"int sys_is_debug ()\" }";

#[test]
fn bindings_are_made_where_they_are_asked_for() {
    let folder = Folder::new();
    folder.file("api.json", API);
    let ended = compile(
        &folder,
        None,
        &["bindgen", "api.json", "--guest-c", "a/b", "--guest-rust=a", "--host-rust", "c", "--host-cpp", "c"],
    );
    ended.expect(0, &[]);
    for (file, text) in [
        ("a/b/api.h", "int dsys_is_debug(void)"),
        ("a/b/api.S", "sys_is_debug:"),
        ("a/api_guest.rs", "fn dsys_is_debug() -> i32"),
        ("c/api_host.rs", "linker.func(\"Debug::is_debug\""),
        ("c/api_host.hpp", "\"Debug::is_debug\""),
    ] {
        assert!(fs::read_to_string(folder.path().join(file)).unwrap().contains(text), "{file}");
    }
    // What is the same is not written again.
    let header = folder.path().join("a/b/api.h");
    let written = fs::metadata(&header).unwrap().modified().unwrap();
    compile(&folder, None, &["bindgen", "api.json", "--guest-c", "a/b"]).expect(0, &[]);
    assert_eq!(fs::metadata(&header).unwrap().modified().unwrap(), written);
}

#[test]
fn mistakes_are_said() {
    let folder = Folder::new();
    folder.file("api.json", "{ \"Debug::is_debug\": \"Bool sys_is_debug ()\" }");
    folder.file("good.json", API);
    for (args, messages) in [
        (&["bindgen"][..], &["<API.json>"][..]),
        (&["bindgen", "a.json", "b.json"], &["unexpected argument 'b.json'"]),
        (&["bindgen", "--guest", "a.json"], &["a similar argument exists: '--guest-c'"]),
        (&["bindgen", "--guest-c", ".", "none.json"], &["none.json: No such file or directory"]),
        (&["bindgen", "good.json"], &["--guest-c <FOLDER>|--guest-rust <FOLDER>"]),
        (&["bindgen", "--guest-c", "api.json", "good.json"], &["api.json/good.h: "]),
        (
            &["bindgen", "--guest-c", ".", "api.json"],
            &["api.json:1:22: Debug::is_debug: unknown type `Bool`", "help: "],
        ),
    ] {
        compile(&folder, None, args).expect(125, messages);
    }
    compile(&folder, Some("tcc"), &["cc", "a.c"]).expect(125, &["RIVERRUN_CC is `tcc`", "give its name or path"]);
    let mut nothing = command(["c++", "a.cpp"]);
    nothing.env("PATH", folder.path()).env_remove("RIVERRUN_CC");
    Ended::from(nothing.output().unwrap()).expect(
        125,
        &[
            "no compiler for RISC-V",
            "apt-get install gcc-riscv64-linux-gnu g++-riscv64-linux-gnu",
            "pip install ziglang",
        ],
    );
    for help in [["bindgen", "--help"], ["cc", "--help"], ["c++", "-h"]] {
        assert!(riverrun(help).expect(0, &[]).stdout.contains("riverrun"), "{help:?}");
    }
}

/// Memory is filled and copied, constructors run, and what main returns is the exit status. The headers compile.
#[test]
fn bare_guests_run() {
    let folder = Folder::new();
    folder.file(
        "a.cpp",
        "#include <riverrun.h>\n\
         struct Point { float x, y; };\n\
         RIVERRUN_EXPORT(Point, turned, (Point));\n\
         Point turned(Point p) { return {-p.y, p.x}; }\n\
         struct Table { int sum; Table() { for (int i = 0; i < 10; i++) sum += i; } ~Table() {} };\n\
         static Table table;\n\
         struct Base { virtual int get() const = 0; };\n\
         struct Derived : Base { char text[64]; int get() const override { return text[63]; } };\n\
         static Derived from, to;\n\
         int main(int count, char **) {\n\
             __builtin_memset(from.text, 3 + count, sizeof(from.text));\n\
             to = from;\n\
             const Base *volatile base = &to;\n\
             return table.sum * 2 + base->get();\n\
         }\n",
    );
    for compiler in compilers() {
        for optimise in ["-O0", "-O3", "-flto"] {
            compile(&folder, Some(&compiler), &["c++", "--bare", optimise, "a.cpp", "-o", "a.elf"]).expect(0, &[]);
            riverrun(args!["run", "--fuel", "10000", folder.path().join("a.elf")]).expect(93, &[]);
        }
    }
}

#[test]
fn guests_with_a_libc_run() {
    let folder = Folder::new();
    folder.file("a.c", "#include <stdio.h>\nint main(int count, char **) { printf(\"%d\\n\", count); }\n");
    for compiler in compilers() {
        compile(&folder, Some(&compiler), &["cc", "-std=gnu2x", "a.c", "-o", "a.elf"]).expect(0, &[]);
        assert_eq!(riverrun(args![folder.path().join("a.elf"), "x", "y"]).expect(0, &[]).stdout, "3\n");
    }
    let shown = compile(&folder, Some("/opt/bin/riscv64-linux-gnu-gcc-12"), &["c++", "--show", "-c", "a.cpp"]);
    assert!(shown.stdout.starts_with("/opt/bin/riscv64-linux-gnu-g++-12 -march="), "{}", shown.stdout);
}

/// What has constructors is alive when functions are called, in C and C++, however it was compiled and linked; what has
/// no main is called, too. `riverrun bench` calls them behind main.
#[test]
fn guests_with_a_libc_are_called_with_everything_alive() {
    let folder = Folder::new();
    folder.file(
        "a.cpp",
        "#include <riverrun.h>\n#include <iostream>\n#include <stdexcept>\n#include <string>\n#include <vector>\n\
         static std::vector<int> numbers{1, 2, 3};\nthread_local std::string own = \"own\";\n\
         struct Last { bool gone = false; ~Last() { gone = true; numbers.clear(); } } last;\n\
         RIVERRUN_EXPORT(long, work, (long));\n\
         long work(long n) {\n\
             try { numbers.at(n); } catch (const std::out_of_range &) { std::cout << own << std::endl; return 7; }\n\
             if (last.gone || numbers.size() != 3) __builtin_trap();\n\
             return work(n + 1);\n\
         }\n\
         #ifdef MAIN\nint main() { std::atexit([] { numbers.clear(); }); }\n#endif\n",
    );
    folder.file(
        "a.c",
        "#include <riverrun.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
         static char *text;\n_Thread_local int own = 5;\n\
         static void destroy(void) { free(text); text = 0; }\n\
         __attribute__((constructor)) static void make(void) { text = malloc(64); atexit(destroy); }\n\
         RIVERRUN_EXPORT(long, work, (long));\n\
         long work(long n) { return snprintf(text, 64, \"%ld\", n + own); }\n\
         #ifdef MAIN\nint main(void) { return 0; }\n#endif\n",
    );
    for compiler in compilers().iter().filter(|name| !name.contains("zig")) {
        for (language, source) in [("cc", "a.c"), ("c++", "a.cpp")] {
            for flags in [&["-O0", "-DMAIN"][..], &["-O2", "-flto", "-DMAIN"], &["-O2"]] {
                let args = [&[language], flags, &[source, "-o", "a.elf"]].concat();
                compile(&folder, Some(compiler), &args).expect(0, &[]);
                let function = format!("{}:work", folder.path().join("a.elf").display());
                let bench = args!["bench", "--runs=1", "--discard=0", function, function, "--", "0"];
                let ended = riverrun(bench);
                assert_eq!(ended.status, Some(0), "{compiler} {args:?}: {ended:?}");
            }
        }
    }
}

#[test]
fn cmake_makes_bindings() {
    let folder = Folder::new();
    folder.file("api.json", API);
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest/cmake");
    folder.file(
        "CMakeLists.txt",
        format!(
            "cmake_minimum_required(VERSION 3.20)\nproject(test NONE)\n\
             list(APPEND CMAKE_MODULE_PATH \"{}\")\ninclude(Riverrun)\n\
             riverrun_bindgen(api.json TARGET api GUEST_C made HOST_CPP made)\n",
            modules.display()
        ),
    );
    let cmake = |args: &[&str]| {
        let mut cmake = Command::new("cmake");
        cmake.args(args).current_dir(folder.path()).arg(format!("-DRIVERRUN={}", env!("CARGO_BIN_EXE_riverrun")));
        Ended::from(cmake.output().unwrap())
    };
    cmake(&["-B", "build"]).expect(0, &[]);
    let build =
        || Command::new("cmake").args(["--build", "build", "--target", "api"]).current_dir(folder.path()).output();
    Ended::from(build().unwrap()).expect(0, &[]);
    let header = folder.path().join("build/made/api.h");
    assert!(fs::read_to_string(&header).unwrap().contains("dsys_is_debug"));
    assert!(folder.path().join("build/made/api_host.hpp").exists());
    // A change of the description is seen.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    folder.file("api.json", "{ \"Game::exit\": \"void sys_exit ()\" }");
    Ended::from(build().unwrap()).expect(0, &[]);
    assert!(fs::read_to_string(&header).unwrap().contains("dsys_exit"));
}

/// The SDK's objects are linked with whatever the arguments make a program of, and with nothing else.
#[test]
fn all_ways_to_link_give_programs_that_run() {
    let folder = Folder::new();
    let source = folder.file("a.c", "int main(void) { return 7; }\n");
    let program = folder.path().join("a.elf");
    for compiler in compilers() {
        for library in [&[][..], &["--bare"]] {
            let cc = |args: &[&str]| compile(&folder, Some(&compiler), &[&["cc"], library, args].concat());
            let runs = |args: &[&str]| {
                cc(args).expect(0, &[]);
                riverrun(args![program]).expect(7, &[]);
                fs::remove_file(&program).unwrap();
            };
            runs(&["-x", "c", source.to_str().unwrap(), "-o", "a.elf"]);
            runs(&["-v", "-o", "a.elf", "a.c"]);
            cc(&["-r", "a.c", "-o", "a.o"]).expect(0, &[]);
            runs(&["a.o", "-o", "a.elf"]);
            for nothing in [&["-o", "a.elf"][..], &["-O2", "-D", "X", "-o", "a.elf"]] {
                assert_ne!(cc(nothing).status, Some(0), "{compiler} {nothing:?}");
                assert!(!program.exists(), "{compiler} {nothing:?}");
            }
            cc(&["-v"]).expect(0, &[]);
        }
    }
}

#[test]
fn damaged_objects_of_the_sdk_are_made_again() {
    let folder = Folder::new();
    folder.file("a.c", "int main(void) { return 7; }\n");
    let cc = || compile(&folder, None, &["cc", "a.c", "-o", "a.elf"]);
    cc().expect(0, &[]);
    let shown = compile(&folder, None, &["cc", "--show", "a.c"]).stdout;
    let object = shown.split_whitespace().find(|word| word.ends_with("reactor.o")).unwrap();
    for damaged in [&b""[..], b"no object"] {
        fs::write(object, damaged).unwrap();
        cc().expect(0, &[]);
    }
}

#[test]
fn commands_are_shown_as_a_shell_reads_them() {
    let folder = Folder::new();
    let shown = compile(&folder, None, &["cc", "--show", "-c", "a.c", "-DX=a b", "-DY='\"", ""]).stdout;
    assert!(shown.ends_with(" -c a.c '-DX=a b' '-DY='\\''\"' ''\n"), "{shown}");
}

/// Files that cannot be written leave nothing beside them.
#[test]
fn a_full_disk_leaves_no_files() {
    let folder = Folder::new();
    folder.file("api.json", API);
    folder.file("a.c", "int main(void) {}\n");
    for arguments in ["bindgen api.json --guest-c out", "cc a.c"] {
        let script = format!("ulimit -f 0; trap '' XFSZ; exec \"$0\" {arguments}");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_riverrun")]).current_dir(folder.path());
        command.env("XDG_CACHE_HOME", folder.path().join("out"));
        Ended::from(command.output().unwrap()).expect(125, &["File too large"]);
        let found = Command::new("find").arg(folder.path().join("out")).args(["-type", "f"]).output().unwrap();
        assert_eq!(String::from_utf8(found.stdout).unwrap(), "", "{arguments}");
    }
}
