//! What the chores need beyond Rust, and how it comes onto a Debian machine.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::workspace;

/// A need of some chore: how to tell that it is met, and the Debian packages that meet it.
pub(crate) struct Need {
    what: &'static str,
    met: fn() -> bool,
    packages: &'static [&'static str],
}

/// Compiles C and C++ for the guest.
pub(crate) const CROSS_COMPILER: Need = Need {
    what: "a C and C++ cross compiler for riscv64",
    met: || {
        compiles("riscv64-linux-gnu-gcc", "libc.a")
            && compiles("riscv64-linux-gnu-g++", "libstdc++.a")
            && on_path("riscv64-linux-gnu-objdump")
    },
    packages: &[
        "gcc-riscv64-linux-gnu",
        "g++-riscv64-linux-gnu",
        "libc6-dev-riscv64-cross",
        "binutils-riscv64-linux-gnu",
    ],
};

/// Compiles the same programs for the host.
pub(crate) const NATIVE_COMPILER: Need = Need {
    what: "a native C and C++ compiler",
    met: || compiles("gcc", "libc.so") && compiles("g++", "libstdc++.so"),
    packages: &["gcc", "g++", "libc6-dev"],
};

/// The reference that guests' output is compared with.
pub(crate) const QEMU: Need = Need { what: "qemu-riscv64", met: || on_path("qemu-riscv64"), packages: &["qemu-user"] };

/// Everything, in the order of installation.
pub(crate) const ALL: [Need; 3] = [CROSS_COMPILER, NATIVE_COMPILER, QEMU];

/// Disassembles the extensions that binutils does not know.
const LLVM_OBJDUMP: Need =
    Need { what: "llvm-objdump of LLVM 22", met: || on_path("llvm-objdump-22"), packages: &["llvm-22"] };

/// Builds SoftFloat, which the engines' floats are compared with, and the headers of Wasmtime's C API.
pub(crate) const CMAKE: Need = Need { what: "cmake", met: || on_path("cmake"), packages: &["cmake", "make"] };

/// What calls are compared with.
pub(crate) const LUA: Need = Need {
    what: "Lua 5.4 and LuaJIT",
    met: || ["liblua5.4.so.0", "libluajit-5.1.so.2"].iter().all(|name| has_library(name)),
    packages: &["liblua5.4-0", "libluajit-5.1-2"],
};

fn has_library(name: &str) -> bool {
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib", "/usr/local/lib"]
        .iter()
        .any(|folder| Path::new(folder).join(name).exists())
}

/// Compiles guests beside GCC, which their headers have to suit alike.
const CLANG: Need = Need {
    what: "clang 22 and lld 22",
    met: || on_path("clang-22") && on_path("clang++-22") && on_path("ld.lld-22"),
    packages: &["clang-22", "lld-22"],
};

/// Compiles C to WebAssembly with WASI.
pub(crate) const WASI: Need = Need {
    what: "clang 22 with WASI's C library",
    met: || {
        on_path("clang-22")
            && on_path("wasm-ld-22")
            && Path::new("/usr/lib/wasm32-wasi/libc.a").exists()
            && Path::new("/usr/lib/llvm-22/lib/clang/22/lib/wasi/libclang_rt.builtins-wasm32.a").exists()
    },
    packages: &["clang-22", "lld-22", "libclang-rt-22-dev-wasm32", "wasi-libc"],
};

/// What the compiler is built with.
pub(crate) const LLVM: Need = Need {
    what: "LLVM 22 to build with",
    met: || on_path("llvm-config-22") && compiles("gcc", "libLLVM-22.so") && compiles("gcc", "libffi.so"),
    packages: &["llvm-22-dev", "libpolly-22-dev", "libzstd-dev", "zlib1g-dev", "libxml2-dev", "libffi-dev"],
};

/// Installs Zig.
pub(crate) const PIP: Need = Need {
    what: "pip",
    met: || workspace::stdout_of(Command::new("python3").args(["-m", "pip", "--version"])).is_ok(),
    packages: &["python3-pip"],
};

/// Reads the line tables of compiled code.
const GDB: Need = Need { what: "gdb", met: || on_path("gdb"), packages: &["gdb"] };

/// Shows what hosts in C and C++ leave behind.
const VALGRIND: Need = Need { what: "valgrind", met: || on_path("valgrind"), packages: &["valgrind", "libc6-dbg"] };

/// Finds installed libraries.
const PKG_CONFIG: Need = Need { what: "pkg-config", met: || on_path("pkg-config"), packages: &["pkg-config"] };

/// Sanitizers for clang 22.
const CLANG_RUNTIME: Need = Need {
    what: "the sanitizers of clang 22",
    met: || compiles("clang-22", "libclang_rt.asan-x86_64.a"),
    packages: &["libclang-rt-22-dev"],
};

/// Sends requests to the server among the examples.
const WRK: Need = Need { what: "wrk", met: || on_path("wrk"), packages: &["wrk"] };

/// What the tests need besides.
pub(crate) const TESTS: [Need; 9] = [LLVM_OBJDUMP, CMAKE, CLANG, LLVM, GDB, VALGRIND, PKG_CONFIG, CLANG_RUNTIME, WRK];

/// What guests in Rust are compiled for, without `std` and with it.
const RUST_TARGETS: [&str; 2] = ["riscv64gc-unknown-none-elf", "riscv64gc-unknown-linux-gnu"];

/// `cargo xtask setup [--tests]`.
pub(crate) fn command(args: &[String]) -> Result<()> {
    ensure(&ALL)?;
    match args {
        [] => Ok(()),
        [tests] if tests == "--tests" => {
            ensure(&TESTS)?;
            // The tests of guests in Rust fail without it, and say so; there are others.
            if let Err(error) = workspace::call(Command::new("rustup").args(["target", "add"]).args(RUST_TARGETS)) {
                eprintln!("setup: {error:#}: there is no Rust for guests");
            }
            Ok(())
        }
        _ => bail!("setup takes no arguments but --tests"),
    }
}

/// Installs with apt what is missing among `needs`; touches nothing if all is there.
///
/// # Errors
/// If something is still missing afterwards; the error names the packages and the command.
pub(crate) fn ensure(needs: &[Need]) -> Result<()> {
    let missing = missing(needs);
    if missing.is_empty() {
        return Ok(());
    }
    for need in &missing {
        eprintln!("setup: {} is missing", need.what);
    }
    let packages: Vec<&str> = missing.iter().flat_map(|n| n.packages).copied().collect();
    match apt_get() {
        Some(apt_get) => install(&apt_get, &packages),
        None => eprintln!("setup: cannot install: that takes apt-get, and root or sudo"),
    }

    let missing = self::missing(needs);
    if missing.is_empty() {
        return Ok(());
    }
    let what: Vec<&str> = missing.iter().map(|n| n.what).collect();
    let packages: Vec<&str> = missing.iter().flat_map(|n| n.packages).copied().collect();
    bail!(
        "missing: {}\nInstall the packages by hand, as root: apt-get update && apt-get install {}\n\
         (Elsewhere than on Debian, packages of other names bring the same programs.)",
        what.join(", "),
        packages.join(" ")
    );
}

fn missing(needs: &[Need]) -> Vec<&Need> {
    needs.iter().filter(|need| !(need.met)()).collect()
}

/// Installs all at once; if that fails, one by one, so that one unknown name does not stop the rest.
fn install(apt_get: &[&str], packages: &[&str]) {
    if !apt(apt_get, &["update"]) {
        eprintln!("setup: `apt-get update` failed; trying with the lists that are there");
    }
    let install = ["install", "--yes", "--no-install-recommends"];
    if apt(apt_get, &[&install, packages].concat()) {
        return;
    }
    for package in packages {
        if !apt(apt_get, &[&install[..], &[package]].concat()) {
            eprintln!("setup: apt-get could not install {package}");
        }
    }
}

fn apt(apt_get: &[&str], args: &[&str]) -> bool {
    let mut command = Command::new(apt_get[0]);
    command.args(&apt_get[1..]).arg("--quiet").args(args).env("DEBIAN_FRONTEND", "noninteractive");
    eprintln!("setup: {}", workspace::shown(&command));
    // What apt says is no result of ours: keep standard output clean.
    command.stdout(std::io::stderr());
    workspace::call(&mut command).is_ok()
}

/// How to call apt-get with the rights to install; `None` if there is no way.
fn apt_get() -> Option<Vec<&'static str>> {
    if !on_path("apt-get") {
        None
    } else if is_root() {
        Some(vec!["apt-get"])
    } else if !on_path("sudo") {
        None
    } else if std::io::stdin().is_terminal() {
        Some(vec!["sudo", "apt-get"])
    } else {
        Some(vec!["sudo", "--non-interactive", "apt-get"])
    }
}

fn is_root() -> bool {
    let id = workspace::stdout_of(Command::new("id").arg("-u"));
    id.is_ok_and(|id| id.trim_ascii() == b"0")
}

/// Whether a program of this name can be found.
fn on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}

/// Whether the compiler is there together with a library that its packages bring only if asked to.
fn compiles(compiler: &str, library: &str) -> bool {
    if !on_path(compiler) {
        return false;
    }
    // A library that is not found is answered by its bare name.
    let found = workspace::stdout_of(Command::new(compiler).arg(format!("-print-file-name={library}")));
    found.is_ok_and(|path| {
        let path = String::from_utf8_lossy(path.trim_ascii()).into_owned();
        Path::new(&path).is_absolute() && PathBuf::from(path).exists()
    })
}
