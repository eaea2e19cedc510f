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
    /// An address to be granted is none, or its name has none.
    #[error("cannot grant the address {address:?}: {reason}")]
    Address {
        /// As it was given.
        address: String,
        /// Why.
        reason: String,
    },
    /// A dynamically linked program, or its dynamic linker, cannot be read.
    #[error("cannot link dynamically: {path}: {reason}")]
    Join {
        /// The file, by the guest's name for it.
        path: String,
        /// Why.
        reason: String,
    },
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
    /// A file is open whose name no longer leads to it, so that its state cannot be saved.
    #[error(
        "descriptor {descriptor} is {path:?}, which has been deleted, renamed or replaced since it was opened: close it \
         before the state is saved"
    )]
    FileGone {
        /// The guest's descriptor.
        descriptor: u32,
        /// The name by which it was opened.
        path: String,
    },
    /// A socket of the network is open, whose connection is this host's.
    #[error(
        "descriptor {descriptor} is a socket of the network, {addresses}, which cannot be saved: close it before the state is \
         saved"
    )]
    HostSocket {
        /// The guest's descriptor.
        descriptor: u32,
        /// Its own address and its peer's.
        addresses: String,
    },
    /// A socket has descriptors in messages that the guest has not received.
    #[error(
        "descriptor {descriptor} has messages with descriptors, which cannot be saved: receive them before the state is \
         saved"
    )]
    OnTheirWay {
        /// The socket.
        descriptor: u32,
    },
    /// A file that was open cannot be opened again.
    #[error(
        "cannot open {path:?} again, which is descriptor {descriptor}: {reason}; grant its directory as it was before"
    )]
    Reopen {
        /// The guest's descriptor.
        descriptor: u32,
        /// The guest's path.
        path: String,
        /// Why.
        reason: String,
    },
    /// A file that is mapped, shared with what else uses it, cannot be saved or opened again.
    #[error("the mapped file {path:?} cannot be found again: {reason}")]
    MappedFile {
        /// The guest's path.
        path: String,
        /// Why.
        reason: String,
    },
    /// The current directory is not within the grants, or does not exist.
    #[error("the current directory {path:?} cannot be used: {reason}; grant it as it was before")]
    CurrentDirectory {
        /// The guest's path.
        path: String,
        /// Why.
        reason: String,
    },
    /// A descriptor beyond the limit is open.
    #[error("descriptor {descriptor} is open, but the limit is {limit}: raise it (`Builder::max_descriptors`)")]
    TooManyDescriptors {
        /// The guest's descriptor.
        descriptor: u32,
        /// How many there may be.
        limit: u32,
    },
    /// The private files of a saved guest take more than they may here.
    #[error(
        "the private files of the guest take more than {limit} bytes: raise the limit (`Builder::max_private_files`)"
    )]
    TooManyFiles {
        /// Bytes that they may take.
        limit: u64,
    },
    /// The bytes are not what was saved.
    #[error("{0} is damaged: take the snapshot anew")]
    Damaged(&'static str),
    /// Another version of this crate has saved the state.
    #[error("the saved state of the Linux personality has version {found}, not {supported}: take the snapshot anew")]
    SavedVersion {
        /// Of the bytes.
        found: u8,
        /// Of this crate.
        supported: u8,
    },
    /// The machine gives no snapshot.
    #[error(transparent)]
    Snapshot(Box<riverrun::Error>),
    /// A snapshot has no state of a personality.
    #[error(
        "the snapshot has no state of the Linux personality: take it by `riverrun_linux::snapshot`, or add the section"
    )]
    NoState,
    /// There is no state to go back to: this personality was built, not restored.
    #[error("this personality cannot be reset, since it was not restored from a saved state (`Builder::restore`)")]
    NotRestored,
    /// The host gives no random numbers.
    #[error("the host gives no random numbers; set a seed")]
    NoRandomNumbers,
    /// The stack is not there.
    #[error(transparent)]
    Stack(#[from] riverrun::Fault),
}
