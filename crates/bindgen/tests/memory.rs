//! Calls that read and write a guest's memory, in each form, by each compiler, with its optimisations: none
//! drops or moves what the guest reads and writes around them.

use std::fs;

use crate::common::memory_api::{Host, link};
use crate::common::{api, builds, folder, tests};
use riverrun::{Config, Linker};
use riverrun_testkit::suite::SuiteEngine;

#[test]
fn nothing_is_dropped_or_moved_around_calls() {
    let folder = folder();
    for build in builds() {
        for form in ["sys_##name", "isys_##name", "dsys_##name"] {
            let [_, assembly] = api("memory.json").write_guest_c(folder.path()).unwrap();
            let sources = [tests().join("guests/memory.c"), assembly];
            let guest = build.guest(folder.path(), &sources, &[&format!("-DFORM(name)={form}")]);
            let bytes = fs::read(guest).unwrap();
            for engine in SuiteEngine::ALL {
                let program = engine.load(&Config::new(), &*bytes);
                let mut linker = Linker::new(program.engine());
                link(&mut linker).unwrap();
                let mut machine = linker.instantiate(&program, Host::default()).unwrap();
                assert_eq!(machine.run().unwrap(), 0);
                let memory = machine.func::<(i32,), i32>("memory").unwrap();
                for n in [0, 9, -100] {
                    let line =
                        memory.call(&mut machine, (n,)).unwrap_or_else(|error| panic!("{build:?}, {form}: {error}"));
                    assert_eq!(line, 0, "line of tests/guests/memory.c, {build:?}, {form}");
                }
            }
        }
    }
}
