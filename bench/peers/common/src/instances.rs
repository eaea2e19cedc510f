//! Measures many instances of a guest: making and dropping them, calling them, and the memory they take.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

/// An engine that makes instances of one guest. The guest has a function `touch(x)`, which adds x to a number on one
/// page and the sum to one on another, and gives the sum of both: 2x in an instance that is new, then 5x.
pub trait Host {
    /// An instance.
    type Instance;

    /// Makes one.
    ///
    /// # Errors
    /// As the engine says.
    fn create(&mut self) -> Result<Self::Instance>;

    /// Calls `touch`.
    ///
    /// # Errors
    /// As the engine says.
    fn touch(&mut self, instance: &mut Self::Instance, x: i64) -> Result<i64>;

    /// Calls `touch(x)` in an instance of a pool, which is given back; `None` if the engine has no pool.
    ///
    /// # Errors
    /// As the engine says.
    fn recycle(&mut self, _x: i64) -> Result<Option<i64>> {
        Ok(None)
    }

    /// Forks an instance that has written to a MiB of memory and has not been called, calls `touch(x)` in the fork, and
    /// drops it; `None` if the engine has no forks.
    ///
    /// # Errors
    /// As the engine says.
    fn fork(&mut self, _x: i64) -> Result<Option<i64>> {
        Ok(None)
    }

    /// Writes to 20 pages of that instance and saves it; `None` if the engine has no incremental snapshots.
    ///
    /// # Errors
    /// As the engine says, or if the snapshot is wrong.
    fn save(&mut self) -> Result<Option<()>> {
        Ok(None)
    }

    /// Writes to 20 pages of that instance and puts it back to what was saved last; `None` as for [`Host::save`].
    ///
    /// # Errors
    /// As the engine says, or if the instance is not as it was.
    fn go_back(&mut self) -> Result<Option<()>> {
        Ok(None)
    }
}

/// What it takes, for each instance: processor time, and memory.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Costs {
    /// Making and dropping one.
    pub create_ns: f64,
    /// The same with a call of `touch` between.
    pub create_and_call_ns: f64,
    /// A call of one that was not called before, with all the others alive.
    pub first_call_ns: f64,
    /// Another call, one instance after the other.
    pub call_ns: f64,
    /// A call of one of a pool, given back.
    pub recycle_ns: Option<f64>,
    /// A fork of one that has written to a MiB, called and dropped.
    pub fork_ns: Option<f64>,
    /// Writing to 20 pages and taking a snapshot.
    pub save_ns: Option<f64>,
    /// Writing to 20 pages and going back to the last snapshot.
    pub go_back_ns: Option<f64>,
    /// Of one that was not called.
    pub idle_bytes: f64,
    /// Of one that was called.
    pub called_bytes: f64,
}

/// Measures `count` instances. Gives the sum of what the calls of the instances that live at once gave, too.
///
/// # Errors
/// If an instance cannot be made, or called.
pub fn measure<H: Host>(host: &mut H, count: usize) -> Result<(i64, Costs)> {
    let each = |begin: f64| -> Result<f64> { Ok((crate::cpu_seconds()? - begin) * 1e9 / count as f64) };
    for _ in 0..3 {
        let mut instance = host.create()?;
        host.touch(&mut instance, 1)?;
    }
    let begin = crate::cpu_seconds()?;
    for _ in 0..count {
        host.create()?;
    }
    let create_ns = each(begin)?;
    let begin = crate::cpu_seconds()?;
    for _ in 0..count {
        let mut instance = host.create()?;
        host.touch(&mut instance, 1)?;
    }
    let create_and_call_ns = each(begin)?;

    let recycle_ns = repeated(count, || host.recycle(1))?;
    let fork_ns = repeated(count, || host.fork(1))?;
    let save_ns = repeated(count, || Ok(host.save()?.map(|()| NEW)))?;
    let go_back_ns = repeated(count, || Ok(host.go_back()?.map(|()| NEW)))?;

    let mut instances = Vec::with_capacity(count);
    let before = memory_bytes()?;
    for _ in 0..count {
        instances.push(host.create()?);
    }
    let idle = memory_bytes()?;
    let mut sum = 0;
    let mut pass = |instances: &mut Vec<H::Instance>| -> Result<f64> {
        let begin = crate::cpu_seconds()?;
        for (x, instance) in instances.iter_mut().enumerate() {
            sum += host.touch(instance, x as i64)?;
        }
        each(begin)
    };
    let first_call_ns = pass(&mut instances)?;
    let called = memory_bytes()?;
    let call_ns = pass(&mut instances)?;
    let bytes = |now: f64| (now - before) / count as f64;
    let costs = Costs {
        create_ns,
        create_and_call_ns,
        first_call_ns,
        call_ns,
        recycle_ns,
        fork_ns,
        save_ns,
        go_back_ns,
        idle_bytes: bytes(idle),
        called_bytes: bytes(called),
    };
    Ok((sum, costs))
}

/// What `touch(1)` gives in an instance that is new.
const NEW: i64 = 2;

/// The time of one of `count` times, if an engine can do it; each is to give what a new instance does.
fn repeated(count: usize, mut act: impl FnMut() -> Result<Option<i64>>) -> Result<Option<f64>> {
    // The first ones make what later ones find.
    for _ in 0..3 {
        match act()? {
            None => return Ok(None),
            Some(given) => ensure!(given == NEW, "{given} from an instance that should be new"),
        }
    }
    let begin = crate::cpu_seconds()?;
    for _ in 0..count {
        ensure!(act()? == Some(NEW), "an instance that should be new is not");
    }
    Ok(Some((crate::cpu_seconds()? - begin) * 1e9 / count as f64))
}

/// Prints what [`measure`] gave as the harness reads it: the sum on standard output, the costs as the last line of
/// standard error.
///
/// # Errors
/// As [`measure`], and if `count` is no number.
pub fn report<H: Host>(host: &mut H, count: &str) -> Result<()> {
    let (sum, costs) = measure(host, count.parse().with_context(|| format!("{count}: not a number of instances"))?)?;
    println!("{sum}");
    eprintln!("{}", serde_json::to_string(&costs)?);
    Ok(())
}

/// Bytes of this process's memory: of pages that are mapped more than once, a share in each, and page tables.
///
/// # Errors
/// If the system does not say.
pub fn memory_bytes() -> Result<f64> {
    let kib = |file: &str, key: &str| -> Result<f64> {
        let text = fs::read_to_string(file).context(file.to_owned())?;
        let line =
            text.lines().find_map(|line| line.strip_prefix(key)).with_context(|| format!("no {key} in {file}"))?;
        Ok(line.trim().trim_end_matches(" kB").trim().parse()?)
    };
    Ok((kib("/proc/self/smaps_rollup", "Pss:")? + kib("/proc/self/status", "VmPTE:")?) * 1024.0)
}
