//! What a failed step said, in short: logs get cut, and their ends are what people read first.

use std::collections::VecDeque;

/// Lines kept of one step, and characters of a line.
const LINES: usize = 24;
const WIDTH: usize = 240;
/// Lines behind a panic's place, and behind the heading of a failed test's output, that say why.
const BEHIND: usize = 3;

/// Listens to what a step prints, line by line.
#[derive(Default)]
pub(crate) struct Excerpt {
    telling: Vec<String>,
    last: VecDeque<String>,
    behind: usize,
}

impl Excerpt {
    pub(crate) fn hear(&mut self, line: &str) {
        let line: String = line.chars().take(WIDTH).collect();
        if line.trim().is_empty() {
            return;
        }
        // Doc tests run in processes of their own: what these said stands only below such a heading.
        let is_heading = line.contains("panicked at") || (line.starts_with("---- ") && line.ends_with(" ----"));
        let begins = is_heading || line.ends_with("... FAILED") || line.starts_with("error");
        if (begins || self.behind > 0) && self.telling.len() < LINES && !self.telling.contains(&line) {
            self.telling.push(line.clone());
        }
        self.behind = if is_heading { BEHIND } else { self.behind.saturating_sub(1) };
        if self.last.len() == LINES / 2 {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    /// The lines that tell what failed; the last ones if none is known to.
    pub(crate) fn lines(self) -> Vec<String> {
        if self.telling.is_empty() { self.last.into() } else { self.telling }
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
