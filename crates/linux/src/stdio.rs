//! A guest's standard streams.

use std::fmt;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Where a guest's standard input comes from.
#[derive(Default)]
pub enum Input {
    /// Nowhere: it ends at once.
    #[default]
    Null,
    /// The host's own standard input.
    Inherit,
    /// A reader of the host. Its `read` must not block for long: no deadline reaches into it.
    Reader(Box<dyn Read + Send>),
}

impl Input {
    /// A reader of the host, see [`Input::Reader`].
    pub fn reader(reader: impl Read + Send + 'static) -> Input {
        Input::Reader(Box::new(reader))
    }

    /// These bytes.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Input {
        Input::reader(io::Cursor::new(bytes.into()))
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Input::Null => "Null",
            Input::Inherit => "Inherit",
            Input::Reader(_) => "Reader",
        })
    }
}

/// Where a guest's standard output or standard error goes.
#[derive(Default)]
pub enum Output {
    /// Nowhere.
    #[default]
    Null,
    /// The host's own standard output.
    InheritStdout,
    /// The host's own standard error.
    InheritStderr,
    /// A writer of the host. Its `write` must not block for long: no deadline reaches into it.
    Writer(Box<dyn Write + Send>),
}

impl Output {
    /// A writer of the host, see [`Output::Writer`].
    pub fn writer(writer: impl Write + Send + 'static) -> Output {
        Output::Writer(Box::new(writer))
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Output::Null => "Null",
            Output::InheritStdout => "InheritStdout",
            Output::InheritStderr => "InheritStderr",
            Output::Writer(_) => "Writer",
        })
    }
}

/// A writer that keeps what is written. Clones share it.
///
/// ```
/// use riverrun_linux::{Captured, Linux, Output};
///
/// let output = Captured::default();
/// let linux = Linux::builder().stdout(Output::writer(output.clone())).build();
/// // ... run the guest ...
/// assert_eq!(output.take(), b"");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    /// The bytes written since the last call.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
