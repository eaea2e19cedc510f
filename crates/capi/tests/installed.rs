//! What is installed works: by pkg-config and by CMake, shared and static, with both compilers; and under
//! AddressSanitizer, UndefinedBehaviorSanitizer and valgrind, which find nothing.

mod common;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use common::{COMPILERS, compile_guest, folder, guests, here, libc_guest, root, run, words};

/// Debug builds of the tests look at a debug build of the library.
const DEBUG: bool = cfg!(debug_assertions);

/// Where it is installed, once. With the compiler, dependencies have the features that they have in the workspace's
/// tests: nothing is built again.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join(if DEBUG { "installed-debug" } else { "installed" });
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(root()).args(["xtask", "install", "--compiler", "--prefix"]).arg(&prefix);
        run(command.args(DEBUG.then_some("--debug")));
        prefix
    })
}

fn examples() -> PathBuf {
    root().join("examples/embed")
}

fn example_guest(folder: &Path) -> PathBuf {
    compile_guest(&examples(), "guest.c", &[], folder)
}

/// What hosts of the example print, as the one in Rust does.
fn expected(guest: &Path) -> String {
    // As `cargo test --workspace` builds it, which has then been done.
    let mut build = Command::new(env!("CARGO"));
    build.current_dir(root()).args(["build", "--quiet", "--workspace", "--example", "embed"]);
    run(build.args((!DEBUG).then_some("--release")));
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it lies in the target directory");
    let mut command = Command::new(built.join(if DEBUG { "debug" } else { "release" }).join("examples/embed"));
    command.arg(guest);
    let output = String::from_utf8(run(&mut command).stdout).unwrap();
    assert_eq!(output, "guest: updating\nhost: 42 after 1 call\nhost: the guest has trapped\n");
    output
}

/// What pkg-config says of the installed library.
fn flags(arguments: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.args(arguments).arg("riverrun").env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    let text = String::from_utf8(run(&mut command).stdout).unwrap();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Compiles a host and links it with the static library.
fn host(compiler: &str, flags_of_compiler: &[&str], source: &Path, to: &Path) {
    let mut command = Command::new(compiler);
    command.args(["-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]).args(flags_of_compiler).arg(source);
    let link = flags(&["--cflags", "--libs", "--static"]);
    command.args(link.iter().map(|flag| if flag == "-lriverrun" { "-l:libriverrun.a" } else { flag }));
    run(command.arg("-o").arg(to));
}

/// The standard of a source.
fn standard(source: &Path) -> &'static str {
    match source.extension() == Some(OsStr::new("c")) {
        true => "-std=gnu11",
        // With coroutines.
        false if source.ends_with("waits.cpp") => "-std=c++20",
        false => "-std=c++17",
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "it takes minutes; the optimised tests do it")]
fn pkg_config_finds_it() {
    let folder = folder();
    let guest = example_guest(folder.path());
    let expected = expected(&guest);
    for [c, cxx] in COMPILERS {
        for (compiler, name) in [(c, "host.c"), (cxx, "host.cpp")] {
            let source = examples().join(name);
            let made = folder.path().join("shared");
            let mut command = Command::new(compiler);
            command.args(["-O2", standard(&source)]).arg(&source).arg("-o").arg(&made);
            run(command.args(flags(&["--cflags", "--libs"])));
            let found = run(Command::new(&made).arg(&guest).env("LD_LIBRARY_PATH", prefix().join("lib")));
            assert_eq!(String::from_utf8(found.stdout).unwrap(), expected, "{compiler} {name}");

            let made = folder.path().join("static");
            host(compiler, &["-O2", standard(&source)], &source, &made);
            let found = run(Command::new(&made).arg(&guest));
            assert_eq!(String::from_utf8(found.stdout).unwrap(), expected, "{compiler} {name}");
        }
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "it takes minutes; the optimised tests do it")]
fn cmake_finds_it_or_builds_it() {
    let folder = folder();
    let guest = example_guest(folder.path());
    let expected = expected(&guest);
    let installed = format!("-DCMAKE_PREFIX_PATH={}", prefix().display());
    let options = format!("-DRIVERRUN_INSTALL_OPTIONS=--compiler{}", if DEBUG { ";--debug" } else { "" });
    for (name, flags) in [("found", vec![installed]), ("fetched", vec!["-DFETCH_RIVERRUN=ON".to_owned(), options])] {
        let build = folder.path().join(name);
        run(Command::new("cmake").arg("-S").arg(examples()).arg("-B").arg(&build).args(flags));
        run(Command::new("cmake").arg("--build").arg(&build));
        for host in ["host_c", "host_cpp"] {
            let found = run(Command::new(build.join(host)).arg(&guest));
            assert_eq!(String::from_utf8(found.stdout).unwrap(), expected, "{name} {host}");
        }
    }
}

/// A guest that is built with nothing but what is installed: by the CMake helper, and by the command.
#[test]
#[cfg_attr(debug_assertions, ignore = "it takes minutes; the optimised tests do it")]
fn guests_are_built_with_what_is_installed() {
    let folder = folder();
    let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    file("api.json", r#"{ "Game::add": "int sys_add (int a, int b)" }"#);
    file(
        "guest.c",
        "#include <riverrun.h>\n#include \"api.h\"\nRIVERRUN_EXPORT(int, twice, (int));\n\
                     int twice(int n) { return dsys_add(n, n); }\n",
    );
    file(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.20)\nproject(guest C ASM)\nfind_package(riverrun 0.1 REQUIRED)\n\
         include(\"${riverrun_GUEST_DIR}/cmake/Riverrun.cmake\")\n\
         riverrun_bindgen(api.json TARGET api GUEST_C made)\n\
         add_executable(guest guest.c \"${CMAKE_CURRENT_BINARY_DIR}/made/api.S\")\nadd_dependencies(guest api)\n\
         target_include_directories(guest PRIVATE \"${riverrun_GUEST_DIR}/include\" \"${CMAKE_CURRENT_BINARY_DIR}/made\")\n\
         target_link_options(guest PRIVATE -static)\nriverrun_reactor(guest)\n",
    );
    let command = prefix().join("bin/riverrun");
    let mut cmake = Command::new("cmake");
    cmake.args(["-B", "build", "-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_C_COMPILER=riscv64-linux-gnu-gcc"]);
    cmake.args(["-DCMAKE_ASM_COMPILER=riscv64-linux-gnu-gcc", "-DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=NEVER"]);
    cmake.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix().display())).current_dir(folder.path());
    run(&mut cmake);
    run(Command::new("cmake").args(["--build", "build"]).current_dir(folder.path()));
    let shown = run(Command::new(&command).args(["inspect", "--symbols", "build/guest"]).current_dir(folder.path()));
    assert!(String::from_utf8_lossy(&shown.stdout).contains("twice"));

    file("main.c", "int main(void) { return 7; }\n");
    let cc = ["cc", "main.c", "-o", "main.elf"];
    run(Command::new(&command).args(cc).current_dir(folder.path()).env("XDG_CACHE_HOME", folder.path()));
    let status = Command::new(&command).arg(folder.path().join("main.elf")).status().unwrap();
    assert_eq!(status.code(), Some(7));
    run(Command::new(&command).args(["compile", "-O0", "main.elf", "-o", "main.rro"]).current_dir(folder.path()));
    let compiled = ["run", "--engine=compiled", "--artifact", "main.rro", "main.elf"];
    assert_eq!(Command::new(&command).args(compiled).current_dir(folder.path()).status().unwrap().code(), Some(7));
}

/// Sources of hosts, each with its arguments.
fn hosts(folder: &Path) -> Vec<(PathBuf, Vec<PathBuf>)> {
    let example = example_guest(folder);
    let scorer = folder.join("scorer");
    fs::write(&scorer, riverrun::doc::SCORER).unwrap();
    let guest = &guests()[0];
    let tests = here().join("tests");
    let build = PathBuf::from(if DEBUG { "debug" } else { "release" });
    vec![
        (examples().join("host.c"), vec![example.clone()]),
        (examples().join("host.cpp"), vec![example]),
        (tests.join("c/api.c"), vec![guest.clone(), PathBuf::new()]),
        (tests.join("c/misuse.c"), vec![guest.clone(), scorer.clone(), build]),
        (tests.join("c/waits.c"), vec![scorer.clone()]),
        (tests.join("cpp/waits.cpp"), vec![scorer]),
        (tests.join("c/libc.c"), vec![libc_guest(folder), PathBuf::new(), words(folder)]),
        (tests.join("cpp/api.cpp"), vec![guest.clone()]),
    ]
}

#[test]
#[cfg_attr(debug_assertions, ignore = "it takes minutes; the optimised tests do it")]
fn sanitizers_find_nothing() {
    let folder = folder();
    for (source, arguments) in hosts(folder.path()) {
        for [c, cxx] in COMPILERS {
            let compiler = if standard(&source) == "-std=gnu11" { c } else { cxx };
            let made = folder.path().join("sanitized");
            let flags = ["-O1", standard(&source), "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
            host(compiler, &flags, &source, &made);
            run(Command::new(&made).args(&arguments));
        }
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "it takes minutes; the optimised tests do it")]
fn nothing_leaks() {
    let folder = folder();
    for (source, arguments) in hosts(folder.path()) {
        // Valgrind has one rounding mode for scalar arithmetic, and slows down what is timed.
        if source.ends_with("misuse.c") {
            continue;
        }
        let [c, cxx] = COMPILERS[0];
        let made = folder.path().join("plain");
        host(if standard(&source) == "-std=gnu11" { c } else { cxx }, &["-O1", standard(&source)], &source, &made);
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite,indirect"]);
        valgrind.args(["--errors-for-leak-kinds=definite,indirect"]);
        valgrind.arg(format!("--suppressions={}", here().join("tests/valgrind.supp").display()));
        run(valgrind.arg(&made).args(&arguments));
    }
}
