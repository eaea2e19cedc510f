//! riverrun, by its command: compiled code in its variants, and the interpreter.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::engine::{Clock, Engine, Kind, Ready, Setup, build_peer, cargo_build, words};
use crate::toolchain::{Target, first_line};

/// More than any program uses: instructions are counted and the limit is checked.
const FUEL: &str = "--fuel=1000000000000";

/// Compiled code.
#[derive(Clone, Copy)]
pub(crate) struct Compiled {
    name: &'static str,
    /// Options of `riverrun compile`.
    options: &'static [&'static str],
    /// An option of `riverrun run`.
    limit: Option<&'static str>,
}

/// As users have it, and what each option costs.
pub(crate) const COMPILED: [Compiled; 4] = [
    Compiled { name: "riverrun", options: &[], limit: None },
    Compiled { name: "riverrun-fuel", options: &["--fuel"], limit: Some(FUEL) },
    Compiled { name: "riverrun-timeout", options: &[], limit: Some("--timeout=60m") },
    Compiled { name: "riverrun-precise", options: &["--precise"], limit: None },
];

/// Compiled at each level of optimisation: for the table of compile times.
pub(crate) const LEVELS: [Compiled; 4] = [
    Compiled { name: "riverrun -O0", options: &["-O0"], limit: None },
    Compiled { name: "riverrun -O1", options: &["-O1"], limit: None },
    Compiled { name: "riverrun -O2", options: &["-O2"], limit: None },
    Compiled { name: "riverrun -O3", options: &["-O3"], limit: None },
];

impl Compiled {
    fn is_plain(&self) -> bool {
        self.options.is_empty() && self.limit.is_none()
    }
}

impl Engine for Compiled {
    fn name(&self) -> &'static str {
        self.name
    }

    fn target(&self) -> Target {
        Target::Riscv64
    }

    fn kind(&self) -> Kind {
        Kind::Compiler
    }

    fn has_few_rounds(&self) -> bool {
        !self.is_plain()
    }

    fn is_left_out_of_quick(&self) -> bool {
        !self.is_plain() && self.options != ["-O0"]
    }

    fn prepare(&self, setup: &Setup) -> Result<Ready> {
        let [riverrun, compiler] = commands(setup)?;
        let mut command: Vec<OsString> = vec![riverrun.into()];
        command.extend(words(&["run", "--stats=json", "--engine=compiled", "--artifact", "{artifact}"]));
        command.extend(self.limit.map(OsString::from));
        command.extend(words(&["--", "{program}"]));
        let mut translator: Vec<OsString> = vec![compiler.into()];
        translator.extend(words(self.options));
        translator.extend(words(&["--output", "{artifact}", "--", "{program}"]));
        let options: Vec<&str> = self.options.iter().copied().chain(self.limit).collect();
        let options = if options.is_empty() { "no options".into() } else { options.join(" ") };
        Ok(Ready {
            command,
            environment: Vec::new(),
            translator: Some(translator),
            version: version(setup)?,
            configuration: format!("compiled ahead of time for this machine, {options}"),
            clock: Clock::Guest,
        })
    }
}

/// Compiled code that the command finds in its cache: to see what finding it takes.
pub(crate) struct Cached;

impl Engine for Cached {
    fn name(&self) -> &'static str {
        "riverrun-cached"
    }

    fn target(&self) -> Target {
        Target::Riscv64
    }

    fn kind(&self) -> Kind {
        Kind::Compiler
    }

    fn prepare(&self, setup: &Setup) -> Result<Ready> {
        let compiled = COMPILED[0].prepare(setup)?;
        let cache = setup.target_folder.join("cache");
        if cache.exists() {
            fs::remove_dir_all(&cache)?;
        }
        let riverrun = || compiled.command.iter().take(1).cloned();
        let run = |options: &[&str]| riverrun().chain(words(options)).collect();
        Ok(Ready {
            command: run(&["run", "--stats=json", "--engine=compiled", "--", "{program}"]),
            environment: vec![("XDG_CACHE_HOME", cache)],
            translator: Some(run(&["run", "--compile", "--", "{program}"])),
            configuration: "compiled code of the same, found in the cache".into(),
            ..compiled
        })
    }
}

/// The interpreter.
#[derive(Clone, Copy)]
pub(crate) struct Interpreter {
    name: &'static str,
    configuration: &'static str,
    features: &'static [&'static str],
}

/// As users run it, and to see what counting costs.
pub(crate) const INTERPRETERS: [Interpreter; 2] = [
    Interpreter { name: "riverrun-interp", configuration: "interpreter, fuel counted and limited", features: &[] },
    Interpreter {
        name: "riverrun-interp-uncounted",
        configuration: "interpreter built so that it does not count instructions",
        features: &["uncounted"],
    },
];

impl Engine for Interpreter {
    fn name(&self) -> &'static str {
        self.name
    }

    fn target(&self) -> Target {
        Target::Riscv64
    }

    fn kind(&self) -> Kind {
        Kind::Interpreter
    }

    fn is_left_out_of_quick(&self) -> bool {
        !self.features.is_empty()
    }

    fn prepare(&self, setup: &Setup) -> Result<Ready> {
        let riverrun = if self.features.is_empty() {
            let [riverrun, _] = commands(setup)?;
            riverrun
        } else {
            let (manifest, folder) = (root(setup)?.join("Cargo.toml"), setup.target_folder.join(self.name));
            let mut built = cargo_build(&manifest, &["riverrun-cli"], "release", &folder, self.features, &[])?;
            built.pop().context("riverrun-cli has no executable")?
        };
        let mut command: Vec<OsString> = vec![riverrun.into()];
        command.extend(words(&["run", "--stats=json", "--engine=interp", FUEL, "--", "{program}"]));
        Ok(Ready {
            command,
            environment: Vec::new(),
            translator: None,
            version: version(setup)?,
            configuration: self.configuration.into(),
            clock: Clock::Guest,
        })
    }
}

/// Many machines at once, of either kind.
#[derive(Clone, Copy)]
pub(crate) struct Hosting {
    name: &'static str,
    is_compiled: bool,
    /// Bits of the machines' addresses, if not as many as there can be.
    address_bits: Option<&'static str>,
}

/// Compiled code, and the interpreter.
pub(crate) const HOSTING: [Hosting; 2] = [
    Hosting { name: "riverrun", is_compiled: true, address_bits: None },
    Hosting { name: "riverrun-interp", is_compiled: false, address_bits: None },
];

/// The same with small address spaces, of which there is room for many more.
pub(crate) const HOSTING_SMALL: [Hosting; 2] = [
    Hosting { name: "riverrun-26-bits", is_compiled: true, address_bits: Some("26") },
    Hosting { name: "riverrun-interp-26-bits", is_compiled: false, address_bits: Some("26") },
];

impl Engine for Hosting {
    fn name(&self) -> &'static str {
        self.name
    }

    fn target(&self) -> Target {
        Target::Riscv64
    }

    fn kind(&self) -> Kind {
        if self.is_compiled { Kind::Compiler } else { Kind::Interpreter }
    }

    fn only_if_named(&self) -> Option<&'static str> {
        self.address_bits.map(|_| "100,000 instances take 3 GiB, and vm.max_map_count=1000000: name it with --engines")
    }

    fn prepare(&self, setup: &Setup) -> Result<Ready> {
        let peer = build_peer(setup, "peer-riverrun", "release")?;
        let files: &[&str] = if self.is_compiled { &["{program}", "{artifact}"] } else { &["{program}"] };
        let command = std::iter::once(peer.into()).chain(words(files)).collect();
        let made = if self.is_compiled { COMPILED[0].prepare(setup)? } else { INTERPRETERS[0].prepare(setup)? };
        let configuration = format!("{}; a machine for each instance, made by a linker", made.configuration);
        let Some(bits) = self.address_bits else { return Ok(Ready { command, configuration, ..made }) };
        let configuration = format!("{configuration}; addresses of {bits} bits");
        let environment = vec![("PEER_ADDRESS_BITS", bits.into())];
        let mut translator = made.translator;
        if let Some(words) = &mut translator {
            words.splice(1..1, ["--address-bits".into(), bits.into()]);
        }
        Ok(Ready { command, configuration, environment, translator, ..made })
    }
}

/// The command and its compiler, built as the workspace's tests build them, and copied, so that no other build
/// changes them while they are measured.
fn commands(setup: &Setup) -> Result<[PathBuf; 2]> {
    let packages = ["riverrun-cli", "riverrun-compile"];
    let built = cargo_build(&root(setup)?.join("Cargo.toml"), &packages, "release", &setup.cargo_folder, &[], &[])?;
    let folder = setup.target_folder.join("riverrun");
    fs::create_dir_all(&folder)?;
    let copy = |name: &str| -> Result<PathBuf> {
        let file = built.iter().find(|file| file.ends_with(name)).with_context(|| format!("no {name} was built"))?;
        let copy = folder.join(name);
        // The old one may be running, for another table.
        let unfinished = copy.with_extension("unfinished");
        fs::copy(file, &unfinished).with_context(|| unfinished.display().to_string())?;
        fs::rename(&unfinished, &copy)?;
        Ok(copy)
    };
    Ok([copy("riverrun")?, copy("riverrun-compile")?])
}

fn root(setup: &Setup) -> Result<&Path> {
    setup.bench.parent().context("bench has no parent folder")
}

/// Ends the version of sources that are not those of its commit.
pub(crate) const DIRTY: &str = "-dirty";

/// The commit, and whether its sources were changed. What publishing writes is no source.
pub(crate) fn version(setup: &Setup) -> Result<String> {
    let root = root(setup)?.to_string_lossy();
    let commit = first_line("git", &["-C", &root, "describe", "--always"])?;
    let status = ["-C", &root, "status", "--porcelain", "--untracked-files=no", "--"];
    let sources = [".", ":!README.md", ":!docs/measurements"];
    let changed = first_line("git", &[&status[..], &sources[..]].concat())?;
    Ok(if changed.is_empty() { commit } else { commit + DIRTY })
}
