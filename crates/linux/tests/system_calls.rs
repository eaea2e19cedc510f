//! System calls on files, sockets and the process do here what they do under qemu. No engine sees a difference.

use std::path::Path;

use crate::common::{
    Outcome, assert_same, compare_in_directory, compare_in_directory_on, gcc, qemu, run, run_on, tree,
};
use riverrun::Config;
use riverrun_linux::{Captured, Detail, DirAccess, Linux, Output};
use riverrun_testkit::suite::SuiteEngine;

const STATIC: &[&str] = &["-O2", "-static", "-Wall"];

#[test]
fn files() {
    let outcome = compare_in_directory(&gcc("files.c", STATIC), "");
    assert!(outcome.stdout.contains("many has 502 entries"), "{}", outcome.stdout);
}

/// Runs a program in a private directory here, and in one that is in memory by qemu.
fn compare_in_private(program: &Path, directory: &str) {
    let theirs = tempfile::tempdir_in("/dev/shm").unwrap();
    let mut outcome = run(program, "", Linux::builder().args(["guest", directory]));
    let mut expected = qemu(program, &["guest", theirs.path().to_str().unwrap()], &[], "");
    // The root, as whom qemu may run, may write to what no other user may.
    for Outcome { stdout, .. } in [&mut outcome, &mut expected] {
        let lines = stdout.lines().filter(|line| !line.starts_with("access(\"sub/up\", R_OK | W_OK) ="));
        *stdout = lines.map(|line| format!("{line}\n")).collect();
    }
    assert_same(&outcome, &expected);
}

#[test]
fn private_files() {
    for directory in ["/tmp/private", "/dev/shm/private"] {
        for program in ["private.c", "files.c", "rare.c", "details.c"] {
            compare_in_private(&gcc(program, STATIC), directory);
        }
    }
}

/// Slashes behind names and in links' targets, the sticky bit, sizes of pipes.
#[test]
fn names_end_in_slashes_and_modes_have_a_sticky_bit() {
    let program = gcc("slashes.c", STATIC);
    compare_in_directory(&program, "");
    compare_in_private(&program, "/tmp/private");
}

/// Which would take effect on the host.
#[test]
fn modes_have_no_bits_that_give_rights_away() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let private = run(&gcc("powers.c", STATIC), "", Linux::builder().args(["powers", "/tmp"]));
    let builder = Linux::builder().args(["powers", "/data"]).dir(folder.path(), "/data", DirAccess::ReadWrite).unwrap();
    let granted = run(&gcc("powers.c", STATIC), "", builder);
    let expected = "mkdir 1755\nopen 1644\nmknod 1644\nchmod 1711\nfchmod 1700\n";
    assert_eq!((&*private.stdout, &*granted.stdout), (expected, expected));
    let mode = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(["directory", "made", "opened"].map(mode), [0o1755, 0o1644, 0o1700]);
}

#[test]
fn files_without_names() {
    let program = gcc("memfd.c", STATIC);
    assert_same(&run(&program, "", Linux::builder().args(["memfd"])), &qemu(&program, &["memfd"], &[], ""));
}

#[test]
fn shared_mappings() {
    let program = gcc("shared.c", STATIC);
    compare_in_directory(&program, "");
    compare_in_private(&program, "/tmp/private");
}

/// FIFOs between the threads of a guest. One that no other thread can open is an error at once.
#[test]
fn fifos() {
    let program = gcc("fifo.c", STATIC);
    compare_in_private(&program, "/tmp/private");
    let builder = Linux::builder().args(["fifo", "/tmp/private", "alone"]);
    let (result, _) = crate::common::try_run(&Config::new(), &program, "", builder);
    let cause = result.unwrap_err().trap().expect("a trap").cause;
    assert!(matches!(cause, riverrun::TrapCause::EndlessWait { call: "openat", .. }), "{cause}");
}

/// A thread that waits for a FIFO waits for that one, whatever becomes of its name.
#[test]
fn fifos_that_are_waited_for_may_get_other_names() {
    let builder = Linux::builder().args(["fifo", "/tmp/private", "renamed"]).virtual_time(true);
    let expected = "chmod(\"fifo\", 0200) = 0\nrename(\"fifo\", \"moved\") = 0\n\
        open(\"fifo\", O_WRONLY | O_NONBLOCK) = -1 No such device or address\n\
        open(\"moved\", O_WRONLY) >= 0 = 1\nopen(name, O_RDONLY) >= 0 = 1\n";
    assert_eq!(run(&gcc("fifo.c", STATIC), "", builder).stdout, expected);
}

/// Where stores to one mapping would be missed in another, the second is refused by name.
#[test]
fn shared_mappings_that_would_miss_stores_are_refused() {
    let program = gcc("aliases.c", STATIC);
    let (outcome, log) = crate::common::run_logged(&program, Linux::builder().args(["aliases"]), Detail::Unknown);
    let expected = "second writer: No such device\nsecond reader: No such device\nother part: works\n\
                    two readers: work\nmade writable: Permission denied\nin its place: works\n";
    assert_eq!(outcome.stdout, expected);
    assert_eq!(log, "a shared mapping to be written to beside another one is not provided\n");
}

/// What `mapped.c` writes of this.
fn mapped(what: &str, builder: riverrun_linux::Builder) -> String {
    let outcome = run(&gcc("mapped.c", STATIC), "", builder.args(["mapped", what]));
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    outcome.stdout
}

#[test]
fn parts_of_shared_mappings_change_alone() {
    let program = gcc("mapped.c", STATIC);
    for what in ["parts", "moves"] {
        assert_eq!(mapped(what, Linux::builder()), qemu(&program, &["mapped", what], &[], "").stdout);
    }
}

#[test]
fn shared_mappings_end_where_files_do() {
    let expected = "last != MAP_FAILED = 1\n\
        mremap(last, PAGE, 2 * PAGE, MREMAP_MAYMOVE) = -1 Invalid argument\n\
        munmap(last, PAGE) = 0\n";
    assert_eq!(mapped("far", Linux::builder()), expected);
}

#[test]
fn stores_in_mappings_take_room_before_copies_do() {
    let mut config = Config::new();
    config.memory_limit(32 << 20);
    let (result, outcome) =
        crate::common::try_run(&config, &gcc("mapped.c", STATIC), "", Linux::builder().args(["mapped", "room"]));
    assert_eq!(result.unwrap(), 0);
    let expected = "mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) = -1 Cannot allocate memory\n\
        munmap(all, PAGES * PAGE) = 0\n\
        mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) != MAP_FAILED = 1\n";
    assert_eq!(outcome.stdout, expected);
}

/// Stores into holes for which there is no room can be given up.
#[test]
fn full_shared_mappings_go() {
    let expected = "msync(all, 4000 * PAGE, MS_SYNC) = -1 No space left on device\n\
        munmap(all, 2000 * PAGE) = 0\n\
        mmap(all + 2000 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == all + 2000 * PAGE = 1\n\
        munmap(all, 4000 * PAGE) = 0\n\
        ftruncate(fd, 0) = 0\n\
        pwrite(other, \"room\", 4, 0) = 4\n";
    assert_eq!(mapped("full", Linux::builder().max_private_files(3 << 20)), expected);
}

/// A mapping that would have more pieces than there may be mappings is not cut, as on Linux.
#[test]
fn shared_mappings_have_few_pieces() {
    let expected = "127 holes: Cannot allocate memory\n\
        mmap(middle, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) = -1 Cannot allocate memory\n\
        mremap(middle, PAGE, 2 * PAGE, MREMAP_MAYMOVE) = -1 Cannot allocate memory\n\
        mremap(other, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, middle) = -1 Cannot allocate memory\n\
        still m\n\
        munmap(all + 399 * PAGE, PAGE) = 0\n\
        munmap(all + (2 * holes + 1) * PAGE, (399 - 2 * holes - 1) * PAGE) = 0\n\
        map(fd, 1) == MAP_FAILED = 1\n\
        file: m\n";
    assert_eq!(mapped("pieces", Linux::builder()), expected);
}

#[test]
fn granted_directories_take_the_place_of_private_ones() {
    let program = gcc("private.c", STATIC);
    let host = tempfile::tempdir().unwrap();
    let granted = |at: &str, access: DirAccess| {
        let builder = Linux::builder().args(["guest", "/tmp/private"]).dir(host.path(), at, access).unwrap();
        run(&program, "", builder).status
    };
    assert_eq!(granted("/data", DirAccess::ReadWrite), 0);
    // A root that can only be read, and has nothing there.
    assert_eq!(granted("/", DirAccess::ReadOnly), 0);
    let tmp = host.path().join("tmp");
    std::fs::create_dir(&tmp).unwrap();
    assert_eq!(granted("/", DirAccess::ReadOnly), 0);
    std::fs::remove_dir(&tmp).unwrap();
    // A grant within is there beside private files.
    assert_eq!(granted("/tmp/host", DirAccess::ReadWrite), 0);
    assert_eq!(tree(host.path()), [""; 0]);
    std::fs::create_dir(&tmp).unwrap();
    std::fs::write(tmp.join("file"), "").unwrap();
    assert_eq!(granted("/", DirAccess::ReadOnly), 1);
    assert_eq!(granted("/tmp", DirAccess::ReadWrite), 0);
    assert!(host.path().join("private").is_dir());
}

#[test]
fn private_files_end_at_their_limit() {
    let program = gcc("private.c", STATIC);
    let outcome =
        run(&program, "", Linux::builder().args(["guest", "/tmp/private", "full"]).max_private_files(3 << 20));
    let end = "short 1, then -1 No space left on device\nmkdir: No space left on device\nftruncate(fd, 0) = 0\n\
               mkdir(\"beyond\", 0700) = 0\n";
    assert!(outcome.stdout.ends_with(end), "{}", outcome.stdout);
    // The machine's limit holds as well.
    let mut config = Config::new();
    config.memory_limit(16 << 20);
    let builder = Linux::builder().args(["guest", "/tmp/private", "full"]).max_private_files(1 << 40);
    let (result, outcome) = crate::common::try_run(&config, &program, "", builder);
    assert_eq!(result.unwrap(), 0);
    assert!(outcome.stdout.ends_with(end), "{}", outcome.stdout);
}

#[test]
fn controls_of_descriptors_of_every_kind() {
    let program = gcc("controls.c", STATIC);
    compare_in_directory(&program, "");
    let args = ["guest", ".", "sockets"];
    let builder = Linux::builder().args(args).connect("127.0.0.1:1").unwrap();
    assert_same(&run(&program, "", builder), &qemu(&program, &args, &[], ""));
}

#[test]
fn sizes_of_files() {
    let program = gcc("sizes.c", STATIC);
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let builder = Linux::builder().args(["guest", "/data"]).max_file_size(10_240);
    let outcome = run(&program, "", builder.dir(ours.path(), "/data", DirAccess::ReadWrite).unwrap());
    assert_same(&outcome, &qemu(&program, &["guest", theirs.path().to_str().unwrap()], &[], ""));
    assert_eq!(tree(ours.path()), tree(theirs.path()));
    assert_eq!(outcome.stdout.matches("signal 25").count(), 8, "{}", outcome.stdout);
}

#[test]
fn bad_pointers() {
    let outcome = compare_in_directory(&gcc("faults.c", STATIC), "");
    assert_eq!(outcome.stdout.matches("Bad address").count(), 39, "{}", outcome.stdout);
}

#[test]
fn streams() {
    let program = gcc("streams.c", STATIC);
    let input = "first line\n42 the rest\nof the input\n";
    let outcome = run(&program, input, Linux::builder().args(["streams"]));
    assert_same(&outcome, &qemu(&program, &["streams"], &[], input));
    assert_eq!(outcome.status, 3);
}

#[test]
fn pairs_of_sockets() {
    let program = gcc("pairs.c", STATIC);
    let outcome = run(&program, "", Linux::builder().args(["pairs"]));
    assert_same(&outcome, &qemu(&program, &["pairs"], &[], ""));
    assert!(outcome.stdout.contains("500000 bytes, sum 50750000\n"), "{outcome:?}");
}

#[test]
fn process() {
    let program = gcc("process.c", STATIC);
    let args = ["process", "one", "", "three words here"];
    let builder = Linux::builder().args(args).env("TEST_A", "value").env("TEST_B", "");
    let outcome = run(&program, "", builder);
    assert_same(&outcome, &qemu(&program, &args, &[("TEST_A", "value"), ("TEST_B", "")], ""));
    assert!(outcome.status == 44 && outcome.stdout.contains("argument 3: <three words here>"), "{outcome:?}");
}

#[test]
fn rare_calls() {
    compare_in_directory(&gcc("rare.c", STATIC), "");
}

#[test]
fn details_of_calls() {
    compare_in_directory(&gcc("details.c", STATIC), "");
}

/// Private files have no locks of processes.
#[test]
fn locks() {
    compare_in_directory(&gcc("locks.c", STATIC), "");
    for directory in ["/tmp/private", "/dev/shm/private"] {
        compare_in_private(&gcc("locks.c", &[STATIC, &["-DPRIVATE"]].concat()), directory);
    }
}

/// Programs make guards by other means where they are told that this advice is not known. Shared mappings may be asked for
/// by a type that refuses unknown flags. Text may be written to, but not run then.
#[test]
fn advice_and_flags_of_mappings() {
    let outcome = run(&gcc("details.c", STATIC), "", Linux::builder().args(["details", "/tmp/private", "advice"]));
    let results: Vec<&str> = outcome.stdout.lines().filter_map(|line| line.split(" = ").nth(1)).collect();
    const DENIED: &str = "-1 Permission denied";
    const INVALID: &str = "-1 Invalid argument";
    assert_eq!(results, ["0", DENIED, "0", DENIED, "0", "0", INVALID, INVALID, INVALID, "0", "0", "1"]);
    assert!(outcome.stdout.contains("\ndropped: 1\n") && outcome.stdout.ends_with("\nm\n"), "{}", outcome.stdout);
}

/// What is not there is named in the log, and fails at once.
#[test]
fn absent_calls_are_named() {
    let program = gcc("rare.c", STATIC);
    let directory = tempfile::tempdir().unwrap();
    let builder = Linux::builder().args(["guest", "/data", "absent"]);
    let builder = builder.dir(directory.path(), "/data", DirAccess::ReadWrite).unwrap();
    let (outcome, log) = crate::common::run_logged(&program, builder, Detail::Unknown);
    let end: Vec<&str> = outcome.stdout.lines().skip_while(|line| !line.starts_with("setxattr")).collect();
    let expected = [
        "setxattr(\"plain\", \"user.name\", \"value\", 5, 0) = -1 Operation not supported",
        "getxattr(\"plain\", \"user.name\", text, sizeof text) = -1 Operation not supported",
        "mkfifo(\"fifo\", 0600) = -1 Function not implemented",
        "mknod(\"device\", S_IFCHR | 0600, makedev(1, 3)) = -1 Operation not permitted",
        "setuid(4) = -1 Operation not permitted",
        "setgroups(0, NULL) = -1 Operation not permitted",
        "setpriority(PRIO_PROCESS, 0, -5) = -1 Permission denied",
        "syscall(SYS_userfaultfd, 0) = -1 Function not implemented",
        "syscall(SYS_inotify_init1, 0) = -1 Function not implemented",
        "vfork() = -1 Function not implemented",
        "fork() = -1 Function not implemented",
        "execl(\"/bin/true\", \"true\", NULL) = -1 Function not implemented",
    ];
    assert_eq!(end, expected);
    for name in [
        "a FIFO with a name in a directory of the host",
        "userfaultfd",
        "inotify_init1",
        "clone of a process",
        "execve",
    ] {
        assert!(log.contains(name), "{name}: {log}");
    }
}

#[test]
fn programs_read_of_themselves() {
    let program = gcc("proc.c", STATIC);
    let args = ["/bin/proc", "two words"];
    let outcome = run(&program, "input", Linux::builder().args(args).env("A", "value"));
    assert_same(&outcome, &qemu(&program, &args, &[("A", "value")], "input"));
    let all = run(&program, "input", Linux::builder().args(["proc", "", "all"])).stdout;
    assert!(all.contains("threads: 2 2\n") && all.contains("state: R\nwrite: 1\n"), "{all}");
    assert!(outcome.stdout.contains("cmdline: 20 /bin/proc two words\nenviron: 8 A=value\n"), "{outcome:?}");
}

#[test]
fn hosts_give_files_as_bytes() {
    use riverrun_linux::DirAccess;

    let program = gcc("given.c", STATIC);
    let expected = "in /data\n100444, 13 bytes\n6: hello,, then 8, 5: world\nmapped: <ello,  w\nwrite: 13\ntruncate: 13\n\
                    unlink: 16\nrename: 16\nchmod: 13\nexecute: 13\n";
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("greeting"), "the host's").unwrap();
    // Alone, in a directory that the host has not, and in place of a file of the host.
    for path in ["/data/greeting", "/data/more/deep/greeting"] {
        for is_granted in [false, true] {
            let builder = Linux::builder().args(["given", path.strip_prefix("/data/").unwrap()]);
            let builder = builder.file(path, *b"hello,  world").unwrap().current_dir("/data").unwrap();
            let builder = match is_granted {
                true => builder.dir(data.path(), "/data", DirAccess::ReadWrite).unwrap(),
                false => builder,
            };
            let outcome = run(&program, "", builder);
            assert_eq!((outcome.stdout.as_str(), outcome.status), (expected, 2), "{path}, {is_granted}");
        }
    }
    assert_eq!(std::fs::read_to_string(data.path().join("greeting")).unwrap(), "the host's");

    let builder = Linux::builder().file("/etc/a", *b"1").unwrap();
    let message = |builder: Result<riverrun_linux::Builder, riverrun_linux::Error>| builder.unwrap_err().to_string();
    assert!(message(builder.file("/etc/a/b", *b"2")).contains("/etc/a/b"));
    assert!(message(Linux::builder().file("etc", *b"")).contains("etc"));
}

#[test]
fn descriptors_of_processes() {
    for &engine in SuiteEngine::ALL {
        compare_in_directory_on(engine, &gcc("pidfd.c", STATIC), "");
    }
}

#[test]
fn holes_of_mapped_files() {
    compare_in_directory(&gcc("holes.c", STATIC), "");
}

#[test]
fn descriptors_in_messages() {
    for &engine in SuiteEngine::ALL {
        compare_in_directory_on(engine, &gcc("rights.c", STATIC), "");
    }
}

#[test]
fn descriptors_in_messages_are_limited_and_cannot_be_saved() {
    SuiteEngine::ALL.iter().for_each(|&engine| check_limits_of_descriptors_in_messages(engine));
}

fn check_limits_of_descriptors_in_messages(engine: SuiteEngine) {
    let output = Captured::default();
    let builder = Linux::builder().args(["rights"]).max_descriptors(20).stdout(Output::writer(output.clone()));
    let expected = "socketpair(AF_UNIX, SOCK_STREAM, 0, pair) = 0\n\
        give(pair[0], \"two\", (int[]){null, null}, 2) = 3\n\
        3 <two>, 1 descriptors, 20 bytes of control, flags 0x8\n\
        take(pair[1], 20, CMSG_LEN(sizeof(int)), 0, got) = 1\n\
        give(pair[0], \"x\", pair, 1) = -1 Operation not supported\n\
        20, then Too many references: cannot splice\n\
        1 <x>, 1 descriptors, 24 bytes of control, flags 0\n\
        take(pair[1], 20, 64, 0, got) = 1\n\
        give(pair[0], \"x\", &null, 1) = 1\n\
        give(pair[0], \"x\", &null, 1) = -1 Too many references: cannot splice\n\
        sendmsg(pair[0], &message, 0) = -1 Invalid argument\n\
        sendmsg(pair[0], &message, 0) = -1 Invalid argument\n\
        sendmsg(pair[0], &message, 0) = -1 No buffer space available\n";
    let mut machine = crate::common::machine_on(engine, &Config::new(), &gcc("rights.c", STATIC), builder.build());
    assert_eq!(machine.run().unwrap(), 0);
    assert_eq!(String::from_utf8(output.take()).unwrap(), expected);
    let error = machine.data().save().unwrap_err().to_string();
    assert!(error.contains("has messages with descriptors, which cannot be saved"), "{error}");
}

#[test]
fn local_sockets_with_names() {
    let program = gcc("local.c", STATIC);
    let theirs = tempfile::tempdir_in("/dev/shm").unwrap();
    let expected = qemu(&program, &["guest", theirs.path().to_str().unwrap()], &[], "");
    assert!(expected.stdout.ends_with("receive(datagrams, 0) = 5\n"), "{expected:?}");
    for &engine in SuiteEngine::ALL {
        let builder = Linux::builder().args(["guest", "/tmp/private"]);
        assert_same(&run_on(engine, &program, "", builder), &expected);
    }
}

/// A call that no other thread can end is an error at once.
#[test]
fn waits_for_local_sockets_that_nobody_can_end() {
    let program = gcc("local.c", STATIC);
    for &engine in SuiteEngine::ALL {
        for what in ["accept", "connect"] {
            let builder = Linux::builder().args(["local", "/tmp/private", what]);
            let (result, outcome) = crate::common::try_run_on(engine, &Config::new(), &program, "", builder);
            let cause = result.expect_err(&format!("{outcome:?}")).trap().expect("a trap").cause;
            let is_it = matches!(cause, riverrun::TrapCause::EndlessWait { call, .. } if call == what);
            assert!(is_it, "{engine:?}, {what}: {cause}");
        }
    }
}

const REFUSED_LOCAL: &str = "\
bind(fd, NAMED(\"/data/new\")) = -1 Operation not permitted
bind(fd, NAMED(\"/data/socket\")) = -1 Address already in use
bind(fd, NAMED(\"/fixed/new\")) = -1 Read-only file system
bind(fd, NAMED(\"/data/nowhere/new\")) = -1 No such file or directory
connect(fd, NAMED(\"/data/socket\")) = -1 Permission denied
connect(fd, NAMED(\"/data/new\")) = -1 No such file or directory
connect(fd, NAMED(\"/data\")) = -1 Connection refused
connect(fd, NAMED(\"/proc/self/exe\")) = -1 Connection refused
sendto(datagrams, \"x\", 1, 0, NAMED(\"/data/datagrams\")) = -1 Permission denied
mknod(\"/data/new\", S_IFSOCK | 0600, 0) = -1 Function not implemented
bind(fd, NAMED(\"/dev/null\")) = -1 Address already in use
socketpair(AF_UNIX, SOCK_STREAM, 0, pair) = 0
sendmsg(pair[0], &message, 0) = -1 Operation not supported
30, then Too many open files in system
close(server) = 0
socketpair(AF_UNIX, SOCK_STREAM, 0, pair) = 0
";

/// Neither does a guest reach sockets of the host, nor does it make one in a granted directory.
#[test]
fn local_sockets_are_the_guests_own() {
    use std::os::unix::net::{UnixDatagram, UnixListener};

    let (data, fixed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let listener = UnixListener::bind(data.path().join("socket")).unwrap();
    let datagrams = UnixDatagram::bind(data.path().join("datagrams")).unwrap();
    let before = std::fs::read_dir(data.path()).unwrap().count();
    for &engine in SuiteEngine::ALL {
        let builder = Linux::builder().args(["local", "/tmp/private", "refused"]);
        let builder = builder.dir(data.path(), "/data", DirAccess::ReadWrite).unwrap();
        let builder = builder.dir(fixed.path(), "/fixed", DirAccess::ReadOnly).unwrap();
        let (outcome, log) = crate::common::run_logged_on(engine, &gcc("local.c", STATIC), builder, Detail::Unknown);
        assert_eq!(outcome.stdout, REFUSED_LOCAL, "{engine:?}");
        for line in [
            "\"/data/new\" is refused: sockets have names in the private /tmp and /dev/shm, not in a directory of the host\n",
            "\"/data/socket\" is refused: it is a socket\n",
            "\"/data/datagrams\" is refused: it is a socket\n",
            "a socket with a name in a directory of the host is not provided\n",
            "sending a local socket (AF_UNIX) in a message (SCM_RIGHTS) is not provided\n",
        ] {
            assert!(log.contains(line), "{line}{log}");
        }
    }
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), before);
    for is_nonblocking in [listener.set_nonblocking(true), datagrams.set_nonblocking(true)] {
        is_nonblocking.unwrap();
    }
    assert!(listener.accept().is_err() && datagrams.recv(&mut [0; 10]).is_err());
}

#[test]
fn many_messages_by_one_call() {
    let program = gcc("mmsg.c", STATIC);
    let expected = qemu(&program, &["mmsg"], &[], "");
    assert!(expected.stdout.contains("300000 bytes, in order: 1\n"), "{expected:?}");
    for &engine in SuiteEngine::ALL {
        assert_same(&run_on(engine, &program, "", Linux::builder().args(["mmsg"])), &expected);
        let timeouts = run_on(engine, &program, "", Linux::builder().args(["mmsg", "timeouts"]));
        let expected = "recvmmsg(pair[1], messages, 1, 0, &span) = 1\nleft: 1\n\
            recvmmsg(pair[1], messages, 2, 0, &span) = 1\nleft: 0 0\n\
            recvmmsg(pair[1], messages, 2, 0, &span) = -1 Resource temporarily unavailable\n\
            recvmmsg(pair[1], messages, 2, 0, &span) = 1\n\
            recvmmsg(pair[1], messages, 2, 0, &span) = -1 Invalid argument\n\
            recvmmsg(pair[1], messages, 2, 0, (struct timespec *)8) = -1 Bad address\n";
        assert_eq!(timeouts.stdout, expected, "{engine:?}");
    }
}
