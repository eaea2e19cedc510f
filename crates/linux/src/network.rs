//! The addresses that a guest is granted: those that it may connect to, and those that it may listen at.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};

use crate::error::Error;

/// The longest name of a host (RFC 1035).
const MAX_NAME: usize = 253;

/// What is granted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Network {
    connect: BTreeSet<SocketAddr>,
    listen: BTreeSet<SocketAddr>,
    /// Names by which hosts were granted, with their addresses.
    names: BTreeSet<(String, IpAddr)>,
}

/// What an address is wrong in.
fn wrong(address: &str, reason: impl Into<String>) -> Error {
    Error::Address { address: address.to_owned(), reason: reason.into() }
}

impl Network {
    /// Grants connecting to `HOST:PORT`. A name is looked up by the host, now.
    pub(crate) fn grant_connect(&mut self, address: &str) -> Result<(), Error> {
        let wanted = "it must be HOST:PORT, as in example.org:443, 127.0.0.1:80 or [::1]:80";
        if let Ok(address) = address.parse::<SocketAddr>() {
            if address.port() == 0 {
                return Err(wrong(&address.to_string(), "the port is 0"));
            }
            self.connect.insert(address);
            return Ok(());
        }
        let (name, port) = address.rsplit_once(':').ok_or_else(|| wrong(address, wanted))?;
        let port = port.parse().ok().filter(|&port: &u16| port != 0).ok_or_else(|| wrong(address, wanted))?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_name) {
            return Err(wrong(address, wanted));
        }
        let found = (name, port).to_socket_addrs().map_err(|error| wrong(address, error.to_string()))?;
        let found: Vec<SocketAddr> = found.collect();
        if found.is_empty() {
            return Err(wrong(address, "the name has no address"));
        }
        for address in found {
            self.connect.insert(address);
            self.names.insert((name.to_owned(), address.ip()));
        }
        Ok(())
    }

    /// Grants listening at `ADDRESS:PORT`, or at `PORT` of the host itself alone.
    pub(crate) fn grant_listen(&mut self, address: &str) -> Result<(), Error> {
        let granted = match address.parse::<u16>() {
            Ok(port) => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            Err(_) => address.parse().map_err(|_| {
                wrong(address, "it must be PORT or ADDRESS:PORT, as in 8080, 0.0.0.0:8080 or [::1]:8080")
            })?,
        };
        self.listen.insert(granted);
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.connect.is_empty() && self.listen.is_empty()
    }

    /// Whether an address of this family is granted.
    pub(crate) fn has_family(&self, is_ipv6: bool) -> bool {
        self.connect.iter().chain(&self.listen).any(|address| address.is_ipv6() == is_ipv6)
    }

    /// The granted address that the guest may connect to by this one.
    pub(crate) fn connectable(&self, address: SocketAddr) -> Option<SocketAddr> {
        self.connect.iter().copied().find(|granted| is_same(*granted, address))
    }

    /// The granted address that the guest gets for this one: the same, or that of the port if the guest says that any will
    /// do.
    pub(crate) fn bindable(&self, address: SocketAddr) -> Option<SocketAddr> {
        let mut granted = self.listen.iter().copied();
        let same = granted.clone().find(|granted| is_same(*granted, address));
        same.or_else(|| {
            let is_for_any =
                |granted: &SocketAddr| granted.port() == address.port() && granted.is_ipv6() == address.is_ipv6();
            granted.find(is_for_any).filter(|_| address.ip().is_unspecified())
        })
    }

    /// The guest's `/etc/hosts`, if hosts were granted by name.
    pub(crate) fn hosts_file(&self) -> Option<Vec<u8>> {
        if self.names.is_empty() {
            return None;
        }
        let mut text = String::new();
        let has_localhost = self.names.iter().any(|(name, _)| name == "localhost");
        if !has_localhost {
            text.push_str("127.0.0.1 localhost\n");
        }
        for (name, address) in &self.names {
            let _ = writeln!(text, "{address} {name}");
        }
        Some(text.into_bytes())
    }
}

/// Whether two addresses lead to the same place, whatever they say of flows.
pub(crate) fn is_same(one: SocketAddr, other: SocketAddr) -> bool {
    let scope = |address| match address {
        SocketAddr::V6(address) => address.scope_id(),
        SocketAddr::V4(_) => 0,
    };
    (one.ip(), one.port(), scope(one)) == (other.ip(), other.port(), scope(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn only_what_is_granted_can_be_used() {
        let mut network = Network::default();
        network.grant_connect("10.1.2.3:80").unwrap();
        network.grant_connect("[::1]:81").unwrap();
        network.grant_listen("8080").unwrap();
        network.grant_listen("[::]:8081").unwrap();
        let connects = |text| network.connectable(address(text)).is_some();
        assert!(connects("10.1.2.3:80") && connects("[::1]:81"));
        for other in ["10.1.2.3:81", "10.1.2.4:80", "[::1]:80", "[::ffff:10.1.2.3]:80", "0.0.0.0:80", "127.0.0.1:8080"]
        {
            assert!(!connects(other), "{other}");
        }
        let binds = |text| network.bindable(address(text)).map(|granted| granted.to_string());
        assert_eq!(binds("127.0.0.1:8080").as_deref(), Some("127.0.0.1:8080"));
        assert_eq!(binds("0.0.0.0:8080").as_deref(), Some("127.0.0.1:8080"));
        assert_eq!(binds("[::]:8081").as_deref(), Some("[::]:8081"));
        for other in ["127.0.0.1:0", "0.0.0.0:0", "0.0.0.0:8081", "[::]:8080", "[::1]:8081", "127.0.0.2:8080"] {
            assert_eq!(binds(other), None, "{other}");
        }
    }

    #[test]
    fn names_are_looked_up_and_told_to_the_guest() {
        let mut network = Network::default();
        assert_eq!(network.hosts_file(), None);
        network.grant_connect("localhost:4000").unwrap();
        assert!(network.connectable(address("127.0.0.1:4000")).is_some() || network.has_family(true));
        let text = String::from_utf8(network.hosts_file().unwrap()).unwrap();
        assert!(text.lines().all(|line| line.ends_with(" localhost")), "{text}");
    }

    #[test]
    fn wrong_addresses_are_errors() {
        let mut network = Network::default();
        for text in
            ["", "80", ":80", "host", "host:", "host:0", "host:70000", "127.0.0.1:0", "a b:80", "a\nb:80", "[::1:80"]
        {
            let message = network.grant_connect(text).unwrap_err().to_string();
            assert!(message.starts_with("cannot grant the address "), "{message}");
        }
        for text in ["", "host:80", "70000", "127.0.0.1", ":80", "-1"] {
            let message = network.grant_listen(text).unwrap_err().to_string();
            assert!(message.contains("it must be PORT or ADDRESS:PORT"), "{message}");
        }
        assert!(network.is_empty());
    }
}
