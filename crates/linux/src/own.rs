//! What the guest's tree has whatever its host grants: devices, what `/proc` tells of the guest itself, and files that the
//! host gives as bytes. All of it can only be read, but for devices.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use crate::devices::Device;
use crate::guest_path::GuestPath;
use crate::inode::Inode;
use crate::process::PROCESS;

/// Something that no directory of the host has.
#[derive(Clone, Debug)]
pub(crate) enum Own {
    Directory,
    Device(Device),
    /// A file that the host gives.
    File(Arc<Inode>),
    /// A file that is made when it is opened.
    Proc(ProcFile),
    /// A symbolic link with this target.
    Link(Vec<u8>),
    /// A link to the program's file, by whatever name the guest may reach that.
    Program,
    /// A link to what the descriptor of this number has open.
    Descriptor(i32),
}

/// The links in `/dev`, and their targets.
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stderr", "/proc/self/fd/2"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
];

/// The names in a process's folder beside its files.
const LINKS: [&str; 4] = ["cwd", "exe", "fd", "root"];

/// The guest's own number, as a name.
fn process() -> String {
    PROCESS.to_string()
}

/// A file that is made when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcFile {
    Cmdline,
    Comm,
    Cpuinfo,
    Environ,
    Loadavg,
    Maps,
    Meminfo,
    Stat,
    Statm,
    Status,
    /// Of all processes.
    SystemStat,
    Uptime,
    Version,
}

impl ProcFile {
    /// Those in `/proc`.
    pub(crate) const SYSTEM: [(&str, ProcFile); 6] = [
        ("cpuinfo", ProcFile::Cpuinfo),
        ("loadavg", ProcFile::Loadavg),
        ("meminfo", ProcFile::Meminfo),
        ("stat", ProcFile::SystemStat),
        ("uptime", ProcFile::Uptime),
        ("version", ProcFile::Version),
    ];

    /// Those in a process's folder.
    pub(crate) const PROCESS: [(&str, ProcFile); 7] = [
        ("cmdline", ProcFile::Cmdline),
        ("comm", ProcFile::Comm),
        ("environ", ProcFile::Environ),
        ("maps", ProcFile::Maps),
        ("stat", ProcFile::Stat),
        ("statm", ProcFile::Statm),
        ("status", ProcFile::Status),
    ];

    pub(crate) fn of_system(name: &str) -> Option<ProcFile> {
        ProcFile::SYSTEM.iter().find(|(known, _)| *known == name).map(|(_, file)| *file)
    }

    pub(crate) fn of_process(name: &str) -> Option<ProcFile> {
        ProcFile::PROCESS.iter().find(|(known, _)| *known == name).map(|(_, file)| *file)
    }
}

/// The files that a host gives as bytes, by their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given(BTreeMap<GuestPath, Arc<Inode>>);

impl Given {
    /// Adds a file; false if it is there, or something leads through it or it through something.
    pub(crate) fn add(&mut self, path: GuestPath, bytes: Arc<[u8]>) -> bool {
        let is_free = !self.holds(&path) && self.0.keys().all(|other| !path.is_within(other));
        if is_free {
            self.0.insert(path, Inode::given(bytes));
        }
        is_free
    }

    pub(crate) fn get(&self, path: &GuestPath) -> Option<Own> {
        self.0.get(path).map(|inode| Own::File(inode.clone()))
    }

    /// Whether a file has this path or lies below it.
    pub(crate) fn holds(&self, path: &GuestPath) -> bool {
        self.0.keys().any(|file| file.is_within(path))
    }

    /// The names in a directory that are those of files, or lead to them.
    pub(crate) fn children(&self, path: &GuestPath) -> BTreeSet<OsString> {
        let below = self.0.keys().filter(|file| file.is_within(path));
        below.filter_map(|file| file.names().get(path.names().len())).cloned().collect()
    }
}

/// What is there in `/dev` and `/proc`, for a guest whose current directory is `current`.
pub(crate) fn built_in(path: &GuestPath, current: &GuestPath) -> Option<Own> {
    let names: Option<Vec<&str>> = path.names().iter().map(|name| name.to_str()).collect();
    let names = names?;
    let link = |target: &[u8]| Some(Own::Link(target.to_vec()));
    match names[..] {
        ["dev" | "proc"] => Some(Own::Directory),
        ["dev", name] => match DEVICE_LINKS.iter().find(|(link, _)| *link == name) {
            Some((_, target)) => link(target.as_bytes()),
            None => Device::named(name.as_ref()).map(Own::Device),
        },
        ["proc", "self"] => link(process().as_bytes()),
        ["proc", name] if name != process() => ProcFile::of_system(name).map(Own::Proc),
        ["proc", _] | ["proc", _, "fd"] if names[1] == process() => Some(Own::Directory),
        ["proc", number, name] if number == process() => match name {
            "cwd" => link(&current.to_bytes()),
            "exe" => Some(Own::Program),
            "root" => link(b"/"),
            name => ProcFile::of_process(name).map(Own::Proc),
        },
        ["proc", number, "fd", name] if number == process() => descriptor(name).map(Own::Descriptor),
        _ => None,
    }
}

/// A descriptor's number, written as numbers are.
fn descriptor(name: &str) -> Option<i32> {
    name.parse().ok().filter(|&number: &i32| number >= 0 && number.to_string() == name)
}

/// The names in `/`, `/dev` and `/proc`. Those of open descriptors are not known here.
pub(crate) fn built_in_children(path: &GuestPath) -> BTreeSet<OsString> {
    let names: Vec<&[u8]> = path.names().iter().map(|name| name.as_bytes()).collect();
    let own = process();
    let all: Vec<&str> = match names[..] {
        [] => vec!["dev", "proc"],
        [b"dev"] => {
            let links = DEVICE_LINKS.iter().map(|(name, _)| *name);
            Device::ALL.iter().map(|device| device.name()).chain(links).collect()
        }
        [b"proc"] => ProcFile::SYSTEM.iter().map(|(name, _)| *name).chain(["self", &own]).collect(),
        [b"proc", number] if number == own.as_bytes() => {
            ProcFile::PROCESS.iter().map(|(name, _)| *name).chain(LINKS).collect()
        }
        _ => Vec::new(),
    };
    all.into_iter().map(OsString::from).collect()
}

/// Whether this is the directory of open descriptors.
pub(crate) fn is_descriptors(path: &GuestPath) -> bool {
    path.to_bytes() == format!("/proc/{PROCESS}/fd").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> GuestPath {
        GuestPath::parse_absolute(text).unwrap()
    }

    #[test]
    fn every_listed_name_is_there() {
        let current = path("/home");
        let mut todo = vec![path("/")];
        let mut count = 0;
        while let Some(folder) = todo.pop() {
            for name in built_in_children(&folder) {
                let below = path(&format!("{}/{}", folder.to_bytes().escape_ascii(), name.display()));
                let own = built_in(&below, &current).unwrap_or_else(|| panic!("{name:?} is not there"));
                count += 1;
                if matches!(own, Own::Directory) {
                    todo.push(below);
                }
            }
        }
        assert!(count > 20, "{count}");
        for missing in ["/proc/1", "/proc/self/maps", "/proc/1000/fd/-1", "/proc/1000/fd/01", "/dev/nothing", "/tmp"] {
            assert!(built_in(&path(missing), &current).is_none(), "{missing}");
        }
    }

    #[test]
    fn files_are_given_once() {
        let mut given = Given::default();
        assert!(given.add(path("/a/b"), Arc::from(*b"x")));
        for taken in ["/a/b", "/a", "/a/b/c", "/"] {
            assert!(!given.add(path(taken), Arc::from(*b"y")), "{taken}");
        }
        assert!(given.add(path("/a/c"), Arc::from(*b"z")));
        assert_eq!(given.children(&path("/a")), ["b", "c"].map(OsString::from).into());
        assert_eq!(given.children(&path("/")), ["a"].map(OsString::from).into());
    }
}
