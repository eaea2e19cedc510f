//! Compilers for guests: finding one, and calling it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::sdk;

/// Why a guest cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No compiler for guests was found.
    #[error(
        "no compiler for RISC-V: found neither {}\n  \
         help: install one, then try again:\n    \
         Debian, Ubuntu: apt-get install gcc-riscv64-linux-gnu g++-riscv64-linux-gnu\n    \
         Debian, Ubuntu: apt-get install clang lld (for guests without a libc)\n    \
         anywhere: pip install ziglang\n  \
         or name one in the variable {VARIABLE}",
        tried.join(", nor ")
    )]
    NoCompiler {
        /// What was looked for, and what it lacks.
        tried: Vec<String>,
    },
    /// The variable names something else.
    #[error("{VARIABLE} is `{value}`, which is no GCC or Clang for RISC-V, nor Zig; give its name or path")]
    WrongCompiler {
        /// What the variable says.
        value: String,
    },
    /// Rust lacks what guests are compiled with.
    #[error(
        "Rust's library for {target} is missing\n  \
         help: rustup target add {target}"
    )]
    NoTarget {
        /// What guests are compiled for.
        target: &'static str,
    },
    /// A guest is of one language.
    #[error("the guest is the Cargo package {} and {} at once: make it of one of them", package.display(), file.display())]
    Mixed {
        /// The package.
        package: PathBuf,
        /// One of the sources.
        file: PathBuf,
    },
    /// A compiler has complained.
    #[error("the compiler failed ({status}): {command}")]
    Failed {
        /// How it ended.
        status: std::process::ExitStatus,
        /// What was called.
        command: String,
    },
    /// A file cannot be read or written, or a program not be started.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// The description of the API is wrong.
    #[error(transparent)]
    Api(#[from] crate::Error),
}

/// The variable that names the compiler to use.
const VARIABLE: &str = "RIVERRUN_CC";

/// What a guest may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Library {
    /// The compiler's C library; the host has to provide Linux's system calls.
    #[default]
    Libc,
    /// Only the SDK: small, and the host decides about every call.
    None,
}

/// A language, which decides how compilers are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cxx,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Gcc,
    Clang,
    Zig,
}

/// A compiler for guests.
#[derive(Clone, Debug)]
pub struct Toolchain {
    kind: Kind,
    /// The program for C, with arguments that come first.
    c: Vec<OsString>,
    /// The same for C++.
    cxx: Vec<OsString>,
}

const GCC: &[&str] = &["riscv64-linux-gnu-gcc", "riscv64-unknown-linux-gnu-gcc", "riscv64-unknown-elf-gcc"];
const CLANG: &[&str] = &[
    "clang", "clang-22", "clang-21", "clang-20", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14",
];

impl Toolchain {
    /// The compiler that the variable `RIVERRUN_CC` names, or else the first that is there: with a libc
    /// GCC, Zig, Clang, without Clang, GCC, Zig.
    ///
    /// # Errors
    /// [`BuildError::NoCompiler`], which says what to install; [`BuildError::WrongCompiler`].
    pub fn find(library: Library) -> Result<Toolchain, BuildError> {
        if let Some(value) = env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            let wrong = || BuildError::WrongCompiler { value: value.to_string_lossy().into_owned() };
            return Toolchain::named(&value).ok_or_else(wrong);
        }
        let order = match library {
            Library::Libc => [Kind::Gcc, Kind::Zig, Kind::Clang],
            Library::None => [Kind::Clang, Kind::Gcc, Kind::Zig],
        };
        let mut tried = Vec::new();
        for kind in order {
            match Toolchain::of(kind, library) {
                Ok(found) => return Ok(found),
                Err(lacking) => tried.push(lacking),
            }
        }
        Err(BuildError::NoCompiler { tried })
    }

    fn of(kind: Kind, library: Library) -> Result<Toolchain, String> {
        let libc_is_there = |name: &str| library == Library::None || !name.contains("elf");
        match kind {
            Kind::Gcc => {
                let found = GCC.iter().find(|name| libc_is_there(name) && works(name, &["--version"]));
                let name = found.ok_or_else(|| format!("a cross compiler ({})", GCC[0]))?;
                Ok(Toolchain::gcc(OsStr::new(name)))
            }
            Kind::Clang => {
                let usable = |name: &&&str| makes_riscv(name) && has_lld(name);
                let found = CLANG.iter().find(usable).ok_or("a clang with its lld and the target riscv64")?;
                if library == Library::Libc && !Path::new("/usr/riscv64-linux-gnu/lib/libc.a").exists() {
                    return Err(format!("a libc for riscv64 beside {found}"));
                }
                Ok(Toolchain::clang(OsStr::new(found)))
            }
            Kind::Zig if works("zig", &["version"]) => Ok(Toolchain::zig(&["zig".into()])),
            Kind::Zig if works("python3", &["-m", "ziglang", "version"]) => {
                Ok(Toolchain::zig(&["python3".into(), "-m".into(), "ziglang".into()]))
            }
            Kind::Zig => Err("zig".to_owned()),
        }
    }

    /// The compiler that `RIVERRUN_CC` names: a program, or Python's `ziglang`.
    fn named(value: &OsStr) -> Option<Toolchain> {
        let file = Path::new(value).file_name()?.to_string_lossy().into_owned();
        if file == "ziglang" {
            return Some(Toolchain::zig(&["python3".into(), "-m".into(), "ziglang".into()]));
        }
        if file.contains("clang") {
            Some(Toolchain::clang(value))
        } else if file.starts_with("zig") {
            Some(Toolchain::zig(&[value.to_owned()]))
        } else if file.contains("gcc") && file.starts_with("riscv64") {
            Some(Toolchain::gcc(value))
        } else {
            None
        }
    }

    fn gcc(c: &OsStr) -> Toolchain {
        Toolchain { kind: Kind::Gcc, c: vec![c.to_owned()], cxx: vec![with_name(c, "gcc", "g++")] }
    }

    fn clang(c: &OsStr) -> Toolchain {
        Toolchain { kind: Kind::Clang, c: vec![c.to_owned()], cxx: vec![with_name(c, "clang", "clang++")] }
    }

    fn zig(zig: &[OsString]) -> Toolchain {
        let with = |command: &str| [zig, &[command.into()]].concat();
        Toolchain { kind: Kind::Zig, c: with("cc"), cxx: with("c++") }
    }

    /// The compiler for a language, with the flags that all guests are compiled with.
    fn compiler(&self, language: Language, library: Library) -> Command {
        let words = if language == Language::C { &self.c } else { &self.cxx };
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        match (self.kind, library) {
            (Kind::Gcc, _) => command.args(MACHINE),
            (Kind::Clang, _) => command.arg("--target=riscv64-linux-gnu").args(MACHINE),
            (Kind::Zig, Library::Libc) => command.args(["--target=riscv64-linux-musl", ZIG_MACHINE]),
            // Not `freestanding`, where C++ has no `main` but a function of that name, mangled as others are.
            (Kind::Zig, Library::None) => command.args(["--target=riscv64-linux-none", ZIG_MACHINE]),
        };
        if self.kind == Kind::Zig {
            // Without optimisation Zig has checks of undefined behaviour, whose runtime is not there.
            command.arg("-fno-sanitize=undefined");
        }
        // Guests lie where they are linked; position-independent code would only be slower.
        command.args(["-O2", "-g", "-fno-pie"]);
        if library == Library::None {
            // There is no errno: square roots are instructions, not calls of a library.
            command.args(["-fno-stack-protector", "-ffunction-sections", "-fdata-sections", "-fno-math-errno"]);
            if language == Language::Cxx {
                command.args(["-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"]);
            }
        }
        command
    }

    /// The command that compiles, and unless `arguments` say otherwise links, a guest. `arguments` are as
    /// for any C compiler, and come after its own: the last one counts. The SDK is kept in `folder`.
    ///
    /// # Errors
    /// If the SDK cannot be written or compiled.
    pub fn command(
        &self,
        language: Language,
        library: Library,
        arguments: &[OsString],
        folder: &Path,
    ) -> Result<Command, BuildError> {
        let folder = folder.join(format!("sdk-{}", sdk::version()));
        let include = sdk::write_sdk(&folder).map_err(|source| BuildError::Io { path: folder.clone(), source })?;
        let mut command = self.compiler(language, library);
        command.arg("-I").arg(include).args(arguments);
        let has = |options: &[&str]| arguments.iter().any(|argument| options.iter().any(|option| argument == option));
        if has(&["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "--version", "--help"]) || !has_inputs(arguments) {
            return Ok(command);
        }
        if self.kind == Kind::Clang {
            command.arg("-fuse-ld=lld");
        }
        if has(&["-r"]) {
            // An object of others, which is linked with the SDK later.
            return Ok(command);
        }
        command.arg("-static");
        if library == Library::Libc && self.kind != Kind::Zig {
            // Zig's linker cannot wrap symbols.
            let reactor = self.objects(&folder, library, &[sdk::REACTOR])?;
            command.arg("-Wl,--wrap=main").args(OF_NO_LANGUAGE).args(reactor);
        }
        if library == Library::None {
            let runtime = self.objects(&folder, library, sdk::RUNTIME)?;
            command.args(["-nostdlib", "-Wl,--gc-sections"]).arg("-T").arg(folder.join("riverrun.ld"));
            command.args(OF_NO_LANGUAGE).args(runtime);
            if self.kind == Kind::Gcc {
                command.arg("-lgcc");
            }
        }
        Ok(command)
    }

    /// Sources of the SDK as objects, compiled once for every compiler, and again where their files have been damaged.
    fn objects(&self, folder: &Path, library: Library, sources: &[&str]) -> Result<Vec<PathBuf>, BuildError> {
        let name: String = self.c.iter().flat_map(|word| [word.to_string_lossy(), "\n".into()]).collect();
        let objects = folder.join(format!("objects-{:08x}", crc32fast::hash(name.as_bytes())));
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| BuildError::Io { path, source }
        };
        fs::create_dir_all(&objects).map_err(io(&objects))?;
        let mut all = Vec::new();
        for source in sources {
            let source = folder.join(source);
            let object = objects.join(source.file_name().unwrap_or_default()).with_extension("o");
            let checksum_file = object.with_extension("crc32");
            let checksum = |path| fs::read(path).map(|bytes| format!("{:08x}", crc32fast::hash(&bytes)));
            let known = fs::read_to_string(&checksum_file).ok();
            if known.is_none() || checksum(&object).ok() != known {
                let unfinished = sdk::Unfinished::beside(&object);
                let mut command = self.compiler(Language::C, library);
                run(command.arg("-c").arg(&source).arg("-o").arg(&unfinished.0))?;
                let checksum = checksum(&unfinished.0).map_err(io(&unfinished.0))?;
                fs::rename(&unfinished.0, &object).map_err(io(&object))?;
                sdk::replace(&checksum_file, checksum.as_bytes()).map_err(io(&checksum_file))?;
            }
            all.push(object);
        }
        Ok(all)
    }
}

/// Comes before objects, as the arguments may have named the language of what follows.
const OF_NO_LANGUAGE: [&str; 2] = ["-x", "none"];

/// What riverrun runs and every compiler knows.
const MACHINE: [&str; 2] = ["-march=rv64gc_zba_zbb_zbs", "-mabi=lp64d"];
const ZIG_MACHINE: &str = "-mcpu=baseline_rv64+zba+zbb+zbs";

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Result<(), BuildError> {
    let status = command.status().map_err(|source| BuildError::Io { path: command.get_program().into(), source })?;
    if status.success() { Ok(()) } else { Err(BuildError::Failed { status, command: shown(command) }) }
}

/// A command as one would type it in a shell.
#[must_use]
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=+:,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The usual options whose value is the next argument, which is no input.
const WITH_VALUE: [&str; 9] = ["-o", "-x", "-I", "-L", "-D", "-include", "-isystem", "-T", "-Xlinker"];

/// Whether a compiler gets anything to compile or to link. `-` is standard input, `@FILE` has more arguments.
fn has_inputs(arguments: &[OsString]) -> bool {
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if WITH_VALUE.iter().any(|option| argument == option) {
            arguments.next();
        } else if argument == "-" || !argument.as_encoded_bytes().starts_with(b"-") {
            return true;
        }
    }
    false
}

/// The C++ compiler beside a C compiler: `/opt/bin/riscv64-linux-gnu-gcc-12` to `.. -g++-12`.
fn with_name(c: &OsStr, from: &str, to: &str) -> OsString {
    let path = Path::new(c);
    let file = path.file_name().unwrap_or_default().to_string_lossy().replace(from, to);
    path.with_file_name(file).into_os_string()
}

fn works(program: &str, arguments: &[&str]) -> bool {
    let status = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn makes_riscv(clang: &str) -> bool {
    let output = Command::new(clang).arg("--print-targets").output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("riscv64"))
}

fn has_lld(clang: &str) -> bool {
    // A program that is not found is answered by its bare name.
    let output = Command::new(clang).arg("-print-prog-name=ld.lld").output();
    output.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_absolute())
}
