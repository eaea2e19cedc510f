//! The contestants of a comparison: guests, functions of guests, programs of the host.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::Result;

/// One of the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Contestant {
    /// A guest, run from its start to its end.
    Guest(PathBuf),
    /// A function of a guest.
    Function(PathBuf, String),
    /// A program of the host, outside of any sandbox.
    Native(PathBuf),
}

impl Contestant {
    /// Reads `FILE` or `FILE:FUNCTION`; a file of that whole name comes first.
    pub(crate) fn parse(text: &OsStr) -> Result<Contestant> {
        let whole = Path::new(text);
        if whole.exists() {
            return Contestant::file(whole);
        }
        let missing = || format!("{}: no such file; give a program, or FILE:FUNCTION", whole.display());
        let bytes = text.as_bytes();
        let colon = bytes.iter().rposition(|&byte| byte == b':').ok_or_else(missing)?;
        let (file, function) = (Path::new(OsStr::from_bytes(&bytes[..colon])), &bytes[colon + 1..]);
        if !file.is_file() {
            return Err(missing().into());
        }
        match (Contestant::file(file)?, str::from_utf8(function)) {
            (Contestant::Guest(path), Ok(function)) if !function.is_empty() => {
                Ok(Contestant::Function(path, function.to_owned()))
            }
            (Contestant::Native(_), _) => {
                Err(format!("{}: a program of the host; functions can be compared of guests only", file.display())
                    .into())
            }
            _ => Err(format!("{}: names no function behind the colon", whole.display()).into()),
        }
    }

    fn file(path: &Path) -> Result<Contestant> {
        let failed = |error| format!("{}: {error}", path.display());
        let metadata = fs::metadata(path).map_err(failed)?;
        if !metadata.is_file() {
            return Err(format!("{}: not a file", path.display()).into());
        }
        let mut head = Vec::new();
        File::open(path).and_then(|file| file.take(20).read_to_end(&mut head)).map_err(failed)?;
        if is_riscv(&head) {
            return Ok(Contestant::Guest(path.to_owned()));
        }
        if metadata.permissions().mode() & 0o111 == 0 {
            let path = path.display();
            return Err(format!("{path}: neither a RISC-V program nor one that can be executed here").into());
        }
        // A name without a slash would be searched for on the PATH.
        Ok(Contestant::Native(path.canonicalize().map_err(failed)?))
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Contestant::Guest(path) | Contestant::Function(path, _) | Contestant::Native(path) => path,
        }
    }

    /// Checks its arguments.
    pub(crate) fn check(&self, arguments: &[OsString]) -> Result<()> {
        match self {
            Contestant::Function(..) => integers(arguments).map(drop),
            Contestant::Guest(_) | Contestant::Native(_) => Ok(()),
        }
    }
}

impl fmt::Display for Contestant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Contestant::Guest(path) | Contestant::Native(path) => path.display().fmt(f),
            Contestant::Function(path, name) => write!(f, "{}:{name}", path.display()),
        }
    }
}

/// Whether a file that begins so is an ELF file for RISC-V.
fn is_riscv(head: &[u8]) -> bool {
    const RISCV: [u8; 2] = [243, 0];
    head.starts_with(b"\x7fELF") && head.get(18..20) == Some(&RISCV)
}

/// How many registers of a guest function's arguments there are.
pub(crate) const REGISTERS: usize = 8;

/// A function's arguments.
pub(crate) fn integers(arguments: &[OsString]) -> Result<[i64; REGISTERS]> {
    if arguments.len() > REGISTERS {
        return Err(format!("{} arguments: a function gets at most {REGISTERS}", arguments.len()).into());
    }
    let mut registers = [0; REGISTERS];
    for (register, argument) in registers.iter_mut().zip(arguments) {
        let number = argument.to_str().and_then(|text| text.parse().ok());
        *register = number.ok_or_else(|| format!("{}: functions get whole numbers", argument.display()))?;
    }
    Ok(registers)
}
