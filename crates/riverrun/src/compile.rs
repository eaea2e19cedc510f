//! Compiling programs ahead of time, in the host's process (feature `compile`).

use std::path::{Path, PathBuf};

use riverrun_aot::{CompileError, CompileOptions, Report};
use riverrun_vm::artifact::Artifact;

use crate::error::Error;
use crate::program::Program;

impl Program {
    /// Compiles the program into an artifact for [`Program::load_artifact`]. Calls `progress` from time to time with the
    /// number of functions that are done, and of all.
    ///
    /// ```
    /// use riverrun::{CompileOptions, Config, Engine, Program};
    ///
    /// let program = Program::new(&Engine::new(&Config::new())?, riverrun::doc::TINY)?;
    /// let (artifact, report) = program.compile(&CompileOptions::default(), |_, _| {})?;
    /// assert_eq!(report.artifact_bytes, artifact.len() as u64);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
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
    /// As [`Program::compile`], and [`Error::Artifact`].
    pub fn compile_to(&self, options: &CompileOptions, path: impl AsRef<Path>) -> Result<Report, Error> {
        let path = path.as_ref();
        let (artifact, report) = self.compile(options, |_, _| {})?;
        riverrun_aot::write(path, &artifact)?;
        // SAFETY: the file was made here and now.
        unsafe { self.load_artifact(path)? };
        Ok(report)
    }

    /// As [`Program::compile_or_take`]; a program that takes more work than the options allow is left to the
    /// interpreter.
    pub(crate) fn compile_cached(&self, options: &CompileOptions, cached: Option<PathBuf>) -> Result<(), Error> {
        match self.compile_or_take(options, cached) {
            Err(Error::Compile(CompileError::Work { .. })) => Ok(()),
            done => done,
        }
    }

    /// Takes code that was compiled so from the cache or, if it is not there, compiles it and keeps it
    /// there.
    fn compile_or_take(&self, options: &CompileOptions, cached: Option<PathBuf>) -> Result<(), Error> {
        let Some(path) = cached else {
            let (artifact, _) = self.compile(options, |_, _| {})?;
            // SAFETY: it was made here and now.
            self.set_artifact(unsafe { Artifact::from_bytes(&artifact, self.hash())? })?;
            return Ok(());
        };
        if path.exists() {
            // SAFETY: `Config::cache` demands that what is there can be trusted.
            let artifact = unsafe { Artifact::load(&path, self.hash()) };
            if let Ok(artifact) = artifact
                && artifact.options() == options.header()
            {
                self.set_artifact(artifact)?;
                return Ok(());
            }
        }
        let (artifact, _) = self.compile(options, |_, _| {})?;
        riverrun_aot::write(&path, &artifact)?;
        // Not from the file, which another process may have replaced meanwhile.
        // SAFETY: it was made here and now.
        self.set_artifact(unsafe { Artifact::from_bytes(&artifact, self.hash())? })?;
        Ok(())
    }
}
