//! Installs what hosts in C and C++ and their guests take: libraries, headers, the SDK for guests, the command.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::workspace;

/// What programs that are linked with the static library need of the system, as `rustc --print native-static-libs`
/// has it.
const SYSTEM_LIBRARIES: [&str; 5] = ["gcc_s", "pthread", "m", "dl", "c"];

/// The number that changes with the binary interface; in the shared library's name (`crates/capi/build.rs`), too.
const SOVERSION: &str = "0";

struct Options {
    prefix: PathBuf,
    features: Option<String>,
    /// Whether `riverrun-compile` is installed too, which `riverrun compile` calls: it takes LLVM.
    compiler: bool,
    /// The build that is installed: an optimised one, or one that looks for misuse.
    debug: bool,
}

fn options(args: &[String]) -> Result<Options> {
    let (mut prefix, mut features, mut compiler, mut debug) = (None, None, false, false);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().with_context(|| format!("{arg} takes a value"));
        match arg.as_str() {
            "--prefix" => prefix = Some(PathBuf::from(value()?)),
            "--features" => features = Some(value()?.clone()),
            "--compiler" => compiler = true,
            "--debug" => debug = true,
            other => bail!("install knows no `{other}`, but --prefix FOLDER, --features LIST, --compiler and --debug"),
        }
    }
    let prefix = prefix.context("say where to: --prefix FOLDER")?;
    Ok(Options { prefix: std::path::absolute(prefix)?, features, compiler, debug })
}

/// `cargo xtask install --prefix FOLDER [--features LIST] [--compiler] [--debug]`.
pub(crate) fn command(args: &[String]) -> Result<()> {
    let options = options(args)?;
    // What is wrong with it is said before the build.
    create_folder(&options.prefix)?;
    let mut build = workspace::cargo();
    build.args(["build", "--quiet", "--package", "riverrun-capi", "--package", "riverrun-cli"]);
    if options.compiler {
        build.args(["--package", "riverrun-compile"]);
    }
    if !options.debug {
        build.arg("--release");
    }
    if let Some(features) = &options.features {
        // Features of the library, unless they name another crate.
        let full = |name: &str| if name.contains('/') { name.to_owned() } else { format!("riverrun-capi/{name}") };
        let features: Vec<String> = features.split(',').map(full).collect();
        build.args(["--features", &features.join(",")]);
    }
    build.args(["--message-format", "json-render-diagnostics"]).stderr(Stdio::inherit());
    let messages = String::from_utf8(workspace::stdout_of(&mut build)?).context("cargo printed no text")?;
    let messages = messages.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
    let llvm = llvm_flags(&messages.context("cargo printed no JSON")?);

    let built = workspace::cargo_target_dir()?.join(if options.debug { "debug" } else { "release" });
    let sources = workspace::root().join("crates/capi");
    let version = version()?;
    let (lib, include) = (options.prefix.join("lib"), options.prefix.join("include"));
    copy_folder(&sources.join("include"), &include)?;
    let programs: &[&str] = if options.compiler { &["riverrun", "riverrun-compile"] } else { &["riverrun"] };
    for program in programs {
        copy(&built.join(program), &options.prefix.join("bin").join(program))?;
    }
    let guest = options.prefix.join("share/riverrun/guest");
    for folder in ["cmake", "include", "src"] {
        copy_folder(&workspace::root().join("guest").join(folder), &guest.join(folder))?;
    }
    copy(&workspace::root().join("guest/riverrun.ld"), &guest.join("riverrun.ld"))?;
    let shared = format!("libriverrun.so.{version}");
    copy(&built.join("libriverrun_capi.so"), &lib.join(&shared))?;
    link(&shared, &lib.join(format!("libriverrun.so.{SOVERSION}")))?;
    link(&format!("libriverrun.so.{SOVERSION}"), &lib.join("libriverrun.so"))?;
    copy(&built.join("libriverrun_capi.a"), &lib.join("libriverrun.a"))?;

    let needed: Vec<String> = llvm.into_iter().chain(SYSTEM_LIBRARIES.map(|name| format!("-l{name}"))).collect();
    let fill = |name: &str, to: PathBuf| -> Result<()> {
        let from = sources.join("install").join(name);
        let text = fs::read_to_string(&from).with_context(|| from.display().to_string())?;
        let text = text.replace("@VERSION@", &version).replace("@SOVERSION@", SOVERSION);
        let text = text.replace("@SYSTEM_FLAGS@", &needed.join(" ")).replace("@SYSTEM_LIBRARIES@", &needed.join(";"));
        create_folder(to.parent().expect("it is in a folder"))?;
        fs::write(&to, text).with_context(|| to.display().to_string())
    };
    fill("riverrun.pc", lib.join("pkgconfig/riverrun.pc"))?;
    for name in ["riverrun-config.cmake", "riverrun-config-version.cmake"] {
        fill(name, lib.join("cmake/riverrun").join(name))?;
    }
    println!("installed in {}", options.prefix.display());
    Ok(())
}

/// What programs that are linked with the static library need of LLVM, if the library has the feature `compile`: what
/// the build script of the crate `llvm-sys` has found, as Cargo tells of the build. Static ones are in the library.
fn llvm_flags(messages: &[Value]) -> Vec<String> {
    let strings = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
    };
    let is_library = |one: &&Value| {
        one["reason"] == "compiler-artifact" && one["target"]["name"] == "riverrun" && one["target"]["kind"][0] == "lib"
    };
    let compiles = |one: &Value| strings(&one["features"]).iter().any(|feature| feature == "compile");
    if !messages.iter().filter(is_library).any(compiles) {
        return Vec::new();
    }
    let is_llvm = |one: &&Value| {
        let package = one["package_id"].as_str().unwrap_or_default();
        one["reason"] == "build-script-executed" && package.contains("llvm-sys")
    };
    let mut flags = Vec::new();
    for script in messages.iter().filter(is_llvm) {
        let own = script["out_dir"].as_str().unwrap_or_default();
        let paths = strings(&script["linked_paths"]);
        let paths = paths.iter().map(|path| path.strip_prefix("native=").unwrap_or(path)).filter(|path| *path != own);
        flags.extend(paths.map(|path| format!("-L{path}")));
        let libraries = strings(&script["linked_libs"]);
        let libraries = libraries.iter().filter(|library| !library.starts_with("static"));
        flags.extend(
            libraries.map(|library| format!("-l{}", library.split_once('=').map_or(&**library, |(_, name)| name))),
        );
    }
    flags
}

/// That of the crate.
fn version() -> Result<String> {
    let metadata = workspace::metadata("Cargo.toml", &["--no-deps"])?;
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let capi = packages.iter().find(|package| package["name"] == "riverrun-capi");
    let version = capi.and_then(|package| package["version"].as_str());
    Ok(version.context("cargo metadata does not know riverrun-capi")?.to_owned())
}

fn create_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    create_folder(to.parent().expect("it is in a folder"))?;
    // Programs that run with the old file keep it.
    let _ = fs::remove_file(to);
    fs::copy(from, to).with_context(|| format!("{} to {}", from.display(), to.display()))?;
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() { copy_folder(&entry.path(), &to)? } else { copy(&entry.path(), &to)? }
    }
    Ok(())
}

fn link(target: &str, at: &Path) -> Result<()> {
    let _ = fs::remove_file(at);
    symlink(target, at).with_context(|| at.display().to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn library(name: &str, features: &[&str]) -> Value {
        json!({ "reason": "compiler-artifact", "target": { "name": name, "kind": ["lib"] }, "features": features })
    }

    /// As Cargo prints it.
    fn script() -> Value {
        json!({
            "reason": "build-script-executed",
            "package_id": "registry+https://github.com/rust-lang/crates.io-index#llvm-sys@221.0.0",
            "linked_libs": ["static=targetwrappers", "dylib=LLVM-22", "stdc++"],
            "linked_paths": ["native=/target/llvm-sys/out", "native=/usr/lib/llvm-22/lib"],
            "out_dir": "/target/llvm-sys/out",
        })
    }

    #[test]
    fn static_libraries_with_the_compiler_need_llvm() {
        let finished = json!({ "reason": "build-finished", "success": true });
        let with = [script(), library("riverrun_aot", &[]), library("riverrun", &["compile"]), finished];
        assert_eq!(llvm_flags(&with), ["-L/usr/lib/llvm-22/lib", "-lLLVM-22", "-lstdc++"]);
    }

    /// The program `riverrun-compile` needs it, and the libraries that are installed beside it do not.
    #[test]
    fn static_libraries_beside_the_compiler_need_no_llvm() {
        let none: [String; 0] = [];
        assert_eq!(llvm_flags(&[script(), library("riverrun_aot", &["compile"]), library("riverrun", &[])]), none);
    }
}
