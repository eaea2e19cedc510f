//! Refusals: of files that a guest's path leads to but that it may not use, and of parts of calls that are not provided. The
//! guest gets an error code, the host a line of the log.

use std::fmt;
use std::net::SocketAddr;

use rustix::io::Errno;

use crate::guest_path::GuestPath;

/// What else is refused than paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denial {
    /// Descriptors in messages on a socket of the network.
    Rights,
    /// A local socket in a message.
    Local,
    /// Other control messages.
    Control {
        level: u32,
        kind: u32,
    },
    /// An option of sockets.
    Option {
        level: u32,
        name: u32,
    },
    /// A socket of a family of addresses.
    Family(u32),
    /// A socket of the network that is neither for TCP nor for UDP.
    Protocol,
    /// Any socket of the network: no address is granted.
    Network,
    Connect(SocketAddr),
    Send(SocketAddr),
    Bind(SocketAddr),
    /// Listening at any address.
    Listen,
}

impl Denial {
    /// The guest's error code.
    pub(crate) fn errno(self) -> Errno {
        match self {
            Denial::Rights | Denial::Local | Denial::Control { .. } => Errno::OPNOTSUPP,
            Denial::Option { .. } => Errno::NOPROTOOPT,
            Denial::Family(_) => Errno::AFNOSUPPORT,
            Denial::Protocol
            | Denial::Network
            | Denial::Connect(_)
            | Denial::Send(_)
            | Denial::Bind(_)
            | Denial::Listen => Errno::ACCESS,
        }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Denial::Rights => f.write_str(
                "sending descriptors in messages (SCM_RIGHTS) is not provided, but between local sockets (AF_UNIX)",
            ),
            Denial::Local => f.write_str("sending a local socket (AF_UNIX) in a message (SCM_RIGHTS) is not provided"),
            Denial::Control { level, kind } => {
                write!(f, "sending control messages of level {level}, type {kind} is not provided")
            }
            Denial::Option { level, name } => write!(f, "socket option {name} of level {level} is not provided"),
            Denial::Family(number) => write!(f, "sockets of address family {number} are not provided"),
            Denial::Protocol => f.write_str("sockets for raw packets are not provided, but for TCP and UDP"),
            Denial::Network => f.write_str(
                "a socket of the network is refused: no address is granted (--connect HOST:PORT, --listen PORT)",
            ),
            Denial::Connect(address) => {
                write!(f, "connecting to {address} is refused: it is not granted (--connect {address})")
            }
            Denial::Send(address) => {
                write!(f, "sending to {address} is refused: it is not granted (--connect {address}), nor has it asked")
            }
            Denial::Bind(address) => {
                write!(f, "listening at {address} is refused: it is not granted (--listen {address})")
            }
            Denial::Listen => {
                f.write_str("listening without an address is refused: bind a granted one (--listen PORT)")
            }
        }
    }
}

/// A path that is refused, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) path: GuestPath,
    pub(crate) reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It lies in another mount than the granted directory.
    OtherMount,
    /// It lies in a file system that is a view of the host's kernel.
    Kernel(&'static str),
    /// It is neither a regular file nor a directory nor a symbolic link.
    SpecialFile(&'static str),
    /// A symbolic link there would lead out of the granted directory.
    OutwardLink,
    /// A local socket would have its name in a directory of the host.
    NewSocket,
    /// Its code is mapped, but it was not named when the program was loaded.
    UnnamedLibrary,
}

impl Refusal {
    /// The guest's error code.
    pub(crate) fn errno(&self) -> Errno {
        match self.reason {
            Reason::OtherMount | Reason::Kernel(_) | Reason::SpecialFile(_) | Reason::UnnamedLibrary => Errno::ACCESS,
            Reason::OutwardLink | Reason::NewSocket => Errno::PERM,
        }
    }
}

/// `"/host/proc" is refused: procfs is a file system of the kernel`. The guest chooses names: they are escaped.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is refused: ", String::from_utf8_lossy(&self.path.to_bytes()))?;
        match self.reason {
            Reason::OtherMount => f.write_str("it is in another mount than the granted directory"),
            Reason::Kernel(name) => write!(f, "{name} is a file system of the kernel"),
            Reason::SpecialFile(kind) => write!(f, "it is a {kind}"),
            Reason::NewSocket => {
                f.write_str("sockets have names in the private /tmp and /dev/shm, not in a directory of the host")
            }
            Reason::UnnamedLibrary => {
                f.write_str("its code can run only if it is named when the program is loaded (--library)")
            }
            Reason::OutwardLink => f.write_str("the symbolic link leads out of the granted directory"),
        }
    }
}
