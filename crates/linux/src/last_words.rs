//! Last words: the message that a guest wrote to standard error just before it aborted, in which its C library, C++
//! runtime or Rust panic gives the reason. `answer.rs` adds it to the trap of a guest that SIGABRT ends.
//!
//! Writes to descriptor 2 are collected; system calls that [`is_quiet`] does not list discard them. So a message of
//! several writes is complete, and earlier log lines are not part of it.

use crate::table::is_quiet;

/// How many of the bytes written last are kept.
const BYTES_MAX: usize = 1 << 10;

#[derive(Debug, Default)]
pub(crate) struct LastWords {
    bytes: Vec<u8>,
}

impl LastWords {
    /// Adds what has been written to standard error.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend(&bytes[bytes.len().saturating_sub(BYTES_MAX)..]);
        self.bytes.drain(..self.bytes.len().saturating_sub(BYTES_MAX));
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Replaces the collected bytes by those of a snapshot.
    pub(crate) fn set(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.add(bytes);
    }

    /// Discards the collected bytes if this system call shows that the guest has gone on and not aborted.
    pub(crate) fn notice(&mut self, number: u64, first_arg: u64) {
        if !self.bytes.is_empty() && !is_quiet(number, first_arg) {
            self.bytes.clear();
        }
    }

    /// Takes the collected message as one line, in which `: ` separates the lines; `None` if nothing was written.
    pub(crate) fn take(&mut self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        self.bytes.clear();
        // Rust's advice on backtraces is not part of the message.
        let is_message = |line: &&str| !line.is_empty() && !line.starts_with("note: run with `RUST_BACKTRACE");
        let mut words = String::new();
        for line in text.lines().map(str::trim).filter(is_message) {
            match words.chars().last() {
                None => {}
                Some(':') => words.push(' '),
                Some(_) => words.push_str(": "),
            }
            let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
            words.extend(line.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }));
        }
        (!words.is_empty()).then_some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: u64 = 64;
    const READ: u64 = 63;

    fn words(parts: &[&str]) -> Option<String> {
        let mut words = LastWords::default();
        for part in parts {
            words.notice(WRITE, 2);
            words.add(part.as_bytes());
        }
        words.take()
    }

    #[test]
    fn messages_are_one_line() {
        let exception =
            ["terminate called after throwing an instance of '", "E", "'\n", "  what():  ", "no level", "\n"];
        let expected = "terminate called after throwing an instance of 'E': what(): no level";
        assert_eq!(words(&exception).as_deref(), Some(expected));
        let panic =
            "\nthread 'main' panicked at src/main.rs:3:5:\nboom\nnote: run with `RUST_BACKTRACE=1` environment..\n";
        assert_eq!(words(&[panic]).as_deref(), Some("thread 'main' panicked at src/main.rs:3:5: boom"));
        assert_eq!(words(&["\u{1b}[31m\n"]).as_deref(), Some("\u{fffd}[31m"));
        assert_eq!(words(&["\n"]), None);
    }

    #[test]
    fn they_are_bounded_and_the_last() {
        let long = "x".repeat(3000) + "end";
        let said = words(&["a", &long]).unwrap();
        assert!(said.len() == BYTES_MAX && said.ends_with("xend"), "{said}");
        let mut words = LastWords::default();
        words.add(b"a log line\n");
        words.notice(READ, 0);
        assert_eq!(words.take(), None);
    }
}
