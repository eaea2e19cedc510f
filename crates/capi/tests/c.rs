//! Hosts in C: what the interface does, and what it answers to misuse.

mod common;

use std::ffi::OsStr;

use common::{COMPILERS, folder, guests, here, host, libc_guest, run_host, words};

#[test]
fn the_interface_does_what_it_says() {
    let folder = folder();
    for [c, _] in COMPILERS {
        for flags in [["-std=c99", "-O2"], ["-std=c11", "-O2"], ["-std=c99", "-O0"], ["-O2", "-DRIVERRUN_NO_INLINE"]] {
            let host = host(c, &flags, &here().join("tests/c/api.c"), folder.path());
            guests().iter().for_each(|guest| drop(run_host(&host, &[guest.as_os_str(), OsStr::new("")])));
        }
    }
}

#[test]
fn a_guest_with_a_libc_has_what_it_is_granted() {
    let folder = folder();
    let (guest, words) = (libc_guest(folder.path()), words(folder.path()));
    for [c, _] in COMPILERS {
        let host = host(c, &["-std=c99", "-O2"], &here().join("tests/c/libc.c"), folder.path());
        run_host(&host, &[guest.as_os_str(), OsStr::new(""), words.as_os_str()]);
    }
}

#[test]
fn machines_are_made_from_snapshots() {
    let folder = folder();
    let (guest, words) = (libc_guest(folder.path()), words(folder.path()));
    let file = folder.path().join("c.snapshot");
    for [c, _] in COMPILERS {
        let host = host(c, &["-std=c99", "-O2"], &here().join("tests/c/snapshot.c"), folder.path());
        run_host(&host, &[guest.as_os_str(), words.as_os_str(), file.as_os_str()]);
    }
}

#[test]
fn the_host_handles_traps() {
    let folder = folder();
    for [c, _] in COMPILERS {
        let host = host(c, &["-std=c99", "-O2"], &here().join("tests/c/traps.c"), folder.path());
        run_host(&host, &[guests()[0].as_os_str()]);
    }
}

#[test]
fn host_functions_answer_later() {
    let folder = folder();
    let scorer = folder.path().join("scorer");
    std::fs::write(&scorer, riverrun::doc::SCORER).unwrap();
    for [c, _] in COMPILERS {
        let host = host(c, &["-std=gnu11", "-O1"], &here().join("tests/c/waits.c"), folder.path());
        run_host(&host, &[scorer.as_os_str()]);
    }
}

#[test]
fn misuse_is_answered_in_words() {
    let folder = folder();
    let path = |name: &str, elf: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, elf).unwrap();
        path
    };
    let (first, second) = (&guests()[0], path("scorer", riverrun::doc::SCORER));
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    for [c, _] in COMPILERS {
        for inlining in ["-O1", "-DRIVERRUN_NO_INLINE"] {
            let flags = ["-std=gnu11", inlining, "-frounding-math"];
            let host = host(c, &flags, &here().join("tests/c/misuse.c"), folder.path());
            run_host(&host, &[first.as_os_str(), second.as_os_str(), OsStr::new(build)]);
        }
    }
}
