//! Builds the guest programs, for the guest and for the host.
//!
//! Executables lie in `<root>/target/guests/<name>`, `<root>/target/native/<name>` and `<root>/target/wasm/<name>`, wherever the
//! environment puts Cargo's own artifacts: tests of other crates look for them there. Objects are
//! named by a hash of the command that makes them, so a changed flag makes a new object, and are
//! made again when a file that they were compiled from is newer.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::programs::{self, Library, PROGRAMS, Program};
use crate::{setup, workspace};

/// What a program is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// riscv64 Linux, static.
    Guest,
    /// The host, for comparison.
    Native,
    /// WebAssembly with WASI, without files and threads; C only.
    Wasm,
}

impl Target {
    fn directory(self) -> &'static str {
        match self {
            Target::Guest => "target/guests",
            Target::Native => "target/native",
            Target::Wasm => "target/wasm",
        }
    }

    fn compiler(self, source: &Path) -> &'static str {
        match (self, is_cxx(source)) {
            (Target::Guest, false) => "riscv64-linux-gnu-gcc",
            (Target::Guest, true) => "riscv64-linux-gnu-g++",
            (Target::Native, false) => "gcc",
            (Target::Native, true) => "g++",
            (Target::Wasm, _) => "clang-22",
        }
    }

    fn flags(self, program: &Program) -> Vec<String> {
        match self {
            Target::Guest => vec![format!("-march={}", program.march)],
            Target::Native => vec![],
            Target::Wasm => [
                "--target=wasm32-wasi",
                "-isystem/usr/include/wasm32-wasi",
                "-Wno-deprecated",
                "-Wno-c23-extensions",
                "-DNO_FILES",
                "-DSQLITE_THREADSAFE=0",
            ]
            .map(str::to_owned)
            .into(),
        }
    }

    /// Arguments of the linker: before the objects, and behind them.
    fn link_flags(self) -> (&'static [&'static str], &'static [&'static str]) {
        const STACK: &str = "-Wl,-z,stack-size=1048576";
        match self {
            Target::Guest => (&["-static"], &["-lm", "-latomic"]),
            Target::Native => (&[], &["-lm", "-latomic"]),
            Target::Wasm => (&["--target=wasm32-wasi", "-Wno-deprecated", "-L/usr/lib/wasm32-wasi", STACK], &["-lm"]),
        }
    }
}

/// `cargo xtask guests [NAME..]`: sets up and builds the named programs, or all.
pub(crate) fn command(names: &[String]) -> Result<()> {
    setup::ensure(&[setup::CROSS_COMPILER])?;
    let programs = select(names)?;
    build(&programs, &[Target::Guest])
}

/// The programs of these names, or all if there are none.
pub(crate) fn select(names: &[String]) -> Result<Vec<&'static Program>> {
    if names.is_empty() {
        return Ok(PROGRAMS.iter().collect());
    }
    let one = |name: &String| {
        programs::find(name).with_context(|| {
            let known: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
            format!("no program is named `{name}`; there are {}", known.join(", "))
        })
    };
    names.iter().map(one).collect()
}

/// Where the built program lies.
pub(crate) fn path(name: &str, target: Target) -> PathBuf {
    workspace::root().join(target.directory()).join(name)
}

/// Builds what is not up to date, as many files at once as there are processors.
pub(crate) fn build(programs: &[&Program], targets: &[Target]) -> Result<()> {
    let objects_directory = workspace::root().join("target/guests/objects");
    fs::create_dir_all(&objects_directory)?;
    for target in targets {
        fs::create_dir_all(workspace::root().join(target.directory()))?;
    }
    // One build at a time: tests of several crates may ask for guests at once.
    let lock = fs::File::create(objects_directory.join(".lock"))?;
    lock.lock().context("cannot lock target/guests")?;

    let crates = Crates::load()?;
    let mut versions = BTreeMap::new();
    let mut objects = BTreeMap::new();
    let mut executables = Vec::new();
    for &target in targets {
        for program in programs {
            let mut parts = Vec::new();
            for unit in units(program, target, &crates)? {
                let version = compiler_version(unit.compiler, &mut versions)?;
                let object = unit.object(&objects_directory, &version);
                parts.push(object.clone());
                objects.insert(object, unit);
            }
            executables.push(Executable {
                path: path(program.name, target),
                linker: target.compiler(Path::new(program.source)),
                target,
                objects: parts,
            });
        }
    }

    let mut stale: Vec<_> = objects.iter().filter(|(object, _)| !is_fresh(object)).collect();
    // The largest source first: it decides how long the whole takes.
    stale.sort_by_key(|(_, unit)| fs::metadata(&unit.source).map_or(0, |m| m.len()));
    compile_all(stale)?;
    executables.iter().try_for_each(Executable::link)
}

/// One source file and how it is compiled.
struct Unit {
    source: PathBuf,
    compiler: &'static str,
    args: Vec<String>,
}

fn units(program: &Program, target: Target, crates: &Crates) -> Result<Vec<Unit>> {
    let library = match program.library {
        Some(library) => crates.resolve(library)?,
        None => ResolvedLibrary::default(),
    };
    let unit = |source: PathBuf, own: &[&str]| {
        let mut args = vec!["-O2".to_owned()];
        args.extend(target.flags(program));
        args.extend(own.iter().map(|&flag| flag.to_owned()));
        args.extend(library.flags.iter().cloned());
        Unit { compiler: target.compiler(&source), source, args }
    };
    let source = workspace::root().join(program.source);
    let standard = if is_cxx(&source) { "-std=c++17" } else { "-std=c17" };
    let mut units = vec![unit(source, &[standard, "-Wall", "-Wextra"])];
    // What a compiler warns of in others' sources is not for us to mend.
    units.extend(library.files.iter().map(|file| unit(file.clone(), &["-w"])));
    Ok(units)
}

impl Unit {
    fn object(&self, directory: &Path, compiler_version: &str) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        (&self.source, &self.args, self.compiler, compiler_version).hash(&mut hasher);
        let stem = self.source.file_stem().unwrap_or_default().display();
        directory.join(format!("{stem}-{:016x}.o", hasher.finish()))
    }

    /// Compiles to a temporary name first, so that an object that is there is whole.
    fn compile(&self, object: &Path) -> Result<()> {
        let unfinished = object.with_extension("unfinished");
        let mut command = Command::new(self.compiler);
        command
            .args(&self.args)
            .arg("-c")
            .arg(&self.source)
            .arg("-MMD")
            .arg("-MF")
            .arg(object.with_extension("d"))
            .arg("-o")
            .arg(&unfinished);
        run_compiler(&mut command)?;
        fs::rename(&unfinished, object).context("cannot name a finished object")
    }
}

/// Whether an object is newer than all that it was compiled from.
fn is_fresh(object: &Path) -> bool {
    let (Some(made), Ok(rule)) = (modified(object), fs::read_to_string(object.with_extension("d"))) else {
        return false;
    };
    // A make rule: `object: source header \`, spaces in names escaped by a backslash.
    let joined = rule.replace("\\\n", " ").replace("\\ ", "\0");
    let Some((_, sources)) = joined.split_once(": ") else {
        return false;
    };
    sources
        .split_whitespace()
        .all(|source| modified(Path::new(&source.replace('\0', " "))).is_some_and(|at| at <= made))
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// Compiles units from the back of the list until it is empty, or one fails.
fn compile_all(stale: Vec<(&PathBuf, &Unit)>) -> Result<()> {
    let total = stale.len();
    if total == 0 {
        return Ok(());
    }
    let progress = Progress::new(total);
    let queue = Mutex::new(stale);
    let take = || queue.lock().ok()?.pop();
    let work = || {
        while let Some((object, unit)) = take() {
            progress.start(&unit.source);
            let result = unit.compile(object);
            if result.is_err() {
                if let Ok(mut rest) = queue.lock() {
                    rest.clear();
                }
                return result;
            }
        }
        Ok(())
    };
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    let results: Vec<Result<()>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        handles
            .into_iter()
            .map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    progress.finish();
    results.into_iter().collect()
}

/// A line on the terminal that is written over; outside of a terminal one line in all.
struct Progress {
    total: usize,
    started: Mutex<usize>,
    live: bool,
}

impl Progress {
    fn new(total: usize) -> Self {
        let live = std::io::stderr().is_terminal();
        if !live {
            eprintln!("guests: compiling {total} file(s)");
        }
        Progress { total, started: Mutex::new(0), live }
    }

    fn start(&self, source: &Path) {
        if let Ok(mut started) = self.started.lock() {
            *started += 1;
            if self.live {
                let name = source.file_name().unwrap_or_default().display();
                eprint!("\r\x1b[Kguests: compiling {started}/{} {name}", self.total);
                // Only decoration: a terminal that cannot show it loses nothing.
                let _ = std::io::stderr().flush();
            }
        }
    }

    fn finish(&self) {
        if self.live {
            eprint!("\r\x1b[K");
        }
    }
}

/// A program's executable and what it is linked from.
struct Executable {
    path: PathBuf,
    linker: &'static str,
    target: Target,
    objects: Vec<PathBuf>,
}

impl Executable {
    fn link(&self) -> Result<()> {
        let name = self.path.file_name().unwrap_or_default().display();
        let target = match self.target {
            Target::Guest => "guest",
            Target::Native => "native",
            Target::Wasm => "wasm",
        };
        // Next to the objects, so that the folders of executables hold nothing else.
        let record = workspace::root().join(format!("target/guests/objects/{name}-{target}.command"));
        let unfinished = record.with_extension("unfinished");

        let mut command = Command::new(self.linker);
        let (before, behind) = self.target.link_flags();
        command.args(before).args(&self.objects).args(behind).arg("-o");
        let words = workspace::shown(&command);
        if self.is_fresh(&record, &words) {
            return Ok(());
        }
        run_compiler(command.arg(&unfinished))?;
        fs::rename(&unfinished, &self.path).with_context(|| format!("cannot place {}", self.path.display()))?;
        fs::write(&record, words).context("cannot record how a program was linked")
    }

    fn is_fresh(&self, record: &Path, words: &str) -> bool {
        let made = modified(&self.path);
        made.is_some()
            && fs::read_to_string(record).is_ok_and(|recorded| recorded == words)
            && self.objects.iter().all(|object| modified(object) <= made)
    }
}

/// Runs a compiler or linker; what it says is shown, on success too.
fn run_compiler(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot start {}", workspace::shown(command)))?;
    if !output.status.success() {
        bail!("{} failed\n{}", workspace::shown(command), String::from_utf8_lossy(&output.stderr).trim_end());
    }
    if !output.stderr.is_empty() {
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

fn compiler_version(compiler: &'static str, known: &mut BTreeMap<&'static str, String>) -> Result<String> {
    if let Some(version) = known.get(compiler) {
        return Ok(version.clone());
    }
    let output = workspace::stdout_of(Command::new(compiler).arg("--version"))?;
    let version = String::from_utf8_lossy(&output).into_owned();
    known.insert(compiler, version.clone());
    Ok(version)
}

fn is_cxx(source: &Path) -> bool {
    source.extension().is_some_and(|extension| extension == "cpp")
}

/// The crates that carry C sources, where Cargo unpacked them.
struct Crates(Value);

/// A library's files and flags with full paths.
#[derive(Default)]
struct ResolvedLibrary {
    files: Vec<PathBuf>,
    flags: Vec<String>,
}

impl Crates {
    /// Downloads the crates unless they are there.
    fn load() -> Result<Self> {
        workspace::metadata("examples/sources/Cargo.toml", &["--locked"])
            .map(Crates)
            .context("cannot get the crates that carry the guests' C sources")
    }

    fn resolve(&self, library: &Library) -> Result<ResolvedLibrary> {
        let package = library.package;
        let found = self.0["packages"]
            .as_array()
            .and_then(|all| all.iter().find(|one| one["name"] == package))
            .with_context(|| format!("examples/sources does not depend on {package}"))?;
        let manifest = found["manifest_path"].as_str().context("no manifest path")?;
        let root = Path::new(manifest).parent().unwrap_or(Path::new("/"));
        let links = found["links"].as_str().unwrap_or_default();

        let mut resolved = ResolvedLibrary::default();
        for pattern in library.files {
            match pattern.strip_suffix("/*.c") {
                Some(directory) => resolved.files.extend(c_files(&root.join(directory))?),
                None => resolved.files.push(root.join(pattern)),
            }
        }
        for include in library.includes {
            let directory = root.join(include);
            resolved.flags.push(format!("-I{}", directory.display()));
        }
        for define in library.defines {
            let define = define.replace("{links}", links);
            resolved.flags.push(format!("-D{define}"));
        }
        Ok(resolved)
    }
}

fn c_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("the crate has no folder {}", directory.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "c") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
