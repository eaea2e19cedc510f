//! The network by `--connect` and `--listen`.

use std::io::Write;
use std::net::TcpListener;

use crate::common::{Folder, riverrun};

#[test]
fn the_network_is_what_options_grant() {
    let folder = Folder::new();
    let guest = folder.guest("connect.c", &[]);
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let server = std::thread::spawn(move || listener.accept().unwrap().0.write_all(b"welcome\n").unwrap());
    let granted = format!("127.0.0.1:{port}");
    let ended = riverrun(args!["run", "--connect", granted.as_str(), guest, port.as_str()]);
    assert_eq!(ended.expect(0, &[]).stdout, "welcome\n");
    server.join().unwrap();

    let refused = "a socket of the network is refused: no address is granted (--connect HOST:PORT, --listen PORT)\n";
    riverrun(args!["--verbose", guest, port.as_str()]).expect(1, &[refused, "connect: Permission denied\n"]);
    let refused = format!("connecting to {granted} is refused: it is not granted (--connect {granted})\n");
    riverrun(args!["--verbose", "--listen", "0", guest, port.as_str()]).expect(1, &[&refused]);
    for (option, address, message) in [
        ("--connect", "127.0.0.1", "it must be HOST:PORT, as in example.org:443"),
        ("--listen", "name:80", "it must be PORT or ADDRESS:PORT"),
    ] {
        riverrun(args![option, address, guest]).expect(125, &[message]);
    }
}
