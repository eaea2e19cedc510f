//! `riverrun bench`: what it measures and says. How sure its verdicts are, its own tests say of recorded times, and
//! `cargo xtask bench verdicts` of the machine at hand.

use std::path::PathBuf;

use crate::common::{Ended, Folder, riverrun};

/// The guest, doing so many rounds of work.
fn worker(folder: &Folder, rounds: u32) -> PathBuf {
    let built = folder.guest("worker.c", &["-O2", &format!("-DROUNDS={rounds}")]);
    let named = built.with_file_name(format!("worker{rounds}.elf"));
    std::fs::rename(built, &named).unwrap();
    named
}

fn result(ended: &Ended) -> serde_json::Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:#?}"))
}

#[test]
fn the_report_has_every_run_and_a_verdict() {
    let folder = Folder::new();
    let guest = worker(&folder, 20);
    let ended = riverrun(args!["bench", "--runs", "2", "--discard=1", guest, guest]);
    ended.expect(0, &[]);
    // In a pipe nothing is said but the result.
    assert_eq!(ended.stderr, "");
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let first_words: Vec<&str> = lines.iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(&first_words[..2], ["A:", "B:"]);
    assert_eq!(&first_words[3..], ["run", "1", "2", "low", "high", "mean", "noise:"], "{ended:#?}");
    assert!(lines.last().unwrap().contains("tell nothing"), "8 turns are too few: {ended:#?}");
    let ended = riverrun(args!["bench", "--json", "--runs", "4", "--discard=0", guest, guest]);
    assert_eq!(result(ended.expect(0, &[]))["runs"].as_array().unwrap().len(), 4);
}

#[test]
fn twice_the_work_is_slower_and_half_of_it_faster() {
    let folder = Folder::new();
    let (less, more) = (worker(&folder, 20), worker(&folder, 40));
    for (a, b, verdict) in [(&less, &more, "slower"), (&more, &less, "faster")] {
        // It goes on until it is certain: a machine may be so busy that a few turns tell nothing.
        let ended = riverrun(args!["bench", "--json", a, b]);
        let json = result(ended.expect(0, &[]));
        assert_eq!(json["verdict"], verdict, "{ended:#?}");
        let estimate = ["low", "ratio", "high"].map(|name| json["estimate"][name].as_f64().unwrap());
        assert!(estimate.is_sorted(), "{estimate:?}");
        let instructions = [0, 1].map(|index| json["contestants"][index]["instructions"].as_u64().unwrap());
        assert_eq!(instructions[0] > instructions[1], verdict == "faster");
        assert_eq!(json["is_same_output"], false);
    }
}

#[test]
fn functions_and_programs_of_the_host() {
    let folder = Folder::new();
    let guest = worker(&folder, 1);
    let function = format!("{}:work", guest.display());
    let ended = riverrun(args!["bench", "--json", "--runs=1", "--discard=0", function, function, "--", "100"]);
    let json = result(ended.expect(0, &[]));
    assert_eq!((&json["is_same_output"], &json["contestants"][0]["name"]), (&true.into(), &function.as_str().into()));
    // `work(100)` takes a known number of instructions, so that the arguments arrived.
    let instructions = json["contestants"][0]["instructions"].as_u64().unwrap();
    assert!((500..3000).contains(&instructions), "{instructions}");

    let ended = riverrun(args!["bench", "--json", "--runs=1", "--discard=0", guest, "/bin/true"]);
    let json = result(ended.expect(0, &[]));
    assert_eq!(json["contestants"][1]["engine"], "program of the host");
    assert_eq!(json["contestants"][1]["instructions"], serde_json::Value::Null);
}

#[test]
fn mistakes_are_named() {
    let folder = Folder::new();
    let guest = worker(&folder, 1);
    let name = guest.to_str().unwrap();
    let text = folder.file("notes.txt", "no program");
    let text = text.to_str().unwrap();
    let two = "Usage: riverrun bench";
    for (args, message) in [
        (vec![], two),
        (vec![name], two),
        (vec![name, name, name], two),
        (vec![name, "nowhere"], "nowhere: no such file; give a program, or FILE:FUNCTION"),
        (vec![name, "nowhere:work"], "nowhere:work: no such file; give a program, or FILE:FUNCTION"),
        (vec![name, text], "notes.txt: neither a RISC-V program nor one that can be executed here"),
        (vec![name, "/"], "/: not a file"),
        (vec![name, "/bin/true:main"], "/bin/true: a program of the host; functions can be compared of guests only"),
        (vec![name, &format!("{name}:")], "names no function behind the colon"),
        (vec![name, &format!("{name}:wrok")], "worker1.elf: has no function called wrok; riverrun inspect --symbols"),
        (vec![name, &format!("{name}:work"), "--", "many"], "many: functions get whole numbers"),
        (vec![name, &format!("{name}:work"), "--", "1", "2", "3", "4", "5", "6", "7", "8", "9"], "at most 8"),
        (vec![name, name, "--", "fail"], "worker1.elf: ended with status 3"),
        (vec![name, name, "--", "trap"], "worker1.elf: "),
        (vec![name, "/bin/false"], "/bin/false: exit status: 1"),
        (vec!["--timeout=50ms", name, name, "--", "hang"], "worker1.elf: "),
        (vec!["--runs", "0", name, name], "'0' for '--runs <N>': not a number from 1 to 1000"),
        (vec!["--discard", "-1", name, name], "'-1' for '--discard <N>': not a number from 0 to 1000"),
        (vec!["--threshold", "lots", name, name], "'lots' for '--threshold <PERCENT>': not a percentage from 0 to 100"),
        (
            vec!["--engine", "steam", name, name],
            "'steam' for '--engine <ENGINE>'\n  [possible values: auto, interp, compiled]",
        ),
        (vec!["--engine", "compiled", name, name], "worker1.elf: not compiled; say "),
        (vec!["--rnus", "1", name, name], "a similar argument exists: '--runs'"),
    ] {
        let args = std::iter::once("bench").chain(args);
        let ended = riverrun(args);
        ended.expect(125, &["riverrun: ", message]);
        assert_eq!(ended.stdout, "", "{ended:#?}");
    }
    riverrun(["bench", "--help"]).expect(0, &[]);
}
