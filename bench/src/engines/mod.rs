//! The engines that can be measured, one file each.

mod libriscv;
mod native;
mod qemu;
mod riverrun;
mod wasmi;

use anyhow::{Result, bail};

use crate::engine::Engine;

/// All engines, in the order of the report.
fn all() -> Vec<Box<dyn Engine>> {
    vec![
        Box::new(riverrun::Riverrun::AS_IT_COMES),
        Box::new(riverrun::Riverrun::UNCOUNTED),
        Box::new(libriscv::Libriscv::AS_IT_COMES),
        Box::new(libriscv::Libriscv::ARENA),
        Box::new(wasmi::Wasmi),
        Box::new(qemu::Qemu),
        Box::new(native::Native),
    ]
}

/// The engine that the others are compared with.
pub(crate) const SUBJECT: &str = "riverrun";

/// All engines, or those that are `wanted`.
pub(crate) fn choose(wanted: Option<&[String]>) -> Result<Vec<Box<dyn Engine>>> {
    let mut engines = all();
    let Some(wanted) = wanted else { return Ok(engines) };
    if let Some(unknown) = wanted.iter().find(|name| !engines.iter().any(|engine| engine.name() == *name)) {
        let names: Vec<&str> = engines.iter().map(|engine| engine.name()).collect();
        bail!("no engine is called {unknown:?}; there are {}", names.join(", "));
    }
    engines.retain(|engine| wanted.iter().any(|name| name == engine.name()));
    Ok(engines)
}
