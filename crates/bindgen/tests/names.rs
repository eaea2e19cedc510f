//! A description can have names that generated code would have for something else: what is made of it compiles.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{COMPILERS, api, folder, run, tests};
use riverrun_bindgen::Api;

#[allow(unreachable_pub, dead_code, unused_imports, non_camel_case_types, non_snake_case)]
mod host {
    include!("goldens/names_host.rs");
}

#[test]
fn hosts_in_cpp_compile() {
    let folder = folder();
    api("names.json").write_host_cpp(folder.path()).unwrap();
    let source = folder.path().join("host.cpp");
    fs::write(&source, HOST).unwrap();
    for (compiler, standard) in
        ["g++", "clang++-22"].into_iter().flat_map(|one| [(one, "-std=c++17"), (one, "-std=gnu++20")])
    {
        let mut command = Command::new(compiler);
        command.args([standard, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"]).arg(folder.path());
        run(command.arg("-I").arg(tests().join("../../capi/include")).arg(&source));
    }
}

const HOST: &str = r#"
#include "names_host.hpp"
using namespace names_api;
using riverrun::Caller;
struct Host {
    Linker_ api(Caller &, riverrun::Ptr<api_>, Class_) { return {}; }
    Class_ linker(Caller &, Linker_, Linker_) { return {}; }
    names_api::Result caller(Caller &, names_api::Result, riverrun::Slice<const names_api::Result>) { return {}; }
    riverrun::Ptr<T> a0(Caller &, T, Api, riverrun::Ptr<Option>) { return {}; }
    a0_ Class(Caller &, a0_, linker_) { return {}; }
    std::int32_t Linker(Caller &, std::int32_t, Class_, std::int32_t) { return {}; }
    link_ link(Caller &, core, caller_, u8) { return {}; }
    float Result(Caller &, riverrun::Ptr<Sized>, std::int32_t, std::int32_t) { return {}; }
    bool std(Caller &, riverrun::Str, riverrun::Ptr<void>) { return {}; }
    void self(Caller &, std::int32_t, std::int32_t, std::int32_t) {}
    void class_(Caller &, std::int32_t, std::int32_t) {}
    std::int32_t leaf(riverrun::Memory &, riverrun::Ptr<std::int32_t[2]>, riverrun::Ptr<const std::int32_t[2]>,
                      std::int32_t, std::int32_t) { return {}; }
    std::int32_t match(Caller &, std::int32_t) { return {}; }
    std::int32_t mpl(Caller &, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t,
                     std::int32_t, std::int32_t, std::int32_t) { return {}; }
    void words(Caller &, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t,
               std::int32_t) {}
    std::int32_t Err(Caller &, std::int32_t, riverrun::Slice<const std::int32_t>) { return {}; }
    std::int32_t linux_(Caller &, std::int32_t, std::int32_t, std::int32_t) { return {}; }
};
void add(riverrun::Linker &linker, Host &host)
{
    link_client(linker, host);
    link_server(linker, host);
}
"#;

#[test]
fn guests_in_c_and_cpp_compile() {
    let folder = folder();
    let text = fs::read_to_string(tests().join("apis/names.json")).unwrap();
    // The header has the types as the description has them, so that their fields are not C++'s keywords there.
    let for_cpp = text.replace(" new;", " other;").replace(" class;", " other;");
    for compiler in COMPILERS {
        for (cxx, text) in [(false, &text), (true, &for_cpp)] {
            let api = Api::parse("names.json", text).unwrap_or_else(|error| panic!("{error}"));
            let [header, assembly] = api.write_guest_c(folder.path()).unwrap();
            run(compiler.command(false).args(["-c", "-o", "/dev/null"]).arg(&assembly));
            let standards = if cxx { ["-std=gnu++17", "-std=gnu++20"] } else { ["-std=gnu11", "-std=gnu2x"] };
            for standard in standards {
                let mut command = compiler.command(cxx);
                run(command
                    .args([standard, "-O1", "-S", "-o", "/dev/null", "-x", if cxx { "c++" } else { "c" }, "-include"])
                    .arg(&header)
                    .arg("/dev/null"));
            }
        }
    }
}

#[test]
fn guests_in_rust_compile() {
    let folder = folder();
    let module = api("names.json").write_guest_rust(folder.path()).unwrap();
    let source = folder.path().join("guest.rs");
    let allow = "#![allow(non_camel_case_types, non_snake_case)]";
    fs::write(&source, format!("#![no_std]\n{allow}\npub mod names {{ include!({module:?}); }}\n")).unwrap();
    let rustc = Path::new(env!("CARGO")).with_file_name("rustc");
    let mut command = Command::new(rustc);
    command.args(["--edition=2024", "--crate-type=lib", "--target=riscv64gc-unknown-none-elf", "--emit=obj", "-o"]);
    run(command.arg(folder.path().join("guest.o")).arg(&source));
}
