//! A program: loaded and checked once, shared by machines and threads.

use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use riverrun_interp::Code;
use riverrun_program::{Export, Image, Import, Printable};
use riverrun_vm::artifact::{
    ABI, Artifact, ArtifactError, Header, LinkedArtifact, Options, ProgramHash, Quick, Symbol,
};
use riverrun_vm::{AddressSpace, Interruption, Perm, STACK_GUARD, read_whole};

use crate::compiled_code::{CompiledCode, CompiledEngine, Improvements};
use crate::engine::Engine;
use crate::error::Error;
use crate::exhausted::resource;
use crate::sampler::Sampler;
use crate::tier_up::{GONE, Job, TierUpStatistics, TieringUp, Work};

// What a file may ask for, a machine gives.
const _: () = assert!(riverrun_program::PAGE_SIZE == riverrun_vm::PAGE_SIZE);
const _: () = assert!(riverrun_program::ADDRESS_START == riverrun_vm::MIN_ADDRESS);
// Miri has no room for the largest address space.
const _: () = assert!(cfg!(miri) || riverrun_program::ADDRESS_END == riverrun_vm::MAX_ADDRESS);

/// A program that machines can run: an executable, and its compiled code if there is any. It does not change, but for its
/// compiled code, which gets better with [`Config::tier_up`](crate::Config::tier_up). Cheap to clone; clones are the same
/// program.
#[derive(Clone)]
pub struct Program {
    file: Arc<Executable>,
    /// Functions of a machine belong to this one's code: another program of the same executable has its own.
    code: Arc<ProgramCode>,
}

/// What an executable's file says.
struct Executable {
    engine: Engine,
    image: Arc<Image>,
    imports: Vec<Import>,
    exports: Vec<Export>,
    memory: Arc<riverrun_vm::Image>,
    /// Computed when it is first used, as it takes reading the whole file.
    hash: OnceLock<ProgramHash>,
}

struct ProgramCode {
    decoded: Code,
    compiled: Improvements,
    tier_up: Option<TieringUp>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("entry", &self.image().entry()).finish_non_exhaustive()
    }
}

impl Executable {
    /// Compiled code takes addresses modulo the size that it was compiled for: it would leave a smaller window.
    fn check_space(&self, artifact: &Artifact) -> Result<(), ArtifactError> {
        match (artifact.options().space.bits(), self.engine.config.address_bits) {
            (found, wanted) if found == wanted => Ok(()),
            (found, wanted) => Err(ArtifactError::AddressBits { found, wanted }),
        }
    }

    /// Its code, of which nothing is decoded yet.
    fn new_code(&self) -> Result<Code, Error> {
        Code::new(self.image.clone(), self.engine.config.space(), self.engine.config.code_limit)
            .map_err(no_room_for_code)
    }
}

impl ProgramCode {
    /// Adds compiled code, which machines use from now on in place of what there was.
    fn improve(&self, file: &Executable, artifact: Artifact) -> Result<(), Error> {
        file.check_space(&artifact)?;
        let fallback = file.new_code()?.fallback(artifact.reentry_points());
        self.compiled.add(artifact, fallback);
        Ok(())
    }

    /// The addresses that control has reached in the interpreter.
    fn reached(&self) -> Vec<u64> {
        [self.decoded.reached(), self.compiled.reached()].concat()
    }
}

impl Program {
    /// Reads a static RISC-V executable.
    ///
    /// # Errors
    /// [`Error::Load`], which says what is wrong with the file; [`Error::AddressSpace`] and [`Error::Resource`].
    pub fn new(engine: &Engine, elf: impl Into<Arc<[u8]>>) -> Result<Program, Error> {
        let image = Arc::new(Image::parse(elf)?);
        check_room(&image, engine.config.space(), &engine.config.stack())?;
        let (imports, exports) = (image.imports()?, image.exports()?);
        let memory = memory_of(&image).map_err(|source| resource("memory for a program", source))?;
        let memory = Arc::new(memory);
        let file = Executable { engine: engine.clone(), image, imports, exports, memory, hash: OnceLock::new() };
        let program = Program::of(Arc::new(file), None, None)?;
        Ok(program.compiled_by_config()?.unwrap_or(program))
    }

    fn of(file: Arc<Executable>, artifact: Option<Artifact>, tier_up: Option<TieringUp>) -> Result<Program, Error> {
        let decoded = file.new_code()?;
        let program =
            Program { code: Arc::new(ProgramCode { decoded, compiled: Improvements::default(), tier_up }), file };
        if let Some(artifact) = artifact {
            program.code.improve(&program.file, artifact)?;
        }
        Ok(program)
    }

    /// Reads a static RISC-V executable from a file.
    ///
    /// # Errors
    /// As [`Program::new`], and [`Error::File`].
    pub fn from_file(engine: &Engine, path: impl AsRef<Path>) -> Result<Program, Error> {
        let path = path.as_ref();
        let elf = File::open(path).and_then(|file| read_whole(file, Image::MAGIC, Image::FILE_MAX));
        let elf = elf.map_err(|source| Error::File { path: path.to_owned(), source })?;
        Program::new(engine, elf)
    }

    /// The contents of the file: segments, symbols, source lines.
    pub fn image(&self) -> &Image {
        &self.file.image
    }

    /// The host functions that it calls by name.
    pub fn imports(&self) -> &[Import] {
        &self.file.imports
    }

    /// The functions that it exports, by name.
    pub fn exports(&self) -> &[Export] {
        &self.file.exports
    }

    /// The function that it exports by this name.
    pub fn export(&self, name: &str) -> Option<&Export> {
        let exports = self.exports();
        exports.binary_search_by(|export| export.name.as_str().cmp(name)).ok().map(|index| &exports[index])
    }

    /// Warnings for the program's author: that it was compiled for extensions of the instruction set that riverrun lacks, so
    /// that it traps where it uses them without testing for them.
    ///
    /// ```
    /// use riverrun::{Config, Engine, Program};
    ///
    /// let program = Program::new(&Engine::new(&Config::new())?, riverrun::doc::TINY)?;
    /// assert!(program.warnings().is_empty());
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn warnings(&self) -> Vec<String> {
        let missing = self.image().attributes().unsupported_extensions();
        let names = missing.join(", ");
        let warning = || format!("compiled for {names}, which riverrun does not have: it traps where it uses that");
        (!missing.is_empty()).then(warning).into_iter().collect()
    }

    /// Shows the program's compiled code, if it has some, to debuggers that attach later: by gdb's interface for JIT
    /// compilers, with functions `guest::NAME` and their source lines. Debuggers that are there when the code is loaded
    /// have been shown it.
    ///
    /// # Errors
    /// [`Error::Artifact`], if the artifact's file cannot be read again.
    ///
    /// ```
    /// use riverrun::{Config, Engine, Program};
    ///
    /// let program = Program::new(&Engine::new(&Config::new())?, riverrun::doc::TINY)?;
    /// program.show_to_debuggers()?;
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn show_to_debuggers(&self) -> Result<(), Error> {
        match self.compiled() {
            Some(code) => Ok(code.artifact.show_to_debuggers()?),
            None => Ok(()),
        }
    }

    /// The engine that it was made for.
    pub fn engine(&self) -> &Engine {
        &self.file.engine
    }

    /// The program with compiled code, which was made by `Program::compile` (feature `compile`) or the command. Functions
    /// that are not compiled run in the interpreter.
    ///
    /// ```no_run
    /// # use riverrun::{Config, Engine, Program};
    /// # let engine = Engine::new(&Config::new())?;
    /// let program = Program::from_file(&engine, "game.elf")?;
    /// // SAFETY: `riverrun compile game.elf` has made the file.
    /// let program = unsafe { program.with_artifact("game.rro")? };
    /// assert!(program.is_compiled());
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Artifact`], which says what does not match, and [`Error::Resource`].
    ///
    /// # Safety
    /// Compiled code runs with all rights of the host. The file must come from riverrun's compiler,
    /// and must not change while the program is in use: its header guards against mistakes, not
    /// against forgery.
    pub unsafe fn with_artifact(&self, path: impl AsRef<Path>) -> Result<Program, Error> {
        // SAFETY: the caller vouches for the file.
        let artifact = unsafe { Artifact::load(path.as_ref(), self.hash())? };
        self.compiled_as(artifact)
    }

    /// The program with compiled code that is linked into the host, as [`Program::with_artifact`] takes it from a
    /// file: for platforms without dynamic loading. `riverrun compile --emit object --name game` makes an
    /// object, which the host's build hands to its linker (`println!("cargo::rustc-link-arg=game.o")` in a
    /// build script), and which has one symbol:
    ///
    /// ```ignore
    /// unsafe extern "C" {
    ///     static riverrun_artifact_game: riverrun::LinkedArtifact;
    /// }
    /// // SAFETY: the object comes from riverrun's compiler.
    /// let program = unsafe { program.with_linked_artifact(&riverrun_artifact_game)? };
    /// ```
    ///
    /// Where the code is not precise, traps of memory accesses in it have the address of their function, as
    /// the host's line tables may be anywhere.
    ///
    /// # Errors
    /// [`Error::Artifact`], which says what does not match.
    ///
    /// # Safety
    /// The code must come from riverrun's compiler.
    pub unsafe fn with_linked_artifact(&self, artifact: &'static LinkedArtifact) -> Result<Program, Error> {
        // SAFETY: the caller vouches for the code.
        self.compiled_as(unsafe { Artifact::linked(artifact, self.hash())? })
    }

    /// The program with the compiled code that the configuration asks for, if it does and there is some.
    fn compiled_by_config(&self) -> Result<Option<Program>, Error> {
        let config = &self.engine().config;
        let cached = |fuel| config.cache.as_ref().map(|folder| folder.join(self.artifact_name(fuel)));
        let fuels: &[bool] = match &config.tier_up {
            Some(tier_up) if tier_up.fuel => &[true],
            Some(_) => &[false],
            None => &[false, true],
        };
        #[cfg(feature = "compile")]
        if let Some(options) = &config.compile {
            return self.compile_cached(options, cached(options.fuel));
        }
        for path in fuels.iter().copied().filter_map(cached) {
            // SAFETY: `Config::cache` demands that what is there can be trusted.
            let artifact = path.exists().then(|| unsafe { Artifact::load(&path, self.hash()) });
            // If the code is refused, the program runs in the interpreter.
            if let Some(Ok(artifact)) = artifact
                && self.file.check_space(&artifact).is_ok()
            {
                return self.compiled_as(artifact).map(Some);
            }
        }
        let Some(settings) = config.tier_up.as_ref().filter(|_| !config.single_step) else { return Ok(None) };
        let tier_up = TieringUp::new(
            settings,
            config.space(),
            cached(settings.fuel),
            self.image().text().iter().map(|text| text.end - text.start).sum(),
        );
        // SAFETY: as before.
        let artifact = unsafe { tier_up.kept(self.hash()) };
        let artifact = artifact.filter(|artifact| self.file.check_space(artifact).is_ok());
        let improvable = artifact.as_ref().filter(|artifact| artifact.options().quick != Quick::Nothing);
        let size = improvable.map(Artifact::code_size);
        let program = Program::of(self.file.clone(), artifact, Some(tier_up))?;
        if let (Some(tier_up), Some(size)) = (&program.code.tier_up, size) {
            tier_up.optimise_later(size, program.compilation());
        }
        Ok(Some(program))
    }

    /// The same executable with this code.
    pub(crate) fn compiled_as(&self, artifact: Artifact) -> Result<Program, Error> {
        Program::of(self.file.clone(), Some(artifact), None)
    }

    /// A file name for this program's compiled code that differs for every program, for code with
    /// fuel and without, for each number of [address bits](crate::Config::address_bits), and for every version of riverrun
    /// that could not use it: for caches.
    pub fn artifact_name(&self, fuel: bool) -> String {
        let hash: String = self.hash().iter().map(|byte| format!("{byte:02x}")).collect();
        let space = self.engine().config.space();
        let bits = if space.is_masked() { format!("-{}bits", space.bits()) } else { String::new() };
        format!("{hash}-{ABI}{}{bits}.rro", if fuel { "-fuel" } else { "" })
    }

    /// Whether the program leaves room for a stack in these pages.
    pub(crate) fn check_room(&self, stack: &Range<u64>) -> Result<(), Error> {
        check_room(self.image(), self.engine().config.space(), stack)
    }

    /// Whether both are the same executable.
    pub(crate) fn is_same_file(&self, other: &Program) -> bool {
        Arc::ptr_eq(&self.file, &other.file) || self.hash() == other.hash()
    }

    /// The hash that the header of compiled code names its program by.
    pub(crate) fn hash(&self) -> &ProgramHash {
        self.file.hash.get_or_init(|| Header::hash(self.image().bytes()))
    }

    /// Whether there is compiled code.
    pub fn is_compiled(&self) -> bool {
        self.compiled().is_some()
    }

    /// What was compiled of it while it ran; `None` if it is not compiled so
    /// ([`Config::tier_up`](crate::Config::tier_up)).
    pub fn tier_up(&self) -> Option<TierUpStatistics> {
        let functions = self.compiled().map_or(0, |code| code.artifact.functions());
        self.code.tier_up.as_ref().map(|tier_up| tier_up.statistics(functions))
    }

    /// Keeps the profile of the program in the [cache](crate::Config::cache), for its next start. Does nothing if it is not
    /// [compiled as it runs](crate::Config::tier_up), or if there is no cache.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn keep_profile(&self) -> Result<(), Error> {
        let Some(tier_up) = &self.code.tier_up else { return Ok(()) };
        tier_up.keep_profile(&self.code.reached()).map_err(|(path, source)| Error::Output { path, source })
    }

    /// Notes where the interpreter is after this time, in the decoded block with this beginning, and has hot functions
    /// compiled in the background once that is worthwhile.
    pub(crate) fn sample(&self, pc: u64, beginning: Option<u64>, time: Duration) {
        let tier_up = self.code.tier_up.as_ref();
        if let Some(job) = tier_up.and_then(|tier_up| tier_up.sample(pc, beginning.unwrap_or(pc), time)) {
            job.start(self.compilation());
        }
    }

    /// What a compilation in the background does; it does not keep the program.
    fn compilation(&self) -> impl Work + use<> {
        let (code, file, hash) = (Arc::downgrade(&self.code), self.file.clone(), *self.hash());
        move |job: &Job| {
            let reached = code.upgrade().map(|code| code.reached()).ok_or(GONE)?;
            // SAFETY: `Config::tier_up` demands that the compiler can be trusted.
            let artifact = unsafe { job.compile(file.image.bytes(), &hash, &reached)? };
            let made = (artifact.code_size(), artifact.options());
            code.upgrade().ok_or(GONE)?.improve(&file, artifact).map_err(|error| error.to_string())?;
            Ok(made)
        }
    }

    /// What interrupts a machine of it.
    pub(crate) fn new_interruption(&self) -> Interruption {
        let interruption = Interruption::default();
        if self.code.tier_up.is_some() {
            self.code.compiled.tell(&interruption);
        }
        interruption
    }

    /// Has machines use other compiled code from now on.
    #[cfg(feature = "compile")]
    pub(crate) fn improve_by(&self, artifact: Artifact) -> Result<(), Error> {
        self.code.improve(&self.file, artifact)
    }

    /// What samples a machine of it, if it is compiled as it runs.
    pub(crate) fn sampler(&self) -> Option<Sampler> {
        self.code.tier_up.as_ref().map(TieringUp::sampler)
    }

    /// The compiled code so far.
    pub(crate) fn improvements(&self) -> &Improvements {
        &self.code.compiled
    }

    /// Gives a run the latest compiled code. If there is no memory for a stack, it stays as it is.
    pub(crate) fn improve(&self, engine: &mut Option<CompiledEngine>) {
        let Some(code) = self.compiled() else { return };
        match engine {
            Some(engine) => engine.adopt(code),
            None => *engine = CompiledEngine::new(code).ok(),
        }
    }

    /// How its code was compiled, if there is any. Machines with a limit of fuel use code that counts only.
    ///
    /// ```
    /// use riverrun::{Config, Engine, Program};
    ///
    /// let program = Program::new(&Engine::new(&Config::new())?, riverrun::doc::TINY)?;
    /// assert_eq!(program.compiled_options(), None);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn compiled_options(&self) -> Option<Options> {
        self.compiled().map(|code| code.artifact.options())
    }

    /// What perf and other profilers read from `/tmp/perf-PID.map`: a line for each compiled function, with its
    /// address and size in hexadecimal digits and its name, `guest::main`. They need it where they do not find the
    /// artifact's file. Code that better code has replaced is there, too. Nothing if there is no compiled code, or if it is
    /// linked into the host, whose own symbols have the names.
    ///
    /// ```
    /// use riverrun::{Config, Engine, Program};
    ///
    /// let program = Program::new(&Engine::new(&Config::new())?, riverrun::doc::TINY)?;
    /// std::fs::write(format!("/tmp/perf-{}.map", std::process::id()), program.perf_map()?)?;
    /// # std::fs::remove_file(format!("/tmp/perf-{}.map", std::process::id()))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Artifact`]: the artifact's file cannot be read any more.
    pub fn perf_map(&self) -> Result<String, Error> {
        let line = |Symbol { name, code }: &Symbol| format!("{:x} {:x} {}\n", code.start, code.len(), Printable(name));
        let mut map = String::new();
        for code in self.code.compiled.all() {
            map.extend(code.artifact.symbols()?.iter().map(line));
        }
        Ok(map)
    }

    /// The latest compiled code.
    pub(crate) fn compiled(&self) -> Option<Arc<CompiledCode>> {
        self.code.compiled.latest()
    }

    pub(crate) fn memory(&self) -> &Arc<riverrun_vm::Image> {
        &self.file.memory
    }

    pub(crate) fn code(&self) -> &Code {
        &self.code.decoded
    }
}

fn no_room_for_code(source: std::io::Error) -> Error {
    resource("address space for a program's code", source)
}

/// Whether a program fits below a stack in these pages. In the largest space there is room for all but odd ones, and
/// these are left to themselves.
fn check_room(image: &Image, space: AddressSpace, stack: &Range<u64>) -> Result<(), Error> {
    let (end, room) = (image.end(), stack.start.saturating_sub(STACK_GUARD));
    match end <= room || !space.is_masked() {
        true => Ok(()),
        false => Err(Error::AddressSpace { end, room, bits: space.bits() }),
    }
}

/// The program's memory before its first instruction.
fn memory_of(image: &Image) -> std::io::Result<riverrun_vm::Image> {
    let mut memory = riverrun_vm::Image::new()?;
    for pages in image.pages() {
        let here = |address: &u64| pages.addresses.contains(address);
        let contents: Vec<(u64, &[u8])> = image
            .segments()
            .iter()
            .filter(|segment| here(&segment.address))
            .map(|segment| (segment.address, image.data(segment)))
            .collect();
        let allow = |allowed, perm| if allowed { perm } else { Perm::NONE };
        let perm = allow(pages.permissions.read, Perm::READ)
            | allow(pages.permissions.write, Perm::WRITE)
            | allow(pages.permissions.execute, Perm::EXECUTE);
        memory.add(pages.addresses.clone(), perm, &contents)?;
    }
    Ok(memory)
}
