//! The Linux personality: the system calls of static Linux programs in a riverrun machine.
//!
//! A guest sees system calls with Linux's numbers, structures and error codes, and nothing of its
//! host but what a [`Builder`] grants: arguments, environment, standard streams, directories, and file systems that the host
//! implements ([`FileSystem`]).
//! A program that asks for more gets Linux's own answer to that: a path that is not granted does
//! not exist, a system call that is not provided gives `ENOSYS`.
//!
//! ```
//! use riverrun::{Config, Engine, Linker, Program};
//! use riverrun_linux::Linux;
//!
//! let engine = Engine::new(&Config::new())?;
//! let mut linker = Linker::new(&engine);
//! riverrun_linux::add_to_linker(&mut linker, |linux: &mut Linux| linux);
//!
//! let program = Program::new(&engine, riverrun::doc::TINY)?;
//! let linux = Linux::builder().args(["tiny", "--help"]).env("LANG", "C.UTF-8").build();
//! let mut machine = linker.instantiate(&program, linux)?;
//! riverrun_linux::start(&mut machine, |linux| linux)?;
//! assert_eq!(machine.run()?, 42);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What differs from Linux
//!
//! - One process: no `fork`, `execve`, or signals from outside. Its threads take turns on one processor, for a
//!   number of instructions each, which [`Builder::seed`] varies, or for 5 ms in compiled code that counts no fuel. While a
//!   host function calls the guest, only the calling thread runs.
//! - Sockets are those of TCP and UDP, to and from granted addresses ([`Builder::connect`], [`Builder::listen`]), and local
//!   ones (`AF_UNIX`) within the guest, whose names are abstract or in its private files. Messages between these have 65,532
//!   bytes at most, and descriptors of anything but such sockets. An IPv6 socket has nothing to do with IPv4. A UDP socket
//!   that was not bound to a granted port hears only those that it may send to.
//! - Pipes hold 64 KiB at most (`F_SETPIPE_SZ`), and as much again in a guest that goes on from a snapshot.
//! - The timeout of `recvmmsg` also ends a wait for the next message.
//! - Signals that the program sends to itself are delivered to its handlers; a fatal one without
//!   a handler ends the run with [`riverrun::TrapCause::Signal`].
//! - Faults of the program itself (null pointers, illegal instructions, `ebreak`) are delivered to its handlers, too.
//!   Without one that can take the signal, the run ends with the trap, which has its own cause. Default compiled code
//!   has lost the registers at a load's or store's fault, so that no handler is called there: that takes
//!   `Fidelity::Precise` or the interpreter. `si_addr` is an address modulo 2^32.
//! - Timers (`alarm`, `setitimer`, `timer_create`, `timerfd`) interrupt a program that computes some milliseconds late.
//!   Those of the processor's time count the time in which the program does not wait; those of the real clock do not
//!   notice when the host's is set.
//! - Where all threads wait without a timeout for events that cannot happen (each other's wake-ups, a signal, bytes in a
//!   pipe whose ends are all the guest's), the run ends with [`riverrun::TrapCause::EndlessWait`]. The trap's message lists
//!   where each of them waits, if there are several.
//! - A call that waits when the machine's time is up starts anew with the next run.
//! - A guest may lower its own limits (`setrlimit`). Those on descriptors and on the sizes of files hold from then on; others
//!   are only remembered.
//! - The user is number 1000, in group 1000, and owns every file.
//! - The bits for set-user-ID and set-group-ID of modes are left out, since they would take effect on the host, in the guest's
//!   own files, too. Files that have them lose them by `chmod`.
//! - Files that are neither regular files nor directories nor symbolic links cannot be opened
//!   (`EACCES`). Nor can file systems of the host's kernel be reached, nor other mounts, unless
//!   [`DirOptions`] say so; symbolic links that would lead out of a granted directory cannot be
//!   made (`EPERM`). [`Builder::dir`] has the rules, and a [`Builder::log`] names what is refused.
//! - Private mappings of files are copies made when they are mapped. `MADV_DONTNEED` makes zeros of them, not what the file
//!   has.
//! - Shared mappings of files see what the guest's calls write to the file, and its calls see what is stored there. Other
//!   processes of the host see that once the guest has called `msync` or `munmap`, or has exited, not if a trap has
//!   ended it. What they write, the guest does not see, but it stays in pages that the guest does not write to. One
//!   that can be written to beside another one of the same part of a file is refused. Memory behind the file's end is
//!   zero, and can be accessed.
//! - No page is writable and executable, and code is what the program's file holds: what a
//!   program generates cannot be run.
//! - A granted directory, and the directories on the way to it, cannot be moved or removed.
//! - A directory's descriptor stands for its path: once the directory is renamed, names below it
//!   are no longer found through the descriptor.
//! - Standard output and error that are the host's have no position, also where they are files: what
//!   others have written there cannot be changed (`ESPIPE`).
//! - Locks on granted files (`flock`, `fcntl`) hold against other processes and machines. In a directory that is granted for
//!   reading there are no exclusive ones (`EBADF`). A guest that waits for one asks for it again every few milliseconds, so
//!   that others can be faster. A process or open file has at most 1,024 ranges of a file locked (`ENOLCK`). Locks on standard
//!   streams and on files of a [`FileSystem`] always succeed, and on private files those of `F_SETLK`. A guest that goes on
//!   from a snapshot holds none.
//! - `/tmp` and `/dev/shm` are the guest's own, in memory and empty at first, unless a directory is granted there or above
//!   (a root that is granted for reading, with no `/tmp` or an empty one, leaves both to the guest);
//!   [`Builder::max_private_files`] limits them, and snapshots have them. Their files' times of access do not change.
//!
//! # Limits
//!
//! A guest has 256 descriptors ([`Builder::max_descriptors`]), 1,024 threads ([`Builder::max_threads`]), 64 MiB for private
//! files, and files as large
//! as the host's process may make them ([`Builder::max_file_size`]). Calls look at the machine's deadline and at
//! interruptions between bounded pieces of work, and wait for standard streams no longer than that. Work that the host's
//! kernel does in one piece is not cut up: removing a file, `fsync`.

#![forbid(unsafe_code)]

mod abi;
mod answer;
mod attributes;
mod builder;
mod call;
mod countdown;
mod deadlock;
mod descriptors;
mod devices;
mod directories;
mod epoll;
mod error;
mod event;
mod events;
mod faults;
mod fifo;
mod file_systems;
mod files;
mod grant;
mod guest_path;
mod halves;
mod held_locks;
mod host_file;
mod host_socket;
mod identity;
mod inode;
mod interests;
mod io;
mod joined;
mod last_words;
mod links;
mod local;
mod local_calls;
mod local_name;
mod locked_ranges;
mod locks;
mod log;
mod memfd;
mod memory;
mod memory_file;
mod messages;
mod metadata;
mod network;
mod open_file;
mod own;
mod pages;
mod pair;
mod paths;
mod pending_signals;
mod pidfd;
mod pipes;
mod poll;
mod prctl;
mod private_locks;
mod proc;
mod process;
mod processors;
mod program_timers;
mod random;
mod reactor;
mod refusal;
mod regions;
mod requests;
mod rights;
mod saved;
mod saved_tree;
mod shared_mappings;
mod signal_file;
mod signalfd;
mod signals;
mod socket;
mod socket_calls;
mod socket_options;
mod space;
mod start;
mod status;
mod stdio;
mod stream;
mod table;
mod tcp;
mod threads;
mod time;
mod timer;
mod timer_file;
mod timerfd;
mod transfer;
mod tree;
mod udp;
mod virtual_file;
mod virtual_fs;

pub use answer::add_to_linker;
pub use builder::Builder;
pub use error::Error;
pub use grant::{DirAccess, DirOptions};
pub use joined::Joined;
pub use log::Detail;
pub use saved::{SECTION, reset, snapshot};
pub use start::start;
pub use stdio::{Captured, Input, Output};
pub use virtual_fs::{FileHandle, FileKind, FileStatus, FileSystem};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/snapshots.md")]
struct GuideToSnapshots;

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;

/// The state of the personality for one machine: open files, memory layout, clock, signals. It is part of the machine's
/// data.
pub struct Linux {
    pub(crate) args: Vec<Vec<u8>>,
    pub(crate) env: Vec<Vec<u8>>,
    pub(crate) descriptors: descriptors::Descriptors,
    /// What the builder has made of the standard streams, for [`Linux::restore`].
    pub(crate) standard: [std::sync::Arc<open_file::OpenFile>; 3],
    pub(crate) names: paths::Names,
    pub(crate) network: Arc<network::Network>,
    pub(crate) size_limit: host_file::SizeLimit,
    /// What the program was joined with, if it is dynamically linked.
    pub(crate) joined: Option<joined::Joined>,
    /// The program's file, from [`start`] on.
    program: Option<std::sync::Arc<[u8]>>,
    /// What was made of it, or of what it was joined with, once that was needed.
    image: std::sync::OnceLock<Option<Box<riverrun::image::Image>>>,
    /// `None` until [`start`] has been called.
    pub(crate) layout: Option<memory::Layout>,
    /// Parts of files that stand in the guest's memory.
    pub(crate) mappings: shared_mappings::Mappings,
    /// FIFOs of which threads wait to open an end, by the number of the thread.
    pub(crate) pending_opens: std::collections::BTreeMap<u32, std::sync::Arc<inode::Inode>>,
    pub(crate) clock: time::Clock,
    pub(crate) timers: timer::Timers,
    pub(crate) random: random::Random,
    pub(crate) signals: signals::Signals,
    pub(crate) threads: threads::Threads,
    pub(crate) process: process::Process,
    pub(crate) reactor: reactor::Reactor,
    pub(crate) log: log::Log,
    pub(crate) last_words: last_words::LastWords,
    /// What was restored last.
    pub(crate) baseline: Option<Box<saved::Baseline>>,
    /// What a builder has restored, if that is another state.
    pub(crate) own_baseline: Option<Box<saved::Baseline>>,
    /// Whether a file may be locked.
    pub(crate) has_locked: bool,
    /// Whether a system call has been made since.
    pub(crate) is_changed: bool,
}

impl Linux {
    /// Nothing granted, as a start: no arguments, no environment, standard streams that are
    /// empty, no directory.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The first library that the guest has tried to load as it ran and whose code was refused, as [`Builder::join`] was not
    /// given its name: its path in the guest's tree.
    pub fn unnamed_library(&self) -> Option<PathBuf> {
        self.log.unnamed_library.as_ref().map(|path| OsString::from_vec(path.to_bytes()).into())
    }

    /// The program's file; `ENOENT` in a guest that was restored, which has none.
    pub(crate) fn program(&self) -> Result<&std::sync::Arc<[u8]>, call::Stop> {
        self.program.as_ref().ok_or(call::Stop::Errno(rustix::io::Errno::NOENT))
    }

    /// Where the program's file is in the guest's tree: its first argument, with symbolic links followed if that is an
    /// absolute path that is there, and from the root if it is relative.
    pub(crate) fn program_path(&self, patience: call::Patience<'_>) -> Option<guest_path::GuestPath> {
        let name = self.args.first()?;
        if name.starts_with(b"/")
            && let Ok(found) = self.names.resolve(&guest_path::GuestPath::default(), name, true, patience)
        {
            return Some(found.path);
        }
        Some(guest_path::GuestPath::from_root(name))
    }

    pub(crate) fn layout(&mut self) -> Result<&mut memory::Layout, call::Stop> {
        self.layout.as_mut().ok_or(call::Stop::NotStarted)
    }
}

// Machines move between threads.
const _: () = {
    const fn assert_send<T: Send>() {}
    assert_send::<Linux>();
};

impl fmt::Debug for Linux {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Linux").field("names", &self.names).finish_non_exhaustive()
    }
}
