//! Scripts given as the program: riverrun runs machine code, so what runs a script is its interpreter, as another guest.
//! The error of a program that cannot be loaded says that.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::guest_name::in_tree;
use crate::options::RunOptions;

/// Bytes of a first line that Linux looks at.
const LINE: u64 = 256;

/// What to do instead, if the program is a script.
pub(crate) fn advice(options: &RunOptions) -> Option<String> {
    let program = options.program();
    let line = first_line(program)?;
    let says = format!("it is a script, whose interpreter is {line:?}");
    let name = program.file_name().unwrap_or(OsStr::new("")).display();
    let (grant, script) = match in_tree(options) {
        Some(path) => (String::new(), path.display().to_string()),
        None => (" --dir FOLDER:/script:ro".to_owned(), format!("/script/{name}")),
    };
    Some(match &options.sysroot {
        Some(folder) => {
            let interpreter = format!("{}{}", folder.display().to_string().trim_end_matches('/'), interpreter(&line));
            let run = format!("riverrun run --sysroot {}{grant} {interpreter} {script}", folder.display());
            format!("{says}; run its interpreter: {run}")
        }
        None => format!(
            "{says}; run an interpreter for riscv64: riverrun run{grant} INTERPRETER {script}, \
             with --sysroot FOLDER if it is dynamically linked"
        ),
    })
}

/// What is behind `#!`, if that is how the file begins.
fn first_line(path: &Path) -> Option<String> {
    // A pipe would wait for a writer.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut head = Vec::new();
    File::open(path).ok()?.take(LINE).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    Some(String::from_utf8_lossy(line).trim().to_owned())
}

/// The interpreter's path in the guest's tree: `env`, which would look for it, cannot start programs.
fn interpreter(line: &str) -> String {
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or("/INTERPRETER");
    let by_env = words.find(|word| !word.starts_with('-') && !word.contains('='));
    match by_env {
        Some(name) if first.ends_with("/env") => format!("/usr/bin/{name}"),
        _ => first.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_found_in_first_lines() {
        for (line, expected) in [
            ("/bin/sh", "/bin/sh"),
            ("/usr/bin/perl -w", "/usr/bin/perl"),
            ("/usr/bin/env python3", "/usr/bin/python3"),
            ("/usr/bin/env -S A=1 node --jitless", "/usr/bin/node"),
            ("/usr/bin/env", "/usr/bin/env"),
            ("", "/INTERPRETER"),
        ] {
            assert_eq!(interpreter(line), expected, "{line}");
        }
    }
}
