//! Compiling programs ahead of time.

use std::path::Path;

use riverrun_aot::{CompileOptions, Report};

use crate::error::Error;
use crate::program::Program;

impl Program {
    /// Compiles the program into an artifact, for [`Program::load_artifact`]. `progress` is told from
    /// time to time how many functions are done, and how many there are.
    ///
    /// # Errors
    /// [`Error::Compile`]: LLVM or the linker refuse.
    pub fn compile(
        &self,
        options: &CompileOptions,
        progress: impl Fn(usize, usize) + Sync,
    ) -> Result<(Vec<u8>, Report), Error> {
        Ok(riverrun_aot::compile(self.image(), options, &progress)?)
    }

    /// Compiles the program, keeps the artifact in a file, and loads it.
    ///
    /// # Errors
    /// As [`Program::compile`], and [`Error::File`] and [`Error::Artifact`].
    pub fn compile_to(&self, options: &CompileOptions, path: impl AsRef<Path>) -> Result<Report, Error> {
        let path = path.as_ref();
        let (artifact, report) = self.compile(options, |_, _| {})?;
        std::fs::write(path, artifact).map_err(|source| Error::File { path: path.to_owned(), source })?;
        // SAFETY: the file was made here and now.
        unsafe { self.load_artifact(path)? };
        Ok(report)
    }
}
