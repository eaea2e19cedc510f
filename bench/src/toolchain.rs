//! The compilers of each target: finding them, installing them where apt can, running them.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

use crate::process;
use crate::program::{Crates, Program};

/// What a program is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Target {
    /// Static Linux executables with Debian's C library: RV64GC, Zba, Zbb, Zbs.
    Riscv64,
    /// Static executables for CKB-VM: RV64IMC, Zba, Zbb, Zbc, Zbs; no floats, a small C library of our own.
    CkbVm,
    /// Relocatable executables for PolkaVM's linker: RV64EMAC, Zbb; no floats, the same library.
    PolkaVm,
    /// WASI commands.
    Wasm32,
    /// The same with 128-bit addition and multiplication.
    Wasm32Wide,
    /// This machine, in the instructions that every x86-64 has.
    Native,
    /// This machine, in all of its instructions.
    NativeTuned,
}

impl Target {
    /// Whether programs have floats, a whole C library, and memory to spare.
    pub(crate) fn is_bare(self) -> bool {
        matches!(self, Target::CkbVm | Target::PolkaVm)
    }

    pub(crate) fn is_wasm(self) -> bool {
        matches!(self, Target::Wasm32 | Target::Wasm32Wide)
    }

    /// Its name in files and pages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Target::Riscv64 => "riscv64",
            Target::CkbVm => "ckb-vm",
            Target::PolkaVm => "polkavm",
            Target::Wasm32 => "wasm32",
            Target::Wasm32Wide => "wasm32-wide",
            Target::Native => "native",
            Target::NativeTuned => "native-tuned",
        }
    }

    /// The flags that make the compiler compile for it.
    fn flags(self) -> &'static [&'static str] {
        match self {
            Target::Riscv64 => &["--target=riscv64-linux-gnu", "-march=rv64gc_zba_zbb_zbs", "-mabi=lp64d"],
            Target::CkbVm => &["--target=riscv64-unknown-elf", "-march=rv64imc_zba_zbb_zbc_zbs", "-mabi=lp64"],
            Target::PolkaVm => &["--target=riscv64-unknown-elf", "-march=rv64emac_zbb_xtheadcondmov", "-mabi=lp64e"],
            Target::Wasm32 => &["--target=wasm32-wasi"],
            Target::Wasm32Wide => &["--target=wasm32-wasi", "-mwide-arithmetic"],
            Target::Native => &["-march=x86-64"],
            Target::NativeTuned => &["-march=native"],
        }
    }

    fn link_flags(self) -> &'static [&'static str] {
        match self {
            Target::Riscv64 => &["-static", "-fuse-ld=lld", "-lm"],
            Target::CkbVm => &["-nostdlib", "-fuse-ld=lld", "-Wl,--no-relax"],
            Target::PolkaVm => &["-nostdlib", "-fuse-ld=lld", "-Wl,--emit-relocs,--no-relax,--unique"],
            Target::Wasm32 | Target::Wasm32Wide => &["-L/usr/lib/wasm32-wasi", "-Wl,-z,stack-size=1048576", "-lm"],
            Target::Native | Target::NativeTuned => &["-lm"],
        }
    }
}

/// A compiler and the flags that every program gets.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Toolchain {
    pub(crate) target: Target,
    pub(crate) compiler: &'static str,
    pub(crate) version: String,
    pub(crate) flags: Vec<String>,
    pub(crate) link_flags: Vec<String>,
}

/// One compiler for all targets, so that engines are compared and not compilers.
const COMPILER: &str = "clang-22";

/// For every target alike. Contraction to fused multiply-add is a target's choice and changes results.
const FLAGS: [&str; 2] = ["-O3", "-ffp-contract=off"];

/// No program takes longer to compile from C, in wall time.
const COMPILATION_LIMIT: Duration = Duration::from_secs(600);

/// No installation takes longer, in wall time.
const INSTALLATION_LIMIT: Duration = Duration::from_secs(1200);

/// Where targets without a C library of their own find ours.
const BARE: &str = "bare";

impl Toolchain {
    /// Finds `target`'s compiler, or installs it.
    ///
    /// # Errors
    /// Names the Debian packages that could not be had.
    pub(crate) fn find(target: Target, programs: &Path) -> Result<Toolchain> {
        let mut packages = vec!["clang-22", "lld-22"];
        let mut files: Vec<&str> = Vec::new();
        if target == Target::Riscv64 {
            packages.extend(["gcc-riscv64-linux-gnu", "libc6-dev-riscv64-cross"]);
            files.push("/usr/riscv64-linux-gnu/lib/libc.a");
        } else if target.is_wasm() {
            packages.extend(["libclang-rt-22-dev-wasm32", "wasi-libc"]);
            files.push("/usr/lib/wasm32-wasi/libc.a");
            files.push("/usr/lib/llvm-22/lib/clang/22/lib/wasi/libclang_rt.builtins-wasm32.a");
        } else if !target.is_bare() {
            packages.extend(["gcc", "libc6-dev"]);
            files.push("/usr/include/stdio.h");
        }
        if let Some(missing) = files.iter().find(|file| !Path::new(file).exists()) {
            install(&packages).with_context(|| format!("{missing} is missing"))?;
        }
        require(&[COMPILER, "ld.lld-22"], &packages)?;
        let mut flags: Vec<String> = FLAGS.iter().chain(target.flags()).map(ToString::to_string).collect();
        if target.is_wasm() {
            flags.push("-isystem/usr/include/wasm32-wasi".into());
        } else if target.is_bare() {
            flags.push(format!("-isystem{}", programs.join(BARE).display()));
            flags.push("-mcmodel=medany".into());
        }
        let link_flags = target.link_flags().iter().map(ToString::to_string).collect();
        Ok(Toolchain { target, compiler: COMPILER, version: first_line(COMPILER, &["--version"])?, flags, link_flags })
    }

    /// Compiles `program` into a file in `folder`, unless the same was compiled before.
    pub(crate) fn compile(
        &self,
        program: &Program,
        programs: &Path,
        crates: &Crates,
        folder: &Path,
    ) -> Result<PathBuf> {
        let mut arguments = self.flags.clone();
        arguments.push(format!("-I{}", programs.join("common").display()));
        arguments.extend(program.flags(self.target, crates)?);
        let mut sources = program.c_files(crates)?;
        if self.target.is_bare() {
            let start = format!("start-{}.c", self.target.name());
            sources.extend(["library.c", &start].map(|file| programs.join(BARE).join(file)));
        }

        let mut fingerprint = DefaultHasher::new();
        (&self.version, &arguments, &self.link_flags, &sources).hash(&mut fingerprint);
        hash_files(&program.folder, &mut fingerprint)?;
        for shared in ["common", BARE] {
            hash_files(&programs.join(shared), &mut fingerprint)?;
        }
        for include in program.includes.iter().filter(|include| !include.starts_with('@')) {
            hash_files(&program.folder.join(include), &mut fingerprint)?;
        }
        let output = folder.join(format!("{}-{:016x}", program.name, fingerprint.finish()));
        if output.is_file() {
            return Ok(output);
        }

        let generated = output.with_extension("generated");
        fs::create_dir_all(&generated)?;
        for file in &program.embed {
            embed(&program.folder.join(file), &generated)?;
        }
        let unfinished = output.with_extension("unfinished");
        let mut command = Command::new(self.compiler);
        command
            .current_dir(&program.folder)
            .args(&arguments)
            .arg(format!("-I{}", generated.display()))
            .args(&sources)
            .arg("-o")
            .arg(&unfinished)
            .args(program.libraries.iter().map(|library| format!("-l{library}")))
            .args(&self.link_flags);
        let compiled = process::end(&mut command, COMPILATION_LIMIT).context("compiling it")?;
        ensure!(compiled.status.success(), "{}", first_error(&compiled.messages));
        fs::rename(unfinished, &output)?;
        Ok(output)
    }
}

/// Runs `program` and returns the first line that it prints.
pub(crate) fn first_line(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).output().with_context(|| format!("running {program}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// Sees to it that `commands` are there, installing `packages` if they are not.
pub(crate) fn require(commands: &[&str], packages: &[&str]) -> Result<()> {
    if commands.iter().all(|command| on_path(command)) {
        return Ok(());
    }
    install(packages)?;
    match commands.iter().find(|command| !on_path(command)) {
        Some(missing) => bail!("{} do not bring {missing}", packages.join(" ")),
        None => Ok(()),
    }
}

fn on_path(command: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(command).is_file()))
}

fn install(packages: &[&str]) -> Result<()> {
    eprintln!("installing {}", packages.join(" "));
    let root = first_line("id", &["-u"])? == "0";
    let apt = |arguments: &[&str]| -> Result<()> {
        let mut command = Command::new(if root { "apt-get" } else { "sudo" });
        if !root {
            command.args(["-n", "apt-get"]);
        }
        let said = process::end(command.env("DEBIAN_FRONTEND", "noninteractive").args(arguments), INSTALLATION_LIMIT)?;
        ensure!(said.status.success(), "{}", said.messages.trim());
        Ok(())
    };
    let install = [&["install", "-y", "--no-install-recommends"], packages].concat();
    apt(&install)
        .or_else(|_| apt(&["update"]).and_then(|()| apt(&install)))
        .with_context(|| format!("needs the Debian packages {}", packages.join(" ")))
}

/// Writes `file` as an array of bytes into a header in `folder`.
fn embed(file: &Path, folder: &Path) -> Result<()> {
    let bytes = fs::read(file).with_context(|| file.display().to_string())?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut header =
        format!("static const unsigned char {}[] = {{", name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
    for byte in bytes {
        write!(header, "{byte},")?;
    }
    header += "};\n";
    Ok(fs::write(folder.join(format!("{name}.h")), header)?)
}

/// Adds names and contents of all files in `folder` and below.
fn hash_files(folder: &Path, hasher: &mut impl Hasher) -> Result<()> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            hash_files(&entry, hasher)?;
        } else {
            (&entry, fs::read(&entry)?).hash(hasher);
        }
    }
    Ok(())
}

fn first_error(text: &str) -> &str {
    text.lines().find(|line| line.contains("error")).or(text.lines().next()).unwrap_or("the compiler failed in silence")
}
