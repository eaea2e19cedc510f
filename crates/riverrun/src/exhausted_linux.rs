//! Finds which limit of the host a request for address space or files has hit, and names the remedy.
//!
//! Linux says ENOMEM for nearly all of them ("Cannot allocate memory", while the machine has plenty). So where a
//! machine or a program cannot be made, `/proc` is asked. That takes milliseconds where a process has many mappings,
//! and is for errors of the host's own requests only: guests could have it done again and again.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use crate::error::Error;

const ENOMEM: i32 = 12;
const EMFILE: i32 = 24;

/// More mappings than one request can need.
const MAPPINGS: u64 = 64;
/// Addresses that one request can need besides a machine's window, which is the largest.
const ADDRESSES: u64 = 1 << 30;
/// Bytes to be written that one request can need, a machine's stack and data among them.
const DATA: u64 = 1 << 30;
/// Addresses that a process can have, whatever its limits: 47 bits.
const ALL_ADDRESSES: u64 = 1 << 47;

/// A limit of the host that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// `vm.max_map_count`, and the mappings that the process has.
    Mappings { limit: u64, used: u64 },
    /// `RLIMIT_AS`, the bytes of addresses that the process has, and those of a machine's window.
    AddressSpace { limit: u64, used: u64, window: u64 },
    /// `RLIMIT_DATA`, and the bytes that the process can write to.
    Data { limit: u64, used: u64 },
    /// What processors can address.
    Addresses { used: u64, window: u64 },
    /// Memory that the system has promised, where it does not promise more than it has.
    Commitment,
    /// `RLIMIT_NOFILE`, which cannot be read without another file.
    Files,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Limit::Mappings { limit, used } => write!(
                f,
                "the process has {used} memory mappings, and vm.max_map_count allows {limit}; a machine takes six to \
                 ten. Raise it (sysctl -w vm.max_map_count={}), or keep fewer machines",
                limit.saturating_mul(16)
            ),
            Limit::AddressSpace { limit, used, window } => write!(
                f,
                "the process has {} MiB of addresses, and RLIMIT_AS allows {}; a machine takes {}, most of which are \
                 no memory. Raise it (ulimit -v unlimited), give machines fewer addresses \
                 (`Config::address_bits`), or keep fewer machines",
                used >> 20,
                limit >> 20,
                (window >> 20) + 1
            ),
            Limit::Data { limit, used } => write!(
                f,
                "the process has {} MiB of data, and RLIMIT_DATA allows {}. Raise it (ulimit -d unlimited), or give \
                 machines smaller stacks",
                used >> 20,
                limit >> 20
            ),
            Limit::Addresses { used, window } => write!(
                f,
                "the process has {} GiB of addresses, and there are {}; a machine takes {} MiB. Give machines fewer \
                 (`Config::address_bits`), or keep fewer machines",
                used >> 30,
                ALL_ADDRESSES >> 30,
                window >> 20
            ),
            Limit::Commitment => write!(
                f,
                "the system promises no more memory than it has, as vm.overcommit_memory is 2. Allow it to (sysctl -w \
                 vm.overcommit_memory=0), or keep fewer machines"
            ),
            Limit::Files => write!(
                f,
                "the process has as many open files as RLIMIT_NOFILE allows; a program takes one. Raise it (ulimit \
                 -n), or keep fewer programs"
            ),
        }
    }
}

/// The host's error, and the limit behind it.
#[derive(Debug, thiserror::Error)]
#[error("{said}: {limit}")]
struct Exhausted {
    limit: Limit,
    #[source]
    said: io::Error,
}

/// The error of a host that lacks `what`.
#[cold]
pub(crate) fn resource(what: &'static str, said: io::Error) -> Error {
    resource_for(what, riverrun_vm::AddressSpace::LARGEST.size(), said)
}

/// The same, of a machine whose window has so many bytes.
#[cold]
pub(crate) fn resource_for(what: &'static str, window: u64, said: io::Error) -> Error {
    let source = match limit(&said, window) {
        Some(limit) => io::Error::new(said.kind(), Exhausted { limit, said }),
        None => said,
    };
    Error::Resource { what, source }
}

fn limit(said: &io::Error, window: u64) -> Option<Limit> {
    match said.raw_os_error()? {
        ENOMEM => of_memory(&Process::present()?, window),
        EMFILE => Some(Limit::Files),
        _ => None,
    }
}

/// The process's usage and limits; `None` where there is no limit.
#[derive(Clone, Copy, Debug)]
struct Process {
    mappings: u64,
    max_mappings: u64,
    /// Bytes.
    addresses: u64,
    /// Bytes.
    max_addresses: Option<u64>,
    /// Bytes.
    data: u64,
    /// Bytes.
    max_data: Option<u64>,
    is_commitment_strict: bool,
}

fn of_memory(process: &Process, window: u64) -> Option<Limit> {
    let Process { mappings, max_mappings, addresses, max_addresses, data, max_data, .. } = *process;
    let needed = ADDRESSES + window;
    if mappings.saturating_add(MAPPINGS) >= max_mappings {
        return Some(Limit::Mappings { limit: max_mappings, used: mappings });
    }
    if let Some(limit) = max_addresses.filter(|&limit| addresses.saturating_add(needed) > limit) {
        return Some(Limit::AddressSpace { limit, used: addresses, window });
    }
    if let Some(limit) = max_data.filter(|&limit| data.saturating_add(DATA) > limit) {
        return Some(Limit::Data { limit, used: data });
    }
    if process.is_commitment_strict {
        return Some(Limit::Commitment);
    }
    (addresses.saturating_add(needed) > ALL_ADDRESSES).then_some(Limit::Addresses { used: addresses, window })
}

impl Process {
    /// This one. Nothing is allocated but for its error: that could be what fails next.
    fn present() -> Option<Process> {
        let mut buffer = [0; 4096];
        let mappings = count_lines("/proc/self/maps").ok()?;
        let max_mappings = text("/proc/sys/vm/max_map_count", &mut buffer)?.trim().parse().ok()?;
        let is_commitment_strict = text("/proc/sys/vm/overcommit_memory", &mut buffer)?.trim() == "2";
        let mut pages = text("/proc/self/statm", &mut buffer)?.split_ascii_whitespace().map(|n| n.parse().ok());
        let [addresses, data] = [pages.next()??, pages.nth(4)??].map(|pages: u64| pages * riverrun_vm::PAGE_SIZE);
        let limits = text("/proc/self/limits", &mut buffer)?;
        // Its name, the soft limit, the hard limit, the unit.
        let of = |name: &str| {
            let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_ascii_whitespace().next()?.parse().ok()
        };
        let [max_addresses, max_data] = ["Max address space", "Max data size"].map(of);
        Some(Process { mappings, max_mappings, addresses, max_addresses, data, max_data, is_commitment_strict })
    }
}

/// A file that is no longer than the buffer.
fn text<'a>(path: &str, buffer: &'a mut [u8]) -> Option<&'a str> {
    let mut file = File::open(path).ok()?;
    let mut len = 0;
    loop {
        match file.read(&mut buffer[len..]).ok()? {
            0 => return str::from_utf8(&buffer[..len]).ok(),
            read => len += read,
        }
    }
}

fn count_lines(path: &str) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut buffer = [0; 16 << 10];
    let mut lines = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(lines),
            read => lines += memchr::memchr_iter(b'\n', &buffer[..read]).count() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_is_reached_is_told_from_others() {
        let fine = Process {
            mappings: 100,
            max_mappings: 65_530,
            addresses: 10 << 30,
            max_addresses: None,
            data: 1 << 20,
            max_data: None,
            is_commitment_strict: false,
        };
        let window = 4 << 30;
        assert_eq!(of_memory(&fine, window), None);
        let with = |change: fn(&mut Process)| {
            let mut process = fine;
            change(&mut process);
            of_memory(&process, 4 << 30).unwrap()
        };
        let used = 10 << 30;
        assert_eq!(with(|p| p.mappings = 65_528), Limit::Mappings { limit: 65_530, used: 65_528 });
        assert_eq!(with(|p| p.max_addresses = Some(14 << 30)), Limit::AddressSpace { limit: 14 << 30, used, window });
        assert_eq!(with(|p| p.max_data = Some(2 << 20)), Limit::Data { limit: 2 << 20, used: 1 << 20 });
        assert_eq!(with(|p| p.is_commitment_strict = true), Limit::Commitment);
        assert_eq!(
            with(|p| p.addresses = (1 << 47) - (1 << 30)),
            Limit::Addresses { used: (1 << 47) - (1 << 30), window }
        );
    }

    #[test]
    fn what_the_process_has_is_found() {
        let process = Process::present().unwrap();
        assert!(process.mappings > 10 && process.mappings < process.max_mappings, "{process:?}");
        assert!(process.addresses > process.data && process.data > 1 << 16, "{process:?}");
    }

    #[test]
    fn other_errors_stay_what_they_are() {
        let error = resource("patience", io::Error::from_raw_os_error(1));
        assert_eq!(error.to_string(), "the host has no more patience: Operation not permitted (os error 1)");
    }
}
