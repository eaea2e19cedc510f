//! libriscv, by the crate of that name, with instruction counting on.

use anyhow::{Context, Result};

use crate::engine::{Clock, Engine, Kind, Ready, Setup, cargo_build, words};
use crate::toolchain::{Target, require};

pub(crate) struct Libriscv {
    name: &'static str,
    kind: Kind,
    features: &'static [&'static str],
    cxx_flags: &'static str,
    about: &'static str,
}

impl Libriscv {
    /// As the crate builds it: threaded dispatch, flat read-write arena, compressed instructions.
    pub(crate) const AS_IT_COMES: Libriscv = Libriscv {
        name: "libriscv",
        kind: Kind::Interpreter,
        features: &[],
        cxx_flags: "",
        about: "interpreter with the crate's own settings: threaded dispatch, flat read-write arena",
    };

    /// All addresses masked into one arena: no bounds checks, and no page protection within the guest.
    pub(crate) const ARENA: Libriscv = Libriscv {
        name: "libriscv-arena",
        kind: Kind::Interpreter,
        features: &[],
        cxx_flags: "-DRISCV_ENCOMPASSING_ARENA_BITS=32",
        about: "the same with -DRISCV_ENCOMPASSING_ARENA_BITS=32: one arena for all addresses, without page protection",
    };

    /// Translated to C, and that compiled, when a program is loaded.
    pub(crate) const TRANSLATED: Libriscv = Libriscv {
        name: "libriscv-translated",
        kind: Kind::Compiler,
        features: &["translation"],
        cxx_flags: "",
        about: "the feature binary-translation with the crate's own settings: to C, which the system's cc compiles",
    };
}

/// Many machines at once.
pub(crate) struct Hosting;

impl Engine for Hosting {
    fn name(&self) -> &'static str {
        "libriscv"
    }

    fn target(&self) -> Target {
        Target::Riscv64
    }

    fn kind(&self) -> Kind {
        Kind::Interpreter
    }

    fn prepare(&self, setup: &Setup) -> Result<Ready> {
        let ready = Libriscv::AS_IT_COMES.prepare(setup)?;
        let mut command: Vec<_> = ready.command.iter().take(1).cloned().collect();
        command.extend(words(&["--instances", "{program}"]));
        let about = "a machine each, of 16 MiB; the crate has no forks, which would be faster to make";
        Ok(Ready { command, configuration: about.into(), ..ready })
    }
}

impl Engine for Libriscv {
    fn name(&self) -> &'static str {
        self.name
    }

    fn target(&self) -> Target {
        Target::Riscv64
    }

    fn kind(&self) -> Kind {
        self.kind
    }

    fn only_if_named(&self) -> Option<&'static str> {
        let reason = "only if --engines names it: its translation takes a minute or more at each start";
        (self.kind == Kind::Compiler).then_some(reason)
    }

    fn prepare(&self, setup: &Setup) -> Result<Ready> {
        require(&["g++"], &["g++"])?;
        let folder = setup.target_folder.join(self.name);
        let environment = [("CXX", "g++"), ("CXXFLAGS", self.cxx_flags)];
        let manifest = setup.bench.join("Cargo.toml");
        let mut built = cargo_build(&manifest, &["peer-libriscv"], "peer", &folder, self.features, &environment)?;
        let command = built.pop().context("peer-libriscv has no executable")?;
        Ok(Ready {
            command: vec![command.into(), "{program}".into()],
            environment: Vec::new(),
            translator: None,
            version: setup.crates.version("libriscv").to_owned(),
            configuration: format!("{}; g++ -O3; instructions counted and limited", self.about),
            clock: Clock::Guest,
        })
    }
}
