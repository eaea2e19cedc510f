//! Compiles guests with each compiler.

pub(crate) mod memory_api;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use riverrun_bindgen::Api;

/// The folder of the tests' files.
pub(crate) fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// The description in `tests/apis/`.
pub(crate) fn api(name: &str) -> Api {
    Api::read(tests().join("apis").join(name)).unwrap_or_else(|error| panic!("{error}"))
}

/// A folder that is gone when the test ends.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A compiler with its flags.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Compiler {
    Gcc,
    Clang,
}

pub(crate) const COMPILERS: [Compiler; 2] = [Compiler::Gcc, Compiler::Clang];

impl Compiler {
    /// The command for a source in C, or C++.
    pub(crate) fn command(self, cxx: bool) -> Command {
        let (program, flags) = match (self, cxx) {
            (Compiler::Gcc, false) => ("riscv64-linux-gnu-gcc", &[][..]),
            (Compiler::Gcc, true) => ("riscv64-linux-gnu-g++", &[][..]),
            (Compiler::Clang, false) => ("clang-22", CLANG),
            (Compiler::Clang, true) => ("clang++-22", CLANG),
        };
        let mut command = Command::new(program);
        command.args(flags).args(["-march=rv64gc_zba_zbb_zbs", "-mabi=lp64d", "-Wall", "-Wextra", "-Werror"]);
        command.arg(if cxx { "-std=gnu++17" } else { "-std=gnu11" });
        command
    }
}

const CLANG: &[&str] = &["--target=riscv64-linux-gnu"];

/// How the sources are made into a guest.
#[derive(Clone, Debug)]
pub(crate) struct Build<'a> {
    pub(crate) compiler: Compiler,
    pub(crate) cxx: bool,
    pub(crate) flags: &'a [&'a str],
}

/// All that a stub has to work with: both compilers, both languages, without and with the optimiser, and
/// with optimisation across files.
pub(crate) fn builds() -> Vec<Build<'static>> {
    const FLAGS: [&[&str]; 4] = [&["-O0"], &["-O3"], &["-O3", "-flto"], &["-O2", "-fPIE"]];
    let mut all = Vec::new();
    for compiler in COMPILERS {
        for cxx in [false, true] {
            all.extend(FLAGS.iter().map(|flags| Build { compiler, cxx, flags }));
        }
    }
    all
}

impl Build<'_> {
    /// Compiles and links `sources`, in `folder`, without a libc. Sources in C are compiled as the
    /// build's language.
    pub(crate) fn guest(&self, folder: &Path, sources: &[PathBuf], more: &[&str]) -> PathBuf {
        let sdk = self.compiler.sdk();
        let mut objects = Vec::new();
        for (number, source) in sources.iter().enumerate() {
            let object = folder.join(format!("{number}.o"));
            let is_assembly = source.extension().is_some_and(|extension| extension == "S");
            let cxx = self.cxx && !is_assembly;
            let mut command = self.compiler.command(cxx);
            command.args(["-fno-stack-protector", "-ffunction-sections", "-c"]);
            match (is_assembly, cxx) {
                (true, _) => {}
                (_, true) => drop(command.args(["-fno-exceptions", "-fno-rtti", "-x", "c++"])),
                (_, false) => drop(command.args(["-x", "c"])),
            }
            command.args(self.flags).args(more).arg("-I").arg(folder).arg("-I").arg(sdk.join("include"));
            run(command.arg(source).arg("-o").arg(&object));
            objects.push(object);
        }
        self.link(folder, &objects, self.flags)
    }

    /// Links objects with what guests without a libc have.
    pub(crate) fn link(&self, folder: &Path, objects: &[PathBuf], flags: &[&str]) -> PathBuf {
        let sdk = self.compiler.sdk();
        let guest = folder.join("guest.elf");
        let mut command = self.compiler.command(self.cxx);
        command.args(flags).args(["-nostdlib", "-static", "-Wl,--gc-sections"]);
        if let Compiler::Clang = self.compiler {
            command.arg("-fuse-ld=lld");
        }
        command.arg("-T").arg(sdk.join("riverrun.ld")).args(objects);
        run(command.args(RUNTIME.map(|name| sdk.join(name).with_extension("o"))).arg("-o").arg(&guest));
        guest
    }
}

pub(crate) fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{:?}: {error}", command.get_program()));
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// What guests without a libc are linked with.
const RUNTIME: [&str; 3] = ["src/start.S", "src/memory.c", "src/cxx.c"];

impl Compiler {
    /// The SDK, its sources compiled beside them.
    fn sdk(self) -> PathBuf {
        static SDKS: [OnceLock<PathBuf>; 2] = [const { OnceLock::new() }; 2];
        let make = || {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sdk-{self:?}-{}", std::process::id()));
            riverrun_bindgen::write_sdk(&folder).unwrap();
            for name in RUNTIME {
                let source = folder.join(name);
                let mut command = self.command(false);
                command.args(["-O2", "-fno-stack-protector", "-ffunction-sections", "-c"]).arg(&source).arg("-o");
                run(command.arg(source.with_extension("o")));
            }
            folder
        };
        SDKS[self as usize].get_or_init(make).clone()
    }
}
