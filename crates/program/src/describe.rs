//! A frame in words: function, offset, source lines.

use std::collections::HashMap;
use std::fmt;

use crate::image::Image;
use crate::lines::SourceLocation;
use crate::names::{Printable, demangle};
use crate::unwind::Frame;

/// Frames of one backtrace whose source lines are looked up at most ([`Image::describe_all`]).
pub const SOURCES_MAX: usize = 64;

/// A [`Frame`] with its function and source lines.
///
/// Its `Display` is one line, and one more for each function that was inlined around it:
///
/// ```text
/// 0x10596 square+0x4 at /home/me/hello.c:7:14
///         inlined into main at /home/me/hello.c:11:5
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameDescription {
    /// The frame.
    pub frame: Frame,
    /// The function that has the code, demangled.
    pub function: Option<String>,
    /// Distance of the frame's pc from the function's start in bytes; 0 if it is not known.
    pub offset: u64,
    /// Places in the source, innermost inlined function first, as [`Image::locate`] gives them.
    pub locations: Vec<SourceLocation>,
}

impl Image {
    /// Looks up the function and source lines of a frame.
    pub fn describe(&self, frame: Frame) -> FrameDescription {
        self.describe_by(frame, true)
    }

    fn describe_by(&self, frame: Frame, has_source: bool) -> FrameDescription {
        let address = frame.lookup_address();
        let symbol = self.symbol_at(address);
        FrameDescription {
            frame,
            function: symbol.map(|(symbol, _)| demangle(symbol.name).into_owned()),
            offset: symbol.map_or(0, |(symbol, _)| frame.pc.wrapping_sub(symbol.address)),
            locations: if has_source { self.locate(address) } else { Vec::new() },
        }
    }
}

impl Image {
    /// Looks up the functions and source lines of a backtrace's frames, each place once.
    ///
    /// Source lines are looked up for the first [`SOURCES_MAX`] places only, because the stack that names them is the
    /// guest's.
    pub fn describe_all(&self, frames: &[Frame]) -> Vec<FrameDescription> {
        let mut known: HashMap<Frame, FrameDescription> = HashMap::new();
        let mut describe = |&frame: &Frame| {
            let has_source = known.len() < SOURCES_MAX;
            known.entry(frame).or_insert_with(|| self.describe_by(frame, has_source)).clone()
        };
        frames.iter().map(&mut describe).collect()
    }
}

impl fmt::Display for FrameDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.frame.pc)?;
        let inlined = self.locations.len() > 1;
        let innermost = self.locations.first().and_then(|place| place.function.as_deref());
        match (innermost, &self.function) {
            (Some(inlined_function), _) if inlined => write!(f, " {}", Printable(inlined_function))?,
            (_, Some(function)) => write!(f, " {}+{:#x}", Printable(function), self.offset)?,
            (Some(function), None) => write!(f, " {}", Printable(function))?,
            (None, None) => write!(f, " ?")?,
        }
        for (depth, place) in self.locations.iter().enumerate() {
            if depth > 0 {
                let function = place.function.as_deref().unwrap_or("?");
                write!(f, "\n        inlined into {}", Printable(function))?;
            }
            place.write_position(f)?;
        }
        Ok(())
    }
}

impl SourceLocation {
    /// ` at file:line:column`, as far as it is known.
    fn write_position(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(file) = &self.file else { return Ok(()) };
        write!(f, " at {}", Printable(file))?;
        let Some(line) = self.line else { return Ok(()) };
        write!(f, ":{line}")?;
        self.column.map_or(Ok(()), |column| write!(f, ":{column}"))
    }
}
