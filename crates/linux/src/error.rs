//! Errors of preparing a guest: grants, arguments, stack.

use std::path::PathBuf;

/// An error that the host gets. Errors of system calls go to the guest instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A directory to be granted could not be opened.
    #[error("cannot grant the directory {host}: {source}", host = host.display())]
    Directory {
        /// The host's path.
        host: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A directory to be granted is a view of the host's kernel, by which a guest could read and change its host.
    #[error("cannot grant the directory {host}: {name} is a file system of the kernel", host = host.display())]
    KernelFileSystem {
        /// The host's path.
        host: PathBuf,
        /// Of the file system.
        name: &'static str,
    },
    /// The guest's name for a directory is not a path from the root.
    #[error("the guest's name for a directory must be an absolute path without `..`, not {0:?}")]
    GuestPath(String),
    /// Two directories with the same name.
    #[error("the guest's name {0:?} is granted twice")]
    GrantedTwice(String),
    /// An argument or environment variable contains a zero byte.
    #[error("an argument or environment variable contains a zero byte: {0:?}")]
    ZeroByte(String),
    /// Arguments and environment do not fit on the stack.
    #[error("arguments and environment take {needed} bytes; the stack has room for {room}")]
    ArgumentsTooLong {
        /// Bytes that they take.
        needed: u64,
        /// Bytes that they may take: a quarter of the stack.
        room: u64,
    },
    /// The host gives no random numbers.
    #[error("the host gives no random numbers; set a seed")]
    NoRandomNumbers,
    /// The stack is not there.
    #[error(transparent)]
    Stack(#[from] riverrun::Fault),
}
