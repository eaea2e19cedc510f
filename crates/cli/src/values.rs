//! The values that options take: amounts of memory, times, directories.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use riverrun::PAGE_SIZE;
use riverrun_linux::{DirAccess, DirOptions};

use crate::Result;
use crate::args::EngineChoice;

/// A directory of the host that the guest may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// The directory.
    pub(crate) host: PathBuf,
    /// What the guest calls it: an absolute path.
    pub(crate) guest: String,
    /// How it may be used.
    pub(crate) options: DirOptions,
}

/// A whole number.
pub(crate) fn number(option: &str, value: &OsString) -> Result<u64> {
    let number = value.to_str().and_then(|text| text.parse().ok());
    number.ok_or_else(|| format!("{option} {}: not a whole number from 0 to 2^64 - 1", value.display()).into())
}

/// Bytes, with K, M or G for the powers of 1024.
pub(crate) fn bytes(option: &str, value: &OsString) -> Result<u64> {
    let bytes = value.to_str().and_then(|text| {
        let (digits, unit) = match text.as_bytes().last()? {
            b'K' | b'k' => (&text[..text.len() - 1], 1 << 10),
            b'M' | b'm' => (&text[..text.len() - 1], 1 << 20),
            b'G' | b'g' => (&text[..text.len() - 1], 1 << 30),
            _ => (text, 1),
        };
        digits.parse::<u64>().ok()?.checked_mul(unit)
    });
    bytes.ok_or_else(|| {
        format!("{option} {}: not an amount of memory; give bytes, or a number with K, M or G: 256M", value.display())
            .into()
    })
}

/// What a guest may have of memory: not more than it has addresses.
pub(crate) fn memory_bytes(option: &str, value: &OsString) -> Result<u64> {
    let size = bytes(option, value)?;
    if size > 4 << 30 {
        return Err(format!("{option} {}: a guest has 4G of addresses, and cannot use more", value.display()).into());
    }
    Ok(size)
}

/// The size of a stack: at least a page, and small beside the guest's 4 GiB of addresses.
pub(crate) fn stack_bytes(option: &str, value: &OsString) -> Result<u64> {
    let size = bytes(option, value)?;
    if !(PAGE_SIZE..=1 << 30).contains(&size) {
        return Err(format!("{option} {}: a stack has at least 4K and at most 1G", value.display()).into());
    }
    Ok(size)
}

/// A time, in seconds unless it says otherwise.
pub(crate) fn duration(option: &str, value: &OsString) -> Result<Duration> {
    let seconds = value.to_str().and_then(|text| {
        let unit_start = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (number, unit) = text.split_at(unit_start);
        let unit = match unit {
            "ms" => 1e-3,
            "s" | "" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        Some(number.parse::<f64>().ok()? * unit)
    });
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).ok_or_else(|| {
        format!("{option} {}: not a time; give seconds, or a number with ms, s, m or h: 2s, 500ms", value.display())
            .into()
    })
}

/// `HOST:GUEST`, with any of `:ro`, `:mounts` and `:links` behind.
pub(crate) fn mount(value: &OsString) -> Result<Mount> {
    let wrong = |what: &str| format!("--dir {}: {what}; give HOST:GUEST or HOST:GUEST:ro", value.display());
    let mut paths = value.to_str().ok_or_else(|| wrong("not UTF-8"))?;
    let (mut access, mut mounts, mut links) = (DirAccess::ReadWrite, false, false);
    while let Some((before, option)) = paths.rsplit_once(':') {
        match option {
            "ro" => access = DirAccess::ReadOnly,
            "mounts" => mounts = true,
            "links" => links = true,
            _ => break,
        }
        paths = before;
    }
    let (host, guest) = paths.rsplit_once(':').ok_or_else(|| wrong("says not where the guest sees it"))?;
    if host.is_empty() {
        return Err(wrong("names no directory of the host").into());
    }
    if !guest.starts_with('/') {
        return Err(wrong("the guest's path must begin with /").into());
    }
    let options = DirOptions::new(access).crosses_mounts(mounts).outward_links(links);
    Ok(Mount { host: host.into(), guest: guest.to_owned(), options })
}

/// `NAME=VALUE`, taken apart.
pub(crate) fn variable(value: &OsString) -> Result<(String, String)> {
    let parts = value.to_str().and_then(|text| text.split_once('=')).filter(|(name, _)| !name.is_empty());
    let (name, value) = parts.ok_or_else(|| format!("--env {}: not a variable; give NAME=VALUE", value.display()))?;
    Ok((name.to_owned(), value.to_owned()))
}

/// `auto`, `interp` or `compiled`.
pub(crate) fn engine(value: &OsStr) -> Result<EngineChoice> {
    match value.to_str() {
        Some("auto") => Ok(EngineChoice::Auto),
        Some("interp") => Ok(EngineChoice::Interpreter),
        Some("compiled") => Ok(EngineChoice::Compiled),
        _ => Err(format!("--engine {}: say auto, interp or compiled", value.display()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_memory() {
        let read = |text: &str| bytes("--memory", &text.into()).ok();
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
        let read = |text: &str| duration("--timeout", &text.into()).ok();
        assert_eq!(read("2"), Some(Duration::from_secs(2)));
        assert_eq!(read("1.5s"), Some(Duration::from_millis(1500)));
        assert_eq!(read("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(read("2m"), Some(Duration::from_secs(120)));
        assert_eq!(read("1h"), Some(Duration::from_secs(3600)));
        for wrong in ["", "s", "-1s", "2 weeks", "inf", "NaN", "1e3", "99999999999999999999h", "1sec"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn directories() {
        let read = |text: &str| mount(&text.into()).map_err(|error| error.to_string());
        let (options, read_only) = (DirOptions::new(DirAccess::ReadWrite), DirOptions::new(DirAccess::ReadOnly));
        let plain = Mount { host: "a".into(), guest: "/data".into(), options };
        assert_eq!(read("a:/data"), Ok(plain.clone()));
        assert_eq!(read("a:/data:ro"), Ok(Mount { options: read_only, ..plain.clone() }));
        let all = read_only.crosses_mounts(true).outward_links(true);
        for value in ["a:/data:ro:mounts:links", "a:/data:links:mounts:ro"] {
            assert_eq!(read(value), Ok(Mount { options: all, ..plain.clone() }));
        }
        assert_eq!(read("a:b:/data"), Ok(Mount { host: "a:b".into(), ..plain }));
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
