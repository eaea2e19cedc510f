//! Running a machine on compiled code: entering at a pc, resuming suspended frames, and calls on the fast path.
//!
//! An `Execution` owns the host stack of compiled code and knows which frames on it are suspended. The dispatcher uses
//! it for runs; the fast path uses [`Execution::prepare`] once and then [`call`].

use std::cell::Cell;
use std::io;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use super::loaded::Artifact;
use super::workspace::{EntryPoint, Lookup, Workspace};
use crate::arch::{
    FloatEnv, Stubs, call_host_abi_entry, enter_function, exit_engine, fault_entry, interrupt_entry,
    outermost_returned, stubs,
};
use crate::callable::Callable;
use crate::context::VmContext;
use crate::convention::{CALL_ARGUMENTS, NOWHERE, RESERVE, RESERVE_BEHIND};
use crate::exit::{Exit, Reason};
use crate::interrupt::{Activation, EntryGuard, Ownership, Requests, install_handlers};
use crate::memory::Window;
use crate::polls::Polls;
use crate::trap::TrapCause;

#[cfg(doc)]
use crate::context::EngineContext;

/// How compiled code is entered at a pc.
#[derive(Clone, Copy, Debug)]
pub struct Entry(EntryPoint);

/// Where suspended frames resume.
#[derive(Clone, Copy, Debug)]
struct Resume {
    pc: u64,
    /// Whether they resume by a return, and so compare ra.
    by_return: bool,
}

/// Who uses an execution has called [`Execution::wake`].
const AWAKE: &str = "it does not rest";
/// With [`Execution::ask_to_exit`] before each run, one run in so many does not exit at its first poll.
const ASKS: u32 = 4;

/// A machine's run in compiled code: its host stack, and the suspended frames there.
#[derive(Debug)]
pub struct Execution {
    artifact: Arc<Artifact>,
    /// `None` while it rests.
    workspace: Option<Workspace>,
    /// Where the suspended frames resume, if there are any.
    resume: Option<Resume>,
    stubs: Stubs,
    /// The activation of [`call`], once there was one.
    activation: Option<Owner>,
    /// How often [`Execution::ask_to_exit`] was called.
    asked: u32,
}

// SAFETY: its pointers lead to the machine that owns it, which moves between threads as a whole.
unsafe impl Send for Execution {}
// SAFETY: the methods that take `&self` only read its options.
unsafe impl Sync for Execution {}

/// The result of [`Execution::prepare`]: an execution that is ready for calls on the fast path.
#[derive(Clone, Copy, Debug)]
pub struct Prepared {
    /// The activation, in a box of the execution; only its cells change.
    activation: *const Activation,
}

impl Prepared {
    /// Makes this thread the owner of the entry guard and publishes the activation, so that faults in the next calls are the
    /// guest's and they can be interrupted. The result must live at least as long as the first call.
    ///
    /// # Safety
    /// The execution is still ready.
    pub unsafe fn own(self) -> Ownership {
        // SAFETY: the box lives as long as the execution, whose `drop` ends the ownership; the caller ensures that it
        // is ready.
        unsafe { (*self.activation).own() }
    }
}

impl Callable {
    /// The function's host-ABI entry point, if it has one; it runs on its caller's stack.
    pub fn host_abi_entry(&self) -> Option<usize> {
        (self.entry != 0 && self.entry != enter_function as *const () as usize).then_some(self.entry)
    }

    /// The function that begins at `pc`, if the artifact has it and does not count fuel. `gives_a1` says whether the caller
    /// needs a1.
    pub fn new(artifact: &Artifact, pc: u64, gives_a1: bool) -> Option<Callable> {
        let function = artifact.function(pc).filter(|_| !artifact.options().fuel)?;
        let host_abi_entry = artifact.host_abi_entry(pc).filter(|_| !gives_a1);
        let entry = host_abi_entry.unwrap_or(enter_function as *const () as usize);
        Some(Callable { entry, function })
    }
}

/// Runs a function with this sp and these arguments, further ones being in the state; ra is [`RETURN_ADDRESS`]. If it
/// returns, the result is a0, and a1 if the callable gives it; of the state, only fa0 and fa1 are up to date then. If
/// it exits, [`Execution::exited`] says why.
///
/// The float environment is the caller's and must be the default one.
///
/// # Safety
/// The state comes from [`Activation::owner`], with the number of the owner of the entry guard of an execution that is
/// ready and not running. The function is one of its artifact. The rounding mode is the default one.
///
/// [`RETURN_ADDRESS`]: crate::RETURN_ADDRESS
#[inline(always)]
pub unsafe fn call(
    state: *mut VmContext,
    function: &Callable,
    sp: u64,
    arguments: [u64; CALL_ARGUMENTS],
) -> Option<[u64; 2]> {
    // SAFETY: as the caller promises.
    unsafe { call_host_abi_entry(state, function, sp, arguments) }
}

/// The activation of [`call`], with the entry guard that it owns.
#[derive(Debug)]
struct Owner {
    activation: Box<Activation>,
    entry_guard: &'static EntryGuard,
}

impl Drop for Owner {
    fn drop(&mut self) {
        Activation::disown(self.entry_guard);
    }
}

impl Execution {
    /// Prepares to run the artifact's code on a new host stack.
    ///
    /// # Errors
    /// If the host has no memory for a stack.
    pub fn new(artifact: Arc<Artifact>) -> io::Result<Execution> {
        install_handlers();
        let stubs = stubs(artifact.options().fuel);
        let workspace = Some(Workspace::take(&artifact)?);
        Ok(Execution { artifact, workspace, resume: None, stubs, activation: None, asked: 0 })
    }

    /// Gives its host stack to the thread until [`Execution::wake`]. This drops suspended frames: the guest continues at its
    /// pc. A [`Prepared`] of this execution must not be used afterwards.
    pub fn rest(&mut self) {
        self.disown();
        self.forget();
        self.workspace.take().into_iter().for_each(Workspace::rest);
    }

    /// Ends the rest, if it rests: until then only [`Execution::rest`] and what says how its code was compiled may be
    /// called.
    ///
    /// # Errors
    /// If the host has no memory for a stack.
    #[inline]
    pub fn wake(&mut self) -> io::Result<()> {
        if self.workspace.is_none() {
            self.workspace = Some(Workspace::take(&self.artifact)?);
        }
        Ok(())
    }

    fn workspace(&self) -> &Workspace {
        self.workspace.as_ref().expect(AWAKE)
    }

    fn workspace_mut(&mut self) -> &mut Workspace {
        self.workspace.as_mut().expect(AWAKE)
    }

    /// Makes the next run exit at its first poll or function start, as an interruption would; each `ASKS`th call lets
    /// it go on. For tests, in which the dispatcher calls this before every run.
    pub fn ask_to_exit(&mut self) {
        self.asked += 1;
    }

    /// Replaces the artifact by another one of the same program. This drops suspended frames: the guest continues at
    /// its pc. A [`Prepared`] of this execution must not be used afterwards.
    pub fn adopt(&mut self, artifact: Arc<Artifact>) {
        self.disown();
        self.forget();
        self.workspace_mut().adopt(&artifact);
        self.stubs = stubs(artifact.options().fuel);
        self.artifact = artifact;
    }

    /// Whether the code counts fuel. Code that does not ignores the limit of [`Execution::run`], so the dispatcher runs
    /// it only if the run has no limit of fuel.
    pub fn counts_fuel(&self) -> bool {
        self.artifact.options().fuel
    }

    /// Whether all registers are up to date when an access faults.
    pub fn is_precise(&self) -> bool {
        self.artifact.options().is_precise()
    }

    /// The addresses below its host stack that no frame may reach; `None` while it rests.
    pub fn stack_guard(&self) -> Option<Range<usize>> {
        self.workspace.as_ref().map(|workspace| workspace.stack.guard())
    }

    /// How to enter compiled code at the state's pc: by resuming suspended frames, at a function's start, or at a
    /// re-entry point. `None` if the artifact has no entry there.
    pub fn entry(&mut self, state: &VmContext) -> Option<Entry> {
        let pc = state.hart.pc;
        let fits = |resume: Resume| resume.pc == pc && (!resume.by_return || state.hart.x(1) == pc);
        if self.resume.is_some_and(fits) {
            return Some(Entry(EntryPoint::Resume));
        }
        let Execution { artifact, workspace, .. } = self;
        let lookup = workspace.as_mut().expect(AWAKE).lookup(pc);
        if lookup.pc != pc {
            let inside = || Some(EntryPoint::Inside(artifact.function(artifact.entered_at(pc)?)?));
            let entry_point = artifact.function(pc).map(EntryPoint::Start).or_else(inside);
            *lookup = Lookup { pc, entry_point };
        }
        lookup.entry_point.map(Entry)
    }

    /// Runs the guest from its pc, for which the caller has just got `entry`. Returns the exit, and the number of
    /// instructions executed. Code that counts fuel executes at most `limit`. Other code ignores `limit` and reports 0;
    /// once `interruption` asks for it, the watchdog's signals make it exit.
    ///
    /// # Safety
    /// The window's memory is that of the program that the artifact was compiled from, and no other window is used with
    /// this execution. The state's `frm` is 0. Only engines have written its [`EngineContext`], whose `imports` is the
    /// table of the program's imports, all bound for the machine of this window.
    pub unsafe fn run(
        &mut self,
        entry: Entry,
        window: &mut Window,
        limit: u64,
        interruption: &Requests,
    ) -> (Exit, u64) {
        let fuel = limit as i64;
        // Functions test their fuel at the start. Entered elsewhere, they execute up to `RESERVE_BEHIND` instructions
        // before they test.
        if self.counts_fuel() && fuel < RESERVE_BEHIND && !matches!(entry.0, EntryPoint::Start(_)) {
            return (Exit::Refused, 0);
        }
        let resume = self.resume.take();
        let engine_window = &raw mut *window;
        let state = window.state_mut();
        state.exit.window = engine_window as u64;
        state.exit.fuel = fuel.wrapping_sub(RESERVE);
        state.exit.count_base =
            if self.counts_fuel() { state.hart.instret.wrapping_add_signed(state.exit.fuel) } else { 0 };
        self.stubs.tell(state);
        match self.asked % ASKS {
            0 => window.polls().begin(self.workspace().stack.limit() as u64),
            _ => window.polls().ask(),
        }
        let state = window.state_ptr();
        let activation = self.activation(state, interruption);
        // SAFETY: `window` is borrowed until the code has exited, and `activation` outlives that. Only guest code runs
        // in the float environment, which is the default one: the caller asks for that.
        unsafe {
            if !activation.begin() {
                activation.end();
                Polls::of(state).ask();
                self.resume = resume;
                return (Exit::Refused, 0);
            }
            let environment = FloatEnv::enter(&*state);
            self.enter(entry.0, state);
            environment.leave(&mut *state);
            activation.end();
        }
        let state = window.state_mut();
        let now = state.exit.count_base.wrapping_sub(state.exit.fuel as u64);
        let executed = if self.counts_fuel() { now.wrapping_sub(state.hart.instret) } else { 0 };
        state.exit.count_base = 0;
        state.hart.instret += executed;
        (self.exit(window, &activation), executed)
    }

    /// Enters the code, and returns once it has exited.
    ///
    /// # Safety
    /// As [`Execution::run`], whose activation has begun; the guest's float environment is in force.
    unsafe fn enter(&self, entry_point: EntryPoint, state: *mut VmContext) {
        // SAFETY: as the caller promises. The stack is only this execution's, with whole frames where it is resumed; the
        // target is a function of the artifact, whose convention the stubs are for.
        unsafe {
            match entry_point {
                EntryPoint::Resume => (self.stubs.resume)(state),
                EntryPoint::Start(target) => (self.stubs.enter)(state, target, self.workspace().stack.top()),
                EntryPoint::Inside(target) => {
                    let pc = (*state).hart.pc;
                    // With this stack limit the function exits at once, and is resumed at the pc.
                    let polls = Polls::of(state);
                    let stack_limit = polls.stack_limit();
                    polls.resume(u64::MAX);
                    (self.stubs.enter)(state, target, self.workspace().stack.top());
                    polls.resume(stack_limit);
                    if (*state).exit.reason == Reason::Start as u64 {
                        (*state).hart.pc = pc;
                        (self.stubs.resume)(state);
                    }
                }
            }
        }
    }

    /// Prepares [`call`] for the window and the interruption of this execution's machine.
    /// It stays ready until anything else is done with the execution or the state's [`EngineContext`].
    ///
    /// # Safety
    /// As [`Execution::run`].
    pub unsafe fn prepare(&mut self, window: &mut Window, interruption: &Requests) -> Prepared {
        let engine_window = &raw mut *window;
        let state = window.state_mut();
        state.exit.window = engine_window as u64;
        state.exit.count_base = 0;
        self.stubs.tell(state);
        state.exit.stack_top = self.workspace().stack.top() as u64;
        state.exit.quit = exit_engine as *const () as usize as u64;
        window.polls().begin(self.workspace().stack.limit() as u64);
        let state = window.state_ptr();
        self.resume = None;
        let owner = match self.activation.take() {
            Some(owner) => owner,
            None => {
                let activation = Box::new(self.activation(state, interruption));
                Owner { activation, entry_guard: interruption.entry_guard() }
            }
        };
        owner.activation.ignored.set(0);
        let owner = self.activation.insert(owner);
        Prepared { activation: &raw const *owner.activation }
    }

    /// Why [`call`] exited. [`Execution::run`] can resume its frames.
    ///
    /// # Safety
    /// As [`Execution::run`]; the call was the last that was done with the execution and the window.
    pub unsafe fn exited(&mut self, window: &mut Window) -> Exit {
        let owner = self.activation.take().expect("what was called was prepared");
        self.workspace_mut().stack.return_to(outermost_returned as *const () as usize);
        let exit = self.exit(window, &owner.activation);
        self.activation = Some(owner);
        exit
    }

    /// The activation of a run.
    #[inline]
    fn activation(&self, state: *mut VmContext, interruption: &Requests) -> Activation {
        Activation {
            code: self.artifact.code(),
            fault_exits: self.artifact.fault_exits(),
            fault_entry: fault_entry as *const () as usize,
            state,
            fault: Cell::new(0),
            stack_guard: self.workspace().stack.guard(),
            interruption: if self.counts_fuel() { ptr::null() } else { interruption },
            ignored: Cell::new(0),
            interrupt_entry: interrupt_entry as *const () as usize,
            outer: Cell::default(),
        }
    }

    fn exit(&mut self, window: &mut Window, activation: &Activation) -> Exit {
        let goes_on_at = |pc| Some(Resume { pc, by_return: false });
        let (space, base) = (window.space(), window.state_ptr() as usize + crate::WINDOW_OFFSET);
        let state = window.state_mut();
        match Reason::of(state.exit.reason) {
            Reason::Returned => {
                state.hart.pc = state.hart.x(1) & !1;
                Exit::Continue
            }
            reason @ (Reason::Step | Reason::Ecall) => {
                self.resume = goes_on_at(state.exit.target).filter(|resume| resume.pc != NOWHERE);
                if reason == Reason::Ecall { Exit::Ecall } else { Exit::Step }
            }
            Reason::Call => {
                self.resume = Some(Resume { pc: state.exit.target, by_return: true });
                Exit::Continue
            }
            Reason::Jump => Exit::Continue,
            Reason::Limit => {
                self.resume = goes_on_at(state.exit.target).filter(|resume| resume.pc != NOWHERE);
                Exit::Refused
            }
            Reason::Start => {
                let waits = self.workspace().stack.waits(state.exit.compiled_sp as usize);
                state.hart.pc = self.artifact.start_before(waits).expect("what has left is a function's code");
                // Where it is the stack that is short, all frames are dropped: their functions are
                // entered in the middle once they are returned to.
                let short = state.exit.compiled_sp < self.workspace().stack.limit() as u64;
                self.resume = goes_on_at(state.hart.pc).filter(|_| !short);
                if short { Exit::Continue } else { Exit::Refused }
            }
            Reason::Fault => {
                let fault = activation.fault.get();
                let is_stack = activation.stack_guard.contains(&fault);
                // Precise code has left the pc itself, but not where it is the host's stack that faults.
                if is_stack || !self.artifact.options().is_precise() {
                    state.hart.pc = self.artifact.guest_pc(state.exit.op as usize).unwrap_or(state.hart.pc);
                }
                if is_stack {
                    return Exit::Lost(TrapCause::StackOverflow { address: state.hart.x(2) });
                }
                match self.artifact.options().is_precise() {
                    true => Exit::Step,
                    false => Exit::Fault { address: space.wrap(fault.wrapping_sub(base) as u64) },
                }
            }
            Reason::Interrupted => {
                state.hart.pc = self.artifact.guest_pc(state.exit.op as usize).unwrap_or(state.hart.pc);
                Exit::Lost(TrapCause::Interrupted)
            }
            Reason::Abandoned => Exit::Abandoned { has_arguments: self.artifact.options().is_precise() },
            reason => unreachable!("compiled code has exited for the reason {reason:?}"),
        }
    }

    /// Ends the activation of [`call`], which [`Execution::prepare`] makes anew: for another interruption.
    pub fn disown(&mut self) {
        self.activation = None;
    }

    /// Drops the suspended frames.
    pub fn forget(&mut self) {
        self.resume = None;
    }
}
