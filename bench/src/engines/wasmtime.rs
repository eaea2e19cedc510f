//! Wasmtime, which compiles WebAssembly with Cranelift.

use anyhow::Result;

use crate::engine::{Clock, Engine, Kind, Ready, Setup, build_peer, words};
use crate::toolchain::Target;

pub(crate) struct Wasmtime {
    name: &'static str,
    target: Target,
    about: &'static str,
}

impl Wasmtime {
    /// With 128-bit addition and multiplication.
    pub(crate) const WIDE: Wasmtime =
        Wasmtime { name: "wasmtime-wide", target: Target::Wasm32Wide, about: "modules with wide arithmetic" };
    /// In the instructions of WebAssembly's standard.
    pub(crate) const PLAIN: Wasmtime =
        Wasmtime { name: "wasmtime", target: Target::Wasm32, about: "modules without wide arithmetic" };
}

/// Compiled as it is started: to see what that takes.
pub(crate) struct AtOnce;

impl Engine for AtOnce {
    fn name(&self) -> &'static str {
        "wasmtime-at-once"
    }

    fn target(&self) -> Target {
        Wasmtime::WIDE.target
    }

    fn kind(&self) -> Kind {
        Kind::Compiler
    }

    fn prepare(&self, setup: &Setup) -> Result<Ready> {
        let ready = Wasmtime::WIDE.prepare(setup)?;
        let command = ready.command.iter().take(1).cloned().chain(["{program}".into()]).collect();
        let configuration = "modules compiled as they are started".into();
        Ok(Ready { command, translator: None, configuration, ..ready })
    }
}

/// Many instances at once.
pub(crate) struct Hosting {
    name: &'static str,
    mode: &'static str,
    about: &'static str,
}

impl Hosting {
    /// Memory is mapped for each instance.
    pub(crate) const ON_DEMAND: Hosting =
        Hosting { name: "wasmtime", mode: "--instances", about: "the default allocator, on demand" };
    /// Memory comes from a pool of as many instances as there are.
    pub(crate) const POOLING: Hosting =
        Hosting { name: "wasmtime-pooling", mode: "--pooled-instances", about: "the pooling allocator" };
}

impl Engine for Hosting {
    fn name(&self) -> &'static str {
        self.name
    }

    fn target(&self) -> Target {
        Wasmtime::PLAIN.target
    }

    fn kind(&self) -> Kind {
        Kind::Compiler
    }

    fn prepare(&self, setup: &Setup) -> Result<Ready> {
        let ready = Wasmtime::PLAIN.prepare(setup)?;
        let mut command: Vec<_> = ready.command.iter().take(1).cloned().collect();
        command.extend(words(&[self.mode, "{program}"]));
        let configuration = format!("{}; a store and an instance each, of an InstancePre", self.about);
        Ok(Ready { command, translator: None, configuration, ..ready })
    }
}

impl Engine for Wasmtime {
    fn name(&self) -> &'static str {
        self.name
    }

    fn target(&self) -> Target {
        self.target
    }

    fn kind(&self) -> Kind {
        Kind::Compiler
    }

    fn prepare(&self, setup: &Setup) -> Result<Ready> {
        let command = build_peer(setup, "peer-wasmtime", "release")?;
        Ok(Ready {
            command: vec![command.clone().into(), "{artifact}".into()],
            environment: Vec::new(),
            translator: Some(vec![command.into(), "--compile".into(), "{program}".into(), "{artifact}".into()]),
            version: setup.crates.version("wasmtime").to_owned(),
            configuration: format!("{}; Cranelift at its default level; neither fuel nor epochs", self.about),
            clock: Clock::Guest,
        })
    }
}
