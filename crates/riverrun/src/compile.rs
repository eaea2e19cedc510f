//! Compiling programs ahead of time, in the host's process (feature `compile`).

use std::path::{Path, PathBuf};

use riverrun_aot::{CompileError, CompileOptions, KeptObjects, Report, Selection};
use riverrun_program::Profile;
use riverrun_vm::artifact::Artifact;

use crate::error::Error;
use crate::program::Program;

impl Program {
    /// Compiles the program into an artifact for [`Program::with_artifact`]. Calls `progress` from time to time with the
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
        Ok(riverrun_aot::compile(self.image(), &self.suited(options), &progress)?)
    }

    /// The options, for the addresses of the program's machines.
    fn suited(&self, options: &CompileOptions) -> CompileOptions {
        CompileOptions { space: self.engine().config.space(), ..*options }
    }

    /// Compiles what a profile says that control has reached, the hottest functions first, as far as
    /// [`CompileOptions::max_work`] goes; all else is left to the interpreter. Otherwise as [`Program::compile`].
    ///
    /// ```
    /// use riverrun::image::Profile;
    /// use riverrun::{CompileOptions, Config, Engine, Program};
    ///
    /// let program = Program::new(&Engine::new(&Config::new())?, riverrun::doc::TINY)?;
    /// let (_, nothing) = program.compile_hot(&CompileOptions::default(), &Profile::default(), |_, _| {})?;
    /// let mut profile = Profile::default();
    /// profile.add(program.image().entry(), 1);
    /// let (_, report) = program.compile_hot(&CompileOptions::default(), &profile, |_, _| {})?;
    /// assert_eq!((nothing.functions, report.functions), (0, 1));
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Program::compile`].
    pub fn compile_hot(
        &self,
        options: &CompileOptions,
        profile: &Profile,
        progress: impl Fn(usize, usize) + Sync,
    ) -> Result<(Vec<u8>, Report), Error> {
        self.compile_by(options, Selection::Hot { profile, work: options.max_work, kept: None }, progress)
    }

    fn compile_by(
        &self,
        options: &CompileOptions,
        selection: Selection<'_>,
        progress: impl Fn(usize, usize) + Sync,
    ) -> Result<(Vec<u8>, Report), Error> {
        // The whole program is analysed, however little of it is compiled.
        let options = CompileOptions { max_work: CompileOptions::default().max_work, ..self.suited(options) };
        Ok(riverrun_aot::compile_selected(self.image(), &options, selection, &progress)?)
    }

    /// Compiles what a profile says that control has reached, here and now, and has machines use that from the next point
    /// on where the dispatcher has control: for tests of [`Config::tier_up`](crate::Config::tier_up), which does this in
    /// the background. `kept` is what the compilations before this one have kept.
    ///
    /// # Errors
    /// As [`Program::compile`].
    #[doc(hidden)]
    pub fn compile_hot_now(
        &self,
        options: &CompileOptions,
        profile: &Profile,
        kept: &mut KeptObjects,
    ) -> Result<Report, Error> {
        let selection = Selection::Hot { profile, work: options.max_work, kept: Some(kept) };
        let (artifact, report) = self.compile_by(options, selection, |_, _| {})?;
        kept.renew();
        // SAFETY: it was made here and now.
        self.improve_by(unsafe { Artifact::from_bytes(&artifact, self.hash())? })?;
        Ok(report)
    }

    /// Compiles the program and keeps the artifact in a file. Returns the program with that code.
    ///
    /// # Errors
    /// As [`Program::compile`], and [`Error::Artifact`].
    pub fn compile_to(&self, options: &CompileOptions, path: impl AsRef<Path>) -> Result<(Program, Report), Error> {
        let path = path.as_ref();
        let (artifact, report) = self.compile(options, |_, _| {})?;
        riverrun_aot::write(path, &artifact)?;
        // SAFETY: the file was made here and now.
        let compiled = unsafe { self.with_artifact(path)? };
        Ok((compiled, report))
    }

    /// As [`Program::compile_or_take`]; `None` if that takes more work than the options allow, so that the program is
    /// left to the interpreter.
    pub(crate) fn compile_cached(
        &self,
        options: &CompileOptions,
        cached: Option<PathBuf>,
    ) -> Result<Option<Program>, Error> {
        match self.compile_or_take(options, cached) {
            Err(Error::Compile(CompileError::Work { .. })) => Ok(None),
            compiled => compiled.map(Some),
        }
    }

    /// Takes code that was compiled so from the cache or, if it is not there, compiles it and keeps it
    /// there.
    fn compile_or_take(&self, options: &CompileOptions, cached: Option<PathBuf>) -> Result<Program, Error> {
        let Some(path) = cached else {
            let (artifact, _) = self.compile(options, |_, _| {})?;
            // SAFETY: it was made here and now.
            return self.compiled_as(unsafe { Artifact::from_bytes(&artifact, self.hash())? });
        };
        if path.exists() {
            // SAFETY: `Config::cache` demands that what is there can be trusted.
            let artifact = unsafe { Artifact::load(&path, self.hash()) };
            if let Ok(artifact) = artifact
                && artifact.options() == self.suited(options).suited_to(self.image()).header()
            {
                return self.compiled_as(artifact);
            }
        }
        let (artifact, _) = self.compile(options, |_, _| {})?;
        riverrun_aot::write(&path, &artifact)?;
        // Not from the file, which another process may have replaced meanwhile.
        // SAFETY: it was made here and now.
        self.compiled_as(unsafe { Artifact::from_bytes(&artifact, self.hash())? })
    }
}
