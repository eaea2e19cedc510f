//! Standard streams that others share, or that have no other end: terminals, pipes, sockets, files.

use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::{Ended, Folder, command};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// A terminal: the side that a person is at, and the one that programs have.
fn terminal() -> (OwnedFd, OwnedFd) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap();
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
    let program = rustix::fs::open(&name, flags, rustix::fs::Mode::empty()).unwrap();
    (person, program)
}

/// A pipe: where to read, and where to write.
fn pipe() -> (OwnedFd, OwnedFd) {
    let (reader, writer) = std::io::pipe().unwrap();
    (reader.into(), writer.into())
}

fn sockets() -> (OwnedFd, OwnedFd) {
    let (one, other) = UnixStream::pair().unwrap();
    (one.into(), other.into())
}

/// Two ends: what is written to the second can be read from the first.
type Ends = fn() -> (OwnedFd, OwnedFd);

const KINDS: [(&str, Ends); 3] = [("terminal", terminal), ("pipe", pipe), ("socket", sockets)];

/// What a run may take whose limit is 0.3 s, on a machine with other things to do.
const PATIENCE: Duration = Duration::from_secs(5);

#[test]
fn a_time_limit_holds_where_nobody_reads() {
    let folder = Folder::new();
    let guest = folder.guest("streams.c", &[]);
    for (kind, ends) in KINDS {
        for how in ["blocks", "words", "lines", "vectors", "sendfile", "stdio"] {
            let (_unread, output) = ends();
            let mut child = command(args!["run", "--timeout", "300ms", guest, how]);
            let start = Instant::now();
            let mut child = child.stdin(Stdio::null()).stdout(output).stderr(Stdio::null()).spawn().unwrap();
            let status = loop {
                match child.try_wait().unwrap() {
                    Some(status) => break status.code(),
                    None if start.elapsed() > PATIENCE => {
                        child.kill().unwrap();
                        panic!("{how} to a {kind} does not end");
                    }
                    None => std::thread::sleep(Duration::from_millis(5)),
                }
            };
            assert_eq!(status, Some(124), "{how} to a {kind}");
        }
    }
}

#[test]
fn a_time_limit_holds_where_nobody_writes() {
    let folder = Folder::new();
    let guest = folder.guest("streams.c", &[]);
    for (kind, ends) in KINDS {
        // A terminal's program reads what the person writes.
        let (unwritten, input) = if kind == "terminal" { terminal() } else { ends_swapped(ends()) };
        let start = Instant::now();
        let mut run = command(args!["run", "--timeout", "300ms", guest, "read"]);
        let status = run.stdin(input).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(124), "{kind}");
        assert!(start.elapsed() < PATIENCE, "{kind}: {:?}", start.elapsed());
        drop(unwritten);
    }
}

fn ends_swapped((reader, writer): (OwnedFd, OwnedFd)) -> (OwnedFd, OwnedFd) {
    (writer, reader)
}

#[test]
fn guests_can_ask_how_much_there_is_to_read() {
    let folder = Folder::new();
    let guest = folder.guest("streams.c", &[]);
    let file = folder.file("input", "hello\n");
    let inputs = KINDS.map(|(kind, ends)| {
        // A terminal's program reads what the person writes.
        let (writer, input) = if kind == "terminal" { terminal() } else { ends_swapped(ends()) };
        rustix::io::write(&writer, b"hello\n").unwrap();
        (kind, Stdio::from(input), Some(writer))
    });
    let inputs = inputs.into_iter().chain([("file", Stdio::from(File::open(file).unwrap()), None)]);
    for (kind, input, _writer) in inputs {
        let mut run = command(args!["run", guest, "available"]);
        let output = run.stdin(input).stderr(File::create("/dev/null").unwrap()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text, "0 6\n0 4\n-1 Inappropriate ioctl for device\n", "{kind}");
    }
}

#[test]
fn guests_notice_that_the_other_end_is_gone() {
    let folder = Folder::new();
    let guest = folder.guest("streams.c", &[]);
    let mut run = command(args!["run", "--timeout", "20s", guest, "gone"]);
    let run = run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = run.spawn().unwrap();
    let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut lines = |count: usize| {
        let mut text = String::new();
        for _ in 0..count {
            said.read_line(&mut text).unwrap();
        }
        text
    };
    assert_eq!(lines(1), "poll 0\n");
    drop(child.stdin.take());
    assert_eq!(lines(4), "poll 1\n0x10\nread 0\npoll 0\n");
    drop(child.stdout.take());
    assert_eq!(lines(2), "poll 1\n0x8\n");
    assert!(child.wait().unwrap().success());
}

/// Calls take all that they are given, also where the reader is slow, and the stream stays as it was for others.
#[test]
fn all_output_arrives_at_a_slow_reader() {
    const BYTES: usize = 300_001;
    let folder = Folder::new();
    let guest = folder.guest("streams.c", &[]);
    for (kind, ends) in KINDS {
        let (reader, output) = ends();
        let others = output.try_clone().unwrap();
        let before = rustix::fs::fcntl_getfl(&others).unwrap();
        let mut run = command(args!["run", "--timeout", "20s", guest, "count", BYTES.to_string()]);
        let mut child = run.stdin(Stdio::null()).stdout(output).spawn().unwrap();
        drop(run);
        let (mut reader, mut seen) = (File::from(reader), vec![0; 1]);
        reader.read_exact(&mut seen).unwrap();
        assert_eq!(rustix::fs::fcntl_getfl(&others).unwrap(), before, "{kind}");
        drop(others);
        let mut part = [0; 5000];
        // A terminal whose programs are gone is an error.
        while let Ok(len @ 1..) = reader.read(&mut part) {
            seen.extend(&part[..len]);
            std::thread::sleep(Duration::from_micros(200));
        }
        assert_eq!(child.wait().unwrap().code(), Some(0), "{kind}");
        // A terminal makes two characters of each end of a line.
        let text = String::from_utf8(seen).unwrap().replace('\r', "");
        assert_eq!(text.len(), BYTES, "{kind}");
        // Each piece begins the pattern anew.
        assert!(text.starts_with("0012345601234567"), "{kind}: {}", &text[..16]);
    }
}

/// A thread that writes to a full stream lets the others run.
#[test]
fn threads_run_beside_one_whose_output_nobody_reads_yet() {
    const BYTES: usize = 16 * (64 << 10);
    let folder = Folder::new();
    let guest = folder.guest("streams.c", &[]);
    for (kind, ends) in KINDS {
        let (reader, output) = ends();
        let mut run = command(args!["run", "--timeout", "20s", guest, "beside"]);
        let mut child = run.stdin(Stdio::null()).stdout(output).stderr(Stdio::piped()).spawn().unwrap();
        drop(run);
        let lines = std::io::BufReader::new(child.stderr.take().unwrap()).lines();
        let lines: Vec<_> = lines.take(5).map_while(Result::ok).collect();
        assert_eq!(lines, ["0", "1", "2", "3", "4"], "{kind}");
        let (mut reader, mut part, mut total) = (File::from(reader), [0; 5000], 0);
        while let Ok(len @ 1..) = reader.read(&mut part) {
            total += len;
        }
        assert_eq!(child.wait().unwrap().code(), Some(0), "{kind}");
        assert_eq!(total, BYTES, "{kind}");
    }
}

#[test]
fn input_ends_where_writers_are_gone() {
    let folder = Folder::new();
    let guest = folder.guest("echo.c", &[]);
    for (kind, ends) in [("pipe", pipe as Ends), ("socket", sockets)] {
        let (input, writer) = ends();
        let mut writer = File::from(writer);
        writer.write_all(b"some words\n").unwrap();
        drop(writer);
        let output = command(args!["run", "--timeout", "20s", guest]).stdin(input).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "some words\n", "{kind}");
        assert_eq!(output.status.code(), Some(0), "{kind}");
    }
}

/// A log that several programs write to.
#[test]
fn a_file_as_output_is_only_appended_to() {
    let folder = Folder::new();
    let guest = folder.guest("streams.c", &[]);
    let log = folder.file("log", "written by others\n");
    let input = folder.file("input", "0123456789");
    let output = File::options().append(true).open(&log).unwrap();
    let mut run = command(args!["run", guest, "positions"]);
    let output = run.stdin(File::open(input).unwrap()).stdout(output).output().unwrap();
    let expected = "lseek -1 Illegal seek\npwrite -1 Illegal seek\npwritev -1 Illegal seek\n\
        ftruncate -1 Invalid argument\nfallocate -1 Invalid argument\nwrite 9\npread 4 1234\nlseek 2\nread 4 2345\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
    assert_eq!(std::fs::read_to_string(log).unwrap(), "written by others\nappended\n");
}

/// A process that writes more than its own limit lets it is ended by a signal: that is the guest's affair.
#[test]
fn the_hosts_limit_on_files_ends_the_guest_and_not_the_host() {
    let folder = Folder::new();
    let guest = folder.guest("streams.c", &[]);
    let output = folder.path().join("output");
    let limited = |limits: &str, options: &[&str]| {
        let run = command([&["run"], options, &[guest.to_str().unwrap(), "blocks"]].concat());
        let mut shell = std::process::Command::new("sh");
        shell.arg("-c").arg(format!("{limits} exec \"$0\" \"$@\"")).arg(run.get_program()).args(run.get_args());
        Ended::from(shell.stdin(Stdio::null()).stdout(File::create(&output).unwrap()).output().unwrap())
    };
    // The command itself needs room for the program's image.
    for (limits, options, size) in [("ulimit -f 4096;", &[][..], 2 << 20), ("", &["--file-size", "8K"], 8192)] {
        limited(limits, options).expect(134, &["signal 25"]);
        assert_eq!(std::fs::metadata(&output).unwrap().len(), size);
    }
}
