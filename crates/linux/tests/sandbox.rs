//! What a guest cannot do.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{Outcome, gcc, machine, run, run_logged, tree, try_run};
use riverrun::{CallLimits, Config, TrapCause};
use riverrun_linux::{Builder, Detail, DirAccess, DirOptions, Error, Linux};
use riverrun_testkit::processor_time;
use riverrun_testkit::suite::SuiteEngine;

const STATIC: &[&str] = &["-O1", "-static"];

fn limits(case: &str) -> Builder {
    Linux::builder().args(["limits", case])
}

fn mkfifo(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
}

#[test]
fn granted_directories_cannot_be_left_nor_changed_where_read_only() {
    let host = tempfile::tempdir().unwrap();
    let (data, read_only, secret) = (host.path().join("data"), host.path().join("ro"), host.path().join("secret"));
    for directory in [&data, &read_only, &secret, &read_only.join("sub")] {
        fs::create_dir(directory).unwrap();
    }
    for (path, text) in [(secret.join("file"), "SECRET"), (host.path().join("outside"), "SECRET")] {
        fs::write(path, text).unwrap();
    }
    fs::write(data.join("inside"), "inside").unwrap();
    fs::write(read_only.join("read"), "read").unwrap();
    symlink(secret.join("file"), data.join("absolute")).unwrap();
    symlink("../secret/file", data.join("upwards")).unwrap();
    symlink("../secret", data.join("through")).unwrap();
    symlink("../secret/new", data.join("dangling")).unwrap();
    symlink("/deep/er/read", data.join("into_guest")).unwrap();
    mkfifo(&data.join("fifo"));
    let before = [tree(&read_only), tree(&secret)];

    let builder = Linux::builder().args(["prowl"]);
    let builder = builder.dir(&data, "/data", DirAccess::ReadWrite).unwrap();
    let builder = builder.dir(&read_only, "/deep/er", DirAccess::ReadOnly).unwrap();
    let outcome = run(&gcc("prowl.c", STATIC), "", builder);
    fs::remove_file(data.join("fifo")).unwrap();

    assert!(!outcome.stdout.contains("SECRET"), "{}", outcome.stdout);
    assert_eq!(before, [tree(&read_only), tree(&secret)]);
    let mode = fs::metadata(data.join("setuid")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755, "no set-user-ID files");
    let expected = include_str!("guests/prowl.expected");
    assert_eq!(outcome, Outcome { status: 0, stdout: expected.to_owned(), stderr: String::new() });
}

#[test]
fn a_granted_root_is_the_guests_root() {
    let host = tempfile::tempdir().unwrap();
    fs::create_dir(host.path().join("data")).unwrap();
    fs::write(host.path().join("data/inside"), "inside").unwrap();
    let builder = Linux::builder().args(["prowl"]).dir(host.path(), "/", DirAccess::ReadOnly).unwrap();
    let outcome = run(&gcc("prowl.c", STATIC), "", builder);
    for line in ["/data/inside: inside", "/etc/passwd: No such file or directory", "/dev: . .. fd full null"] {
        assert!(outcome.stdout.contains(line), "{line}: {}", outcome.stdout);
    }
}

/// The lines of a guest's output that say what a call gave, as call and result.
fn results(stdout: &str) -> Vec<(&str, &str)> {
    stdout.lines().filter_map(|line| line.rsplit_once(" = ")).collect()
}

/// Every machine has these mounts.
#[test]
fn other_mounts_and_file_systems_of_the_kernel_are_not_part_of_a_granted_directory() {
    let program = gcc("reach.c", STATIC);
    let file = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
    fs::write(&file, "untouched").unwrap();
    fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
    let in_shm = format!("/host{}", file.path().display());
    let proc = ["/host/proc", "/host/proc/self/mem", "/host/proc/self/environ", "/host/proc/self/root/etc/passwd"];
    let others = ["/host/sys", "/host/sys/kernel", "/host/dev/pts", "/host/dev/pts/ptmx", "/host/dev/shm"];
    let reach = |paths: &[&str], options: DirOptions| {
        let args = ["reach"].iter().chain(paths).copied();
        let builder = Linux::builder().args(args).dir("/", "/host", options).unwrap();
        run_logged(&program, builder, Detail::Unknown)
    };
    let expect_refused = |(outcome, log): &(Outcome, String), paths: usize, reason: &str| {
        let results = results(&outcome.stdout);
        assert_eq!(results.len(), 23 * paths);
        for (call, result) in results {
            assert_eq!(result, "-1 Permission denied", "{call}: {}", outcome.stdout);
        }
        assert_eq!(log.matches(&format!("\"/host/proc\" is refused: {reason}\n")).count(), 1, "{log}");
    };
    let all: Vec<&str> = proc.into_iter().chain(others).chain([in_shm.as_str()]).collect();
    let reason = "it is in another mount than the granted directory";
    expect_refused(&reach(&all, DirAccess::ReadOnly.into()), all.len(), reason);
    let writable = [&proc[..], &[&in_shm]].concat();
    expect_refused(&reach(&writable, DirAccess::ReadWrite.into()), writable.len(), reason);
    assert_eq!(fs::read_to_string(&file).unwrap(), "untouched");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);

    // With other mounts, but never those of the kernel.
    let crossing = |access| DirOptions::new(access).crosses_mounts(true);
    let reason = "procfs is a file system of the kernel";
    expect_refused(&reach(&all[..8], crossing(DirAccess::ReadOnly)), 8, reason);
    expect_refused(&reach(&proc, crossing(DirAccess::ReadWrite)), proc.len(), reason);
    let (outcome, log) = reach(&[&in_shm], crossing(DirAccess::ReadOnly));
    for line in ["open(path, O_RDONLY) = 3", "stat(path, &st) = 0", "unlink(path) = -1 Read-only file system"] {
        assert!(outcome.stdout.contains(&format!("{line}\n")), "{line}: {}", outcome.stdout);
    }
    assert_eq!(log, "");
}

#[test]
fn special_files_cannot_be_opened_nor_devices_changed() {
    // The file system of `/dev` holds files, too; its devices are not for guests.
    let builder = Linux::builder().args(["device", "/host/null"]);
    let builder = builder.dir("/dev", "/host", DirAccess::ReadWrite).unwrap();
    let (outcome, log) = run_logged(&gcc("device.c", STATIC), builder, Detail::Unknown);
    assert_eq!(log, "\"/host/null\" is refused: it is a device\n");
    let results = results(&outcome.stdout);
    assert_eq!(results[0].1, "0");
    assert!(results[1..].iter().all(|(_, result)| *result == "-1 Permission denied"), "{}", outcome.stdout);

    let program = gcc("reach.c", STATIC);
    let host = tempfile::tempdir().unwrap();
    mkfifo(&host.path().join("fifo"));
    let _socket = std::os::unix::net::UnixListener::bind(host.path().join("socket")).unwrap();
    let builder = Linux::builder().args(["reach", "/data/fifo", "/data/socket"]);
    let builder = builder.dir(host.path(), "/data", DirAccess::ReadOnly).unwrap();
    let (outcome, log) = run_logged(&program, builder, Detail::Unknown);
    for (call, result) in self::results(&outcome.stdout) {
        assert!(!call.starts_with("open(") || result == "-1 Permission denied", "{call}: {result}");
    }
    let expected = "\"/data/fifo\" is refused: it is a FIFO\n\"/data/socket\" is refused: it is a socket\n";
    assert_eq!(log, expected);
}

#[test]
fn granted_directories_lie_within_each_other_and_stay_there() {
    let host = tempfile::tempdir().unwrap();
    let path = |name: &str| host.path().join(name);
    for directory in ["outer/git/hooks", "outer/other", "outer/many", "ro", "elsewhere"] {
        fs::create_dir_all(path(directory)).unwrap();
    }
    for file in ["outer/file", "outer/git/hooks/hidden", "ro/file", "elsewhere/secret"] {
        fs::write(path(file), "untouched").unwrap();
    }
    for n in 0..800 {
        fs::write(path("outer/many").join(format!("a file with a name of some length, {n}")), "").unwrap();
    }
    symlink("../elsewhere", path("outer/shadow")).unwrap();
    let mut builder = Linux::builder().args(["mounted"]).dir(path("outer"), "/w", DirAccess::ReadWrite).unwrap();
    for place in
        ["/w/git/hooks", "/w/new/deep/ro", "/w/shadow/ro", "/w/many/0/b", "/w/a/b/c", "/w/c/d/e", "/ro/x/y", "/ro"]
    {
        builder = builder.dir(path("ro"), place, DirAccess::ReadOnly).unwrap();
    }
    let outcome = run(&gcc("mounted.c", STATIC), "", builder);
    let expected = include_str!("guests/mounted.expected");
    assert_eq!(outcome, Outcome { status: 0, stdout: expected.to_owned(), stderr: String::new() });
    for file in ["outer/file", "outer/git/hooks/hidden", "ro/file", "elsewhere/secret"] {
        assert_eq!(fs::read_to_string(path(file)).unwrap(), "untouched");
    }
    assert_eq!(fs::read_dir(path("ro")).unwrap().count(), 1);
    // What the guest has made on the way to others is the host's.
    for made in ["outer/new/file", "outer/new/deep/more", "outer/a/b/way"] {
        assert!(path(made).symlink_metadata().is_ok(), "{made}");
    }
    for not_made in ["outer/c", "outer/many/0", "ro/x", "elsewhere/file"] {
        assert!(!path(not_made).exists(), "{not_made}");
    }
}

/// Names are not all that leads to a directory: some file systems do not tell `INNER` from `inner`.
#[test]
fn a_read_only_directory_stays_so_by_other_names() {
    let host = tempfile::tempdir().unwrap();
    let path = |name: &str| host.path().join(name);
    for directory in ["data/inner/sub", "data/other", "data/above/deep"] {
        fs::create_dir_all(path(directory)).unwrap();
    }
    for file in ["data/inner/file", "data/inner/sub/file", "data/above/deep/file"] {
        fs::write(path(file), "untouched").unwrap();
    }
    let before = tree(&path("data/inner/sub"));
    let mut builder = Linux::builder().args(["othername"]);
    for (directory, guest, access) in [
        ("data/inner", "/ro", DirAccess::ReadOnly),
        ("data", "/w", DirAccess::ReadWrite),
        ("data/above/deep", "/deep", DirAccess::ReadOnly),
        ("data/inner", "/w2", DirAccess::ReadWrite),
    ] {
        builder = builder.dir(path(directory), guest, access).unwrap();
    }
    let outcome = run(&gcc("othername.c", STATIC), "", builder);
    let expected = include_str!("guests/othername.expected");
    assert_eq!(outcome, Outcome { status: 0, stdout: expected.to_owned(), stderr: String::new() });
    assert_eq!(tree(&path("data/inner/sub")), before);
    assert_eq!(fs::read_to_string(path("data/elsewhere/deep/file")).unwrap(), "untouched");
}

#[test]
fn links_do_not_lead_out_of_a_granted_directory() {
    let host = tempfile::tempdir().unwrap();
    let data = host.path().join("data");
    fs::create_dir(&data).unwrap();
    symlink("/etc/shadow", data.join("absolute")).unwrap();
    let program = gcc("plant.c", STATIC);
    let builder = Linux::builder().args(["plant"]).dir(&data, "/w", DirAccess::ReadWrite).unwrap();
    let (outcome, log) = run_logged(&program, builder, Detail::Unknown);
    let expected = include_str!("guests/plant.expected");
    assert_eq!(outcome, Outcome { status: 0, stdout: expected.to_owned(), stderr: String::new() });
    let line = "\"/w/innocent\" is refused: the symbolic link leads out of the granted directory\n";
    assert!(log.starts_with(line), "{log}");

    let options = DirOptions::new(DirAccess::ReadWrite).outward_links(true);
    let builder = Linux::builder().args(["plant"]).dir(&data, "/w", options).unwrap();
    let outcome = run(&program, "", builder);
    assert!(outcome.stdout.starts_with("symlink(\"/etc/shadow\", \"/w/innocent\") = 0\n"), "{}", outcome.stdout);
}

#[test]
fn grants_are_checked() {
    let grant = |host: &str, guest: &str| Linux::builder().dir(host, guest, DirAccess::ReadOnly);
    let message = |result: Result<Builder, Error>| result.unwrap_err().to_string();
    assert!(message(grant("/no/such", "/data")).starts_with("cannot grant the directory /no/such: No such file"));
    let kernel = "cannot grant the directory /proc/self: procfs is a file system of the kernel";
    assert_eq!(message(grant("/proc/self", "/data")), kernel);
    for wrong in ["data", "", "/a/../b"] {
        assert!(message(grant("/", wrong)).contains("must be an absolute path"), "{wrong}");
    }
    let twice = grant("/tmp", "/data").unwrap().dir("/", "//data/.", DirAccess::ReadOnly);
    assert_eq!(message(twice), "the guest's name \"//data/.\" is granted twice");
}

#[test]
fn memory_is_limited() {
    let mut config = Config::new();
    config.memory_limit(64 << 20);
    let (result, outcome) = try_run(&config, &gcc("limits.c", STATIC), "", limits("memory"));
    assert_eq!(result.unwrap(), 0);
    let refused = "Cannot allocate memory after 40 to 63 MiB\n";
    assert!(outcome.stdout.starts_with(refused), "{outcome:?}");
    assert!(outcome.stdout.ends_with("= -1 Cannot allocate memory\n"), "{outcome:?}");
}

#[test]
fn memory_in_too_many_pieces_is_refused() {
    let outcome = run(&gcc("limits.c", STATIC), "", limits("regions"));
    let lines: Vec<_> = outcome.stdout.lines().map(|line| line.rsplit(" = ").next().unwrap()).collect();
    assert_eq!(lines, ["-1 File exists", "-1 Permission denied", "-1 Cannot allocate memory", "1"]);
}

/// A compiler in the guest must not think that its code could run.
#[test]
fn memory_is_not_made_executable() {
    let (outcome, log) = run_logged(&gcc("limits.c", STATIC), limits("executable"), Detail::Unknown);
    let results: Vec<_> = outcome.stdout.lines().map(|line| line.rsplit(" = ").next().unwrap()).collect();
    assert_eq!(results, [&["0"][..], &["-1 Permission denied"; 4]].concat(), "{}", outcome.stdout);
    assert_eq!(log, "code that a program makes or loads as it runs is not provided\n");
}

/// Nor must a program that changes its own code run on with what that was.
#[test]
fn changed_code_is_not_made_executable() {
    let program = gcc("own_text.c", STATIC);
    let made = |how: &str| Linux::builder().args(["own_text", how]);
    let (outcome, _) = run_logged(&program, made("same"), Detail::Unknown);
    let others = "hidden = 0\nexecutable = 0\n";
    assert_eq!(outcome.stdout, format!("writable = 0\nexecutable = 0\n{others}"));
    assert_eq!(outcome.status, 1);
    for (how, hidden) in [("changed", ""), ("hidden", "hidden = 0\n")] {
        let (outcome, log) = run_logged(&program, made(how), Detail::Unknown);
        assert_eq!(outcome.stdout, format!("writable = 0\n{hidden}executable = -1\n{others}"), "{how}");
        assert_eq!(log, "code that a program makes or loads as it runs is not provided\n", "{how}");
    }
    let (result, outcome) = try_run(&Config::new(), &program, "", made("flush"));
    let error = result.unwrap_err().to_string();
    assert!(error.contains("riscv_flush_icache: the program has changed its own code"), "{error}");
    assert_eq!(outcome.stdout, "writable = 0\n");
}

#[test]
fn descriptors_and_pipes_are_limited() {
    let outcome = run(&gcc("limits.c", STATIC), "", limits("descriptors"));
    assert!(outcome.stdout.starts_with("Too many open files after 253, the last 255\n"), "{}", outcome.stdout);
    let outcome = run(&gcc("limits.c", STATIC), "", limits("descriptors").max_descriptors(1024));
    let expected = "Too many open files after 1021, the last 1023\ndup(0) = -1 Too many open files\n\
        close(500) = 0\ndup(0) = 500\nclose_range(3, 2000, 0) = 0\n\
        Too many open files in system after 64 pipes\n";
    assert_eq!(outcome.stdout, expected);
}

#[test]
fn files_that_are_generated_count_as_private_ones() {
    let outcome = run(&gcc("limits.c", STATIC), "", limits("generated").max_private_files(16 << 10));
    let files = outcome.stdout.strip_prefix("Cannot allocate memory after ").unwrap().strip_suffix(" files\n").unwrap();
    assert!((1..32).contains(&files.parse::<u32>().unwrap()), "{files}");
}

#[test]
fn unknown_calls_are_refused_and_named_once() {
    let (outcome, log) = run_logged(&gcc("limits.c", STATIC), limits("unknown"), Detail::Unknown);
    assert_eq!(outcome.stdout.matches("= -1 Function not implemented\n").count(), 5, "{}", outcome.stdout);
    let expected = "system call bpf (280) is not provided\nsystem call io_uring_setup (425) is not provided\n\
        system call 4000 does not exist\nsystem call 18446744073709551615 does not exist\n";
    assert_eq!(log, expected);
}

#[test]
fn all_calls_are_logged_on_demand() {
    let (_, log) = run_logged(&gcc("limits.c", STATIC), limits("partial"), Detail::All);
    assert!(log.contains(" = -14 Bad address (os error 14)\n"), "{log}");
    assert!(log.ends_with("exit_group(0x0) ends the program\n"), "{log}");
}

#[test]
fn paths_are_logged_as_text() {
    let (_, log) = run_logged(&gcc("limits.c", STATIC), limits("opened"), Detail::All);
    let long = format!("\"{}\"...", "x".repeat(256));
    let paths =
        [r#""/not\nthere", 0x0, 0x0) = -2 "#, "0x8, 0x0, 0x0) = -14 ", &long, r#""/a", 0xffffffffffffff9c, "/b", "#];
    for path in paths {
        assert!(log.contains(&format!("(0xffffffffffffff9c, {path}")), "{path}: {log}");
    }
}

#[test]
fn a_buffer_that_ends_early_takes_what_fits() {
    let outcome = run(&gcc("limits.c", STATIC), "", limits("partial"));
    let results: Vec<_> = outcome.stdout.lines().map(|line| line.rsplit(" = ").next().unwrap()).collect();
    assert_eq!(results, ["96", "0", "-1 Bad address"]);
}

#[test]
fn seeds_and_virtual_time_make_runs_alike() {
    let program = gcc("limits.c", STATIC);
    let output = |seed| run(&program, "", limits("clocks").seed(Some(seed)).virtual_time(true)).stdout;
    let first = output(1);
    assert_eq!(first, output(1));
    let second = output(2);
    assert_eq!(first.lines().next(), second.lines().next());
    assert_ne!(first, second);
    assert!(first.starts_with("946684800.000") && first.contains(" to 946688400.000"), "{first}");
    let real = |seed| run(&program, "", limits("u").seed(Some(seed))).status;
    assert_eq!(real(1), 0);
}

/// The cause of the trap that ends this case.
fn trap(case: &str) -> TrapCause {
    let (result, outcome) = try_run(&Config::new(), &gcc("limits.c", STATIC), "", limits(case));
    result.expect_err(&format!("{outcome:?}")).trap().expect("a trap").cause
}

/// Compiled code has its own ways for some of these.
#[test]
fn blocks_of_memory_end_where_memory_does() {
    let program = gcc("blocks.c", &["-O2", "-static", "-fno-builtin"]);
    for case in [
        "c0x10000000",
        "c0x80000001",
        "c0xffffffffffffffff",
        "m0x10000000",
        "m0xffffffffffffff00",
        "f0x10000000",
        "f0x100000000",
        "f0xffffffffffffffff",
        "t31",
        "t64",
        "t4096",
        "n16",
        "n100",
    ] {
        let (result, outcome) = try_run(&Config::new(), &program, "", Linux::builder().args(["blocks", case]));
        let cause = result.expect_err(&format!("{case}: {outcome:?}")).trap().expect("a trap").cause;
        assert!(matches!(cause, TrapCause::LoadFault { .. } | TrapCause::StoreFault { .. }), "{case}: {cause:?}");
    }
    // What differs comes before what is not there.
    let (result, outcome) = try_run(&Config::new(), &program, "", Linux::builder().args(["blocks", "e1024"]));
    assert_eq!((result.unwrap(), outcome.stdout.as_str()), (0, "0\nunharmed\n"));
}

#[test]
fn fatal_signals_are_traps() {
    assert_eq!(trap("abort"), TrapCause::Signal { number: 6 });
    assert_eq!(trap("stop and terminate"), TrapCause::Signal { number: 15 });
}

#[test]
fn waiting_ends_with_the_deadline() {
    let mut machine = machine(&Config::new(), &gcc("limits.c", STATIC), limits("nap").build());
    let start = Instant::now();
    for _ in 0..2 {
        machine.set_deadline(Some(Instant::now() + Duration::from_millis(100)));
        let error = machine.run().unwrap_err();
        assert_eq!(error.trap().unwrap().cause, TrapCause::Deadline);
    }
    // It would take 1000 s.
    assert!((200..500_000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
}

#[test]
fn waiting_ends_with_an_interruption() {
    let mut machine = machine(&Config::new(), &gcc("limits.c", STATIC), limits("nap").build());
    let handle = machine.interrupt_handle();
    let start = Instant::now();
    let interrupter = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        handle.interrupt();
    });
    let error = machine.run().unwrap_err();
    assert_eq!(error.trap().unwrap().cause, TrapCause::Interrupted);
    assert!((100..500_000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    interrupter.join().unwrap();
}

#[test]
fn arguments_are_checked() {
    let start = |builder: Builder| {
        let engine = riverrun::Engine::new(Config::new().stack_size(64 << 10)).unwrap();
        let mut linker = riverrun::Linker::new(&engine);
        riverrun_linux::add_to_linker(&mut linker, |linux: &mut Linux| linux);
        let program = riverrun::Program::new(&engine, riverrun::doc::TINY).unwrap();
        let mut machine = linker.instantiate(&program, builder.build()).unwrap();
        riverrun_linux::start(&mut machine, |linux| linux).map(|()| machine.run().unwrap())
    };
    assert_eq!(start(Linux::builder().args(vec!["x"; 1000])).unwrap(), 42);
    let error = start(Linux::builder().args(vec!["x"; 2000])).unwrap_err();
    assert!(error.to_string().ends_with("the stack has room for 16368"), "{error}");
    let error = start(Linux::builder().env("A", "b\0c")).unwrap_err();
    assert_eq!(error.to_string(), "an argument or environment variable contains a zero byte: \"A=b\\0c\"");
}

#[test]
fn a_wait_that_nothing_can_end_ends_the_run() {
    let program = gcc("endless.c", STATIC);
    let run = |case: &str| {
        let mut machine = machine(&Config::new(), &program, Linux::builder().args(["endless", case]).build());
        // Only for a test that fails: none of these waits has a timeout.
        machine.set_deadline(Some(Instant::now() + Duration::from_secs(20)));
        machine.run()
    };
    let calls = ["futex", "read", "write", "rt_sigsuspend", "ppoll", "rt_sigtimedwait", "ppoll", "ppoll", "pselect6"];
    for (case, expected) in calls.into_iter().enumerate() {
        let error = run(&case.to_string()).unwrap_err();
        let cause = error.trap().unwrap().cause;
        assert!(matches!(cause, TrapCause::EndlessWait { call, .. } if call == expected), "{case}: {error}");
    }
    assert_eq!(run("9").unwrap(), 10);
}

#[test]
fn a_guest_cannot_split_its_memory_into_more_pieces_than_its_limit() {
    let outcome = run(&gcc("pieces.c", STATIC), "", limits("pieces"));
    assert_eq!(outcome.stdout, "2000 to 2047: Cannot allocate memory\n".repeat(3) + "news is seen\n");
    let mut config = Config::new();
    config.mapping_limit(3);
    let program =
        riverrun::Program::new(&riverrun::Engine::new(&config).unwrap(), fs::read(gcc("pieces.c", STATIC)).unwrap());
    let linker = riverrun::Linker::<()>::new(program.as_ref().unwrap().engine());
    let error = linker.instantiate(&program.unwrap(), ()).unwrap_err();
    assert!(matches!(error, riverrun::Error::Map(riverrun::MapError::Pieces)), "{error}");
}

/// A machine's data, and how many of the calls after the guest's first line are interrupted.
struct Interrupting {
    linux: Linux,
    handle: Option<riverrun::InterruptHandle>,
    output: riverrun_linux::Captured,
    text: String,
    interruptions: u32,
    /// How often the personality is asked for until the next one.
    ahead: u32,
}

impl Interrupting {
    /// What the guest has written so far.
    fn text(&mut self) -> &str {
        self.text += std::str::from_utf8(&self.output.take()).unwrap();
        &self.text
    }
}

/// By an interruption as by the deadline: the call looks for both at the same places.
#[test]
fn a_change_of_much_memory_stops_where_it_is_interrupted_and_goes_on_later() {
    // To change permissions takes no time to speak of: the stop is behind the call.
    let changes = [("0", 3, 3..=3), ("1", 3, 3..=3), ("2", 3, 1..=1), ("3", 3, 3..=3)];
    // What has been read of a file is not read again, however often it stops: once for each of 128 parts, and for what is
    // called beside.
    let reads = ["4", "5", "6"].map(|way| (way, 300, 128..=132));
    for (way, interruptions, stops_in_call) in changes.into_iter().chain(reads) {
        let output = riverrun_linux::Captured::default();
        let builder = Linux::builder().args(["release", way]).stdout(riverrun_linux::Output::writer(output.clone()));
        // Compiled code that is stopped outside of calls cannot go on.
        let program = fs::read(gcc("release.c", STATIC)).unwrap();
        let program = SuiteEngine::Interpreter.load(&Config::new(), program);
        let mut linker = riverrun::Linker::new(program.engine());
        riverrun_linux::add_to_linker(&mut linker, |data: &mut Interrupting| {
            if !data.text().is_empty() && data.interruptions != 0 && data.ahead != 0 {
                data.ahead -= 1;
                if data.ahead == 0 {
                    data.interruptions -= 1;
                    data.handle.as_ref().unwrap().interrupt();
                }
            }
            &mut data.linux
        });
        // At first behind the call that writes, and then as the next call begins.
        let (linux, text) = (builder.build(), String::new());
        let data = Interrupting { linux, handle: None, output, text, interruptions, ahead: 2 };
        let mut machine = linker.instantiate(&program, data).unwrap();
        machine.data_mut().handle = Some(machine.interrupt_handle());
        riverrun_linux::start(&mut machine, |data| &mut data.linux).unwrap();
        let mut stops = 0;
        while let Err(error) = machine.run() {
            assert_eq!(error.trap().map(|trap| trap.cause), Some(TrapCause::Interrupted), "{error}");
            stops += u32::from(machine.data_mut().text() == "filled\n");
            if stops == 100 {
                let snapshot = riverrun_linux::snapshot(&mut machine, |data| &mut data.linux).unwrap();
                riverrun_linux::reset(&mut machine, &snapshot, |data| &mut data.linux).unwrap();
            }
            machine.data_mut().ahead = 1;
        }
        assert_eq!(machine.data_mut().text(), "filled\ndone\n", "{way}");
        assert!(stops_in_call.contains(&stops), "{way}: {stops}");
    }
}

#[test]
fn changes_at_the_limits_of_memory_are_made_whole_or_not_at_all() {
    let mut config = Config::new();
    config.memory_limit(512 << 20);
    let (result, outcome) = try_run(&config, &gcc("atlimit.c", STATIC), "", Linux::builder().args(["atlimit"]));
    assert_eq!(outcome.stdout, include_str!("guests/atlimit.expected"), "{result:?}");
    assert_eq!(result.unwrap(), 0);
}

/// By as much as SECURITY.md promises. The processor's time is looked at, so that others who use the host do not count.
#[test]
fn a_guest_that_has_the_host_work_ends_with_its_time() {
    const LIMIT: Duration = Duration::from_millis(100);
    let beyond = LIMIT / 10 + Duration::from_millis(20);
    let host = tempfile::tempdir().unwrap();
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../../guest/include");
    let program = gcc("toil.c", &[STATIC, &[include]].concat());
    for &engine in SuiteEngine::ALL {
        let builder = Linux::builder().args(["toil"]).dir(host.path(), "/data", DirAccess::ReadWrite).unwrap();
        let program = engine.load(&Config::new(), fs::read(&program).unwrap());
        let mut linker = riverrun::Linker::new(program.engine());
        riverrun_linux::add_to_linker(&mut linker, |linux: &mut Linux| linux);
        linker.heap(&riverrun::HeapOptions::new()).unwrap();
        let mut machine = linker.instantiate(&program, builder.build()).unwrap();
        riverrun_linux::start(&mut machine, |linux| linux).unwrap();
        assert_eq!(machine.run().unwrap(), 0);
        let toil = machine.func::<(u64,), u64>("toil").unwrap();
        let at_once = CallLimits::new().timeout(Duration::ZERO);
        // The first error of a program takes longer, as names of its functions are looked for.
        toil.call_within(&mut machine, at_once, (1,)).unwrap_err();
        let mut call = |how: u64| {
            let before = processor_time();
            let result = toil.call_within(&mut machine, CallLimits::new().timeout(LIMIT), (how,));
            (result, processor_time() - before)
        };
        // What a call takes that does nothing.
        let (nothing, set_up) = call(0);
        assert_eq!(nothing.unwrap(), 0);
        for how in 1..=27 {
            let (result, time) = call(how);
            let error = result.expect_err("no system call fails");
            assert_eq!(error.trap().unwrap().cause, TrapCause::Deadline, "{engine:?}, {how}");
            assert!(time < LIMIT + beyond + set_up, "{engine:?}, {how}: {time:?}, and {set_up:?} for nothing");
        }
    }
}
