//! `cargo xtask bench verdicts`: how often `riverrun bench` is right on this machine. Two guests that are the same
//! have to be noise each time, one that does 5 % more has to be slower nine times out of ten; while the machine is
//! left alone, and while something else keeps one of its processors busy.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{riverrun, setup, workspace};

/// The guest that does work, `ROUNDS` times.
const GUEST: &str = "crates/cli/tests/guests/worker.c";

/// How many comparisons of each kind, unless the command line says.
const TIMES: usize = 20;

/// A comparison, and how often of `TIMES` its verdict has to be the expected one.
struct Case {
    name: &'static str,
    /// The second guest's work; the first one's is 1000.
    rounds: u32,
    expected: &'static str,
    tolerated_errors: f64,
}

const CASES: [Case; 2] = [
    Case { name: "the same guest", rounds: 1000, expected: "noise", tolerated_errors: 0.0 },
    Case { name: "5 % more work", rounds: 1050, expected: "slower", tolerated_errors: 0.1 },
];

/// `cargo xtask bench verdicts [TIMES]`.
pub(crate) fn command(args: &[String]) -> Result<ExitCode> {
    let times = match args {
        [] => TIMES,
        [times] => {
            times.parse().ok().filter(|times| *times > 0).context("bench verdicts takes a number of comparisons")?
        }
        _ => bail!("bench verdicts takes no more than a number of comparisons"),
    };
    setup::ensure(&[setup::CROSS_COMPILER])?;
    let riverrun = riverrun::build(false)?;
    let first = guest("first", 1000)?;
    let seconds: Vec<PathBuf> = CASES.iter().map(|case| guest("second", case.rounds)).collect::<Result<_>>()?;

    let mut all_right = true;
    println!("| guests | another process | faster | slower | noise | seconds each | |");
    println!("| --- | --- | ---: | ---: | ---: | ---: | --- |");
    for (load, is_loaded) in [("none", false), ("keeps a processor busy", true)] {
        for (case, second) in CASES.iter().zip(&seconds) {
            let load_process = is_loaded.then(Busy::start).transpose()?;
            let begin = Instant::now();
            let verdicts: Vec<String> =
                (0..times).map(|_| verdict(&riverrun, &first, second)).collect::<Result<_>>()?;
            let each = begin.elapsed().as_secs_f64() / times as f64;
            drop(load_process);
            let count = |word: &str| verdicts.iter().filter(|verdict| *verdict == word).count();
            let is_right = (times - count(case.expected)) as f64 <= case.tolerated_errors * times as f64;
            all_right &= is_right;
            println!(
                "| {} | {load} | {} | {} | {} | {each:.1} | {} |",
                case.name,
                count("faster"),
                count("slower"),
                count("noise"),
                if is_right { "as it should be" } else { "WRONG" }
            );
        }
    }
    Ok(if all_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Compiles the guest.
fn guest(name: &str, rounds: u32) -> Result<PathBuf> {
    let folder = workspace::root().join("target/verdicts");
    std::fs::create_dir_all(&folder)?;
    let output = folder.join(format!("{name}{rounds}.elf"));
    let mut compiler = Command::new("riscv64-linux-gnu-gcc");
    compiler.args(["-O2", "-static", &format!("-DROUNDS={rounds}"), "-o"]).arg(&output);
    workspace::call(compiler.arg(workspace::root().join(GUEST)))?;
    Ok(output)
}

fn verdict(riverrun: &Path, first: &Path, second: &Path) -> Result<String> {
    let output = workspace::stdout_of(Command::new(riverrun).args(["bench", "--json"]).args([first, second]))?;
    let result: Value = serde_json::from_slice(&output).context("riverrun bench printed no JSON")?;
    Ok(result["verdict"].as_str().context("riverrun bench gave no verdict")?.to_owned())
}

/// A process that does nothing, without rest; ended with this.
struct Busy(Child);

impl Busy {
    fn start() -> Result<Busy> {
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
        Ok(Busy(command.spawn().context("sh")?))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // It has no reason to be gone; and if it is, that is as well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
