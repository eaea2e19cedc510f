//! What a failed step said, in short: logs get cut, and their ends are what people read first.

use std::collections::VecDeque;

/// Lines kept of one step, and characters of a line.
const LINES: usize = 24;
const WIDTH: usize = 240;
/// Lines behind a panic's place, and behind the heading of a failed test's output, that say why.
const BEHIND: usize = 5;

/// Listens to what a step prints, line by line.
#[derive(Default)]
pub(crate) struct Excerpt {
    failures: Vec<String>,
    /// Panics outside what a failed test printed: a test that passes makes some, too, in a process of its own.
    panics: Vec<String>,
    last: VecDeque<String>,
    /// Lines that still belong to a failure, or else to a panic.
    of_failure: usize,
    of_panic: usize,
}

impl Excerpt {
    pub(crate) fn hear(&mut self, line: &str) {
        let line: String = line.chars().take(WIDTH).collect();
        if line.trim().is_empty() {
            return;
        }
        let is_heading = line.starts_with("---- ") && line.ends_with(" ----");
        if is_heading {
            self.of_failure = BEHIND + 1;
        } else if line.contains("Sanitizer: ") {
            // It ends a process whose tests may all have passed.
            self.of_failure = self.of_failure.max(BEHIND);
        } else if line.contains("process didn't exit successfully") {
            self.of_failure = self.of_failure.max(1);
        } else if line.contains("panicked at") {
            self.of_panic = BEHIND + 1;
        }
        if self.of_failure > 0 || line.ends_with("... FAILED") || line.starts_with("error") {
            keep(&mut self.failures, &line);
        } else if self.of_panic > 0 {
            keep(&mut self.panics, &line);
        }
        self.of_failure = self.of_failure.saturating_sub(1);
        self.of_panic = self.of_panic.saturating_sub(1);
        if self.last.len() == LINES / 2 {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    /// The lines that tell what failed; the last ones if none is known to.
    pub(crate) fn lines(self) -> Vec<String> {
        let telling: Vec<_> = self.failures.into_iter().chain(self.panics).take(LINES).collect();
        if telling.is_empty() { self.last.into() } else { telling }
    }
}

fn keep(lines: &mut Vec<String>, line: &str) {
    if lines.len() < LINES && !lines.iter().any(|kept| kept == line) {
        lines.push(line.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(text: &str) -> Vec<String> {
        let mut excerpt = Excerpt::default();
        text.lines().for_each(|line| excerpt.hear(line));
        excerpt.lines()
    }

    #[test]
    fn names_tests_and_reasons() {
        let text = "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nthread 'b' panicked at x.rs:1:2:\nwrong\n";
        assert_eq!(excerpt(text), ["test b ... FAILED", "thread 'b' panicked at x.rs:1:2:", "wrong"]);
    }

    #[test]
    fn tells_how_a_process_ended() {
        let text = "test a.rs - A (line 1) ... FAILED\n\n---- a.rs - A (line 1) stdout ----\nTest executable failed (signal: 9).\n";
        assert_eq!(
            excerpt(text),
            [
                "test a.rs - A (line 1) ... FAILED",
                "---- a.rs - A (line 1) stdout ----",
                "Test executable failed (signal: 9)."
            ]
        );
    }

    #[test]
    fn tells_what_a_sanitizer_has_found() {
        let text = "test a ... ok\n==================\nWARNING: ThreadSanitizer: data race (pid=1)\n  Write of size 2\n    #0 link\n    #1 commit\n    #2 run\n    #3 main\n  Previous read\nerror: test failed\n\nCaused by:\n  process didn't exit successfully: `a` (exit status: 66)\n";
        let lines = excerpt(text);
        assert_eq!(lines[0], "WARNING: ThreadSanitizer: data race (pid=1)");
        assert_eq!(lines[4], "    #2 run");
        assert_eq!(lines[5..], ["error: test failed", "  process didn't exit successfully: `a` (exit status: 66)"]);
    }

    #[test]
    fn keeps_a_failure_behind_many_panics_of_tests_that_pass() {
        let passing: String =
            (0..100).map(|n| format!("thread 'main' panicked at x.rs:{n}:1:\nas planned\n")).collect();
        let failing = "---- a.rs - A (line 1) stdout ----\nTest executable failed (exit status: 101).\n\nstderr:\n\nthread 'main' panicked at a.rs:1:1:\nwrong\n";
        let lines = excerpt(&(passing + failing));
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines[0], "---- a.rs - A (line 1) stdout ----");
        assert_eq!(lines[4], "wrong");
    }

    #[test]
    fn ends_with_the_end_where_nothing_is_known_to_tell() {
        let text: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let lines = excerpt(&text);
        assert_eq!(lines.len(), LINES / 2);
        assert_eq!(lines.last().unwrap(), "line 99");
    }

    #[test]
    fn is_short_however_much_fails() {
        let text: String = (0..100).map(|n| format!("error {n}: {}\n", "x".repeat(1000))).collect();
        let lines = excerpt(&text);
        assert_eq!(lines.len(), LINES);
        assert!(lines.iter().all(|line| line.len() <= WIDTH));
    }
}
