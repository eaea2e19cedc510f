//! The compilers of each target: finding them, installing them where apt can, running them.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

use crate::program::{Crates, Program};

/// What a program is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Target {
    /// Static Linux executables, RV64GC.
    Riscv64,
    /// WASI commands.
    Wasm32,
    /// This machine.
    Native,
}

impl Target {
    pub(crate) const ALL: [Target; 3] = [Target::Riscv64, Target::Wasm32, Target::Native];
}

/// A compiler and the flags that every program gets.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Toolchain {
    pub(crate) target: Target,
    pub(crate) compiler: String,
    pub(crate) version: String,
    pub(crate) flags: Vec<String>,
    pub(crate) link_flags: Vec<String>,
}

/// For every target alike. Contraction to fused multiply-add is a target's choice and changes results.
const FLAGS: [&str; 2] = ["-O2", "-ffp-contract=off"];

/// LLVM's versions that are tried, best first: Debian's own come last.
const LLVM_VERSIONS: [u32; 4] = [22, 19, 16, 14];

/// The first LLVM whose WebAssembly has 128-bit multiplication.
const LLVM_WITH_WIDE_ARITHMETIC: u32 = 20;

impl Toolchain {
    /// Finds `target`'s compiler, or installs it.
    ///
    /// # Errors
    /// Names the Debian packages that could not be had.
    pub(crate) fn find(target: Target) -> Result<Toolchain> {
        let (compiler, own, link_flags): (String, Vec<String>, &[&str]) = match target {
            Target::Riscv64 => {
                let compiler = "riscv64-linux-gnu-gcc";
                require(&[compiler], &["gcc-riscv64-linux-gnu", "libc6-dev-riscv64-cross"])?;
                (compiler.into(), strings(&["-march=rv64gc", "-mabi=lp64d"]), &["-static", "-lm"])
            }
            Target::Native => {
                require(&["gcc"], &["gcc", "libc6-dev"])?;
                ("gcc".into(), Vec::new(), &["-lm"])
            }
            Target::Wasm32 => {
                let version = find_llvm()?;
                let mut flags = strings(&["--target=wasm32-wasi", "-isystem/usr/include/wasm32-wasi"]);
                if version >= LLVM_WITH_WIDE_ARITHMETIC {
                    flags.push("-mwide-arithmetic".into());
                }
                (format!("clang-{version}"), flags, &["-L/usr/lib/wasm32-wasi", "-Wl,-z,stack-size=1048576", "-lm"])
            }
        };
        let version = first_line(&compiler, &["--version"])?;
        let flags = FLAGS.iter().map(ToString::to_string).chain(own).collect();
        Ok(Toolchain { target, compiler, version, flags, link_flags: strings(link_flags) })
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
        let sources = program.c_files(crates)?;

        let mut fingerprint = DefaultHasher::new();
        (&self.version, &arguments, &self.link_flags, &sources).hash(&mut fingerprint);
        hash_files(&program.folder, &mut fingerprint)?;
        hash_files(&programs.join("common"), &mut fingerprint)?;
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
        let compiled = Command::new(&self.compiler)
            .current_dir(&program.folder)
            .args(&arguments)
            .arg(format!("-I{}", generated.display()))
            .args(&sources)
            .arg("-o")
            .arg(&unfinished)
            .args(&self.link_flags)
            .output()
            .with_context(|| format!("running {}", self.compiler))?;
        ensure!(compiled.status.success(), "{}", first_error(&String::from_utf8_lossy(&compiled.stderr)));
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

fn find_llvm() -> Result<u32> {
    let packages = |version: u32| {
        [
            format!("clang-{version}"),
            format!("lld-{version}"),
            format!("libclang-rt-{version}-dev-wasm32"),
            "wasi-libc".into(),
        ]
    };
    let complete = |version: &u32| {
        on_path(&format!("clang-{version}"))
            && Path::new(&format!("/usr/lib/llvm-{version}/bin/wasm-ld")).exists()
            && Path::new("/usr/lib/wasm32-wasi/libc.a").exists()
            && has_wasm_builtins(*version)
    };
    if let Some(version) = LLVM_VERSIONS.into_iter().find(complete) {
        return Ok(version);
    }
    for version in LLVM_VERSIONS {
        let packages = packages(version);
        if install(&packages.each_ref().map(String::as_str)).is_ok() && complete(&version) {
            return Ok(version);
        }
    }
    bail!(
        "needs one of clang {LLVM_VERSIONS:?} for WebAssembly: for instance apt-get install {}",
        packages(14).join(" ")
    )
}

fn has_wasm_builtins(version: u32) -> bool {
    let folder = format!("/usr/lib/llvm-{version}/lib/clang");
    let Ok(releases) = fs::read_dir(folder) else { return false };
    releases.flatten().any(|release| release.path().join("lib/wasi/libclang_rt.builtins-wasm32.a").exists())
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
        let output = command.env("DEBIAN_FRONTEND", "noninteractive").args(arguments).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
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

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}
