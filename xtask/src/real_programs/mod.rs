//! `cargo xtask programs`: real programs on each of riverrun's engines, beside qemu-riscv64. They are to print the same and
//! end with the same status.

mod list;
mod origins;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::num::NonZero;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::riverrun::{self, Engine};
use crate::{setup, workspace};
use list::{CASES, Case, Origin, SHORT};
use origins::Built;
pub(crate) use origins::debian;

/// The longest that a program may take, in seconds, and in single steps.
const TIME_LIMIT: &str = "120";
const SINGLE_STEP_TIME_LIMIT: &str = "900";
/// Instructions beyond which `--short` leaves out single steps, which would take more than seconds: those of the longest
/// program take two minutes.
const SHORT_SINGLE_STEPS: u64 = 100_000_000;
/// The status of `riverrun run` for a guest that has ended by a signal or another trap.
const TRAPPED: i32 = 134;

struct Options {
    json: bool,
    engines: Vec<Engine>,
    cases: Vec<&'static Case>,
    /// Whether it is for CI: a program that cannot be had is a failure, and what takes long is left out.
    is_short: bool,
    /// How many programs run at once.
    jobs: NonZero<usize>,
}

fn parse(args: &[String]) -> Result<Options> {
    let jobs = std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let mut options = Options { json: false, engines: Vec::new(), cases: Vec::new(), is_short: false, jobs };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--json" => options.json = true,
            "--short" => {
                options.is_short = true;
                options.cases.extend(CASES.iter().filter(|case| SHORT.contains(&case.name)));
            }
            "--engine" => options.engines.push(Engine::named(args.next())?),
            "--jobs" => {
                let number = args.next().and_then(|number| number.parse().ok());
                options.jobs = number.context("--jobs takes how many programs run at once, 1 or more")?;
            }
            flag if flag.starts_with('-') => bail!("programs has no option `{flag}`"),
            name => {
                let before = options.cases.len();
                let is_named = |case: &&Case| case.name == name || case.name.split('/').next() == Some(name);
                options.cases.extend(CASES.iter().filter(is_named));
                if options.cases.len() == before {
                    let known: Vec<&str> = CASES.iter().map(|case| case.name).collect();
                    bail!("no program is named `{name}`; there are {}", known.join(", "));
                }
            }
        }
    }
    if options.engines.is_empty() {
        options.engines = vec![Engine::Interp, Engine::SingleStep, Engine::Compiled];
    }
    if options.cases.is_empty() {
        options.cases = CASES.iter().collect();
    }
    Ok(options)
}

/// Builds the programs, runs them, and shows a table, or JSON.
///
/// # Errors
/// If a program does otherwise on riverrun than on qemu-riscv64, or riverrun cannot be built.
pub(crate) fn command(args: &[String]) -> Result<()> {
    let options = parse(args)?;
    origins::set_up(&options.cases)?;
    setup::ensure(&[setup::LLVM])?;
    // With the compiler also where only interpreters run, because that build is there in CI.
    let riverrun = riverrun::build(true)?;
    let built = Built::of(options.cases.iter().copied())?;
    let mut rows = Vec::new();
    for_each_row(&options, &built, &riverrun, |row| {
        if !options.json {
            row.print(rows.is_empty().then_some(&options.engines[..]));
        }
        rows.push(row);
    })?;
    if options.json {
        println!("{}", serde_json::to_string_pretty(&rows.iter().map(Row::json).collect::<Vec<_>>())?);
    }
    summarise(&rows, options.is_short)
}

/// Runs the programs, as many at once as there are jobs, and gives their rows in order.
fn for_each_row(options: &Options, built: &Built, riverrun: &Path, mut give: impl FnMut(Row)) -> Result<()> {
    let next = AtomicUsize::new(0);
    let (sender, rows) = mpsc::channel();
    std::thread::scope(|scope| {
        for job in 0..options.jobs.get() {
            let (next, sender) = (&next, sender.clone());
            scope.spawn(move || {
                let place = Place(origins::folder().join(format!("job-{job}")));
                let cases = std::iter::from_fn(|| {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    Some((index, *options.cases.get(index)?))
                });
                for (index, case) in cases {
                    if sender.send((index, Row::of(case, built, options, riverrun, &place))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut given = 0;
        for (index, row) in rows {
            early.insert(index, row?);
            while let Some(row) = early.remove(&given) {
                give(row);
                given += 1;
            }
        }
        Ok(())
    })
}

/// The folder in which one job runs programs, one after the other.
struct Place(PathBuf);

impl Place {
    fn new_folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.0.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// The cache of compiled code. All share one, as some cases are one program with other arguments; only profiles of large
    /// programs have to be told apart.
    fn cache(&self, case: &Case) -> PathBuf {
        let folder = if case.is_large { self.0.clone() } else { origins::folder() };
        folder.join("cache")
    }

    /// The compiled code of a program that is not compiled as others are.
    fn own_artifact(&self) -> PathBuf {
        self.0.join("own.rro")
    }
}

/// What has run a program, and how that has ended.
struct Run {
    time: Duration,
    stdout: Vec<u8>,
    stderr: String,
    status: ExitStatus,
    /// What `--stats=json` says.
    stats: Value,
}

/// Runs a command in a new folder, with the case's input.
fn run(case: &Case, command: &mut Command, folder: &Path) -> Result<Run> {
    let input = match case.input {
        "" => Stdio::null(),
        name => File::open(workspace::root().join(name)).with_context(|| format!("cannot read {name}"))?.into(),
    };
    if let Some(name) = Path::new(case.file).file_name() {
        fs::copy(workspace::root().join(case.file), folder.join(name))?;
    }
    let repository = workspace::root().display().to_string();
    command.args(case.args.iter().map(|arg| arg.replace("{repository}", &repository)));
    let begin = Instant::now();
    let output = command.current_dir(folder).stdin(input).output();
    let output = output.with_context(|| format!("cannot start {}", workspace::shown(command)))?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let stats = stderr.trim_end().lines().next_back().and_then(|line| serde_json::from_str(line).ok());
    Ok(Run {
        time: begin.elapsed(),
        stdout: output.stdout,
        stderr,
        status: output.status,
        stats: stats.unwrap_or_default(),
    })
}

fn on_qemu(case: &Case, program: &Path, place: &Place) -> Result<Run> {
    let folder = place.new_folder("qemu-folder")?;
    let mut command = Command::new("timeout");
    command.args([TIME_LIMIT, "qemu-riscv64"]);
    // Cargo's; the guest's C library would heed it, too.
    command.env_remove("LD_LIBRARY_PATH");
    if let Origin::Sysroot(_) = case.origin {
        command.arg("-L").arg(origins::sysroot());
    }
    run(case, command.arg(program), &folder)
}

/// How the engine is chosen.
fn options_of(case: &Case, engine: Engine, place: &Place) -> Vec<OsString> {
    match engine {
        Engine::Compiled if case.handles_faults || case.is_large => {
            vec!["--artifact".into(), place.own_artifact().into()]
        }
        engine => engine.options().iter().map(OsString::from).collect(),
    }
}

fn on_riverrun(case: &Case, program: &Path, options: &[OsString], riverrun: &Path, place: &Place) -> Result<Run> {
    let folder = place.new_folder("riverrun-folder")?;
    let root = workspace::root().display();
    let mut command = Command::new(riverrun);
    let is_single_step = options.iter().any(|option| Engine::SingleStep.options().iter().any(|step| option == step));
    let limit = if is_single_step { SINGLE_STEP_TIME_LIMIT } else { TIME_LIMIT };
    command.args(["run", "--stats=json", "--timeout", limit, "--cwd=/data"]).args(options);
    command.arg(format!("--dir={}:/data", folder.display())).arg(format!("--dir={root}:{root}:ro"));
    // Locales, which qemu-riscv64 has from the host.
    if Path::new("/usr/lib/locale").exists() {
        command.arg("--dir=/usr/lib/locale:/usr/lib/locale:ro");
    }
    if let Origin::Sysroot(_) = case.origin {
        command.arg("--sysroot").arg(origins::sysroot());
    }
    command.env("XDG_CACHE_HOME", place.cache(case));
    run(case, command.arg(program), &folder)
}

/// Compiles what runs of a program, so that its artifact has that.
fn compile_what_runs(case: &Case, program: &Path, riverrun: &Path, place: &Place) -> Result<()> {
    let artifact = place.own_artifact();
    if artifact.exists() {
        fs::remove_file(&artifact)?;
    }
    let folder = place.cache(case).join("riverrun");
    let profiles = |folder: &Path| -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        Ok(paths.filter(|path| path.extension().is_some_and(|extension| extension == "profile")).collect())
    };
    fs::create_dir_all(&folder)?;
    for old in profiles(&folder)? {
        fs::remove_file(old)?;
    }
    on_riverrun(case, program, &["--tier-up".into()], riverrun, place)?;
    let profile = profiles(&folder)?.pop().context("a run has left no profile")?;
    let mut options: Vec<OsString> = vec!["--compile".into(), "--engine=compiled".into(), "--profile".into()];
    options.extend([profile.into(), "--artifact".into(), artifact.into()]);
    on_riverrun(case, program, &options, riverrun, place).map(drop)
}

/// What became of a program on one of riverrun's engines.
enum Verdict {
    Same(Run),
    Differs(String),
    /// It was not run, for this reason.
    NotRun(&'static str),
}

struct Row {
    case: &'static Case,
    outcome: Outcome,
}

enum Outcome {
    /// The program cannot be had, for this reason.
    Missing(String),
    Ran {
        qemu: Run,
        engines: Vec<(Engine, Verdict)>,
    },
}

impl Row {
    fn of(case: &'static Case, built: &Built, options: &Options, riverrun: &Path, place: &Place) -> Result<Row> {
        let program = match built.get(case.origin) {
            Ok(program) => program,
            Err(reason) => return Ok(Row { case, outcome: Outcome::Missing(reason.to_owned()) }),
        };
        let qemu = on_qemu(case, program, place)?;
        let mut results = Vec::new();
        let mut instructions = None;
        for &engine in &options.engines {
            let is_long = options.is_short && instructions.is_some_and(|count| count > SHORT_SINGLE_STEPS);
            let reason = match engine {
                Engine::SingleStep if is_long => Some("more than 100 million instructions"),
                _ => None,
            };
            if let Some(reason) = reason {
                results.push((engine, Verdict::NotRun(reason)));
                continue;
            }
            match engine {
                // What compiling takes is no part of the run that is timed.
                Engine::Compiled if case.handles_faults => {
                    let mut command = Command::new(riverrun);
                    command.args(["compile", "--quiet", "--precise", "--output"]).arg(place.own_artifact());
                    workspace::call(command.arg(program))?;
                }
                Engine::Compiled if case.is_large => compile_what_runs(case, program, riverrun, place)?,
                Engine::Compiled => {
                    on_riverrun(case, program, &options_of(case, engine, place), riverrun, place).map(drop)?
                }
                Engine::Interp | Engine::SingleStep => {}
            }
            let run = on_riverrun(case, program, &options_of(case, engine, place), riverrun, place)?;
            instructions = run.stats["instructions"].as_u64().or(instructions);
            results.push((engine, compare(&qemu, run)));
        }
        Ok(Row { case, outcome: Outcome::Ran { qemu, engines: results } })
    }
}

fn compare(qemu: &Run, run: Run) -> Verdict {
    // qemu ends by the guest's signal, too.
    let expected = if qemu.status.signal().is_some() { Some(TRAPPED) } else { qemu.status.code() };
    // `timeout` passes on a signal as a status.
    let expected = expected.map(|code| if code > 128 { TRAPPED } else { code });
    if run.status.code() != expected {
        return Verdict::Differs(format!("{} instead of {}:\n{}", run.status, qemu.status, run.stderr.trim_end()));
    }
    match crate::demo::first_difference(&run.stdout, &qemu.stdout) {
        Some(difference) => Verdict::Differs(format!(
            "output differs at {difference}:\n{}\nqemu-riscv64 ended with {}:\n{}",
            run.stderr.trim_end(),
            qemu.status,
            qemu.stderr.trim_end()
        )),
        None => Verdict::Same(run),
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1e3)
}

impl Row {
    /// Prints a line of the table, below its head if that is given.
    fn print(&self, head: Option<&[Engine]>) {
        if let Some(engines) = head {
            print!("{:<24}{:<24}{:>10}", "program", "from", "qemu");
            engines.iter().for_each(|engine| print!("{:>16}", engine.name()));
            println!();
        }
        print!("{:<24}{:<24}", self.case.name, self.case.origin.shown());
        match &self.outcome {
            Outcome::Missing(reason) => {
                println!("not available: {}", reason.lines().next().unwrap_or_default());
            }
            Outcome::Ran { qemu, engines } => {
                print!("{:>10}", milliseconds(qemu.time));
                for (engine, result) in engines {
                    let cell = match result {
                        Verdict::Same(run) if *engine == Engine::Compiled && self.case.is_large => {
                            format!("hot {:>8}", milliseconds(run.time))
                        }
                        Verdict::Same(run) => format!("same {:>7}", milliseconds(run.time)),
                        Verdict::Differs(_) => "DIFFERS".to_owned(),
                        Verdict::NotRun(_) => "-".to_owned(),
                    };
                    print!("{cell:>16}");
                }
                println!();
            }
        }
    }

    fn json(&self) -> Value {
        let mut value = json!({ "program": self.case.name, "from": self.case.origin.shown() });
        match &self.outcome {
            Outcome::Missing(reason) => value["not_available"] = json!(reason),
            Outcome::Ran { qemu, engines } => {
                value["qemu_seconds"] = json!(qemu.time.as_secs_f64());
                for (engine, result) in engines {
                    value[engine.name()] = match result {
                        Verdict::Same(run) => json!({
                            "same": true,
                            "seconds": run.time.as_secs_f64(),
                            "instructions": run.stats["instructions"],
                            "only_hot_code_is_compiled": *engine == Engine::Compiled && self.case.is_large,
                        }),
                        Verdict::Differs(how) => json!({ "same": false, "problem": how }),
                        Verdict::NotRun(reason) => json!({ "not_run": reason }),
                    };
                }
            }
        }
        value
    }
}

/// Says how many programs were run, and fails if one differs, or, strictly, if one could not be had.
fn summarise(rows: &[Row], is_strict: bool) -> Result<()> {
    let mut problems = Vec::new();
    let mut reasons = Vec::new();
    let (mut ran, mut same) = (0, 0);
    let mut has_hot = false;
    for row in rows {
        match &row.outcome {
            Outcome::Missing(reason) => {
                let problem = format!("{}: not available: {reason}", row.case.name);
                eprintln!("{problem}");
                problems.extend(is_strict.then_some(problem));
            }
            Outcome::Ran { engines, .. } => {
                ran += 1;
                for (engine, result) in engines {
                    has_hot |= row.case.is_large && *engine == Engine::Compiled;
                    match result {
                        Verdict::Same(_) => same += 1,
                        Verdict::Differs(how) => {
                            problems.push(format!("{} ({}): {how}", row.case.name, engine.name()));
                        }
                        Verdict::NotRun(reason) if reasons.contains(&(engine.name(), *reason)) => {}
                        Verdict::NotRun(reason) => reasons.push((engine.name(), *reason)),
                    }
                }
            }
        }
    }
    reasons.iter().for_each(|(engine, reason)| eprintln!("-: not run ({engine}): {reason}"));
    if has_hot {
        eprintln!("hot: as on qemu-riscv64; what has run before is compiled, the rest is interpreted");
    }
    eprintln!("{ran} programs of {}, {same} runs as on qemu-riscv64", rows.len());
    match problems.is_empty() {
        true => Ok(()),
        false => bail!("{} problem(s):\n{}", problems.len(), problems.join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_names_of_one_program() {
        let names: BTreeSet<&str> = CASES.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), CASES.len());
        assert!(names.len() >= 40, "{}", names.len());
        assert!(SHORT.iter().all(|name| names.contains(name)));
    }

    #[test]
    fn sources_and_inputs_are_there() {
        for case in CASES {
            let sources = workspace::root().join("examples/programs");
            let source = match case.origin {
                Origin::C(name) | Origin::Zig(name) => sources.join("c").join(name).with_extension("c"),
                Origin::Cxx(name) => sources.join("cpp").join(name).with_extension("cpp"),
                Origin::Rust(name) => sources.join("rust/src/bin").join(name).with_extension("rs"),
                _ => sources,
            };
            assert!(source.exists(), "{}", source.display());
            assert!(workspace::root().join(case.input).exists(), "{}", case.input);
        }
    }

    #[test]
    fn options_choose_programs() {
        let parsed = |args: &[&str]| parse(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>());
        assert_eq!(
            parsed(&["c"]).unwrap().cases.len(),
            CASES.iter().filter(|case| case.name.starts_with("c/")).count()
        );
        assert_eq!(parsed(&["go/json", "--engine", "interp"]).unwrap().cases.len(), 1);
        assert_eq!(parsed(&["--short"]).unwrap().cases.len(), SHORT.len());
        assert_eq!(parsed(&["--jobs", "3"]).unwrap().jobs.get(), 3);
        assert!(parsed(&["--jobs"]).is_err() && parsed(&["--jobs", "0"]).is_err());
        assert!(parsed(&["nothing"]).is_err() && parsed(&["--engine", "none"]).is_err());
    }
}
