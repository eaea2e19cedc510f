//! TCP and UDP by grant: guests reach what they are granted, as under qemu, and nothing else.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Outcome, gcc, machine, machine_on, qemu, run, run_logged, run_logged_on, run_on};
use riverrun::{Config, TrapCause};
use riverrun_linux::{Captured, Detail, Linux, Output};
use riverrun_testkit::suite::SuiteEngine;

fn program() -> PathBuf {
    // The linker says that a static program finds names by files alone.
    gcc("tcp.c", &["-O2", "-static", "-Wall"])
}

/// A server on this host that serves each connection by a thread of its own, and its port.
fn server(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let serve = serve.clone();
            thread::spawn(move || serve(connection.unwrap()));
        }
    });
    port
}

/// Sends each line back.
fn echo(connection: TcpStream) {
    let mut writer = connection.try_clone().unwrap();
    let mut reader = BufReader::new(connection);
    let mut line = Vec::new();
    while matches!(reader.read_until(b'\n', &mut line), Ok(1..)) {
        if writer.write_all(&line).is_err() {
            return;
        }
        line.clear();
    }
}

/// A port at which no socket listens while the result lives: a connection from it has it.
fn unused_port() -> (u16, TcpStream, TcpListener) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let connection = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (connection.local_addr().unwrap().port(), connection, listener)
}

#[test]
fn clients_do_what_they_do_under_qemu() {
    let (program, port) = (program(), server(echo));
    let args = ["tcp", "client", &port.to_string()];
    let builder = Linux::builder().args(args).connect(&format!("127.0.0.1:{port}")).unwrap();
    let outcome = run(&program, "", builder);
    assert_eq!(outcome, qemu(&program, &args, &[], ""));
    assert!(outcome.stdout.ends_with("4194304 bytes\n"), "{outcome:?}");
}

#[test]
fn a_port_where_nobody_listens() {
    let (program, (port, _connection, _listener)) = (program(), unused_port());
    let args = ["tcp", "nobody", &port.to_string()];
    let outcome = run(&program, "", Linux::builder().args(args).connect(&format!("127.0.0.1:{port}")).unwrap());
    assert_eq!(outcome.stdout, "connect(fd, AT(address)) = -1 Connection refused\nfails: 1\n");
}

/// A guest that runs in a thread, and what it writes.
struct Running {
    output: Captured,
    seen: String,
    end: thread::JoinHandle<Result<i32, riverrun::Error>>,
}

impl Running {
    fn new(program: &Path, builder: riverrun_linux::Builder) -> Running {
        Running::new_on(SuiteEngine::get(), program, builder)
    }

    fn new_on(engine: SuiteEngine, program: &Path, builder: riverrun_linux::Builder) -> Running {
        let output = Captured::default();
        let (program, written) = (program.to_owned(), output.clone());
        let end = thread::spawn(move || {
            let linux = builder.stdout(Output::writer(written)).build();
            let mut machine = machine_on(engine, &Config::new(), &program, linux);
            machine.set_deadline(Some(Instant::now() + Duration::from_secs(120)));
            machine.run()
        });
        Running { output, seen: String::new(), end }
    }

    /// Waits until the guest has written this; all that it has written so far.
    fn wait_for(&mut self, text: &str) -> &str {
        while !self.seen.contains(text) {
            assert!(!self.end.is_finished(), "it has ended: {}", self.seen);
            thread::sleep(Duration::from_millis(1));
            self.seen.push_str(&String::from_utf8(self.output.take()).unwrap());
        }
        &self.seen
    }

    fn port(&mut self) -> u16 {
        let text = self.wait_for("port ").to_owned();
        // It is written by lines.
        text.lines().find_map(|line| line.strip_prefix("port ")).unwrap().parse().unwrap()
    }
}

#[test]
fn servers_serve_many_at_a_time() {
    let mut guest = Running::new(&program(), Linux::builder().args(["tcp", "server"]).listen("0").unwrap());
    let port = guest.port();
    assert!(guest.wait_for("at ").contains("at 127.0.0.1\n"), "all addresses are the granted one");
    let mut connections: Vec<TcpStream> = (0..5).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    for round in 0..3 {
        for (n, connection) in connections.iter_mut().enumerate() {
            connection.write_all(format!("{round} {n}").as_bytes()).unwrap();
        }
        for (n, connection) in connections.iter_mut().enumerate().rev() {
            let mut answer = [0; 3];
            connection.read_exact(&mut answer).unwrap();
            assert_eq!(answer, *format!("{round} {n}").as_bytes());
        }
    }
    drop(connections.split_off(1));
    connections[0].write_all(b"quit").unwrap();
    assert_eq!(guest.end.join().unwrap().unwrap(), 7);
    let expected = "accept(fd, NULL, NULL) = -1 Resource temporarily unavailable\nfcntl(fd, F_SETFL, 0) = 0\n";
    guest.seen.push_str(&String::from_utf8(guest.output.take()).unwrap());
    assert!(guest.seen.contains(expected), "{}", guest.seen);
    assert_eq!(guest.seen.matches("accepted from 127.0.0.1, 16 bytes\n").count(), 5, "{}", guest.seen);
}

#[test]
fn other_threads_run_while_one_waits_for_a_socket() {
    let (told, telling) = std::sync::mpsc::channel();
    let telling = std::sync::Arc::new(std::sync::Mutex::new(telling));
    let port = server(move |mut connection| {
        telling.lock().unwrap().recv().unwrap();
        connection.write_all(b"answer").unwrap();
        // Until the guest closes it.
        let _ = connection.read(&mut [0; 1]);
    });
    let builder = Linux::builder().args(["tcp", "beside", &port.to_string()]);
    let mut guest = Running::new(&program(), builder.connect(&format!("127.0.0.1:{port}")).unwrap());
    guest.wait_for(&"working\n".repeat(5));
    told.send(()).unwrap();
    assert_eq!(guest.end.join().unwrap().unwrap(), 0);
    let rest = String::from_utf8(guest.output.take()).unwrap();
    let expected = "<answer> receive(fd, 100, 0) = 6\nsetsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &span, sizeof span) = 0\n\
        receive(fd, 100, 0) = -1 Resource temporarily unavailable\n";
    assert!((guest.seen + &rest).ends_with(expected), "{rest}");
}

/// Threads that wait for sockets are woken though others never wait: those that only make calls, and one that connects.
#[test]
fn threads_that_never_wait_hold_up_none_that_waits_for_a_socket() {
    let (program, port) = (program(), server(echo));
    let args = ["tcp", "busy", &port.to_string()];
    let builder = Linux::builder().args(args).connect(&format!("127.0.0.1:{port}")).unwrap().listen("0").unwrap();
    let output = Captured::default();
    let mut machine = machine(&Config::new(), &program, builder.stdout(Output::writer(output.clone())).build());
    machine.set_deadline(Some(Instant::now() + Duration::from_secs(60)));
    let result = machine.run();
    let without_ports =
        |text: String| text.lines().filter(|line| !line.starts_with("port ")).collect::<Vec<_>>().join("\n");
    let ours = without_ports(String::from_utf8(output.take()).unwrap());
    assert_eq!(ours, without_ports(qemu(&program, &args, &[], "").stdout), "{result:?}");
    assert_eq!(result.unwrap(), 0);
}

/// A wait for a socket ends with the machine's time, and goes on in the next run. Nothing can be saved meanwhile.
#[test]
fn waits_for_sockets_are_interrupted_and_cannot_be_saved() {
    let output = Captured::default();
    let builder = Linux::builder().args(["tcp", "one"]).listen("127.0.0.1:0").unwrap();
    let linux = builder.stdout(Output::writer(output.clone())).build();
    let mut machine = machine(&Config::new(), &program(), linux);
    let mut text = String::new();
    while !text.contains("port ") {
        machine.set_deadline(Some(Instant::now() + Duration::from_millis(100)));
        assert_eq!(machine.run().unwrap_err().trap().unwrap().cause, TrapCause::Deadline);
        text.push_str(&String::from_utf8(output.take()).unwrap());
    }
    let port: u16 = text.rsplit("port ").next().unwrap().trim().parse().unwrap();
    let error = machine.data().save().unwrap_err().to_string();
    let expected = format!(
        "descriptor 3 is a socket of the network, at 127.0.0.1:{port}, which cannot be saved: close it before the state is saved"
    );
    assert_eq!(error, expected);

    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    connection.write_all(b"hel").unwrap();
    machine.set_deadline(Some(Instant::now() + Duration::from_millis(100)));
    assert_eq!(machine.run().unwrap_err().trap().unwrap().cause, TrapCause::Deadline);
    connection.write_all(b"lo").unwrap();
    machine.set_deadline(Some(Instant::now() + Duration::from_secs(60)));
    assert_eq!(machine.run().unwrap(), 0);
    assert_eq!(String::from_utf8(output.take()).unwrap(), "<hello> receive(fd, 5, MSG_WAITALL) = 5\n");
}

#[test]
fn hosts_are_found_by_the_names_that_were_granted() {
    let port = server(|mut connection| connection.write_all(b"welcome").unwrap());
    let run_with = |name: &str| -> Outcome {
        let builder = Linux::builder().args(["tcp", "name", &port.to_string(), name]);
        run(&program(), "", builder.connect(&format!("localhost:{port}")).unwrap())
    };
    assert_eq!(run_with("localhost").stdout, "<welcome> receive(fd, 100, 0) = 7\n");
    let other = run_with("example.org");
    assert!(other.status == 1 && other.stdout.starts_with("example.org: "), "{other:?}");
}

const REFUSED: &str = "\
socket(AF_INET, SOCK_DGRAM, 0) = 3
socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) = -1 Permission denied
socket(AF_INET6, SOCK_STREAM, 0) = -1 Address family not supported by protocol
socket(AF_NETLINK, SOCK_RAW, 0) = -1 Address family not supported by protocol
socket(AF_PACKET, SOCK_RAW, 0) = -1 Address family not supported by protocol
socket(AF_VSOCK, SOCK_STREAM, 0) = -1 Address family not supported by protocol
socket(AF_INET, SOCK_STREAM, 262) = -1 Protocol not supported
connect(fd, AT(other)) = -1 Permission denied
connect(fd, AT(any)) = -1 Permission denied
connect(fd, AT(away)) = -1 Permission denied
connect(fd, AT(six)) = -1 Address family not supported by protocol
connect(fd, AT(path)) = -1 Address family not supported by protocol
connect(fd, (struct sockaddr *)&granted, 8) = -1 Invalid argument
connect(fd, (struct sockaddr *)&granted, -1) = -1 Invalid argument
sendto(fd, \"x\", 1, MSG_FASTOPEN | MSG_NOSIGNAL, AT(other)) = -1 Broken pipe
bind(fd, AT(granted)) = -1 Permission denied
bind(fd, AT(none)) = -1 Permission denied
bind(fd, AT(any)) = -1 Permission denied
listen(fd, 5) = -1 Permission denied
setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, \"lo\\0\", 4) = -1 Protocol not available
setsockopt(fd, SOL_SOCKET, SO_MARK, &value, 4) = -1 Protocol not available
setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &value, 4) = -1 Protocol not available
setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &value, 4) = -1 Protocol not available
setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &value, 4) = -1 Protocol not available
setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &value, 4) = -1 Protocol not available
connect(fd, AT(granted)) = 0
connect(fd, AT(other)) = -1 Permission denied
connect(fd, AT(unspecified)) = -1 Address family not supported by protocol
sendmsg(fd, &message, MSG_NOSIGNAL) = -1 Operation not supported
socketpair(AF_UNIX, SOCK_STREAM, 0, pair) = 0
sendmsg(pair[0], &message, MSG_NOSIGNAL) = 0
accept(pair[0], NULL, NULL) = -1 Invalid argument
listen(pair[0], 1) = -1 Invalid argument
connect(0, AT(granted)) = -1 Socket operation on non-socket
";

/// No other address, port, protocol or family can be reached, nor an option used that leads further. The log names what is
/// refused, with the option that would allow it.
#[test]
fn nothing_else_can_be_reached() {
    let port = server(|_| {});
    let args = ["tcp", "refused", &port.to_string()];
    let builder = Linux::builder().args(args).connect(&format!("127.0.0.1:{port}")).unwrap();
    let (outcome, log) = run_logged(&program(), builder, Detail::Unknown);
    assert_eq!(outcome.stdout, REFUSED);
    let other = port ^ 1;
    for line in [
        format!("connecting to 127.0.0.1:{other} is refused: it is not granted (--connect 127.0.0.1:{other})\n"),
        format!("connecting to 0.0.0.0:{port} is refused: it is not granted (--connect 0.0.0.0:{port})\n"),
        format!("listening at 127.0.0.1:{port} is refused: it is not granted (--listen 127.0.0.1:{port})\n"),
        "listening without an address is refused: bind a granted one (--listen PORT)\n".to_owned(),
        "sockets for raw packets are not provided, but for TCP and UDP\n".to_owned(),
        "sockets of address family 16 are not provided\n".to_owned(),
        "socket option 25 of level 1 is not provided\n".to_owned(),
        "sending descriptors in messages (SCM_RIGHTS) is not provided, but between local sockets (AF_UNIX)\n"
            .to_owned(),
    ] {
        assert!(log.contains(&line), "{line}{log}");
    }
    let (outcome, log) = run_logged(&program(), Linux::builder().args(args), Detail::Unknown);
    assert!(outcome.stderr == "socket: Permission denied\n", "{outcome:?}");
    assert!(
        log.contains(
            "a socket of the network is refused: no address is granted (--connect HOST:PORT, --listen PORT)\n"
        ),
        "{log}"
    );
}

fn udp_program() -> PathBuf {
    gcc("udp.c", &["-O2", "-static", "-Wall"])
}

/// A socket of this host, which ends a test that waits for it in vain, and its port.
fn udp_socket() -> (UdpSocket, u16) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let port = socket.local_addr().unwrap().port();
    (socket, port)
}

/// Sends each datagram back; its port.
fn udp_echo() -> u16 {
    let (socket, port) = udp_socket();
    thread::spawn(move || {
        let mut buffer = [0; 100];
        while let Ok((len, from)) = socket.recv_from(&mut buffer) {
            socket.send_to(&buffer[..len], from).unwrap();
        }
    });
    port
}

/// Runs a program on each engine and by qemu, where it may use a port; what it writes.
fn compare_at(program: &Path, args: &[&str], port: u16) -> String {
    let expected = qemu(program, args, &[], "");
    for &engine in SuiteEngine::ALL {
        let builder = Linux::builder().args(args.iter().copied()).connect(&format!("127.0.0.1:{port}")).unwrap();
        assert_eq!(run_on(engine, program, "", builder), expected, "{engine:?}");
    }
    expected.stdout
}

#[test]
fn datagrams_come_and_go_as_under_qemu() {
    let port = udp_echo();
    let stdout = compare_at(&udp_program(), &["udp", "client", &port.to_string()], port);
    assert!(
        stdout.ends_with(
            "send(fd, \"x\", 1, 0) = -1 Destination address required\n\
        shutdown(fd, SHUT_WR) = -1 Transport endpoint is not connected\n"
        ),
        "{stdout}"
    );
}

#[test]
fn many_datagrams_come_and_go_by_one_call() {
    let port = udp_echo();
    let stdout = compare_at(&gcc("mmsg.c", &["-O2", "-static", "-Wall"]), &["mmsg", "udp", &port.to_string()], port);
    assert!(stdout.ends_with("from the echo: 1\n"), "{stdout}");
}

#[test]
fn a_port_where_nobody_takes_datagrams() {
    // A TCP connection has the port, so that no other test gets it.
    let (port, _connection, _listener) = unused_port();
    let stdout = compare_at(&udp_program(), &["udp", "nobody", &port.to_string()], port);
    assert!(stdout.contains("receive(fd, 10, 0) = -1 Connection refused\n"), "{stdout}");
}

#[test]
fn servers_answer_whom_they_hear() {
    SuiteEngine::ALL.iter().for_each(|&engine| check_that_a_server_answers(engine));
}

fn check_that_a_server_answers(engine: SuiteEngine) {
    let mut guest =
        Running::new_on(engine, &udp_program(), Linux::builder().args(["udp", "server"]).listen("0").unwrap());
    let port = guest.port();
    assert!(guest.wait_for("at ").contains("at 127.0.0.1\n"), "all addresses are the granted one");
    let clients = [(); 3].map(|()| udp_socket().0);
    let mut buffer = [0; 100];
    for round in 0..3_u8 {
        for (n, client) in clients.iter().enumerate() {
            client.send_to(&[round, n as u8], ("127.0.0.1", port)).unwrap();
        }
        for (n, client) in clients.iter().enumerate().rev() {
            assert_eq!(client.recv(&mut buffer).unwrap(), 2);
            assert_eq!(buffer[..2], [round, n as u8]);
        }
    }
    clients[0].send_to(b"quit", ("127.0.0.1", port)).unwrap();
    assert_eq!(clients[0].recv(&mut buffer).unwrap(), 4);
    assert_eq!(guest.end.join().unwrap().unwrap(), 0);
}

const REFUSED_DATAGRAMS: &str = "\
sendto(fd, \"x\", 1, 0, AT(other)) = -1 Permission denied
sendto(fd, \"x\", 1, 0, AT(away)) = -1 Permission denied
sendto(fd, \"x\", 1, 0, AT(everyone)) = -1 Permission denied
sendto(fd, \"x\", 1, 0, AT(six)) = -1 Address family not supported by protocol
sendto(fd, \"x\", 1, MSG_CONFIRM, AT(any)) = -1 Permission denied
sendmsg(fd, &message, 0) = -1 Permission denied
connect(fd, AT(other)) = -1 Permission denied
bind(fd, AT(granted)) = -1 Permission denied
bind(fd, AT(any)) = -1 Permission denied
setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, \"lo\\0\", 4) = -1 Protocol not available
setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &value, 4) = -1 Protocol not available
setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &value, 4) = -1 Protocol not available
setsockopt(fd, IPPROTO_UDP, 103, &value, 4) = -1 Protocol not available
sendto(fd, \"here\", 4, 0, AT(granted)) = 4
<granted> receive(fd, 100, 0) = 7
events(fd, POLLIN, 20) = 0
receive(fd, 100, MSG_DONTWAIT) = -1 Resource temporarily unavailable
connect(fd, AT(granted)) = 0
sendto(fd, \"x\", 1, 0, AT(other)) = -1 Permission denied
connect(fd, AT(other)) = -1 Permission denied
getsockname(fd, (struct sockaddr *)&own, &length) = 0
socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP) = -1 Permission denied
socket(AF_INET, SOCK_DGRAM, IPPROTO_TCP) = -1 Permission denied
";

/// Datagrams go nowhere else, and what strangers send is not heard.
#[test]
fn datagrams_reach_nothing_else() {
    SuiteEngine::ALL.iter().for_each(|&engine| check_that_datagrams_reach_nothing_else(engine));
}

fn check_that_datagrams_reach_nothing_else(engine: SuiteEngine) {
    let ((granted, port), (stranger, other)) = (udp_socket(), udp_socket());
    let answers = thread::spawn(move || {
        let mut buffer = [0; 100];
        let (len, guest) = granted.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..len], b"here");
        for answer in ["stranger", "more", "even more"] {
            stranger.send_to(answer.as_bytes(), guest).unwrap();
        }
        granted.send_to(b"granted", guest).unwrap();
        stranger.send_to(b"late", guest).unwrap();
        stranger
    });
    let args = ["udp", "refused", &port.to_string(), &other.to_string()];
    let builder = Linux::builder().args(args).connect(&format!("127.0.0.1:{port}")).unwrap();
    let (outcome, log) = run_logged_on(engine, &udp_program(), builder, Detail::Unknown);
    assert_eq!(outcome.stdout, REFUSED_DATAGRAMS);
    for line in [
        format!(
            "sending to 127.0.0.1:{other} is refused: it is not granted (--connect 127.0.0.1:{other}), nor has it asked\n"
        ),
        format!("connecting to 127.0.0.1:{other} is refused: it is not granted (--connect 127.0.0.1:{other})\n"),
        format!("listening at 127.0.0.1:{port} is refused: it is not granted (--listen 127.0.0.1:{port})\n"),
        "sockets for raw packets are not provided, but for TCP and UDP\n".to_owned(),
    ] {
        assert!(log.contains(&line), "{line}{log}");
    }
    // Nothing has come to the stranger.
    let stranger = answers.join().unwrap();
    stranger.set_nonblocking(true).unwrap();
    assert!(stranger.recv(&mut [0; 10]).is_err());
}
