//! Some programs on some engines, each run once a round: so that a slow minute hits all alike.

use anyhow::{Result, anyhow};

use crate::engine::{Loadable, Ready};
use crate::host::Host;
use crate::lab::{Built, Lab};
use crate::options::Options;
use crate::program::{Program, Work};

/// A program on an engine.
#[derive(Debug)]
pub(crate) struct Row<T> {
    pub(crate) program: String,
    pub(crate) engine: &'static str,
    /// One of each round; or why there is none.
    pub(crate) samples: Result<Vec<T>, String>,
}

impl<T> Row<T> {
    /// What was measured, which may be nothing.
    pub(crate) fn values(&self, of: impl Fn(&T) -> f64) -> Vec<f64> {
        self.samples.iter().flatten().map(of).collect()
    }

    /// What is missing, in words.
    pub(crate) fn gap(&self) -> Option<Gap> {
        let reason = self.samples.as_ref().err()?;
        Some(Gap { engine: self.engine, text: format!("{} on {}: {reason}", self.program, self.engine) })
    }
}

/// A figure that is missing in a table.
pub(crate) struct Gap {
    pub(crate) engine: &'static str,
    /// What, on which engine, and why.
    pub(crate) text: String,
}

/// Loads those of `programs` on those engines that are `wanted`, and takes a `sample` of each in each round. One that
/// fails is not asked again. The host is as it was between the two.
pub(crate) fn measure<T>(
    lab: &mut Lab,
    options: &Options,
    programs: &[Program],
    built: &[Built],
    wanted: impl Fn(&Program, &Built) -> bool,
    sample: impl Fn(&Ready, &Loadable, &Work) -> Result<T>,
) -> (Host, Vec<Row<T>>) {
    let mut cases = Vec::new();
    for program in programs {
        for built in built.iter().filter(|built| wanted(program, built)) {
            let loaded = lab.load(program, built);
            let samples = loaded.as_ref().map(|_| Vec::new()).map_err(|error| format!("not built: {error:#}"));
            let row = Row { program: program.name.clone(), engine: built.engine.name(), samples };
            cases.push((program, built, loaded, row));
        }
    }
    let host = Host::describe();
    for round in 0..options.runs {
        for (program, built, loaded, row) in &mut cases {
            let (Ok(samples), Ok(loadable)) = (&mut row.samples, &loaded) else { continue };
            let text = format!("round {} of {}: {} on {}", round + 1, options.runs, program.name, row.engine);
            lab.progress.show(&text);
            let ready = built.ready.as_ref().map_err(|error| anyhow!("{error:#}"));
            match ready.and_then(|ready| sample(ready, loadable, program.work(options.quick))) {
                Ok(one) => samples.push(one),
                Err(error) => row.samples = Err(format!("{error:#}")),
            }
        }
    }
    lab.progress.clear();
    (host, cases.into_iter().map(|(.., row)| row).collect())
}
