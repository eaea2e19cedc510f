//! What is generated for guests in C and C++ compiles without a warning, and says to the host what the
//! description does.

use std::collections::BTreeMap;
use std::fs;

use crate::common::{COMPILERS, api, builds, folder, tests};
use riverrun_program::Image;

/// The imports of the description, as records have them.
fn expected() -> BTreeMap<String, String> {
    let known = fs::read_to_string(tests().join("goldens/signatures.txt")).unwrap();
    known.lines().map(|line| line.split_once(": ").unwrap()).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
}

#[test]
fn every_stub_compiles_and_leaves_its_record() {
    let folder = folder();
    for build in builds() {
        let [_, assembly] = api("game.json").write_guest_c(folder.path()).unwrap();
        let guest = build.guest(folder.path(), &[tests().join("guests/all.c"), assembly], &[]);
        let image = Image::parse(fs::read(guest).unwrap()).unwrap();
        let imports = image.imports().unwrap();
        let found: BTreeMap<String, String> =
            imports.iter().map(|one| (one.name.clone(), one.signature.as_ref().unwrap().to_string())).collect();
        assert_eq!(found, expected(), "{build:?}");
        // Their numbers are their places in the description, behind riverrun's own.
        let numbers = imports.iter().map(|import| import.index);
        assert!(numbers.eq((riverrun_program::OWN_IMPORTS..).take(imports.len())), "{build:?}");
        let exports = image.exports().unwrap();
        assert_eq!(exports.len(), 1, "{build:?}");
        assert_eq!(exports[0].signature.as_ref().unwrap().to_string(), "i64 (i32, ptr)", "{build:?}");
    }
}

/// A guest asks its host for what it uses, so that it runs on hosts that have less.
#[test]
fn a_call_that_is_not_used_leaves_no_record() {
    let folder = folder();
    let source = folder.path().join("one.c");
    fs::write(
        &source,
        "#include \"game.h\"\n\
         int main(void) { dsys_empty(); dsys_empty(); sys_odd(); isys_odd(); return dsys_is_debug(); }\n\
         void unused(void);\n void unused(void) { dsys_odd(); }\n",
    )
    .unwrap();
    for build in builds() {
        let [_, assembly] = api("game.json").write_guest_c(folder.path()).unwrap();
        let guest = build.guest(folder.path(), &[source.clone(), assembly], &[]);
        let imports = Image::parse(fs::read(guest).unwrap()).unwrap().imports().unwrap();
        let names: Vec<&str> = imports.iter().map(|import| import.name.as_str()).collect();
        assert_eq!(names, ["Debug::is_debug", "empty"], "{build:?}");
    }
}

#[test]
fn what_cannot_be_exported_is_said() {
    let folder = folder();
    let source = folder.path().join("wrong.cpp");
    for (code, message) in [
        ("struct Large { long a, b, c; }; void f(Large) {}", "more than 16 bytes goes by reference: pass a pointer"),
        ("struct Owner { long a; ~Owner() {} }; void f(Owner) {}", "cannot cross the boundary by value"),
        ("union Any { long a; float b; }; Any f() { return {}; }", "cannot cross the boundary by value"),
        ("enum E : int { A }; struct S { float a; E b; }; void f(S) {}", "an enum beside a float: make it a number"),
    ] {
        fs::write(&source, format!("#include <riverrun.h>\n{code}\nRIVERRUN_EXPORT(f);\n")).unwrap();
        for compiler in COMPILERS {
            let mut command = compiler.command(true);
            command.arg("-fsyntax-only").arg("-I").arg(tests().join("../../../guest/include")).arg(&source);
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && said.contains(message), "{code}, {compiler:?}: {said}");
        }
    }
}
