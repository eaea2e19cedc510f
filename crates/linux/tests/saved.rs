//! The personality's state as bytes: a guest does not see that it has been saved and restored, and gets nothing by it that
//! its new host has not granted.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::common::{gcc, gxx, machine, tree};
use crate::virtual_fs::PassThrough;
use riverrun::{Config, Error, Fidelity, Linker, Machine, Perm, Snapshot, TrapCause};
use riverrun_linux::{Builder, Captured, DirAccess, Input, Linux, Output};
use riverrun_testkit::suite::SuiteEngine;

const STATIC: &[&str] = &["-O2", "-static", "-Wall"];

/// A reader that its clones share, as a host's input is.
#[derive(Clone)]
struct Shared(Arc<Mutex<std::io::Cursor<Vec<u8>>>>);

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().read(buffer)
    }
}

/// How a program ended that ran with virtual time in an empty directory.
#[derive(Debug)]
struct Run {
    /// The result, and what it wrote.
    text: String,
    files: Vec<String>,
    instructions: u64,
    memory: Contents,
    /// Its directory, so that the next run gets no file with the number of one of these.
    _data: tempfile::TempDir,
}

/// What the guest has mapped, and the words in it.
#[derive(Debug)]
struct Contents {
    regions: Vec<(u64, u64, String)>,
    words: Vec<u64>,
}

impl Contents {
    fn of(machine: &Machine<Linux>) -> Contents {
        let memory = machine.memory();
        let regions = memory.regions();
        let readable = regions.iter().filter(|region| region.perm.contains(Perm::READ));
        let bytes = readable.map(|region| memory.slice(region.start, region.end - region.start).unwrap());
        let bytes = bytes.collect::<Vec<&[u8]>>().concat();
        Contents {
            words: bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect(),
            regions: regions.iter().map(|region| (region.start, region.end, region.perm.to_string())).collect(),
        }
    }

    /// The words in which others differ, by their places, with theirs.
    fn differing(&self, others: &Contents) -> BTreeMap<usize, (u64, u64)> {
        assert_eq!(self.regions, others.regions);
        let words = self.words.iter().copied().zip(others.words.iter().copied());
        words.enumerate().filter(|(_, (one, other))| one != other).collect()
    }
}

/// A program, the arguments behind its directory, and its input. It runs to its end, or for so many instructions.
#[derive(Clone, Copy)]
struct Guest<'a> {
    program: &'a Path,
    arguments: &'a [&'a str],
    stdin: &'a str,
    instructions: Option<u64>,
    /// What its code assumes where it is compiled.
    fidelity: Fidelity,
}

/// Runs a program that stops after each of these numbers of instructions. It goes on in a machine of the next engine, which
/// is made from the bytes of a snapshot.
fn run_in_pieces(guest: &Guest<'_>, mut pieces: impl FnMut() -> Option<u64>) -> Run {
    let Guest { program, arguments, stdin, instructions, fidelity } = *guest;
    let data = tempfile::tempdir().unwrap();
    for (name, text) in FILES {
        if arguments.contains(&name) {
            fs::write(data.path().join(name), text).unwrap();
        }
    }
    let path = |name: &&str| if name.starts_with('/') { (*name).to_owned() } else { format!("/data/{name}") };
    let arguments: Vec<String> = arguments.iter().map(path).collect();
    let output = Captured::default();
    let input = Shared(Arc::new(Mutex::new(std::io::Cursor::new(stdin.into()))));
    let builder = || {
        let builder = Linux::builder().dir(data.path(), "/data", DirAccess::ReadWrite).unwrap();
        let builder = builder.stdin(Input::reader(input.clone())).stdout(Output::writer(output.clone()));
        builder.stderr(Output::writer(output.clone()))
    };
    let elf: Arc<[u8]> = fs::read(program).unwrap().into();
    let mut engines = [SuiteEngine::get(), SuiteEngine::SingleStep, SuiteEngine::Interpreter].map(|engine| {
        let program = engine.load_counting(&Config::new(), elf.clone(), fidelity);
        let mut linker = Linker::new(program.engine());
        riverrun_linux::add_to_linker(&mut linker, |linux: &mut Linux| linux);
        (linker, program, engine)
    });
    let arguments = if arguments.is_empty() { vec!["/data".to_owned()] } else { arguments };
    let first = builder()
        .args(std::iter::once("guest".to_owned()).chain(arguments))
        .env("TEST_A", "value")
        .seed(Some(7))
        .virtual_time(true);
    let mut machine = engines[0].0.instantiate(&engines[0].1, first.build()).unwrap();
    riverrun_linux::start(&mut machine, |linux| linux).unwrap();
    let (mut stops, mut saved) = (0, 0);
    let end = loop {
        // The reference interpreter takes too long for whole programs.
        let is_slow = engines[0].2 == SuiteEngine::SingleStep && SuiteEngine::get() != SuiteEngine::SingleStep;
        let limit = if is_slow { 2_000 } else { u64::MAX };
        let left = instructions.map(|instructions| instructions - machine.instructions());
        machine.set_fuel(pieces().map(|fuel| fuel.min(limit)).into_iter().chain(left).min());
        match machine.run() {
            Err(error) if error.trap().is_some_and(|trap| trap.cause == TrapCause::OutOfFuel) => {
                if Some(machine.instructions()) == instructions {
                    break "stopped".to_owned();
                }
                stops += 1;
                engines.rotate_left(1);
                let (linker, program, _) = &engines[0];
                match riverrun_linux::snapshot(&mut machine, |linux| linux) {
                    Ok(snapshot) => {
                        let snapshot = Snapshot::from_bytes(program, &snapshot.to_bytes()).unwrap();
                        let linux = builder().restore_from(&snapshot).unwrap();
                        machine = linker.instantiate_from(&snapshot, linux).unwrap();
                        saved += 1;
                    }
                    // The guest has deleted what it holds open, or sends it to itself.
                    Err(riverrun_linux::Error::FileGone { .. } | riverrun_linux::Error::OnTheirWay { .. }) => {
                        engines.rotate_right(1);
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            other => break format!("{other:?}"),
        }
    };
    assert!(saved * 2 >= stops, "saved {saved} times of {stops}");
    let text = end + &String::from_utf8(output.take()).unwrap();
    let (instructions, memory) = (machine.instructions(), Contents::of(&machine));
    Run { text, files: tree(data.path()), instructions, memory, _data: data }
}

/// A cheap sequence of lengths that do not repeat, for about so many pieces.
fn lengths(whole: u64, pieces: u64) -> impl FnMut() -> Option<u64> {
    let mut state = 1_u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Some(1 + (state >> 33) % (whole / pieces))
    }
}

fn check_pieces(name: &str, program: &Path, arguments: &[&str], stdin: &str, instructions: Option<u64>) {
    let guest = Guest { program, arguments, stdin, instructions, fidelity: Fidelity::Precise };
    check_guest(name, &guest);
    if SuiteEngine::get() == SuiteEngine::Compiled {
        check_guest(name, &Guest { fidelity: Fidelity::AbiAssuming, ..guest });
    }
}

/// Runs at most that show what depends on the host.
const FURTHER: usize = 8;

fn check_guest(name: &str, guest: &Guest<'_>) {
    let whole = run_in_pieces(guest, || None);
    let pieces = run_in_pieces(guest, lengths(whole.instructions, 30));
    let differs = whole.text.lines().zip(pieces.text.lines()).find(|(whole, pieces)| whole != pieces);
    assert_eq!(differs, None, "{name}");
    assert_eq!(whole.text.len(), pieces.text.len(), "{name}");
    assert!(whole.files == pieces.files, "{name} leaves other files");
    // How long it takes to sort a directory depends on its file system.
    if name != "files.c" {
        assert_eq!(whole.instructions, pieces.instructions, "{name}");
        // Code that assumes the psABI need not store what no longer matters to the guest.
        if guest.fidelity == Fidelity::Precise {
            let mut differing = whole.memory.differing(&pieces.memory);
            let are_few = |words: &BTreeMap<_, _>| assert!(words.len() < 100, "{name}: {} words differ", words.len());
            are_few(&differing);
            // But for words in which further runs like the first one differ, too: numbers of files, and the like, which may
            // be the same in two of them by chance.
            let mut further = Vec::new();
            while !differing.is_empty() && further.len() < FURTHER {
                let run = run_in_pieces(guest, || None);
                let of_host = whole.memory.differing(&run.memory);
                are_few(&of_host);
                differing.retain(|place, _| !of_host.contains_key(place));
                further.push(run);
            }
            assert!(differing.is_empty(), "{name}: other memory: {differing:x?}");
        }
    }
    assert!(whole.instructions > 1000, "{name}: {}", whole.instructions);
}

#[test]
fn guests_do_not_see_that_they_have_been_saved_and_restored_in_another_engine() {
    let programs = [
        ("files.c", ""),
        ("controls.c", ""),
        ("closes.c", ""),
        ("streams.c", "first line\n42 the rest\nof the input\n"),
        ("process.c", ""),
        ("proc.c", "input"),
        ("signals.c", ""),
        ("alarms.c", ""),
        ("handlers.cpp", ""),
        ("threads.c", ""),
        ("threads.cpp", ""),
        ("racy.c", ""),
        ("epoll.c", ""),
        ("pairs.c", ""),
        ("mmsg.c", ""),
        ("timers.c", ""),
    ];
    for (source, stdin) in programs {
        let program = match source.ends_with(".c") {
            true => gcc(source, STATIC),
            false => gxx(source, &[STATIC, &["-fnon-call-exceptions", "-std=c++20"]].concat()),
        };
        check_pieces(source, &program, &[], stdin, None);
    }
}

/// Private files, among them such without names, are where they were.
#[test]
fn private_files_are_saved() {
    for source in ["private.c", "files.c", "shared.c", "fifo.c", "local.c", "details.c"] {
        check_pieces(source, &gcc(source, STATIC), &["/tmp/private"], "", None);
    }
}

/// A script whose tables, closures, coroutines and errors live across the stops.
const FILES: [(&str, &str); 1] = [("script.lua", include_str!("guests/saved.lua"))];

/// Lua, SQLite and exceptions in C++, as `cargo xtask guests` builds them.
#[test]
fn real_programs_do_not_see_it_either() {
    // Without optimisation the interpreter takes long.
    let instructions = if cfg!(debug_assertions) && !riverrun_testkit::thorough() { Some(8_000_000) } else { None };
    let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/guests");
    for (name, arguments) in [("lua", &["script.lua"][..]), ("sqlite", &[]), ("cxx", &[])] {
        let program = guests.join(name);
        assert!(program.exists(), "{} is missing: cargo xtask guests", program.display());
        check_pieces(name, &program, arguments, "", instructions);
    }
}

/// A guest of `holds.c` that is ready, with its output so far.
fn holding(data: &Path, held: &str) -> (Machine<Linux>, Captured) {
    let output = Captured::default();
    let builder = Linux::builder().args(["holds", held]).dir(data, "/data", DirAccess::ReadWrite).unwrap();
    let linux = builder.stdout(Output::writer(output.clone())).virtual_time(true).build();
    let mut machine = machine(&Config::new(), &gcc("holds.c", STATIC), linux);
    let mut written = Vec::new();
    while !written.ends_with(b"ready\n") {
        machine.set_fuel(Some(100_000));
        machine.run().unwrap_err();
        written.extend(output.take());
    }
    (machine, output)
}

fn go_on(machine: &mut Machine<Linux>, data: &Path) -> Result<i32, Error> {
    fs::write(data.join("go"), "").unwrap();
    machine.set_fuel(None);
    let result = machine.run();
    fs::remove_file(data.join("go")).unwrap();
    result
}

/// Has a restored guest go on to its end, with the memory and registers of a machine at the same point, and resets it.
fn go_on_and_reset(linux: &mut Linux, data: &Path, holds: &str) {
    let (mut machine, _) = holding(tempfile::tempdir().unwrap().path(), holds);
    std::mem::swap(machine.data_mut(), linux);
    assert_eq!(go_on(&mut machine, data).unwrap(), 2);
    std::mem::swap(machine.data_mut(), linux);
    linux.reset().unwrap();
}

const EVERYTHING: &str = "\
read(file, buffer, 2) = 2
read(same, buffer + 2, 100) = 4
456789, flags 0 1
write(log, \"behind\", 6) = 6
read(zero, buffer, 10) = 10
fstat(above, &status) = 0
a directory: 1
/data/sub 27
read(ends[0], buffer, 100) = 11
in the pipe
read(ends[0], buffer, 100) = -1 Resource temporarily unavailable
read(pair[1], buffer, 100) = 13
read(pair[1], buffer, 100) = 0
write(pair[1], \"back\", 4) = 4
read(pair[0], buffer, 100) = 4
read(packets[1], buffer, 100) = 3
read(packets[1], buffer, 2) = 2
read(packets[1], buffer, 100) = 0
sigpending(&set) = 0
pending: 1, blocked: 1
getitimer(ITIMER_REAL, &timer) = 0
due: 1, interval 7
handler of 14
write(2, \"x\", 1) = -1 Bad file descriptor
open(\"/data/new\", O_RDWR | O_CREAT, 0600) = 2
";

/// The same in the same directory, and in copies of it: on other hosts, as it were, one of which implements the file system.
#[test]
fn everything_is_as_it_was() {
    let data = tempfile::tempdir().unwrap();
    let (mut machine, output) = holding(data.path(), "everything");
    let saved = machine.data().save().unwrap();

    let others = [false, true].map(|is_virtual| {
        let copy = tempfile::tempdir().unwrap();
        fs::create_dir(copy.path().join("sub")).unwrap();
        for name in ["file", "log"] {
            fs::copy(data.path().join(name), copy.path().join(name)).unwrap();
        }
        let other = Captured::default();
        let builder = match is_virtual {
            true => Linux::builder().file_system("/data", PassThrough::new(copy.path())).unwrap(),
            false => Linux::builder().dir(copy.path(), "/data", DirAccess::ReadWrite).unwrap(),
        };
        (copy, builder.stdout(Output::writer(other.clone())).restore(&saved).unwrap(), other)
    });

    assert_eq!(go_on(&mut machine, data.path()).unwrap(), 2);
    assert_eq!(String::from_utf8(output.take()).unwrap(), EVERYTHING);
    assert_eq!(fs::read_to_string(data.path().join("log")).unwrap(), "before behind");

    for (copy, restored, other) in others {
        let (mut machine, _) = holding(data.path(), "everything");
        *machine.data_mut() = restored;
        assert_eq!(go_on(&mut machine, copy.path()).unwrap(), 2);
        assert_eq!(String::from_utf8(other.take()).unwrap(), EVERYTHING);
        assert_eq!(fs::read_to_string(copy.path().join("log")).unwrap(), "before behind");
    }
}

/// A file of a file system that the host implements is found again by its name, or said to be gone.
#[test]
fn files_of_a_file_system_are_saved_by_their_names() {
    let data = tempfile::tempdir().unwrap();
    let (machine, _) = holding(data.path(), "everything");
    let saved = machine.data().save().unwrap();
    let builder = || Linux::builder().file_system("/data", PassThrough::new(data.path())).unwrap();
    let restored = builder().restore(&saved).unwrap();
    assert_eq!(restored.save().unwrap(), saved);
    let log = data.path().join("log");
    fs::rename(&log, data.path().join("other")).unwrap();
    fs::write(&log, "replaced").unwrap();
    let gone = restored.save().unwrap_err();
    assert!(matches!(&gone, riverrun_linux::Error::FileGone { path, .. } if path == "/data/log"), "{gone}");
    fs::remove_file(&log).unwrap();
    let missing = builder().restore(&saved).unwrap_err();
    assert!(matches!(&missing, riverrun_linux::Error::Reopen { path, .. } if path == "/data/log"), "{missing}");
}

const PRIVATE: &str = "\
read(named, buffer, 3) = 3
write(named, \"new\", 3) = 3
pread(nameless, buffer + 3, 8, 0) = 8
456nameless
read(other, buffer, sizeof buffer) = 10
0123456new
unlink(\"/tmp/other\") = 0
[b] [c] /tmp/sub
stored, and later
";

/// What a guest has made of its private files since is undone.
#[test]
fn a_reset_brings_private_files_back() {
    let data = tempfile::tempdir().unwrap();
    let (machine, _) = holding(data.path(), "private");
    let saved = machine.data().save().unwrap();
    let output = Captured::default();
    let builder = || Linux::builder().dir(data.path(), "/data", DirAccess::ReadWrite).unwrap();
    let mut linux = builder().stdout(Output::writer(output.clone())).restore(&saved).unwrap();
    for _ in 0..3 {
        go_on_and_reset(&mut linux, data.path(), "private");
        assert_eq!(String::from_utf8(output.take()).unwrap(), PRIVATE);
        assert_eq!(linux.save().unwrap(), saved);
    }
    let error = builder().max_private_files(10_000).restore(&saved).unwrap_err().to_string();
    assert!(error.contains("take more than 10000 bytes"), "{error}");
}

/// A reset leads to what the builder has restored, though other states have been restored since.
#[test]
fn a_reset_leads_behind_other_states() {
    let data = tempfile::tempdir().unwrap();
    let (machine, _) = holding(data.path(), "private");
    let saved = machine.data().save().unwrap();
    let others = ["other", "another"]
        .map(|arg| Linux::builder().args([arg]).env("NAME", arg).virtual_time(true).build().save().unwrap());
    let builder = Linux::builder().dir(data.path(), "/data", DirAccess::ReadWrite).unwrap();
    let mut linux = builder.restore(&saved).unwrap();
    for _ in 0..2 {
        for other in &others {
            linux.restore(other).unwrap();
            assert_ne!(linux.save().unwrap(), saved);
        }
        linux.reset().unwrap();
        assert_eq!(linux.save().unwrap(), saved);
        go_on_and_reset(&mut linux, data.path(), "private");
        assert_eq!(linux.save().unwrap(), saved);
    }
    // Without one it leads to the last of these.
    let mut linux = Linux::builder().build();
    others.iter().for_each(|other| linux.restore(other).unwrap());
    linux.reset().unwrap();
    assert_eq!(linux.save().unwrap(), others[1]);
}

const SOCKETS: &str = "\
connect(late, AT(\"/tmp/stream\")) = -1 Resource temporarily unavailable
accepted = accept(server, NULL, NULL) = 4
read(accepted, buffer, 100) = 5
read(accepted, buffer, 100) = 0
accepted = accept(server, NULL, NULL) = 9
getpeername(fd, (struct sockaddr *)&peer, &length) = 0
9 bytes, client
getpeername(fd, (struct sockaddr *)&peer, &length) = 0
14 bytes, /tmp/stream
write(accepted, \"back\", 4) = 4
read(client, buffer, 100) = 4
connect(late, AT(\"/tmp/stream\")) = 0
recvfrom(one, buffer, 100, 0, (struct sockaddr *)&from, &length) = 5
sendto(one, \"again\", 5, 0, (struct sockaddr *)&from, length) = 5
recv(two, buffer, 100, 0) = 5
send(two, \"more\", 4, 0) = 4
recv(one, buffer, 100, 0) = 4
bind(late, AT(\"@two\")) = -1 Address already in use
unlink(\"/tmp/stream\") = 0
connect(late, AT(\"/tmp/stream\")) = -1 No such file or directory
";

/// Listeners with connections that wait, names, and datagrams with their senders.
#[test]
fn local_sockets_are_saved_and_reset() {
    let data = tempfile::tempdir().unwrap();
    let (mut machine, output) = holding(data.path(), "sockets");
    let saved = machine.data().save().unwrap();
    assert_eq!(go_on(&mut machine, data.path()).unwrap(), 2);
    assert_eq!(String::from_utf8(output.take()).unwrap(), SOCKETS);
    let builder = Linux::builder().dir(data.path(), "/data", DirAccess::ReadWrite).unwrap();
    let mut linux = builder.stdout(Output::writer(output.clone())).restore(&saved).unwrap();
    for _ in 0..3 {
        go_on_and_reset(&mut linux, data.path(), "sockets");
        assert_eq!(String::from_utf8(output.take()).unwrap(), SOCKETS);
        assert_eq!(linux.save().unwrap(), saved);
    }
}

const NAMES: &str = "\
266 /memfd:nn (deleted)
27 /memfd:a/ (deleted)
9 /tmp/fifo /tmp/fifo
524 /tmp/d/d/ (no name)
write(scratch, \"x\", 1) = 1
fstat(end, &status) = 0
a FIFO: 1 384
write(writer, \"text\", 4) = 4
read(end, buffer, 4) = 4
";

/// Private files are there again whose names could not be looked up, and FIFOs that are open as names.
#[test]
fn private_files_need_no_path() {
    let data = tempfile::tempdir().unwrap();
    let (mut machine, output) = holding(data.path(), "names");
    let saved = machine.data().save().unwrap();
    assert_eq!(go_on(&mut machine, data.path()).unwrap(), 2);
    assert_eq!(String::from_utf8(output.take()).unwrap(), NAMES);
    let (mut machine, _) = holding(data.path(), "names");
    let builder = Linux::builder().dir(data.path(), "/data", DirAccess::ReadWrite).unwrap();
    *machine.data_mut() = builder.stdout(Output::writer(output.clone())).restore(&saved).unwrap();
    assert_eq!(machine.data().save().unwrap(), saved);
    assert_eq!(go_on(&mut machine, data.path()).unwrap(), 2);
    assert_eq!(String::from_utf8(output.take()).unwrap(), NAMES);
}

/// A mapped file keeps what its host has written since to pages that the guest has not, also where guests go on from a
/// snapshot.
#[test]
fn mapped_files_keep_what_others_write() {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join("mapped");
    let check = |mut machine: Machine<Linux>| {
        let pages: Vec<u8> = (0..5).flat_map(|n| [b'0' + n; 4096]).collect();
        fs::write(&path, pages).unwrap();
        assert_eq!(go_on(&mut machine, data.path()).unwrap(), 2);
        let file = fs::read(&path).unwrap();
        [0, 1, 2, 3, 4].map(|n| String::from_utf8_lossy(&file[4096 * n..4096 * n + 6]).replace('\0', "."))
    };
    let expected = ["000000", "stored", "222222", "after.", "444444"];
    let (machine, _) = holding(data.path(), "mapped");
    let saved = machine.data().save().unwrap();
    assert_eq!(check(machine), expected);
    for _ in 0..2 {
        fs::remove_file(&path).unwrap();
        let (mut machine, _) = holding(data.path(), "mapped");
        let builder = Linux::builder().dir(data.path(), "/data", DirAccess::ReadWrite).unwrap();
        *machine.data_mut() = builder.restore(&saved).unwrap();
        assert_eq!(machine.data().save().unwrap(), saved);
        assert_eq!(check(machine), expected);
    }
}

/// What has been read from pipes and files is there again, what has been opened since is closed.
#[test]
fn a_reset_goes_back_to_what_was_restored() {
    let data = tempfile::tempdir().unwrap();
    let (machine, _) = holding(data.path(), "everything");
    let saved = machine.data().save().unwrap();
    let output = Captured::default();
    let builder = Linux::builder().dir(data.path(), "/data", DirAccess::ReadWrite).unwrap();
    let mut linux = builder.stdout(Output::writer(output.clone())).restore(&saved).unwrap();
    for _ in 0..3 {
        fs::write(data.path().join("file"), "0123456789").unwrap();
        let _ = fs::remove_file(data.path().join("new"));
        go_on_and_reset(&mut linux, data.path(), "everything");
        assert_eq!(String::from_utf8(output.take()).unwrap(), EVERYTHING);
        assert_eq!(linux.save().unwrap(), saved);
    }
    let mut built = Linux::builder().build();
    assert!(matches!(built.reset(), Err(riverrun_linux::Error::NotRestored)));
}

#[test]
fn the_programs_own_file_is_opened_again() {
    let data = tempfile::tempdir().unwrap();
    let (mut machine, _) = holding(data.path(), "program");
    let snapshot = riverrun_linux::snapshot(&mut machine, |linux| linux).unwrap();
    let output = Captured::default();
    let builder = Linux::builder().dir(data.path(), "/data", DirAccess::ReadWrite).unwrap();
    let linux = builder.stdout(Output::writer(output.clone())).restore_from(&snapshot).unwrap();
    *machine.data_mut() = linux;
    assert_eq!(go_on(&mut machine, data.path()).unwrap(), 2);
    assert_eq!(String::from_utf8(output.take()).unwrap(), "ELF\n");
}

fn restore(data: &Path, access: DirAccess, saved: &[u8]) -> String {
    let builder = Linux::builder().dir(data, "/data", access).unwrap();
    builder.restore(saved).map_or_else(|error| error.to_string(), |_| "restored".to_owned())
}

#[test]
fn files_that_cannot_be_opened_again_are_named() {
    let data = tempfile::tempdir().unwrap();
    fs::create_dir(data.path().join("sub")).unwrap();
    let file = data.path().join("file");
    let saved = |held: &str| holding(data.path(), held).0.data().save();

    let error = saved("deleted").unwrap_err().to_string();
    let expected = "descriptor 3 is \"/data/file\", which has been deleted, renamed or replaced since it was opened: \
                    close it before the state is saved";
    assert_eq!(error, expected);

    fs::write(&file, "contents").unwrap();
    let (reading, writing, elsewhere) =
        (saved("reading").unwrap(), saved("writing").unwrap(), saved("elsewhere").unwrap());
    assert_eq!(restore(data.path(), DirAccess::ReadOnly, &reading), "restored");
    assert_eq!(restore(data.path(), DirAccess::ReadWrite, &writing), "restored");
    let cannot = |reason: &str| {
        format!(
            "cannot open \"/data/file\" again, which is descriptor 3: {reason}; grant its directory as it was before"
        )
    };
    let refused = restore(data.path(), DirAccess::ReadOnly, &writing);
    assert_eq!(refused, cannot("Read-only file system (os error 30)"));
    let refused = Linux::builder().restore(&reading).unwrap_err().to_string();
    assert_eq!(refused, cannot("No such file or directory (os error 2)"));
    fs::remove_file(&file).unwrap();
    assert_eq!(restore(data.path(), DirAccess::ReadWrite, &writing), cannot("No such file or directory (os error 2)"));
    assert!(!file.exists(), "opening again makes nothing");
    fs::create_dir(&file).unwrap();
    assert_eq!(restore(data.path(), DirAccess::ReadWrite, &reading), cannot("Is a directory (os error 21)"));
    fs::remove_dir(&file).unwrap();
    std::os::unix::fs::symlink("sub", &file).unwrap();
    assert!(restore(data.path(), DirAccess::ReadWrite, &reading).starts_with("cannot open \"/data/file\" again"));

    fs::remove_dir(data.path().join("sub")).unwrap();
    let refused = restore(data.path(), DirAccess::ReadWrite, &elsewhere);
    assert!(refused.starts_with("the current directory \"/data/sub\" cannot be used: No such file"), "{refused}");

    let high = saved("high").unwrap();
    let builder = Linux::builder().dir(data.path(), "/data", DirAccess::ReadWrite).unwrap().max_descriptors(100);
    let refused = builder.restore(&high).unwrap_err().to_string();
    assert_eq!(refused, "descriptor 100 is open, but the limit is 100: raise it (`Builder::max_descriptors`)");
}

/// A guest restored from forged bytes is another guest, within the same grants.
#[test]
fn forged_bytes_are_an_error_or_another_guest() {
    let data = tempfile::tempdir().unwrap();
    for held in ["everything", "private", "sockets"] {
        check_forged(&data, held);
    }
}

fn check_forged(data: &tempfile::TempDir, held: &str) {
    let (machine, _) = holding(data.path(), held);
    let saved = machine.data().save().unwrap();
    let before = tree(data.path());
    let builder = || -> Builder { Linux::builder().dir(data.path(), "/data", DirAccess::ReadWrite).unwrap() };
    for len in 0..saved.len() {
        assert!(builder().restore(&saved[..len]).is_err(), "{len} bytes");
    }
    assert!(builder().restore(&[&saved[..], b"x"].concat()).is_err());
    let mut accepted = 0;
    for at in 0..saved.len() {
        for flip in [1, 2, 0x10, 0x80, 0xff] {
            let mut forged = saved.clone();
            forged[at] ^= flip;
            if let Ok(mut linux) = builder().restore(&forged) {
                accepted += 1;
                linux.reset().unwrap();
                let _ = linux.save();
            }
        }
    }
    assert!(accepted > 0);
    assert_eq!(tree(data.path()), before, "restoring changes no file");
    let version = Linux::builder().restore(&[&[77], &saved[1..]].concat()).unwrap_err().to_string();
    assert!(version.contains("has version 77, not "), "{version}");
}
