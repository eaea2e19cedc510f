//! Locks on granted files hold against others: the host's other programs, for which this one stands, and machines.

use std::fs::{File, Permissions};
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use riverrun::{Config, Linker, LockKind, Machine, RangeLock, TrapCause, set_range_lock};
use riverrun_linux::{Builder, Captured, DirAccess, Linux, Output};
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use crate::common::{gcc, machine};

const AGAIN: &str = "Resource temporarily unavailable";
const BAD: &str = "Bad file descriptor";

/// A directory with a file, and another program that has it open.
struct Shared {
    directory: TempDir,
    other: File,
}

impl Shared {
    fn new() -> Shared {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("file"), [b'x'; 1000]).unwrap();
        let other = File::options().read(true).write(true).open(directory.path().join("file")).unwrap();
        Shared { directory, other }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// What the other program has of the bytes that guests lock.
    fn lock(&self, kind: LockKind) {
        self.try_for(Duration::from_secs(10), kind).unwrap();
    }

    fn try_lock(&self, kind: LockKind) -> std::io::Result<()> {
        self.try_for(Duration::from_millis(200), kind)
    }

    /// Tries for this long: a process that another test starts has all open files of this one, and so their locks, until it
    /// executes its program.
    fn try_for(&self, patience: Duration, kind: LockKind) -> std::io::Result<()> {
        let end = Instant::now() + patience;
        loop {
            match set_range_lock(self.other.as_fd(), RangeLock { kind, start: 105, last: 105 }) {
                Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < end => {
                    thread::sleep(Duration::from_millis(1));
                }
                tried => return tried,
            }
        }
    }

    fn is_free(&self) -> bool {
        let is_free = self.try_lock(LockKind::Exclusive).is_ok();
        self.lock(LockKind::Unlocked);
        is_free
    }
}

/// A guest that locks the file.
struct Guest {
    machine: Machine<Linux>,
    output: Captured,
}

impl Guest {
    fn new(shared: &Shared, access: DirAccess, actions: &str) -> Guest {
        Guest::of(Linux::builder().dir(shared.path(), "/data", access).unwrap(), actions)
    }

    fn of(builder: Builder, actions: &str) -> Guest {
        let output = Captured::default();
        let builder = builder.args(["locker"].into_iter().chain(actions.split(' ')));
        let linux = builder.stdout(Output::writer(output.clone())).build();
        let program = gcc("locker.c", &["-O2", "-static", "-Wall"]);
        Guest { machine: machine(&Config::new(), &program, linux), output }
    }

    /// All that it has written when it has ended.
    fn ends(mut self) -> String {
        self.end()
    }

    fn end(&mut self) -> String {
        self.machine.set_deadline(Some(Instant::now() + Duration::from_secs(60)));
        assert_eq!(self.machine.run().unwrap(), 0);
        self.written()
    }

    /// What it has written when this time is over; it must wait then.
    fn waits(&mut self, milliseconds: u64) -> String {
        self.machine.set_deadline(Some(Instant::now() + Duration::from_millis(milliseconds)));
        let error = self.machine.run().unwrap_err();
        assert_eq!(error.trap().unwrap().cause, TrapCause::Deadline);
        self.written()
    }

    /// Runs it until it has written this, and waits.
    fn waits_in(&mut self, text: &str) -> String {
        let mut seen = String::new();
        while !seen.contains(text) {
            seen.push_str(&self.waits(50));
        }
        seen
    }

    fn written(&self) -> String {
        String::from_utf8(self.output.take()).unwrap()
    }
}

/// What a guest with these actions writes, each beside its error.
fn run(shared: &Shared, access: DirAccess, actions: &str) -> String {
    Guest::new(shared, access, actions).ends()
}

#[test]
fn locks_of_others_keep_guests_out() {
    let shared = Shared::new();
    let run = |actions| run(&shared, DirAccess::ReadWrite, actions);
    shared.lock(LockKind::Exclusive);
    let expected = format!(
        "open:/data/file\nread\n{AGAIN}\nwrite\n{AGAIN}\nfile-read\n{AGAIN}\nfile-write\n{AGAIN}\n\
         get\ntype 1 whence 0 start 105 length 1 of -1\nshared\n"
    );
    assert_eq!(run("open:/data/file read write file-read file-write get shared"), expected);
    shared.lock(LockKind::Shared);
    assert_eq!(
        run("open:/data/file write get read"),
        format!("open:/data/file\nwrite\n{AGAIN}\nget\ntype 0 whence 0 start 105 length 1 of -1\nread\n")
    );
    flock(&shared.other, FlockOperation::LockShared).unwrap();
    assert_eq!(run("open:/data/file exclusive shared"), format!("open:/data/file\nexclusive\n{AGAIN}\nshared\n"));
    flock(&shared.other, FlockOperation::LockExclusive).unwrap();
    assert_eq!(run("open:/data/file shared"), format!("open:/data/file\nshared\n{AGAIN}\n"));
}

#[test]
fn a_directory_is_locked_as_a_file_is() {
    let shared = Shared::new();
    let directory = File::open(shared.path()).unwrap();
    flock(&directory, FlockOperation::LockExclusive).unwrap();
    let actions = "open-to-read:/data shared";
    assert_eq!(run(&shared, DirAccess::ReadWrite, actions), format!("open-to-read:/data\nshared\n{AGAIN}\n"));
    flock(&directory, FlockOperation::Unlock).unwrap();
    let actions = "open-to-read:/data exclusive";
    assert_eq!(run(&shared, DirAccess::ReadWrite, actions), "open-to-read:/data\nexclusive\n");
    assert_eq!(
        run(&shared, DirAccess::ReadOnly, &format!("{actions} shared")),
        format!("open-to-read:/data\nexclusive\n{BAD}\nshared\n")
    );
}

/// A guest that may not write has shared locks: it may be sure that nobody writes while it reads.
#[test]
fn a_directory_to_be_read_has_shared_locks_only() {
    let shared = Shared::new();
    let actions = "open-to-read:/data/file write wait-write file-write exclusive read file-read shared sleep";
    let mut guest = Guest::new(&shared, DirAccess::ReadOnly, actions);
    let expected = format!(
        "open-to-read:/data/file\nwrite\n{BAD}\nwait-write\n{BAD}\nfile-write\n{BAD}\nexclusive\n{BAD}\n\
         read\nfile-read\nshared\nsleep\n"
    );
    assert_eq!(guest.waits_in("sleep"), expected);
    assert!(!shared.is_free() && shared.try_lock(LockKind::Shared).is_ok());
    shared.lock(LockKind::Unlocked);
    flock(&shared.other, FlockOperation::NonBlockingLockExclusive).unwrap_err();
    flock(&shared.other, FlockOperation::NonBlockingLockShared).unwrap();
    drop(guest);
    flock(&shared.other, FlockOperation::NonBlockingLockExclusive).unwrap();
    assert!(shared.is_free());
}

/// A wait ends with the machine's time, and goes on in the next run.
#[test]
fn waits_for_locks_end_when_they_are_free_or_time_is_up() {
    let shared = Shared::new();
    for is_virtual in [false, true] {
        for action in ["wait-write", "wait-read", "file-wait"] {
            shared.lock(LockKind::Exclusive);
            let builder = Linux::builder().dir(shared.path(), "/data", DirAccess::ReadWrite).unwrap();
            let builder = builder.virtual_time(is_virtual);
            let mut guest = Guest::of(builder, &format!("open:/data/file {action} sleep"));
            assert_eq!(guest.waits_in(action), format!("open:/data/file\n{action}\n"));
            assert_eq!(guest.waits(20), "");
            shared.lock(LockKind::Unlocked);
            if is_virtual {
                assert_eq!(guest.end(), "sleep\n");
            } else {
                assert_eq!(guest.waits_in("sleep"), "sleep\n");
                assert!(!shared.is_free());
            }
        }
    }
    flock(&shared.other, FlockOperation::LockShared).unwrap();
    let mut guest = Guest::new(&shared, DirAccess::ReadWrite, "open:/data/file wait-exclusive");
    guest.waits_in("wait-exclusive");
    flock(&shared.other, FlockOperation::Unlock).unwrap();
    assert_eq!(guest.end(), "");
}

/// The guest waits within one run, and gets the lock while that lasts.
#[test]
fn a_guest_that_waits_gets_the_lock_from_another_thread() {
    let shared = Shared::new();
    shared.lock(LockKind::Exclusive);
    let guest = Guest::new(&shared, DirAccess::ReadWrite, "open:/data/file wait-write get");
    let output = guest.output.clone();
    let running = thread::spawn(move || guest.ends());
    let mut seen = String::new();
    while !seen.contains("wait-write\n") {
        assert!(!running.is_finished(), "it has ended: {seen}");
        thread::sleep(Duration::from_millis(1));
        seen.push_str(&String::from_utf8(output.take()).unwrap());
    }
    assert_eq!(seen, "open:/data/file\nwait-write\n");
    shared.lock(LockKind::Unlocked);
    assert_eq!(running.join().unwrap(), "get\n");
}

#[test]
fn the_process_loses_its_locks_with_any_descriptor_of_the_file() {
    let shared = Shared::new();
    // Descriptor 4 is of the same file, which the process has locked by 3.
    let open = "open-to-read:/data/file open:/data/file";
    for (actions, is_free) in [
        ("write sleep", false),
        ("write close:3 sleep", true),
        ("write close:4 sleep", true),
        ("write unlock sleep", true),
        ("file-write close:3 sleep", false),
        ("file-write close:4 sleep", true),
        // The guest's descriptor stands for one of the host's own that can no longer be opened.
        ("chmod write sleep", false),
        ("chmod write close:3 sleep", true),
    ] {
        let mut guest = Guest::new(&shared, DirAccess::ReadWrite, &format!("{open} {actions}"));
        guest.waits_in("sleep");
        assert_eq!(shared.is_free(), is_free, "{actions}");
        drop(guest);
        shared.other.set_permissions(Permissions::from_mode(0o600)).unwrap();
        assert!(shared.is_free(), "{actions}");
    }
}

/// A guest that has ended holds no locks, even if its machine is kept.
#[test]
fn locks_end_with_the_guest() {
    let shared = Shared::new();
    for action in ["write", "file-write", "exclusive"] {
        let mut guest = Guest::new(&shared, DirAccess::ReadWrite, &format!("open:/data/file {action}"));
        assert_eq!(guest.end(), format!("open:/data/file\n{action}\n"));
        assert!(shared.is_free());
        flock(&shared.other, FlockOperation::NonBlockingLockExclusive).unwrap();
        flock(&shared.other, FlockOperation::Unlock).unwrap();
    }
}

#[test]
fn machines_of_one_process_exclude_each_other() {
    let shared = Shared::new();
    for (action, refused) in
        [("write", "read"), ("file-write", "write"), ("write", "file-read"), ("shared", "exclusive")]
    {
        let mut one = Guest::new(&shared, DirAccess::ReadWrite, &format!("open:/data/file {action} sleep"));
        one.waits_in("sleep");
        let actions = format!("open:/data/file {refused}");
        assert_eq!(run(&shared, DirAccess::ReadWrite, &actions), format!("open:/data/file\n{refused}\n{AGAIN}\n"));
        drop(one);
        assert_eq!(run(&shared, DirAccess::ReadWrite, &actions), format!("open:/data/file\n{refused}\n"));
    }
}

/// A snapshot has no locks, but a wait for one goes on from it. A reset takes away what has been locked since, though the
/// open file itself stays; so does closing it.
#[test]
fn a_guest_that_goes_on_from_a_snapshot_holds_no_locks() {
    let shared = Shared::new();
    let builder = || Linux::builder().dir(shared.path(), "/data", DirAccess::ReadWrite).unwrap();
    let is_free = || {
        let is_free = shared.is_free() && flock(&shared.other, FlockOperation::NonBlockingLockExclusive).is_ok();
        flock(&shared.other, FlockOperation::Unlock).unwrap();
        is_free
    };
    for (action, ends) in [
        ("write", "sleep"),
        ("file-write", "sleep"),
        ("exclusive", "sleep"),
        ("write", "close:3 sleep"),
        ("file-write", "close:3 sleep"),
        ("exclusive", "close:3 sleep"),
    ] {
        shared.lock(LockKind::Exclusive);
        let actions = format!("unlock {action} {ends}");
        let mut guest = Guest::of(builder(), &format!("open:/data/file wait-write {actions}"));
        guest.waits_in("wait-write");
        let snapshot = riverrun_linux::snapshot(&mut guest.machine, |linux| linux).unwrap();
        drop(guest);

        let output = Captured::default();
        let linux = builder().stdout(Output::writer(output.clone())).restore_from(&snapshot).unwrap();
        let mut linker = Linker::new(snapshot.program().engine());
        riverrun_linux::add_to_linker(&mut linker, |linux: &mut Linux| linux);
        let mut guest = Guest { machine: linker.instantiate_from(&snapshot, linux).unwrap(), output };
        assert_eq!(guest.waits(50), "");
        for _ in 0..2 {
            shared.lock(LockKind::Unlocked);
            assert_eq!(guest.waits_in("sleep"), actions.replace(' ', "\n") + "\n");
            assert_eq!(is_free(), ends != "sleep", "{actions}");
            shared.lock(LockKind::Unlocked);
            riverrun_linux::reset(&mut guest.machine, &snapshot, |linux| linux).unwrap();
            assert!(is_free(), "{actions}");
        }
    }
}

/// The host's kernel keeps a record of each range.
#[test]
fn a_guest_cannot_lock_any_number_of_ranges() {
    let shared = Shared::new();
    let expected = "open:/data/file\nmany:1024\nmany:1025\nNo locks available\nmany:1024\n";
    assert_eq!(run(&shared, DirAccess::ReadWrite, "open:/data/file many:1024 many:1025 many:1024"), expected);
}

/// A wait for a private file that no other thread can end is an error, as others of the kind are.
#[test]
fn a_lock_that_nobody_can_release_is_an_endless_wait() {
    let actions = "open:/tmp/file wait-exclusive";
    let mut guest = Guest::of(Linux::builder(), &format!("make:/tmp/file exclusive {actions}"));
    let cause = guest.machine.run().unwrap_err().trap().unwrap().cause;
    assert!(matches!(cause, TrapCause::EndlessWait { call: "flock", .. }), "{cause}");
}
