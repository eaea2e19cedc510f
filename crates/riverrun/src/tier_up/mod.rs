//! Compiling what runs: the interpreter is sampled, and a background process compiles the functions that are hot.
//!
//! [`Sampler`] tells the dispatcher when to note the pc. [`TieringUp`], one for each program, counts the samples and decides
//! when a compilation is worthwhile; a thread of its own calls the compiler and hands its artifact to the program. All
//! machines of the program share both. A guest never waits for any of it: while there is no compiled code it is
//! interpreted, and after a failure it goes on with what there is.
//!
//! The first code is quick code, but for what is so hot that LLVM's is soon worthwhile. Once the process has worked with
//! that for half as long as making it took, LLVM's code of what is hot takes its place, with quick code of the rest; and
//! much later LLVM's code of all, for what has got hot since. If the program comes to spend most of its time in code that
//! is not compiled, quick code of that comes first again, beside LLVM's code that there is.
//!
//! What a compilation takes is estimated, and compared with how long the program was interpreted, which the samples tell.
//! Quick code makes no samples: while it runs, the processor time of the process counts.

mod files;
mod settings;

use std::cell::Cell;
use std::fs::{File, TryLockError};
use std::mem::replace;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use riverrun_program::Profile;
use riverrun_vm::artifact::{Artifact, LLVM_INSTRUCTION, Options, ProgramHash, Quick};
use riverrun_vm::{AddressSpace, make_folder_of};

use crate::compiler_process::{CompilerCall, processor_time, processors};
use crate::sampler::Sampler;
use crate::tier_up::files::{hot_beside, profile_beside, write_profile};
pub use crate::tier_up::settings::{TierUp, TierUpStatistics};

/// How long the compiler takes to start and to link.
const START: Duration = Duration::from_millis(75);
/// To analyse a KiB of text, on a fast machine.
const ANALYSIS: Duration = Duration::from_micros(100);
/// The same by what the last compilation has kept.
const AGAIN: Duration = Duration::from_micros(20);
/// How many times as fast the quick back end is.
const QUICKER: u64 = 7;
/// How many times as long LLVM takes of the same, with the analysis that both make. What is hot takes it about twice as
/// long as quick code of all.
const SLOWER: u32 = 5;
/// Bytes of quick code for an instruction.
const QUICK_BYTES: u64 = 40;
/// How many times as long quick code takes to make as it runs before LLVM's code of what is hot is made: that saves half of the
/// time from then on, and of later runs.
const PAYS_EARLY: u32 = 2;
/// How long such code runs, in compilations of all by LLVM, before there is one: that saves little, unless something else is
/// hot by then.
const WHOLE_PAYS: u32 = 8;
/// Programs that end earlier are not compiled.
const SECOND: Duration = Duration::from_secs(1);
/// How much longer than a program has been interpreted its compilation may take: one that has not ended by then goes on for
/// long, as a rule. To compile what is hottest first, in less time, gains little: such code goes to the interpreter and back
/// all the time.
const LONGER: u32 = 4;
/// Compilations of a program in a process at most, as its memory keeps the code of all, beside the one by which LLVM's code
/// takes the place of quick code.
const COMPILATIONS: usize = 16;
/// What is said where a program has ended before its compilation.
pub(crate) const GONE: &str = "the program is gone";

/// Between two looks at the compiler.
const INTERVAL: Duration = Duration::from_millis(5);
/// Between two looks at the processor time of a process that does little.
const LONG_INTERVAL: Duration = Duration::from_millis(100);

/// What is known about a program that is compiled as it runs.
#[derive(Debug)]
struct State {
    profile: Profile,
    statistics: TierUpStatistics,
    /// What the compiler compiles by while it runs.
    compiling: Option<Profile>,
    /// The compiler while it runs.
    child: Option<Child>,
    /// Where the compiler's files are if there is no cache.
    folder: Option<tempfile::TempDir>,
    /// What is quick code of the present code, or else of the first. No other takes its place that has more, unless most of
    /// the time is spent in code that is not compiled.
    quick: Quick,
    /// How long making the present quick code has taken.
    quick_took: Duration,
    /// The time in code that is not compiled, and that of the process, when the former was half of what makes another
    /// compilation worthwhile.
    halfway: Option<[Duration; 2]>,
    /// Whether the program has been compiled before.
    has_code: bool,
    /// Whether a thread waits until better code is worthwhile.
    is_waiting: bool,
    /// What the process had taken of the processor when there was the code that better code follows, if that is so. The
    /// profile has the time of earlier processes.
    quick_since: Option<Duration>,
    /// Whether the program is gone, and so nothing is to be compiled.
    is_over: bool,
}

/// The program's part of tiering up. When it is dropped, the compiler is ended, unless a cache keeps what it makes.
#[derive(Debug)]
pub(crate) struct TieringUp(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    settings: TierUp,
    /// The path of the whole program's artifact in the cache, from which other names follow.
    cached: Option<PathBuf>,
    /// The addresses of its machines.
    space: AddressSpace,
    /// How long a compilation of nothing takes, the first one, and those that follow.
    fixed: [Duration; 2],
    /// When the program was loaded.
    begin: Instant,
    state: Mutex<State>,
    /// A compilation has ended, or the program is gone.
    changed: Condvar,
}

/// A compilation that is worthwhile.
pub(crate) struct Job {
    shared: Arc<Shared>,
    /// What is to be quick code.
    quick: Quick,
    work: u64,
    /// How long the compiler took: not the time for which another process kept this from it.
    took: Cell<Option<Duration>>,
}

impl TieringUp {
    /// For a program with `text` bytes of code, in machines of these addresses. `cached` is where a cache would have the
    /// artifact of the whole program.
    pub(crate) fn new(settings: &TierUp, space: AddressSpace, cached: Option<PathBuf>, text: u64) -> TieringUp {
        let state = State {
            profile: Profile::default(),
            statistics: TierUpStatistics::default(),
            compiling: None,
            child: None,
            folder: None,
            // Quick code does not count.
            quick: if settings.fuel { Quick::Nothing } else { Quick::Most },
            quick_took: Duration::ZERO,
            halfway: None,
            has_code: false,
            is_waiting: false,
            quick_since: None,
            is_over: false,
        };
        let fixed = [ANALYSIS, AGAIN].map(|time| START + time.saturating_mul((text >> 10) as u32));
        let state = Mutex::new(state);
        let (settings, begin, changed) = (settings.clone(), Instant::now(), Condvar::new());
        TieringUp(Arc::new(Shared { settings, space, cached, fixed, begin, state, changed }))
    }

    /// Takes over what earlier runs have left in the cache: the profile, and the artifact that was compiled by it.
    ///
    /// # Safety
    /// Files in the cache come from riverrun's compiler.
    pub(crate) unsafe fn kept(&self, program: &ProgramHash) -> Option<Artifact> {
        let cached = self.0.cached.as_ref()?;
        let mut state = self.0.state();
        let profile = std::fs::read_to_string(profile_beside(cached)).ok().and_then(|text| text.parse().ok());
        state.profile = profile.unwrap_or_default();
        // SAFETY: as the caller promises.
        let artifact = unsafe { Artifact::load(&hot_beside(cached), program) }.ok();
        let artifact = artifact.filter(|artifact| artifact.options().fuel == self.0.settings.fuel);
        match &artifact {
            None => state.profile.uncompiled = state.profile.interpreted,
            Some(artifact) => state.note(artifact.options()),
        }
        artifact
    }

    /// What samples machines of the program.
    pub(crate) fn sampler(&self) -> Sampler {
        Sampler::new(self.0.settings.fuel)
    }

    pub(crate) fn statistics(&self, functions: usize) -> TierUpStatistics {
        let state = self.0.state();
        let (samples, is_compiling) = (state.profile.total(), state.statistics.is_compiling);
        TierUpStatistics { samples, functions, is_compiling, ..state.statistics.clone() }
    }

    /// Writes the profile to the cache, if there is one, and if it has samples; control has reached these addresses.
    pub(crate) fn keep_profile(&self, reached: &[u64]) -> Result<(), (PathBuf, std::io::Error)> {
        let Some(cached) = &self.0.cached else { return Ok(()) };
        let path = profile_beside(cached);
        let mut profile = {
            let state = self.0.state();
            let mut profile = state.profile.clone();
            profile.quick = state.in_quick_code();
            profile
        };
        if profile.total() == 0 {
            return Ok(());
        }
        reached.iter().for_each(|&pc| profile.add(pc, 0));
        write_profile(&path, &profile).map_err(|error| (path, error))
    }

    /// Adds a sample in the code that was reached at its beginning, which has taken so long; returns a compilation if that is
    /// worthwhile now.
    pub(crate) fn sample(&self, pc: u64, beginning: u64, time: Duration) -> Option<Job> {
        self.sample_by(processor_time, pc, beginning, time)
    }

    /// The same by a clock of the process.
    fn sample_by(&self, now: impl Fn() -> Duration, pc: u64, beginning: u64, time: Duration) -> Option<Job> {
        let mut state = self.0.state();
        let profile = &mut state.profile;
        profile.add(pc, 1);
        profile.interpreted = profile.interpreted.saturating_add(time);
        // What is being compiled is interpreted meanwhile.
        let is_known = state.compiling.as_ref().is_some_and(|profile| profile.has_reached(beginning..=beginning));
        if !is_known {
            state.profile.uncompiled = state.profile.uncompiled.saturating_add(time);
        }
        let (interpreted, fixed) = (state.profile.interpreted, self.0.fixed(&state));
        if state.halfway.is_none() && state.profile.uncompiled >= fixed / 2 {
            state.halfway = Some([state.profile.uncompiled, now()]);
        }
        let statistics = &state.statistics;
        if statistics.is_compiling || statistics.failure.is_some() || statistics.compilations >= COMPILATIONS {
            return None;
        }
        // The analysis alone should take no longer than that.
        if interpreted < SECOND.max(fixed) || state.profile.uncompiled < fixed {
            return None;
        }
        let quick = match state.is_mostly_uncompiled(now) {
            true if !self.0.settings.fuel => Quick::Most,
            // LLVM's code, which is about to be made, has it as well.
            _ if state.is_waiting && state.quick >= Quick::Most => return None,
            _ => state.quick,
        };
        Some(Shared::job(&self.0, &mut state, quick, interpreted))
    }

    /// Does the work by LLVM once that is worthwhile for a program with so many bytes of quick code.
    pub(crate) fn optimise_later(&self, size: usize, work: impl Work) {
        let shared = self.0.clone();
        self.0.spawn(move || Shared::optimise(&shared, size, None, &work));
    }
}

impl Drop for TieringUp {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_over = true;
        self.0.changed.notify_all();
        if self.0.cached.is_none() {
            state.end_child();
            state.folder = None;
        }
    }
}

impl State {
    /// Notes how the code was compiled that is there now.
    fn note(&mut self, options: Options) {
        self.statistics.is_quick = options.quick >= Quick::Most;
        (self.quick, self.has_code) = (options.quick, true);
    }

    /// Notes that the compiler runs; ends it if the program is gone, unless a cache keeps what it makes.
    fn note_child(&mut self, child: Child, is_kept: bool) {
        self.child = Some(child);
        if self.is_over && !is_kept {
            self.end_child();
        }
    }

    /// Ends the compiler if it runs.
    fn end_child(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended by itself. The thread that has begun it waits for it.
            let _ = child.kill();
        }
    }

    /// Whether the process has spent most of its time in code that is not compiled, since it was halfway to a compilation.
    fn is_mostly_uncompiled(&self, now: impl Fn() -> Duration) -> bool {
        self.halfway.is_some_and(|[uncompiled, then]| {
            2 * self.profile.uncompiled.saturating_sub(uncompiled) >= now().saturating_sub(then)
        })
    }

    /// How long this process and earlier ones have worked that had quick code.
    fn in_quick_code(&self) -> Duration {
        let here = self.quick_since.map_or(Duration::ZERO, |since| processor_time().saturating_sub(since));
        self.profile.quick.saturating_add(here)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long a compilation of nothing takes now.
    fn fixed(&self, state: &State) -> Duration {
        self.fixed[usize::from(state.has_code)]
    }

    /// A compilation of a program that has run for so long.
    fn job(this: &Arc<Shared>, state: &mut State, quick: Quick, time: Duration) -> Job {
        state.statistics.is_compiling = true;
        (state.profile.uncompiled, state.halfway) = (Duration::ZERO, None);
        // What is compiled already included: the artifact replaces the one before it, but most of LLVM's code is kept.
        let left = time.saturating_mul(LONGER).saturating_sub(this.fixed(state));
        let by_llvm = (left.as_nanos() / LLVM_INSTRUCTION.as_nanos()) as u64;
        let work = by_llvm.saturating_mul(if quick == Quick::Nothing { 1 } else { QUICKER });
        Job { shared: this.clone(), quick, work, took: Cell::new(None) }
    }

    /// Makes better code once that is worthwhile, until there is no quick code, unless the program ends before or another
    /// thread does this. There is so much code, and `took` is how long quick code of it took, if that is known.
    fn optimise(this: &Arc<Shared>, size: usize, took: Option<Duration>, work: &impl Work) {
        let instructions = u32::try_from(size as u64 / QUICK_BYTES).unwrap_or(u32::MAX);
        let mut state = this.state();
        if replace(&mut state.is_waiting, true) {
            return;
        }
        let expected = this.fixed(&state).saturating_add(LLVM_INSTRUCTION.saturating_mul(instructions));
        let took = took.unwrap_or(expected / SLOWER);
        state.quick_took = took;
        drop(state);
        loop {
            let mut state = this.state();
            state.quick_since = Some(processor_time());
            let quick = loop {
                let (quick, pays_after) = match state.quick {
                    Quick::Most | Quick::All => (Quick::Cold, state.quick_took / PAYS_EARLY),
                    Quick::Cold => (Quick::Nothing, WHOLE_PAYS * SLOWER * took),
                    Quick::Nothing => {
                        (state.is_waiting, state.quick_since) = (false, None);
                        return;
                    }
                };
                if state.is_over || state.statistics.failure.is_some() {
                    return;
                }
                let left = pays_after.saturating_sub(state.in_quick_code());
                if left.is_zero() && !state.statistics.is_compiling {
                    break quick;
                }
                // All processors may work for the process at once.
                let waited = this.changed.wait_timeout(state, (left / processors() as u32).max(LONG_INTERVAL));
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            };
            let time = state.profile.interpreted.saturating_add(expected);
            let job = Shared::job(this, &mut state, quick, time);
            drop(state);
            job.carry_out(work);
        }
    }

    /// Does it on a thread of its own.
    fn spawn(&self, body: impl FnOnce() + Send + 'static) {
        if let Err(error) = std::thread::Builder::new().name("tier-up".into()).spawn(body) {
            let mut state = self.state();
            state.statistics.is_compiling = false;
            state.statistics.failure = Some(format!("cannot start a thread: {error}"));
        }
    }

    /// Where the compiler's files go: the profile and the artifact.
    fn files(&self, state: &mut State) -> std::io::Result<(PathBuf, PathBuf)> {
        if let Some(cached) = &self.cached {
            return Ok((profile_beside(cached), hot_beside(cached)));
        }
        let folder = match &mut state.folder {
            Some(folder) => folder,
            none => none.insert(tempfile::tempdir()?),
        };
        Ok((folder.path().join("profile"), folder.path().join("hot.rro")))
    }
}

/// Compiles a program, gives it the code, and says how much that is and how it was compiled.
pub(crate) trait Work: Fn(&Job) -> Result<(usize, Options), String> + Send + 'static {}

impl<F: Fn(&Job) -> Result<(usize, Options), String> + Send + 'static> Work for F {}

impl Job {
    /// Does the work on a thread of its own, and what follows by LLVM if that makes quick code.
    pub(crate) fn start(self, work: impl Work) {
        let shared = self.shared.clone();
        shared.clone().spawn(move || {
            let done = self.carry_out(&work);
            if let Some((size, took)) = done.filter(|_| self.quick >= Quick::Most) {
                Shared::optimise(&shared, size, took, &work);
            }
        });
    }

    /// Does the work, and notes how it ended. Returns the size of the code, and how long the compiler took, if it was called.
    fn carry_out(&self, work: &impl Work) -> Option<(usize, Option<Duration>)> {
        let result = work(self);
        let took = self.took.get();
        let mut state = self.shared.state();
        state.statistics.time += took.unwrap_or_default();
        state.statistics.is_compiling = false;
        state.compiling = None;
        self.shared.changed.notify_all();
        match result {
            Ok((size, options)) => {
                state.statistics.compilations += 1;
                state.statistics.since = self.shared.begin.elapsed();
                if options.quick >= Quick::Most {
                    state.quick_took = took.unwrap_or(state.quick_took);
                }
                if options.quick != state.quick {
                    // The next wait begins, unless there is no quick code left.
                    state.profile.quick = Duration::ZERO;
                    let waits = state.quick_since.is_some() && options.quick != Quick::Nothing;
                    state.quick_since = waits.then(processor_time);
                }
                state.note(options);
                Some((size, took))
            }
            Err(failure) => {
                state.statistics.failure = Some(failure);
                None
            }
        }
    }

    /// The profile that it compiles by: control has reached these addresses, too.
    fn profile(&self, reached: &[u64]) -> Profile {
        // Guests that are sampled wait for the lock.
        let mut profile = self.shared.state().profile.clone();
        reached.iter().for_each(|&pc| profile.add(pc, 0));
        let compiling = Some(profile.clone());
        self.shared.state().compiling = compiling;
        profile
    }

    /// Has the functions of the program compiled that control has reached, by the profile so far and these addresses.
    ///
    /// # Errors
    /// What went wrong, in words.
    ///
    /// # Safety
    /// The compiler is riverrun's, and other processes that write to its files have the host's rights.
    pub(crate) unsafe fn compile(
        &self,
        program: &[u8],
        hash: &ProgramHash,
        reached: &[u64],
    ) -> Result<Artifact, String> {
        let (profile, output) = self
            .shared
            .files(&mut self.shared.state())
            .map_err(|error| format!("cannot make a temporary folder: {error}"))?;
        let (lock, has_waited) = self.lock();
        if has_waited {
            // SAFETY: as below.
            let made = unsafe { Artifact::load(&output, hash) }.ok().filter(|made| self.is_made(made.options()));
            if let Some(artifact) = made {
                return Ok(artifact);
            }
        }
        write_profile(&profile, &self.profile(reached))
            .map_err(|error| format!("cannot write {}: {error}", profile.display()))?;
        let begin = Instant::now();
        let called = self.call_compiler(program, &profile, &output, lock);
        self.took.set(Some(begin.elapsed()));
        called?;
        // SAFETY: as the caller promises; artifacts are replaced as a whole.
        unsafe { Artifact::load(&output, hash) }.map_err(|error| error.to_string())
    }

    /// Waits while another process compiles the program by the same cache, and keeps others from it as long as the file or
    /// a copy of it is open; says whether it has waited. Nothing is locked without a cache, where its file system has no
    /// locks, and once a compiler must have ended.
    fn lock(&self) -> (Option<File>, bool) {
        let open = |cached: &PathBuf| {
            make_folder_of(cached)?;
            File::options().create(true).append(true).mode(0o644).open(cached.with_extension("lock"))
        };
        let file = self.shared.cached.as_ref().and_then(|cached| open(cached).ok());
        let Some(file) = file else { return (None, false) };
        let begin = Instant::now();
        let mut has_waited = false;
        while begin.elapsed() < self.shared.settings.max_time && !self.shared.state().is_over {
            match file.try_lock() {
                Ok(()) => return (Some(file), has_waited),
                Err(TryLockError::Error(_)) => break,
                Err(TryLockError::WouldBlock) => has_waited = true,
            }
            std::thread::sleep(INTERVAL);
        }
        (None, has_waited)
    }

    /// Whether code that was compiled so is what this is to make, or better.
    fn is_made(&self, options: Options) -> bool {
        options.fuel == self.shared.settings.fuel && options.quick <= self.quick
    }

    /// Calls the compiler, which has the lock as long as it runs, also if this process ends.
    fn call_compiler(&self, program: &[u8], profile: &Path, output: &Path, lock: Option<File>) -> Result<(), String> {
        let TierUp { compiler, fuel, max_time } = &self.shared.settings;
        let (space, quick, work) = (self.shared.space, self.quick, self.work);
        let call = CompilerCall { compiler, fuel: *fuel, space, quick, work, max_time: *max_time };
        if self.shared.state().is_over {
            return Err(GONE.to_owned());
        }
        // Guests that are sampled wait for the lock of the state, so they would for the compiler's start.
        let (child, said) = call.start(program, profile, output, lock)?;
        self.shared.state().note_child(child, self.shared.cached.is_some());
        let status = self.wait().map_err(|error| format!("{}: {error}", compiler.display()))?;
        call.result(status, said)
    }

    /// Waits for the compiler; `None` if it took too long.
    fn wait(&self) -> std::io::Result<Option<ExitStatus>> {
        // The compiler observes its limit by itself, unless it hangs.
        let end = Instant::now() + self.shared.settings.max_time + Duration::from_secs(1);
        loop {
            std::thread::sleep(INTERVAL);
            let mut state = self.shared.state();
            let Some(child) = &mut state.child else { return Ok(None) };
            let status = child.try_wait();
            if !matches!(status, Ok(None)) {
                state.child = None;
                return status;
            }
            if Instant::now() >= end {
                let mut child = state.child.take();
                drop(state);
                child.iter_mut().try_for_each(Child::kill)?;
                child.iter_mut().try_for_each(|child| child.wait().map(drop))?;
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::mpsc;

    use super::*;

    /// Samples of a second, in these tests.
    const SAMPLES: u64 = 2_000;
    const SAMPLE: Duration = Duration::from_micros(500);

    #[test]
    fn compilations_take_no_more_than_a_multiple_of_the_time_that_a_program_is_interpreted() {
        let tiering = TieringUp::new(&TierUp::new("none"), AddressSpace::LARGEST, None, 100 << 10);
        let mut jobs = Vec::new();
        for pc in 1..=20 * SAMPLES {
            let Some(job) = tiering.sample(pc, pc, SAMPLE) else { continue };
            let profile = job.profile(&[]);
            let (time, before) = (profile.interpreted, jobs.last().map_or(Duration::ZERO, |&(time, _)| time));
            jobs.push((time, job.work));
            let fixed = tiering.0.fixed[usize::from(jobs.len() > 1)];
            assert!(time >= SECOND && time - before >= fixed, "{jobs:?}");
            let work = (time * LONGER - fixed).as_nanos() / LLVM_INSTRUCTION.as_nanos();
            assert!((job.work / QUICKER).abs_diff(work as u64) <= 64, "{jobs:?} {work}");
            // What is interpreted meanwhile is known, for the most part.
            (1..SAMPLES).for_each(|pc| assert!(tiering.sample(pc, pc, SAMPLE).is_none()));
            let mut state = tiering.0.state();
            assert_eq!(state.profile.uncompiled, Duration::ZERO);
            (state.statistics.is_compiling, state.compiling, state.has_code) = (false, None, true);
            state.statistics.compilations += 1;
        }
        assert_eq!(jobs.len(), COMPILATIONS, "{jobs:?}");
        assert!(jobs.is_sorted_by(|a, b| a.1 < b.1), "none leaves out what one before it has: {jobs:?}");
    }

    /// A compiler that hangs.
    fn hanging(folder: &Path) -> PathBuf {
        let path = folder.join("compiler");
        // By a process of its own: a file that this one writes may still be open in a child of another test.
        let script = "printf '#!/bin/sh\nexec sleep 1000\n' > compiler && chmod +x compiler";
        assert!(Command::new("sh").args(["-c", script]).current_dir(folder).status().unwrap().success());
        path
    }

    /// Has a program compiled by a compiler that hangs, and waits until that runs; the failure arrives when it has ended.
    fn compile(tiering: &TieringUp) -> mpsc::Receiver<String> {
        let job = (0..10 * SAMPLES).find_map(|pc| tiering.sample(pc, pc, SAMPLE)).unwrap();
        let (sender, receiver) = mpsc::channel();
        job.start(move |job| {
            // SAFETY: nothing is compiled.
            let failure = unsafe { job.compile(b"a program", &[0; 32], &[]) }.map(drop).unwrap_err();
            sender.send(failure).unwrap();
            Err("it has hung".to_owned())
        });
        while tiering.0.state().child.is_none() {
            std::thread::sleep(INTERVAL);
        }
        receiver
    }

    #[test]
    fn a_compiler_that_hangs_ends_with_the_program_unless_a_cache_keeps_its_work() {
        let folder = tempfile::tempdir().unwrap();
        let compiler = TierUp::new(hanging(folder.path()));
        for cached in [None, Some(folder.path().join("cache/program.rro"))] {
            let is_kept = cached.is_some();
            let tiering = TieringUp::new(&compiler, AddressSpace::LARGEST, cached, 0);
            let ended = compile(&tiering);
            let shared = tiering.0.clone();
            let profile = shared.files(&mut shared.state()).unwrap().0;
            assert!(profile.exists() && tiering.statistics(0).is_compiling);
            drop(tiering);
            if is_kept {
                // It has had time for many looks at the compiler.
                assert_eq!(ended.recv_timeout(20 * INTERVAL), Err(mpsc::RecvTimeoutError::Timeout));
                shared.state().end_child();
            }
            let failure = ended.recv_timeout(Duration::from_secs(20)).unwrap();
            assert!(failure.contains("signal 9, SIGKILL"), "{failure}");
            assert_eq!(profile.exists(), is_kept);
        }
    }

    #[test]
    fn a_compiler_that_hangs_is_ended_after_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let max_time = Duration::from_millis(100);
        let tiering = tiering(&TierUp { max_time, ..TierUp::new(hanging(folder.path())) });
        let failure = compile(&tiering).recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(failure.ends_with("compiler was ended after 0.1 s"), "{failure}");
        assert!(tiering.0.state().child.is_none());
    }

    /// Work that is nothing: sends how it is done, and has made code of so many bytes.
    fn noted(size: usize) -> (impl Work, mpsc::Receiver<Quick>) {
        let (sender, receiver) = mpsc::channel();
        let work = move |job: &Job| {
            sender.send(job.quick).unwrap();
            Ok((size, Options { quick: job.quick, ..Options::default() }))
        };
        (work, receiver)
    }

    /// The next message, while this process works.
    fn next(receiver: &mpsc::Receiver<Quick>) -> Quick {
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            match receiver.try_recv() {
                Ok(message) => return message,
                Err(error) => assert_eq!(error, mpsc::TryRecvError::Empty),
            }
        }
        panic!("nothing in {:?} of work", processor_time());
    }

    /// The compilation that some more samples bring, while the process takes so many times as long.
    fn compilation(tiering: &TieringUp, times: u32) -> Option<Job> {
        let clock = Cell::new(times * tiering.0.state().profile.interpreted);
        (0..10 * SAMPLES).find_map(|pc| {
            clock.set(clock.get() + times * SAMPLE);
            tiering.sample_by(|| clock.get(), pc, pc, SAMPLE)
        })
    }

    fn tiering(settings: &TierUp) -> TieringUp {
        TieringUp::new(settings, AddressSpace::LARGEST, None, 0)
    }

    #[test]
    fn quick_code_comes_first_and_llvm_follows() {
        let tiering = tiering(&TierUp::new("none"));
        let sample = || compilation(&tiering, 4).unwrap();
        let (work, done) = noted(0);
        sample().start(work);
        assert_eq!([next(&done), next(&done), next(&done)], [Quick::Most, Quick::Cold, Quick::Nothing]);
        // Not by quick code again, which is slower.
        let (work, done) = noted(0);
        while tiering.statistics(0).is_compiling {
            std::thread::sleep(INTERVAL);
        }
        let state = tiering.0.state();
        assert!(
            !state.statistics.is_quick && state.quick_since.is_none(),
            "without quick code, none of its time counts"
        );
        drop(state);
        sample().start(work);
        assert_eq!(next(&done), Quick::Nothing);
    }

    #[test]
    fn no_more_quick_code_is_made_where_llvm_follows() {
        let tiering = tiering(&TierUp::new("none"));
        // The thread that waits has an hour of work to wait for.
        tiering.optimise_later(1 << 40, noted(0).0);
        while tiering.0.state().quick_since.is_none() {
            std::thread::sleep(INTERVAL);
        }
        assert!(compilation(&tiering, 4).is_none());
        tiering.0.state().quick = Quick::Cold;
        assert_eq!(compilation(&tiering, 4).unwrap().quick, Quick::Cold);
    }

    #[test]
    fn quick_code_comes_first_again_where_most_of_the_time_goes_to_other_code() {
        let tiering = tiering(&TierUp::new("none"));
        for _ in 0..2 {
            let (work, done) = noted(0);
            compilation(&tiering, 1).unwrap().start(work);
            assert_eq!([next(&done), next(&done), next(&done)], [Quick::Most, Quick::Cold, Quick::Nothing]);
            // Its thread ends when there is no quick code left.
            while tiering.0.state().is_waiting {
                std::thread::sleep(INTERVAL);
            }
        }
        // Where LLVM's code is awaited, that begins after the quick code.
        tiering.0.state().quick = Quick::Most;
        tiering.optimise_later(1 << 40, noted(0).0);
        while tiering.0.state().quick_since.is_none() {
            std::thread::sleep(INTERVAL);
        }
        assert_eq!(compilation(&tiering, 1).unwrap().quick, Quick::Most);
    }

    #[test]
    fn code_that_counts_is_made_by_llvm_alone() {
        let tiering = tiering(&TierUp::new("none").fuel(true));
        assert_eq!(compilation(&tiering, 1).unwrap().quick, Quick::Nothing);
    }

    #[test]
    fn quick_code_of_an_earlier_run_is_replaced_and_nobody_waits_twice() {
        let tiering = tiering(&TierUp::new("none"));
        let (work, done) = noted(0);
        tiering.optimise_later(0, work);
        assert_eq!([next(&done), next(&done)], [Quick::Cold, Quick::Nothing]);
        let (work, done) = noted(0);
        tiering.optimise_later(0, work);
        assert_eq!(done.recv_timeout(Duration::from_secs(20)), Err(mpsc::RecvTimeoutError::Disconnected));
    }

    #[test]
    fn runs_by_quick_code_count_together() {
        let folder = tempfile::tempdir().unwrap();
        let cached = folder.path().join("program.rro");
        let tiering = |cached| TieringUp::new(&TierUp::new("none"), AddressSpace::LARGEST, Some::<PathBuf>(cached), 0);
        let first = tiering(cached.clone());
        assert!(first.sample(0x1000, 0x1000, SAMPLE).is_none());
        first.optimise_later(1 << 40, noted(0).0);
        while first.0.state().quick_since.is_none() {
            std::thread::sleep(INTERVAL);
        }
        let end = processor_time() + Duration::from_millis(20);
        while processor_time() < end {}
        first.keep_profile(&[]).unwrap();
        // SAFETY: nothing else writes there.
        let kept = |tiering: &TieringUp| unsafe { tiering.kept(&[0; 32]) };
        let second = tiering(cached);
        assert!(kept(&second).is_none());
        let quick = second.0.state().profile.quick;
        assert!((20..10_000).contains(&quick.as_millis()), "{quick:?}");
        // Enough of them, and nobody waits.
        second.0.state().profile.quick = Duration::from_secs(3600);
        let (work, done) = noted(0);
        second.optimise_later(1 << 20, work);
        assert_eq!(next(&done), Quick::Cold);
        while second.0.state().quick >= Quick::Most {
            std::thread::sleep(INTERVAL);
        }
        // A wait of its own.
        assert!(second.0.state().profile.quick < Duration::from_secs(3600));
    }

    #[test]
    fn nobody_waits_for_a_program_that_is_gone() {
        let tiering = tiering(&TierUp::new("none"));
        let (work, done) = noted(1 << 40);
        tiering.optimise_later(1 << 40, work);
        drop(tiering);
        assert_eq!(done.recv_timeout(Duration::from_secs(20)), Err(mpsc::RecvTimeoutError::Disconnected));
    }

    #[test]
    fn one_compilation_runs_at_a_time_and_none_after_a_failure() {
        let tiering = tiering(&TierUp::new("none"));
        let sample = |samples: u64| (0..samples).filter(|&pc| tiering.sample(pc, pc, SAMPLE).is_some()).count();
        assert_eq!(sample(10 * SAMPLES), 1);
        tiering.0.state().statistics.is_compiling = false;
        assert_eq!(sample(10 * SAMPLES), 1);
        tiering.0.state().statistics.is_compiling = false;
        tiering.0.state().statistics.failure = Some("it failed".to_owned());
        assert_eq!(sample(10 * SAMPLES), 0);
    }
}
