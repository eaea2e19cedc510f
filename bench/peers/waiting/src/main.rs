//! Measures calls that wait for an async host function: what a wait costs a call, and what many calls take that wait at
//! once on one thread of tokio.
//!
//! `bench-waiting --json FILE COUNT` measures each engine in a process of its own: `bench-waiting ENGINE COUNT`, which prints
//! [`measure::Costs`] as JSON.

mod limit;
mod measure;
mod riverrun_host;
#[cfg(feature = "wasmtime")]
mod wasmtime_host;

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use peer_common::figures::{Figure, Figures, Table};

use limit::Mappings;
use measure::Costs;
use riverrun_host::Machines;

/// Engines, by the names that are their rows'.
const ENGINES: &[&str] = &[
    "riverrun compiled",
    "riverrun interpreter",
    #[cfg(feature = "wasmtime")]
    "Wasmtime",
    #[cfg(feature = "wasmtime")]
    "Wasmtime, pool",
];

/// Processes for each engine, in turns.
const ROUNDS: usize = 3;

const USAGE: &str = "usage: bench-waiting --json FILE COUNT, or bench-waiting ENGINE COUNT";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--json", file, count] => {
            let figures = all(count.parse().context(USAGE)?)?;
            fs::write(file, serde_json::to_string_pretty(&figures)?).context(file.to_owned())
        }
        [engine, count] => {
            let costs = one(engine, count.parse().context(USAGE)?)?;
            println!("{}", serde_json::to_string(&costs)?);
            Ok(())
        }
        _ => bail!(USAGE),
    }
}

/// Measures an engine in this process.
fn one(engine: &str, count: usize) -> Result<Costs> {
    match engine {
        "riverrun compiled" => measure::costs(&mut Machines::new(true)?, count),
        "riverrun interpreter" => measure::costs(&mut Machines::new(false)?, count),
        #[cfg(feature = "wasmtime")]
        "Wasmtime" => measure::costs(&mut wasmtime_host::Instances::new(None)?, count),
        #[cfg(feature = "wasmtime")]
        "Wasmtime, pool" => measure::costs(&mut wasmtime_host::Instances::new(Some(count.try_into()?))?, count),
        other => bail!("no engine {other}: there are {}", ENGINES.join(", ")),
    }
}

/// Measures all engines.
fn all(count: usize) -> Result<Figures> {
    let mappings = Mappings::for_instances(count);
    let program = std::env::current_exe()?;
    let mut costs = vec![Vec::new(); ENGINES.len()];
    for _ in 0..ROUNDS {
        for (engine, costs) in ENGINES.iter().zip(&mut costs) {
            let mut command = Command::new(&program);
            let output = command.args([engine, &mappings.count.to_string()[..]]).stderr(Stdio::inherit()).output()?;
            ensure!(output.status.success(), "{engine}: {}", output.status);
            costs.push(serde_json::from_slice::<Costs>(&output.stdout).context(*engine)?);
        }
    }
    let table = |name: &str, title: &str, unit: &str, about: String, columns: &[Column]| Table {
        name: name.into(),
        title: title.into(),
        about,
        unit: unit.into(),
        beside: None,
        columns: columns.iter().map(|(name, _)| (*name).to_owned()).collect(),
        rows: ENGINES.iter().zip(&costs).map(|(engine, rounds)| row(engine, rounds, columns)).collect(),
    };
    let one = "A call of the guest's function by `call_async`, whose host function's future is ready at once, or at its \
               second poll. They are polled by hand, so that no executor is measured: the least of 400 samples of 2,000 \
               calls each, and of three processes; the spread reaches to the worst of these.";
    let many = format!(
        "{} instances of a program on one thread of tokio. Each runs a call that waits in a host function; then all are \
         woken. Results are verified. Memory is that of instance and call: pages that instances share are counted once, \
         page tables are counted, what the kernel keeps of mappings is not. {}",
        mappings.count, mappings.about
    );
    Ok(Figures {
        tables: vec![
            table("waiting", "What a wait costs a call", "nanoseconds", one.into(), &ONE),
            table("waiting-memory", "What a call takes that waits", "KiB", many.clone(), &MEMORY),
            table("waiting-many", "What it takes to resume it, beside many", "nanoseconds", many, &MANY),
        ],
        missing: Vec::new(),
    })
}

/// A column of a table: its name, and where its figure is.
type Column = (&'static str, fn(&Costs) -> f64);

const ONE: [Column; 3] = [
    ("ready at once", |costs| costs.ready_ns),
    ("waits once", |costs| costs.waits_ns),
    ("more", |costs| costs.waits_ns - costs.ready_ns),
];
const MEMORY: [Column; 2] =
    [("instance", |costs| costs.instance_bytes / 1024.0), ("with its call", |costs| costs.waiting_bytes / 1024.0)];
const MANY: [Column; 1] = [("resume and end", |costs| costs.resume_ns)];

fn row(engine: &str, rounds: &[Costs], columns: &[Column]) -> (String, Vec<Option<Figure>>) {
    let figure = |(_, of): &Column| {
        let least = Figure::least(&rounds.iter().map(of).collect::<Vec<f64>>())?;
        Some(Figure { high: rounds.iter().map(of).fold(f64::MIN, f64::max), ..least })
    };
    (engine.to_owned(), columns.iter().map(figure).collect())
}
