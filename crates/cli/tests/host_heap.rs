//! Programs with a libc, in C and C++, that use the host's heap.

use crate::common::{Folder, riverrun};

const INCLUDE: &str = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../../guest/include");

#[test]
fn a_libc_and_its_program_use_the_hosts_heap() {
    let folder = Folder::new();
    for flags in [&[INCLUDE, "-O0"][..], &[INCLUDE, "-O3"], &[INCLUDE, "-O2", "-fPIC"]] {
        let guest = folder.guest("heap.c", flags);
        let ended = riverrun(args![guest]);
        ended.expect(0, &[]);
        assert_eq!(ended.stdout, "on the host's heap\n");
    }
}

#[test]
fn statistics_say_how_the_heap_was_used() {
    let folder = Folder::new();
    let guest = folder.guest("heap.c", &[INCLUDE]);
    let ended = riverrun(args!["--stats=json", &guest]);
    ended.expect(0, &[]);
    let stats = ended.stats();
    let number = |name: &str| stats["heap"][name].as_f64().unwrap_or_else(|| panic!("no {name} in {stats}"));
    assert!(number("allocations") >= 1.0, "{stats}");
    assert!(number("peak_bytes") >= 1e6 && number("peak_bytes") <= number("mapped_bytes"), "{stats}");
    assert!((0.0..1.0).contains(&number("fragmentation")), "{stats}");
    riverrun(args!["--stats", guest]).expect(0, &[" MiB of memory; ", " allocations, at most 1.0 of "]);
    let other = riverrun(args!["--stats=json", folder.guest("ends.c", &[]), "exit", "0"]);
    assert!(other.stats()["heap"].is_null(), "{}", other.stderr);
}

#[test]
fn cxx_and_its_library_use_the_hosts_heap() {
    let folder = Folder::new();
    for level in ["-O0", "-O2"] {
        let guest = folder.guest("heap.cpp", &[INCLUDE, level, "-std=c++17"]);
        let ended = riverrun(args![guest]);
        ended.expect(0, &[]);
        assert_eq!(ended.stdout, "thrown, 1000 lists\nno room\n");
    }
}

#[test]
fn what_is_done_with_the_heap_is_shown_on_request() {
    let folder = Folder::new();
    let guest = folder.guest("heap.c", &[INCLUDE]);
    riverrun(args!["--verbose=heap", guest]).expect(0, &["riverrun: malloc(1000000) = 0x40", "riverrun: free(0x40"]);
    riverrun(args!["--verbose=heap", guest, "twice"])
        .expect(134, &["has been freed before", "allocated in", "freed in", "called from", "main+"]);
    let ended = riverrun(args![guest, "twice"]);
    ended.expect(134, &["the host function riverrun::free", "has been freed before"]);
    assert!(!ended.stderr.contains("allocated in"), "{}", ended.stderr);
    riverrun(args!["--verbose=stack", guest]).expect(125, &["[possible values: calls, heap]"]);
}
