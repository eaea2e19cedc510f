//! Go programs do here what they do under qemu, and use the network by grant.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{machine_of, machine_on, qemu};
use riverrun::Config;
use riverrun_linux::{Captured, Linux, Output};
use riverrun_testkit::suite::{SuiteEngine, load_compiled_in_part};

fn go(source: &str) -> PathBuf {
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(source).with_extension("go-guest");
    let run = Command::new("go")
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/go"))
        .envs([("GOOS", "linux"), ("GOARCH", "riscv64"), ("CGO_ENABLED", "0")])
        .args(["build", "-o"])
        .arg(&output)
        .arg(source)
        .output()
        .unwrap_or_else(|error| panic!("cannot run go ({error}): apt install golang, 1.22 or newer"));
    assert!(run.status.success(), "go build {source}: {}", String::from_utf8_lossy(&run.stderr));
    output
}

#[test]
fn goroutines() {
    // It takes long to compile, and in the reference interpreter.
    let engine = SuiteEngine::Interpreter;
    let program = go("goroutines.go");
    let expected = qemu(&program, &["guest"], &[], "");
    for (seed, is_virtual) in [(None, false), (Some(1), true), (Some(2), false)] {
        let (stdout, stderr) = (Captured::default(), Captured::default());
        let builder = Linux::builder().args(["guest"]).seed(seed).virtual_time(is_virtual);
        let linux = builder.stdout(Output::writer(stdout.clone())).stderr(Output::writer(stderr.clone())).build();
        let mut machine = machine_on(engine, &Config::new(), &program, linux);
        machine.set_deadline(Some(Instant::now() + Duration::from_secs(120)));
        let result = machine.run();
        let text = |captured: Captured| String::from_utf8(captured.take()).unwrap();
        let what = format!("seed {seed:?}: {}", text(stderr));
        assert_eq!(text(stdout), expected.stdout, "{what}");
        assert_eq!(result.unwrap_or_else(|error| panic!("{error}: {what}")), expected.status, "{what}");
    }
}

#[test]
fn nil_pointers_are_panics() {
    let program = go("nil.go");
    for args in [&["guest"][..], &["guest", "unrecovered"]] {
        let expected = qemu(&program, args, &[], "");
        let (stdout, stderr) = (Captured::default(), Captured::default());
        let builder = Linux::builder().args(args.iter().copied());
        let linux = builder.stdout(Output::writer(stdout.clone())).stderr(Output::writer(stderr.clone())).build();
        let mut machine = machine_on(SuiteEngine::Interpreter, &Config::new(), &program, linux);
        machine.set_deadline(Some(Instant::now() + Duration::from_secs(120)));
        let status = machine.run().unwrap_or_else(|error| panic!("{error}"));
        let text = |captured: Captured| String::from_utf8(captured.take()).unwrap();
        assert_eq!((status, text(stdout)), (expected.status, expected.stdout), "{args:?}");
        let head = |text: &str| text.lines().take(2).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(head(&text(stderr)), head(&expected.stderr), "{args:?}");
    }
}

/// Go's runtime says so, not the personality: threads of its own still wait with a time.
#[test]
fn goroutines_that_all_wait_are_a_deadlock() {
    let program = go("deadlock.go");
    for args in [&["guest"][..], &["guest", "several"]] {
        let expected = qemu(&program, args, &[], "");
        assert_eq!((expected.status, &*expected.stdout), (2, "begins\n1\n"), "{expected:?}");
        for is_virtual in [false, true] {
            let (stdout, stderr) = (Captured::default(), Captured::default());
            let builder = Linux::builder().args(args.iter().copied()).virtual_time(is_virtual);
            let builder = builder.stdout(Output::writer(stdout.clone())).stderr(Output::writer(stderr.clone()));
            let mut machine = machine_on(SuiteEngine::Interpreter, &Config::new(), &program, builder.build());
            machine.set_deadline(Some(Instant::now() + Duration::from_secs(120)));
            let text = |captured: &Captured| String::from_utf8(captured.take()).unwrap();
            let status = machine.run().unwrap_or_else(|error| panic!("{args:?}: {error}: {}", text(&stderr)));
            assert_eq!((status, text(&stdout)), (2, expected.stdout.clone()), "{args:?}");
            // Traces are of the goroutines that wait, in the runtime's order.
            let head = |text: &str| text.lines().take(3).map(str::to_owned).collect::<Vec<_>>();
            let said = text(&stderr);
            assert!(said.starts_with("fatal error: all goroutines are asleep - deadlock!\n"), "{args:?}: {said}");
            assert_eq!(head(&said), head(&expected.stderr), "{args:?}");
        }
    }
}

/// Functions in Go have a convention of their own, by which compiled code must go, too. Compiled are the program's, and those
/// of the runtime that switch and move stacks, and handle signals; the whole runtime would take long.
#[test]
fn conventions_are_as_in_the_interpreter() {
    const COMPILED: [&str; 14] = [
        "main.",
        "runtime.asyncPreempt",
        "runtime.chan",
        "runtime.copystack",
        "runtime.execute",
        "runtime.go",
        "runtime.mcall",
        "runtime.morestack",
        "runtime.newstack",
        "runtime.park",
        "runtime.recovery",
        "runtime.schedule",
        "runtime.sig",
        "runtime.systemstack",
    ];
    let path = go("convention.go");
    let elf = std::fs::read(&path).unwrap();
    let interpreted = SuiteEngine::Interpreter.load(&Config::new(), &*elf);
    let compiled = load_compiled_in_part(&*elf, |image| {
        let chosen = image.symbols().filter(|symbol| COMPILED.iter().any(|start| symbol.name.starts_with(start)));
        chosen.map(|symbol| symbol.address..symbol.address + symbol.size).collect()
    });
    if let Some(compiled) = &compiled {
        assert!(compiled.compiled_options().unwrap().is_precise());
    }
    for args in [&["guest"][..], &["guest", "unrecovered"]] {
        let expected = qemu(&path, args, &[], "");
        for program in std::iter::once(&interpreted).chain(&compiled) {
            let stderr = Captured::default();
            let linux = Linux::builder().args(args.iter().copied()).stderr(Output::writer(stderr.clone())).build();
            let mut machine = machine_of(program, linux);
            machine.set_deadline(Some(Instant::now() + Duration::from_secs(120)));
            let status = machine.run().unwrap_or_else(|error| panic!("{error}"));
            let stderr = String::from_utf8(stderr.take()).unwrap();
            let what = format!("{args:?}, compiled: {}", program.is_compiled());
            assert_eq!((status, stderr), (expected.status, expected.stderr.clone()), "{what}");
        }
    }
}

/// What a server at this port answers, with its head.
fn get(port: u16, path: &str) -> String {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(connection, "GET {path} HTTP/1.1\r\nHost: guest\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn net_and_http_by_grant() {
    let program = go("network.go");
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().map(Result::unwrap) {
            let mut request = [0; 1000];
            let len = connection.read(&mut request).unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..len]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or("nothing");
            let _ = write!(connection, "HTTP/1.0 200 Fine\r\nContent-Length: {}\r\n\r\n{path}", path.len());
        }
    });
    let (stdout, stderr) = (Captured::default(), Captured::default());
    let builder = Linux::builder().args(["guest", &port.to_string(), "localhost"]);
    let builder = builder.connect(&format!("localhost:{port}")).unwrap().connect(&format!("127.0.0.1:{port}")).unwrap();
    let builder = builder.listen("0").unwrap().stdout(Output::writer(stdout.clone()));
    let linux = builder.stderr(Output::writer(stderr.clone())).build();
    let guest = std::thread::spawn(move || {
        let mut machine = machine_on(SuiteEngine::Interpreter, &Config::new(), &program, linux);
        machine.set_deadline(Some(Instant::now() + Duration::from_secs(120)));
        machine.run()
    });
    let mut text = String::new();
    while !text.contains("port ") {
        assert!(!guest.is_finished(), "{text}{}", String::from_utf8(stderr.take()).unwrap());
        std::thread::sleep(Duration::from_millis(5));
        text.push_str(&String::from_utf8(stdout.take()).unwrap());
    }
    let (before, own) = text.split_once("port ").unwrap();
    assert_eq!(before, "200 Fine /by-name\nHTTP/1.0 200 Fine <nil>\ntrue\ntrue\ntrue\n");
    let own: u16 = own.trim().parse().unwrap();
    let visitors = (0..8).map(|n| std::thread::spawn(move || get(own, &format!("/hello/{n}"))));
    for (n, visitor) in visitors.collect::<Vec<_>>().into_iter().enumerate() {
        let answer = visitor.join().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with(&format!("hello, {n}")), "{answer}");
    }
    assert!(get(own, "/end").ends_with("bye"));
    assert_eq!(guest.join().unwrap().unwrap(), 0);
    assert_eq!(String::from_utf8(stdout.take()).unwrap(), "8 visitors\n");
}
