//! Parsers of option values: amounts of memory, times, directories.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use riverrun::{AddressSpace, PAGE_SIZE};
use riverrun_linux::{DirAccess, DirOptions};

/// A value or an error message; clap adds the option's name.
type Result<T> = std::result::Result<T, String>;

/// A directory of the host that the guest may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// The directory.
    pub(crate) host: PathBuf,
    /// Its path in the guest's tree, absolute.
    pub(crate) guest: String,
    /// How it may be used.
    pub(crate) options: DirOptions,
}

/// Bytes, with K, M or G for the powers of 1024.
pub(crate) fn bytes(value: &str) -> Result<u64> {
    let bytes = || {
        let (digits, unit) = match value.as_bytes().last()? {
            b'K' | b'k' => (&value[..value.len() - 1], 1 << 10),
            b'M' | b'm' => (&value[..value.len() - 1], 1 << 20),
            b'G' | b'g' => (&value[..value.len() - 1], 1 << 30),
            _ => (value, 1),
        };
        digits.parse::<u64>().ok()?.checked_mul(unit)
    };
    bytes().ok_or_else(|| "not an amount of memory; give bytes, or a number with K, M or G: 256M".to_owned())
}

/// A limit on guest memory: at most the size of the guest's address space.
pub(crate) fn memory_bytes(value: &str) -> Result<u64> {
    match bytes(value)? {
        size if size > 4 << 30 => Err("a guest has 4G of addresses, and cannot use more".to_owned()),
        size => Ok(size),
    }
}

/// Bits of a guest's addresses.
pub(crate) fn address_bits(value: &str) -> Result<u32> {
    let bits = value.parse().ok().filter(|&bits| AddressSpace::new(bits).is_some());
    bits.ok_or_else(|| format!("not a number from {} to {}", AddressSpace::MIN_BITS, AddressSpace::MAX_BITS))
}

/// The size of a guest's stack: at least a page, and much less than its 4 GiB of addresses.
pub(crate) fn stack_bytes(value: &str) -> Result<u64> {
    match bytes(value)? {
        size if (PAGE_SIZE..=1 << 30).contains(&size) => Ok(size),
        _ => Err("a stack has at least 4K and at most 1G".to_owned()),
    }
}

/// A time; without a unit, in seconds. One that is longer than any that can be waited for is as long as can be.
pub(crate) fn duration(value: &str) -> Result<Duration> {
    let seconds = || {
        let unit_start = value.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(value.len());
        let (number, unit) = value.split_at(unit_start);
        let unit = match unit {
            "ms" => 1e-3,
            "s" | "" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        Some(number.parse::<f64>().ok()? * unit).filter(|seconds| seconds.is_sign_positive())
    };
    seconds()
        .map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
        .ok_or_else(|| "not a time; give seconds, or a number with ms, s, m or h: 2s, 500ms".to_owned())
}

/// `HOST:GUEST`, followed by any of `:ro`, `:mounts` and `:links`. The host's path may have any bytes.
pub(crate) fn mount(value: OsString) -> Result<Mount> {
    let wrong = |what: &str| format!("{what}; give HOST:GUEST or HOST:GUEST:ro");
    let mut paths = value.as_bytes();
    let (mut access, mut mounts, mut links) = (DirAccess::ReadWrite, false, false);
    while let Some((before, option)) = rsplit_once(paths, b':') {
        match option {
            b"ro" => access = DirAccess::ReadOnly,
            b"mounts" => mounts = true,
            b"links" => links = true,
            _ => break,
        }
        paths = before;
    }
    let (host, guest) = rsplit_once(paths, b':').ok_or_else(|| wrong("says not where the guest sees it"))?;
    let guest = str::from_utf8(guest).map_err(|_| wrong("the guest's path is not UTF-8"))?;
    if host.is_empty() {
        return Err(wrong("names no directory of the host"));
    }
    if !guest.starts_with('/') {
        return Err(wrong("the guest's path must begin with /"));
    }
    let options = DirOptions::new(access).crosses_mounts(mounts).outward_links(links);
    Ok(Mount { host: OsStr::from_bytes(host).into(), guest: guest.to_owned(), options })
}

/// Splits `NAME=VALUE`, which may have any bytes.
pub(crate) fn variable(value: OsString) -> Result<(OsString, OsString)> {
    let bytes = value.as_bytes();
    let end = bytes.iter().position(|&byte| byte == b'=').filter(|&end| end > 0);
    let end = end.ok_or("not a variable; give NAME=VALUE")?;
    let part = |bytes| OsStr::from_bytes(bytes).to_owned();
    Ok((part(&bytes[..end]), part(&bytes[end + 1..])))
}

fn rsplit_once(bytes: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().rposition(|&byte| byte == separator)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_memory() {
        let read = |text: &str| bytes(text).ok();
        assert_eq!(read("4096"), Some(4096));
        assert_eq!(read("64K"), Some(64 << 10));
        assert_eq!(read("256m"), Some(256 << 20));
        assert_eq!(read("4G"), Some(4 << 30));
        for wrong in ["", "M", "12Q", "-1", "1.5M", "20000000000G", "M1", "1MB", "½M", "€"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times() {
        let read = |text: &str| duration(text).ok();
        assert_eq!(read("2"), Some(Duration::from_secs(2)));
        assert_eq!(read("1.5s"), Some(Duration::from_millis(1500)));
        assert_eq!(read("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(read("2m"), Some(Duration::from_secs(120)));
        assert_eq!(read("1h"), Some(Duration::from_secs(3600)));
        for long in ["18446744073709551615", "18446744073709551616", "99999999999999999999h"] {
            assert_eq!(read(long), Some(Duration::MAX));
        }
        for wrong in ["", "s", "-1s", "2 weeks", "inf", "NaN", "1e3", "1sec"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn directories() {
        let read = |value: &str| mount(value.into());
        let (options, read_only) = (DirOptions::new(DirAccess::ReadWrite), DirOptions::new(DirAccess::ReadOnly));
        let plain = Mount { host: "a".into(), guest: "/data".into(), options };
        assert_eq!(read("a:/data"), Ok(plain.clone()));
        assert_eq!(read("a:/data:ro"), Ok(Mount { options: read_only, ..plain.clone() }));
        let all = read_only.crosses_mounts(true).outward_links(true);
        for value in ["a:/data:ro:mounts:links", "a:/data:links:mounts:ro"] {
            assert_eq!(read(value), Ok(Mount { options: all, ..plain.clone() }));
        }
        assert_eq!(read("a:b:/data"), Ok(Mount { host: "a:b".into(), ..plain }));
        let bytes = mount(OsStr::from_bytes(b"\xff:/data").to_owned()).unwrap().host;
        assert_eq!(bytes.as_os_str().as_bytes(), b"\xff");
        for (wrong, why) in [
            ("a", "says not where the guest sees it"),
            ("a:ro", "says not where the guest sees it"),
            (":/data", "names no directory of the host"),
            ("a:data", "must begin with /"),
            ("a:/data:rw", "must begin with /"),
            ("a:", "must begin with /"),
        ] {
            assert!(read(wrong).is_err_and(|message| message.contains(why)), "{wrong}");
        }
    }
}
