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

/// What a guest hands over for an enum is a number, so hosts can take those enums only of which each is a value.
#[test]
fn enums_of_guests_have_room_for_any_number() {
    let folder = folder();
    let source = folder.path().join("enums.cpp");
    for (declaration, fits) in
        [("enum class E { a }", true), ("enum E : signed char { a }", true), ("enum E { a }", false)]
    {
        let text = format!(
            "#include <riverrun.hpp>\n{declaration};\nvoid add(riverrun::Linker &linker)\n{{\n    \
             linker.func(\"take\", [](E e) {{ return e; }});\n}}\n"
        );
        fs::write(&source, text).unwrap();
        for [_, cxx] in COMPILERS {
            let mut command = Command::new(cxx);
            command.args(["-std=c++17", "-fsyntax-only", "-I"]).arg(here().join("include")).arg(&source);
            let output = command.output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.success(), fits, "{declaration}: {errors}");
            assert!(fits || errors.contains("a guest may give any number"), "{declaration}: {errors}");
        }
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
