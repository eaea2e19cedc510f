//! Hosts in C++, with exceptions and RTTI and without.

mod common;

use std::fs;
use std::process::Command;

use common::{COMPILERS, compile_guest_of, folder, guests, here, host, libc_guest, root, run, run_host, words};
use riverrun_bindgen::Api;

/// Of these, each compiler takes one half with exceptions, the other half without.
const FLAGS: [[&str; 2]; 2] = [["-std=c++17", "-O0"], ["-std=c++20", "-O2"]];
const WITHOUT: [&str; 2] = ["-fno-exceptions", "-fno-rtti"];

#[test]
fn the_interface_does_what_it_says() {
    let folder = folder();
    for ([_, cxx], [with, without]) in COMPILERS.into_iter().zip([FLAGS, [FLAGS[1], FLAGS[0]]]) {
        for flags in [with.to_vec(), [without, WITHOUT].concat()] {
            let host = host(cxx, &flags, &here().join("tests/cpp/api.cpp"), folder.path());
            guests().iter().for_each(|guest| drop(run_host(&host, &[guest.as_os_str()])));
        }
    }
}

#[test]
fn machines_are_made_from_snapshots() {
    let folder = folder();
    let (guest, words) = (libc_guest(folder.path()), words(folder.path()));
    let file = folder.path().join("cpp.snapshot");
    for ([_, cxx], flags) in COMPILERS.into_iter().zip([FLAGS[0].to_vec(), [FLAGS[1], WITHOUT].concat()]) {
        let host = host(cxx, &flags, &here().join("tests/cpp/snapshot.cpp"), folder.path());
        run_host(&host, &[guest.as_os_str(), words.as_os_str(), file.as_os_str()]);
    }
}

#[test]
fn hosts_implement_file_systems() {
    let folder = folder();
    let guest = libc_guest(folder.path());
    for ([_, cxx], flags) in COMPILERS.into_iter().zip([FLAGS[0].to_vec(), [FLAGS[1], WITHOUT].concat()]) {
        let host = host(cxx, &flags, &here().join("tests/cpp/files.cpp"), folder.path());
        run_host(&host, &[guest.as_os_str()]);
    }
}

/// In C++20 with coroutines, in C++17 without.
#[test]
fn host_functions_answer_later() {
    let folder = folder();
    let scorer = folder.path().join("scorer");
    fs::write(&scorer, riverrun::doc::SCORER).unwrap();
    let [[_, gcc], [_, clang]] = COMPILERS;
    for (cxx, flags) in [(gcc, FLAGS[1].to_vec()), (clang, FLAGS[0].to_vec()), (clang, [FLAGS[1], WITHOUT].concat())] {
        let host = host(cxx, &flags, &here().join("tests/cpp/waits.cpp"), folder.path());
        run_host(&host, &[scorer.as_os_str()]);
    }
}

/// What `riverrun bindgen --host-cpp` makes takes the real header; a guest checks every call of it, in each form.
/// What has other types than the description says, or is missing, does not compile.
#[test]
fn generated_hosts_work_and_are_checked() {
    let folder = folder();
    let bindgen = root().join("crates/bindgen/tests");
    let api = Api::read(bindgen.join("apis/game.json")).unwrap_or_else(|error| panic!("{error}"));
    api.write_host_cpp(folder.path()).unwrap();
    let include = format!("-I{}", folder.path().display());
    let source = here().join("tests/cpp/bindgen.cpp");
    let guests = ["sys_##name", "isys_##name", "dsys_##name"].map(|form| {
        let folder = folder.path().join(form.replace('#', ""));
        fs::create_dir(&folder).unwrap();
        let flags = [&*format!("-DFORM(name)={form}"), "-Wno-format-security"];
        compile_guest_of(&bindgen.join("apis/game.json"), &bindgen.join("guests/values.c"), &flags, &folder)
    });
    for ([_, cxx], flags) in COMPILERS.into_iter().zip([&["-O2"][..], &["-O0", "-fno-exceptions", "-fno-rtti"]]) {
        let host = host(cxx, &[&["-std=c++17", &*include], flags].concat(), &source, folder.path());
        guests.iter().for_each(|guest| drop(run_host(&host, &[guest.as_os_str()])));
        for flag in ["-DWRONG_TYPE", "-DMISSING"] {
            let mut command = Command::new(cxx);
            command
                .args(["-std=c++17", "-fsyntax-only", &*include, flag, "-I"])
                .arg(here().join("include"))
                .arg(&source);
            let output = command.output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && errors.contains("gui_label"), "{flag}: {errors}");
        }
    }
}

/// Compiles a source with both compilers, which refuse it with these words if there are some.
fn compiles(standard: &str, text: &str, refusal: Option<&str>) {
    let folder = folder();
    let source = folder.path().join("types.cpp");
    fs::write(&source, format!("#include <riverrun.hpp>\n{text}\n")).unwrap();
    for [_, cxx] in COMPILERS {
        let mut command = Command::new(cxx);
        command.args([standard, "-fsyntax-only", "-I"]).arg(here().join("include")).arg(&source);
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), refusal.is_none(), "{text}: {errors}");
        assert!(refusal.is_none_or(|words| errors.contains(words)), "{text}: {errors}");
    }
}

/// What a guest hands over for an enum is a number, so hosts can take those enums only of which each is a value.
#[test]
fn enums_of_guests_have_room_for_any_number() {
    let refused = Some("a guest may give any number");
    for (declaration, refusal) in
        [("enum class E { a }", None), ("enum E : signed char { a }", None), ("enum E { a }", refused)]
    {
        let take = "void add(riverrun::Linker &linker) { linker.func(\"take\", [](E e) { return e; }); }";
        compiles("-std=c++17", &format!("{declaration};\n{take}"), refusal);
    }
}

/// A guest may write any bytes to its memory, so hosts see it as types only of which any bytes are a value.
#[test]
fn memory_of_guests_holds_any_bytes() {
    let refused = Some("a guest may write any bytes");
    for (declaration, refusal) in [
        (
            "enum E : int { a }; struct T { riverrun::Ptr<int> p; float f[2][2]; E e; std::byte b; char name[99]; };",
            None,
        ),
        ("struct U { U(); int n; private: int m; }; using T = const U[4];", None),
        ("using T = bool;", refused),
        ("using T = const bool[2];", refused),
        ("enum T : bool { a };", refused),
        ("enum T { a };", refused),
        ("using T = char *;", refused),
        ("struct T { int n; struct { char c[3]; bool b; } inner; };", refused),
        ("struct T { int n; bool b : 1; };", refused),
        ("struct B { int n; }; struct T : B { const char *text; };", refused),
    ] {
        let get = "void read(riverrun::Memory &memory) { memory.get(riverrun::Ptr<T>{8}).ignore(); }";
        compiles("-std=c++17", &format!("{declaration}\n{get}"), refusal);
    }
}

/// Those would not be where a guest has them.
#[test]
fn wide_numbers_and_alignments_are_refused() {
    let layout = "struct alignas(16) T { long a, b; };\ntemplate <> struct riverrun::Layout<T> {\n    \
                  using Scalars = Types<long, long>;\n    static constexpr std::size_t offsets[] = {0, 8};\n};";
    for (add, refusal) in [
        ("linker.func(\"f\", [](__int128 n) { return n != 0; });", "more than 64 bits"),
        ("linker.func<long(T)>(\"f\", \"\", [](riverrun::Caller &, T t) { return t.a; });", "aligned to more than 8"),
        ("linker.func<T()>(\"f\", \"\", [](riverrun::Caller &) { return T{}; });", "aligned to more than 8"),
    ] {
        let text = format!("{layout}\nvoid add(riverrun::Linker &linker) {{ {add} }}");
        compiles("-std=gnu++17", &text, Some(refusal));
    }
}

#[test]
fn the_example_of_the_readme_compiles() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, rest) = readme.split_once("\n```cpp\n").expect("there is one");
    let folder = folder();
    let source = folder.path().join("example.cpp");
    fs::write(&source, rest.split("```").next().unwrap()).unwrap();
    let mut command = Command::new("g++");
    run(command.args(["-std=c++17", "-fsyntax-only", "-I"]).arg(here().join("include")).arg(source));
}
