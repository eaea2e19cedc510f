//! Who called whom in a guest that has stopped.
//!
//! [`Trap`](crate::Trap), [`HostFailure`](crate::HostFailure) and [`Machine::backtrace`](crate::Machine::backtrace) hand
//! out a [`Backtrace`]. It names no frame that is not certain: where registers are not those of the pc, it ends with the
//! innermost one.

use std::fmt;
use std::ops::Deref;

use riverrun_program::{Frame as Place, FrameDescription as Frame, Image, Printable};

use crate::memory::Memory;
use crate::registers::Position;

/// Frames beyond these are left out: a recursion without end has hundreds of thousands.
const LIMIT: usize = 256;

/// The calls in progress in a guest that has stopped, innermost first: a slice of [`Frame`]s, and how it ends.
///
/// `Display` gives at most some 30 lines, one for each frame. Frames of a recursion that are alike share a line:
///
/// ```text
///   0: 0x10596 depth+0x4 at /home/me/tree.c:7:14
///   1: 0x105a2 depth+0x10 at /home/me/tree.c:8:19 (x 200)
/// 201: 0x10620 main+0x1e at /home/me/tree.c:20:5
/// ```
///
/// The names are the guest's own: control characters in them are escaped, and long ones cut.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Backtrace {
    frames: Vec<Frame>,
    end: End,
}

/// What is known of the calls beyond the last frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    /// There are none, or unwind tables and symbols do not lead to them.
    #[default]
    Outermost,
    /// There are more than [`LIMIT`].
    Limit,
    /// Compiled code keeps no account of the registers that would lead to them.
    Unknown,
    /// Nor of those that the host's handler of traps needs.
    Unhandled,
}

impl Backtrace {
    /// Whether the callers of the only frame are unknown: an access has faulted in compiled code that is not precise, or
    /// a limit has stopped it. Compile with `precise`, or run in the interpreter, to see them.
    pub fn callers_unknown(&self) -> bool {
        matches!(self.end, End::Unknown | End::Unhandled)
    }

    /// The calls that led to where the state says that the guest stands.
    pub(crate) fn of(memory: &Memory, image: &Image) -> Backtrace {
        Backtrace::at(memory, image, Position::of(memory.window.state()))
    }

    /// The calls that led to this position.
    pub(crate) fn at(memory: &Memory, image: &Image, position: Position<'_>) -> Backtrace {
        let register = |x| position.x(x as u8 & 31);
        let mut frames = image.unwind(position.pc, register, |address| memory.read_u64(address).ok(), LIMIT + 1);
        let end = if frames.len() > LIMIT { End::Limit } else { End::Outermost };
        frames.truncate(LIMIT);
        Backtrace { frames: image.describe_all(&frames), end }
    }

    /// All that is certain where registers are not those of the pc.
    pub(crate) fn without_callers(image: &Image, pc: u64) -> Backtrace {
        Backtrace { frames: image.describe_all(&[Place { pc, is_return_address: false }]), end: End::Unknown }
    }

    /// The same, of a trap that a host with a handler of traps was not offered.
    pub(crate) fn without_handler(image: &Image, pc: u64) -> Backtrace {
        Backtrace { end: End::Unhandled, ..Backtrace::without_callers(image, pc) }
    }

    /// In which function the guest stopped, and the innermost place whose source is known.
    pub(crate) fn summary(&self) -> impl fmt::Display {
        std::fmt::from_fn(|f| {
            let Some(first) = self.first() else { return Ok(()) };
            if let Some(function) = &first.function {
                write!(f, " in {}+{:#x}", Shown(function), first.offset)?;
            }
            match self.innermost_source() {
                Some((0, _, position)) => write!(f, " at {}", Shown(&position)),
                Some((_, function, position)) => write!(f, ", called from {} at {}", Shown(function), Shown(&position)),
                None => Ok(()),
            }
        })
    }

    /// The innermost frame with a known source line: its index, function and `file:line`.
    pub(crate) fn innermost_source(&self) -> Option<(usize, &str, String)> {
        self.iter().enumerate().find_map(|(index, frame)| {
            let place = frame.locations.first()?;
            let position = format!("{}:{}", place.file.as_deref()?, place.line?);
            let function = place.function.as_deref().or(frame.function.as_deref());
            Some((index, function.unwrap_or("?"), position))
        })
    }
}

impl Deref for Backtrace {
    type Target = [Frame];

    fn deref(&self) -> &[Frame] {
        &self.frames
    }
}

impl IntoIterator for Backtrace {
    type Item = Frame;
    type IntoIter = std::vec::IntoIter<Frame>;

    fn into_iter(self) -> Self::IntoIter {
        self.frames.into_iter()
    }
}

impl<'a> IntoIterator for &'a Backtrace {
    type Item = &'a Frame;
    type IntoIter = std::slice::Iter<'a, Frame>;

    fn into_iter(self) -> Self::IntoIter {
        self.frames.iter()
    }
}

/// Text of the guest's on a line of ours.
pub(crate) struct Shown<'a>(pub(crate) &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CHARACTERS_MAX: usize = 400;

        let text = Printable(self.0).to_string();
        match text.char_indices().nth(CHARACTERS_MAX) {
            Some((end, _)) => write!(f, "{}...", &text[..end]),
            None => f.write_str(&text),
        }
    }
}

impl fmt::Display for Backtrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const INNERMOST_LINES: usize = 20;
        const OUTERMOST_LINES: usize = 8;

        let mut lines = Vec::new();
        let mut depth = 0;
        for group in self.frames.chunk_by(|a, b| a.frame.pc == b.frame.pc) {
            let text = group[0].to_string();
            let mut parts = text.lines();
            let times = if group.len() > 1 { format!(" (x {})", group.len()) } else { String::new() };
            lines.push(format!("{depth:>3}: {}{times}", Shown(parts.next().unwrap_or_default())));
            lines.extend(parts.map(|part| Shown(part).to_string()));
            depth += group.len();
        }
        if lines.len() > INNERMOST_LINES + OUTERMOST_LINES {
            lines.splice(INNERMOST_LINES..lines.len() - OUTERMOST_LINES, ["  ...".to_owned()]);
        }
        lines.extend(match self.end {
            End::Outermost => None,
            End::Limit => Some("  ... and more callers".to_owned()),
            End::Unknown => Some("  callers unknown (run in the interpreter, or compile with --precise)".to_owned()),
            End::Unhandled => Some(
                "  callers unknown, and no handler of the fault called (run in the interpreter, or compile with --precise)"
                    .to_owned(),
            ),
        });
        f.write_str(&lines.join("\n"))
    }
}

impl fmt::Debug for Backtrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(pc: u64, function: &str) -> Frame {
        Frame {
            frame: Place { pc, is_return_address: true },
            function: Some(function.to_owned()),
            offset: 4,
            locations: Vec::new(),
        }
    }

    #[test]
    fn frames_that_are_alike_share_a_line() {
        let mut frames = vec![frame(0x10, "leaf")];
        frames.extend(std::iter::repeat_n(frame(0x20, "depth"), 200));
        frames.push(frame(0x30, "main"));
        let text = Backtrace { frames, end: End::Outermost }.to_string();
        assert_eq!(text, "  0: 0x10 leaf+0x4\n  1: 0x20 depth+0x4 (x 200)\n201: 0x30 main+0x4");
    }

    #[test]
    fn a_name_forges_no_line() {
        let text = Backtrace { frames: vec![frame(0x10, "f\n  1: 0x20 main")], end: End::Outermost }.to_string();
        assert_eq!(text, "  0: 0x10 f\\n  1: 0x20 main+0x4");
    }

    #[test]
    fn a_backtrace_has_some_thirty_short_lines() {
        let name = "x\u{1b}[2J".repeat(4096);
        let frames = (0..LIMIT as u64).map(|n| frame(0x10 + n, &name)).collect();
        let text = Backtrace { frames, end: End::Limit }.to_string();
        assert!(text.lines().count() <= 32 && text.lines().all(|line| line.len() < 1000), "{text}");
        assert!(!text.contains('\u{1b}') && text.ends_with("... and more callers"), "{text}");
    }
}
