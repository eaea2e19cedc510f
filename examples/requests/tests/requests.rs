//! Requests are answered as by native code, see nothing of each other, and do not harm the server, on every engine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use riverrun_requests::load::{self, Amount};
use riverrun_requests::{BODY_MAX, Handler, Limits, Native, Plugin, serve};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// No limit that a loaded host would meet.
const PATIENT: Limits = Limits { fuel: 5_000_000, time: Duration::from_secs(60) };

/// The plugin on each engine that this build has.
static PLUGINS: LazyLock<Vec<(&str, Plugin)>> = LazyLock::new(|| {
    let mut plugins = vec![("interpreted", Plugin::new(false, PATIENT).unwrap())];
    if cfg!(feature = "compile") {
        plugins.push(("compiled", Plugin::new(true, PATIENT).unwrap()));
    }
    plugins
});

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// A server of this plugin.
fn server(plugin: &Plugin) -> SocketAddr {
    let listener = RUNTIME.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    RUNTIME.spawn(serve(listener, Arc::new(Handler::Plugin(plugin.clone()))));
    address
}

/// The status and body of the answer to a request.
fn request(address: SocketAddr, path: &str, body: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let head =
        format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[test]
fn answers_are_those_of_native_code() {
    let long = "Words, and words again; ümläute too. ".repeat(1000);
    let texts =
        ["", "one", "the The THE to", &long, "\u{0} <b>&\n\"'", "a b c d e f g h i j k l m n o p q r s t u v w"];
    for (engine, plugin) in &*PLUGINS {
        for text in texts {
            let page = plugin.handle("/words", text.as_bytes()).unwrap();
            assert_eq!(page, Native.handle("/words", text.as_bytes()), "{engine}, {text:.20?}");
            assert_eq!(page.status, 200);
        }
        let page = plugin.handle("/words", b"Dogs and cats, cats and dogs, and a DOG: cats!").unwrap().page;
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains("<h1>10 words, 5 of them distinct</h1>"), "{page}");
        assert!(page.contains("<tr><td>cats<td>3\n<tr><td>dogs<td>2\n<tr><td>dog<td>1\n</table>"), "{page}");
        assert_eq!(plugin.handle("/nowhere", b"").unwrap().status, 404);
    }
}

#[test]
fn no_request_sees_another() {
    for (engine, plugin) in &*PLUGINS {
        let address = server(plugin);
        thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    for round in 0..25 {
                        let secret = format!("secret {round} of thread {thread}");
                        let (status, page) = request(address, "/seen", secret.as_bytes());
                        assert_eq!((status, &*page), (200, "request 1; before it: \"\"\n"), "{engine}");
                    }
                });
            }
        });
    }
    // Native code keeps what it is given.
    Native.handle("/seen", b"a secret");
    let page = String::from_utf8(Native.handle("/seen", b"").page).unwrap();
    assert_eq!(page, "request 2; before it: \"a secret\"\n");
}

#[test]
fn a_faulty_request_leaves_the_server_answering() {
    let faults = [
        ("/loop", "out of fuel"),
        ("/null", "store to unmapped or read-only address 0x0"),
        ("/deep", "stack overflow"),
        ("/throw", "std::out_of_range"),
    ];
    for (engine, plugin) in &*PLUGINS {
        let address = server(plugin);
        let good = request(address, "/words", b"answering");
        assert_eq!(good.0, 200);
        for (path, cause) in faults.into_iter().cycle().take(12) {
            let (status, page) = request(address, path, b"a secret");
            assert!(status == 500 && page.contains(cause), "{engine}, {path}: {status} {page}");
            assert_eq!(request(address, "/words", b"answering"), good, "{engine} after {path}");
            assert_eq!(request(address, "/seen", b"").1, "request 1; before it: \"\"\n", "{engine} after {path}");
        }
    }
}

#[test]
fn time_is_limited_too() {
    for (engine, plugin) in &*PLUGINS {
        let plugin = plugin.with_limits(Limits { fuel: u64::MAX, time: Duration::from_millis(20) });
        let begin = Instant::now();
        let error = plugin.handle("/loop", b"").unwrap_err().to_string();
        assert!(error.contains("the deadline has passed"), "{engine}: {error}");
        assert!(begin.elapsed() < Duration::from_secs(10));
        // The next request has all of its time.
        let plugin = plugin.with_limits(PATIENT);
        assert_eq!(plugin.handle("/words", b"").unwrap().status, 200, "{engine}");
    }
}

#[test]
fn a_long_body_is_refused() {
    let address = server(&PLUGINS[0].1);
    assert_eq!(request(address, "/words", &vec![b'x'; BODY_MAX]).0, 200);
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "POST /words HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", BODY_MAX + 1).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 413 "), "{line}");
}

/// The status of the answer to these bytes, which are the end of a request.
fn status_of(address: SocketAddr, rest: &str) -> u16 {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "POST /words HTTP/1.1\r\nhost: x\r\n{rest}").unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut answer = String::new();
    // Until the server closes the connection.
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap_or_else(|| panic!("{rest:?} has no answer: {answer:?}")).parse().unwrap()
}

#[test]
fn a_broken_body_is_a_bad_request() {
    assert_eq!(status_of(server(&PLUGINS[0].1), "transfer-encoding: chunked\r\n\r\nno number\r\n"), 400);
}

#[test]
fn a_body_has_to_come_in_time() {
    assert_eq!(status_of(server(&PLUGINS[0].1), "content-length: 100\r\n\r\nab"), 408);
}

/// The arguments of the README's commands.
fn documented() -> Vec<Vec<&'static str>> {
    let block = include_str!("../README.md").split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let arguments = |line: &'static str| line.split_once(" -- ").map_or("", |(_, arguments)| arguments);
    block.lines().map(|line| arguments(line).split(' ').filter(|word| !word.is_empty()).collect()).collect()
}

#[test]
fn the_command_serves() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_riverrun-requests"));
    let command = command.args(&documented()[0]).args(["--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim_end().strip_prefix("http://").unwrap().parse().unwrap();
    let (status, page) = request(address, "/words", b"served");
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(status == 200 && page.contains("served"), "{page}");
}

#[test]
fn many_connections_do_not_end_the_server() {
    let script = "ulimit -n 64; exec \"$0\" --listen 127.0.0.1:0";
    let command = ["-c", script, env!("CARGO_BIN_EXE_riverrun-requests")];
    let mut server = Command::new("sh").args(command).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address: SocketAddr = line.trim_end().strip_prefix("http://").unwrap().parse().unwrap();
    let open: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
    // Time to accept them.
    thread::sleep(Duration::from_millis(500));
    assert_eq!(server.try_wait().unwrap(), None, "the server has ended");
    drop(open);
    let (status, _) = request(address, "/words", b"still served");
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(status, 200);
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    for args in [&["--help"][..], &["--listen", "127.0.0.1:0"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_riverrun-requests"));
        let run = command.args(args).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        let said = String::from_utf8(run.wait_with_output().unwrap().stderr).unwrap();
        assert!(said.starts_with("riverrun-requests: standard output: No space"), "{said}");
    }
    // A reader that has gone is no failure.
    let mut command = Command::new("sh");
    command.args(["-c", "{ sleep 0.2; \"$0\" --help; echo $? >&2; } | true", env!("CARGO_BIN_EXE_riverrun-requests")]);
    assert_eq!(String::from_utf8(command.output().unwrap().stderr).unwrap(), "0\n");
}

/// Rows of a table below its head.
fn rows(table: &str) -> usize {
    table.lines().filter(|line| line.starts_with("| ")).count() - 2
}

#[test]
fn the_command_measures() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_riverrun-requests"));
    let output = command.args(&documented()[1]).args(["--rounds", "1", "--seconds", "1"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8(output.stdout).unwrap();
    assert_eq!(rows(&table), 3, "{table}");
}

#[test]
fn every_engine_is_measured() {
    let amount = Amount { rounds: 1, time: Duration::from_secs(1), connections: 4 };
    let table = load::measure(&RUNTIME, &PLUGINS, amount).unwrap();
    assert_eq!(rows(&table), 2 + PLUGINS.len(), "{table}");
}

#[test]
fn mistakes_are_named() {
    for (args, message) in [
        (vec!["extra"], "--help lists the options"),
        (vec!["--listen", "here"], "here"),
        (vec!["--listen", "192.0.2.1:1"], "192.0.2.1:1: "),
        (vec!["--rounds", "0"], "0"),
    ] {
        let command = Command::new(env!("CARGO_BIN_EXE_riverrun-requests")).args(args).output().unwrap();
        let said = String::from_utf8(command.stderr).unwrap();
        assert!(!command.status.success() && said.contains(message) && !said.contains("panicked"), "{said}");
    }
}
