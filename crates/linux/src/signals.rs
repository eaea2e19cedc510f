//! Signals that a program sends to itself, or that its own faults send to it ([`crate::faults`]). Handlers belong to
//! the process; masks, alternate stacks and most pending signals belong to a thread.
//!
//! A handler is entered as on Linux: the interrupted thread's registers are saved in a frame on the stack, and the
//! handler returns to code that calls `rt_sigreturn`, which restores them. Linux has that code in the vDSO. Here it is
//! at [`SIGNAL_RETURN_ADDRESS`]: unwinders can read it, and a return to it makes the dispatcher call the personality.

use riverrun::{Caller, Fault, Memory, SIGNAL_RETURN_ADDRESS};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::Linux;
use crate::abi::{Layout, Timespec, load_words, signal};
use crate::call::{Call, Outcome, Stop};
use crate::pending_signals::{MOST, Origin, Pending, bit};
use crate::process::PROCESS;
use crate::program_timers::{FromTimer, ProgramTimers};
use crate::requests::{Ended, On};

const SIG_DFL: u64 = 0;
const SIG_IGN: u64 = 1;

const SA_ONSTACK: u64 = 0x0800_0000;
const SA_RESTART: u64 = 0x1000_0000;
const SA_NODEFER: u64 = 0x4000_0000;
const SA_RESETHAND: u64 = 0x8000_0000;

/// The size of `sigset_t` in bytes, which the guest passes to most of these calls.
const SET_SIZE: u64 = 8;
/// The size of `struct siginfo`.
const INFO: u64 = 128;
/// The offset of the registers in `struct ucontext`.
const REGISTERS: u64 = 176;
/// The size of `struct ucontext`.
const CONTEXT: u64 = 960;
/// The offset of the alternate stack in `struct ucontext`.
const STACK: u64 = 16;
/// The offset of the signal mask in `struct ucontext`.
const MASK: u64 = 40;
/// The register with the stack pointer.
const SP: usize = 2;
/// The smallest alternate stack (`MINSIGSTKSZ`).
const MIN_STACK: u64 = 2048;
/// The number of `rt_sigreturn`.
pub(crate) const RT_SIGRETURN: u64 = 139;
/// `li a7, 139` and `ecall`: unwinders recognise a signal frame by these instructions.
pub(crate) const RETURN_CODE: [u32; 2] = [(RT_SIGRETURN as u32) << 20 | 0x893, 0x73];

/// `struct sigaction` as the system call has it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Action {
    handler: u64,
    flags: u64,
    mask: u64,
}

const DEFAULT: Action = Action { handler: SIG_DFL, flags: 0, mask: 0 };

/// `stack_t`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct AlternateStack {
    start: u64,
    size: u64,
}

impl AlternateStack {
    const ON_STACK: u32 = 1;
    const DISABLE: u32 = 2;

    /// Its flags: whether there is none.
    fn flags(&self) -> u32 {
        if self.size == 0 { AlternateStack::DISABLE } else { 0 }
    }

    fn contains(&self, sp: u64) -> bool {
        sp.checked_sub(self.start).is_some_and(|offset| offset != 0 && offset <= self.size)
    }

    /// What the guest sets in its place: `start`, `flags` and `size` of a `stack_t`.
    fn replaced(&self, [start, flags, size]: [u64; 3], sp: u64) -> Result<AlternateStack, Errno> {
        match flags as u32 & !AlternateStack::ON_STACK {
            _ if self.contains(sp) => Err(Errno::PERM),
            AlternateStack::DISABLE => Ok(AlternateStack::default()),
            0 if size < MIN_STACK => Err(Errno::NOMEM),
            0 => Ok(AlternateStack { start, size }),
            _ => Err(Errno::INVAL),
        }
    }
}

/// All registers of a guest.
#[derive(Debug)]
pub(crate) struct Registers {
    pub(crate) x: [u64; 32],
    f: [u64; 32],
    pub(crate) pc: u64,
    fcsr: u32,
}

impl Registers {
    pub(crate) fn of<T>(caller: &Caller<'_, T>) -> Registers {
        Registers {
            x: std::array::from_fn(|n| caller.x(n as u8)),
            f: std::array::from_fn(|n| caller.f(n as u8)),
            pc: caller.pc(),
            fcsr: caller.fcsr(),
        }
    }

    /// Gives them to the guest, all but the pc.
    pub(crate) fn put<T>(&self, caller: &mut Caller<'_, T>) {
        for n in 0..32_u8 {
            caller.set_x(n, self.x[n as usize]);
            caller.set_f(n, self.f[n as usize]);
        }
        caller.set_fcsr(self.fcsr);
    }

    /// `struct sigcontext`.
    fn store(&self, layout: Layout) -> Layout {
        let layout = self.x[1..].iter().fold(layout.u64(self.pc), |layout, &x| layout.u64(x));
        self.f.iter().fold(layout, |layout, &f| layout.u64(f)).u32(self.fcsr)
    }

    fn load(memory: &Memory, address: u64) -> Result<Registers, Stop> {
        let [pc, x @ ..]: [u64; 32] = load_words(memory, address)?;
        let f = load_words(memory, address.wrapping_add(256))?;
        let fcsr = memory.read_u32(address.wrapping_add(512))?;
        Ok(Registers { x: std::array::from_fn(|n| if n == 0 { 0 } else { x[n - 1] }), f, pc: even(pc), fcsr })
    }
}

/// Where the kernel has a thread go on: the lowest bit of its pc is always 0 (Privileged ISA, `sepc`).
fn even(pc: u64) -> u64 {
    pc & !1
}

/// What sends a signal.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sender {
    /// A thread of the program, or its process's timer.
    Program(Origin),
    /// The instruction at the pc, at or for this address.
    Fault { code: u32, address: u64 },
    /// A timer that the program has made.
    Timer(FromTimer),
}

/// The effect of pending signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// The registers are set for what comes next.
    Done,
    /// This signal ends the program.
    Fatal(u32),
}

/// A process's signals.
#[derive(Debug)]
pub(crate) struct Signals {
    /// By number, less one.
    actions: [Action; signal::MAX as usize],
    /// Those that were sent to the process while every thread had them blocked.
    pending: Pending,
    /// Those that a file may give.
    watched: u64,
}

impl Default for Signals {
    fn default() -> Signals {
        Signals { actions: [DEFAULT; signal::MAX as usize], pending: Pending::default(), watched: 0 }
    }
}

/// A thread's signals.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ThreadSignals {
    blocked: u64,
    pending: Pending,
    /// The mask to restore when the handler that `rt_sigsuspend` or a poll waited for has returned.
    suspended: Option<u64>,
    stack: AlternateStack,
}

impl ThreadSignals {
    /// Those of a new thread.
    pub(crate) fn inherited(maker: &ThreadSignals) -> ThreadSignals {
        ThreadSignals { blocked: maker.blocked, ..ThreadSignals::default() }
    }

    /// Whether system calls can make them so.
    pub(crate) fn is_sound(&self) -> bool {
        (self.blocked | self.suspended.unwrap_or(0)) & always_open() == 0 && self.pending.is_sound()
    }

    /// The set of signals that are not delivered.
    pub(crate) fn blocked(&self) -> u64 {
        self.blocked
    }

    /// Blocks these in place of the present ones, until the call is over or a handler has returned.
    fn suspend(&mut self, blocked: u64) {
        self.suspended.get_or_insert(self.blocked);
        self.blocked = blocked & !always_open();
    }
}

/// A process's signals while it is saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedSignals {
    /// By number, those that are not the default.
    actions: Vec<(u32, Action)>,
    pending: Pending,
}

/// Signals that cannot be blocked.
fn always_open() -> u64 {
    bit(signal::SIGKILL) | bit(signal::SIGSTOP)
}

fn is_ignored_by_default(number: u32) -> bool {
    matches!(
        number,
        signal::SIGCHLD | signal::SIGCONT | signal::SIGSTOP..=signal::SIGTTOU | signal::SIGURG | signal::SIGWINCH
    )
}

impl Signals {
    pub(crate) fn save(&self) -> SavedSignals {
        let actions = (1..).zip(self.actions).filter(|(_, action)| *action != DEFAULT).collect();
        SavedSignals { actions, pending: self.pending.clone() }
    }

    /// `None` if system calls cannot make it so.
    pub(crate) fn from_saved(saved: &SavedSignals) -> Option<Signals> {
        let pending = Some(saved.pending.clone()).filter(Pending::is_sound)?;
        let mut signals = Signals { pending, ..Signals::default() };
        for &(number, action) in &saved.actions {
            number_of(number).ok().filter(|&number| bit(number) & always_open() == 0)?;
            signals.actions[number as usize - 1] = action;
        }
        Some(signals)
    }

    /// Notes that a file gives these signals.
    pub(crate) fn watch(&mut self, set: u64) {
        self.watched |= set;
    }

    /// Whether a file may give this signal.
    pub(crate) fn is_watched(&self, number: u32) -> bool {
        self.watched & bit(number) != 0
    }

    /// The signals that are to be delivered to a thread.
    fn due(&self, own: &ThreadSignals) -> u64 {
        (own.pending.set() | self.pending.set()) & !own.blocked
    }

    /// Whether a signal does nothing.
    fn ignores(&self, number: u32) -> bool {
        let handler = self.actions[number as usize - 1].handler;
        handler == SIG_IGN || handler == SIG_DFL && is_ignored_by_default(number)
    }

    /// Whether a signal ends a wait with these blocked.
    pub(crate) fn interrupts(&self, number: u32, blocked: u64) -> bool {
        blocked & bit(number) == 0 && !self.ignores(number)
    }

    /// Lets every signal that waits act on a thread with these registers.
    fn deliver(
        &mut self,
        (id, own): (u32, &mut ThreadSignals),
        timers: &mut ProgramTimers,
        memory: &mut Memory,
        registers: &mut Registers,
    ) -> Delivery {
        while self.due(own) != 0 {
            let number = self.due(own).trailing_zeros() + 1;
            let sender = self.take(own, timers, number, id);
            let action = self.actions[number as usize - 1];
            match action.handler {
                SIG_IGN => {}
                SIG_DFL if is_ignored_by_default(number) => {}
                SIG_DFL => return Delivery::Fatal(number),
                _ => {
                    if self.enter(own, memory, registers, number, sender).is_err() {
                        return Delivery::Fatal(signal::SIGSEGV);
                    }
                }
            }
        }
        if let Some(blocked) = own.suspended.take() {
            own.blocked = blocked;
        }
        Delivery::Done
    }

    /// Takes a signal that waits for a thread; who has sent it.
    fn take(&mut self, own: &mut ThreadSignals, timers: &mut ProgramTimers, number: u32, thread: u32) -> Sender {
        if let Some((timer, is_sent_again)) = timers.take(number, thread) {
            own.pending.take_untold(number);
            self.pending.take_untold(number);
            if is_sent_again {
                own.pending.add(number, None);
            }
            return Sender::Timer(timer);
        }
        let origin = own.pending.take(number).or_else(|| self.pending.take(number));
        Sender::Program(origin.unwrap_or(Origin::PROCESS))
    }

    /// Sets a thread's registers for the signal's handler, which it has.
    fn enter(
        &mut self,
        own: &mut ThreadSignals,
        memory: &mut Memory,
        registers: &mut Registers,
        number: u32,
        sender: Sender,
    ) -> Result<(), Fault> {
        let action = &mut self.actions[number as usize - 1];
        own.enter(memory, registers, number, sender, *action)?;
        if action.flags & SA_RESETHAND != 0 {
            action.handler = SIG_DFL;
        }
        Ok(())
    }
}

impl Linux {
    /// Sends signal `number`, 1 to 64, to the thread that runs.
    pub(crate) fn raise(&mut self, number: u32) {
        let origin = Some(Origin::PROCESS).filter(|_| self.can_queue());
        self.threads.current_mut().signals.pending.add(number, origin);
    }

    /// Whether one more signal can be queued.
    fn can_queue(&self) -> bool {
        let queued = self.threads.iter().map(|(_, thread)| thread.signals.pending.queued());
        queued.sum::<usize>() + self.signals.pending.queued() < MOST
    }

    /// Sends a signal to the thread with this index, from there; from a timer of the program if nothing is said.
    pub(crate) fn raise_for(&mut self, index: usize, number: u32, origin: Option<Origin>) {
        let origin = origin.filter(|_| self.can_queue());
        self.threads.get_mut(index).signals.pending.add(number, origin);
        if self.signals.is_watched(number) {
            self.files_have_changed();
        }
        let thread = self.threads.get_mut(index);
        let why = match thread.wait().map(|wait| wait.on) {
            Some(On::Signal { set }) if set & bit(number) != 0 => Ended::Woken,
            Some(_) if self.signals.interrupts(number, thread.signals.blocked) => Ended::Interrupted,
            _ => return,
        };
        self.threads.resume(index, why);
    }

    /// Sends a signal to the process: to the first thread that takes it, or to the first one that will.
    pub(crate) fn raise_for_process(&mut self, number: u32, origin: Option<Origin>) {
        let taker = self.threads.iter().find(|(_, thread)| {
            let is_awaited = thread.wait().is_some_and(|wait| wait.on.awaits(number));
            is_awaited || thread.signals.blocked & bit(number) == 0
        });
        match taker.map(|(index, _)| index) {
            Some(index) => self.raise_for(index, number, origin),
            None => {
                let origin = origin.filter(|_| self.can_queue());
                self.signals.pending.add(number, origin);
                if self.signals.is_watched(number) {
                    self.files_have_changed();
                }
            }
        }
    }

    /// The signals that wait for the thread that runs, or for the process.
    pub(crate) fn pending_signals(&self) -> u64 {
        self.signals.pending.set() | self.threads.current().signals.pending.set()
    }

    /// Takes the first signal of a set that waits for the thread that runs, or for the process.
    pub(crate) fn take_signal(&mut self, set: u64) -> Option<(u32, Sender)> {
        let waiting = self.pending_signals() & set & !always_open();
        let number = (waiting != 0).then(|| waiting.trailing_zeros() + 1)?;
        let thread = self.threads.current_mut();
        Some((number, self.signals.take(&mut thread.signals, &mut self.timers.own, number, thread.id)))
    }

    /// Whether no signal is to be delivered to the thread that runs.
    pub(crate) fn has_no_signal(&self) -> bool {
        self.signals.due(&self.threads.current().signals) == 0
    }

    /// Whether a call of this number that a signal has ended starts anew behind the signal's handler.
    pub(crate) fn restarts(&self, call: u64) -> bool {
        // It waits with FIFOs.
        const OPENAT: u64 = 56;
        const FCNTL: u64 = 25;
        const FLOCK: u64 = 32;
        const READ: u64 = 63;
        const WRITEV: u64 = 66;
        const FUTEX: u64 = 98;
        const ACCEPT: u64 = 202;
        const CONNECT: u64 = 203;
        const SENDTO: u64 = 206;
        const RECVFROM: u64 = 207;
        const SENDMSG: u64 = 211;
        const RECVMSG: u64 = 212;
        const ACCEPT4: u64 = 242;
        const RECVMMSG: u64 = 243;
        const SENDMMSG: u64 = 269;
        let next = self.signals.due(&self.threads.current().signals).trailing_zeros() as usize;
        let restarts = self.signals.actions.get(next).is_some_and(|action| action.flags & SA_RESTART != 0);
        let is_one = matches!(
            call,
            FCNTL | FLOCK | OPENAT | READ
                ..=WRITEV
                    | FUTEX
                    | ACCEPT
                    | CONNECT
                    | SENDTO
                    | RECVFROM
                    | SENDMSG
                    | RECVMSG
                    | ACCEPT4
                    | RECVMMSG
                    | SENDMMSG
        );
        restarts && is_one
    }

    /// Lets every signal that waits act on the thread that runs, which has these registers.
    pub(crate) fn deliver(&mut self, memory: &mut Memory, registers: &mut Registers) -> Delivery {
        let thread = self.threads.current_mut();
        self.signals.deliver((thread.id, &mut thread.signals), &mut self.timers.own, memory, registers)
    }

    /// Sends a fault's signal to the thread that runs, which has these registers at it, if a handler can take it.
    pub(crate) fn deliver_fault(
        &mut self,
        memory: &mut Memory,
        registers: &mut Registers,
        number: u32,
        sender: Sender,
    ) -> bool {
        let own = &mut self.threads.current_mut().signals;
        let has_handler = !matches!(self.signals.actions[number as usize - 1].handler, SIG_DFL | SIG_IGN);
        let is_open = has_handler && own.blocked & bit(number) == 0;
        let is_taken = is_open && self.signals.enter(own, memory, registers, number, sender).is_ok();
        self.is_changed |= is_taken;
        is_taken
    }

    /// Whether the signal ends a wait of some thread, or its run.
    pub(crate) fn is_heeded(&self, number: u32) -> bool {
        self.threads.iter().any(|(_, thread)| self.signals.interrupts(number, thread.signals.blocked))
    }

    /// Takes the mask back that a call has had while it waited, if no handler will.
    pub(crate) fn end_suspension(&mut self) {
        let own = &mut self.threads.current_mut().signals;
        if let Some(blocked) = own.suspended.take() {
            own.blocked = blocked;
        }
    }
}

impl Call<'_> {
    /// Blocks the signals at `mask` while the call waits, if that is no null pointer.
    pub(crate) fn block_signals(&mut self, mask: u64, size: u64) -> Result<(), Stop> {
        if mask == 0 {
            return Ok(());
        }
        check_set_size(size)?;
        let blocked = self.memory.read_u64(mask)?;
        self.linux.threads.current_mut().signals.suspend(blocked);
        Ok(())
    }
}

impl ThreadSignals {
    /// Saves the registers in a frame and sets them for a handler.
    fn enter(
        &mut self,
        memory: &mut Memory,
        registers: &mut Registers,
        number: u32,
        sender: Sender,
        action: Action,
    ) -> Result<(), Fault> {
        const RA: usize = 1;
        const A0: usize = 10;
        let sp = registers.x[SP];
        let is_on_alternate = self.stack.contains(sp);
        let goes_there = action.flags & SA_ONSTACK != 0 && self.stack.size != 0 && !is_on_alternate;
        let top = if goes_there { self.stack.start.wrapping_add(self.stack.size) } else { sp };
        let frame = top.wrapping_sub(INFO + CONTEXT) & !15;
        if is_on_alternate && !self.stack.contains(frame) {
            return Err(Fault { address: frame });
        }
        let blocked = self.suspended.take().unwrap_or(self.blocked);

        let info = Layout::new().u32(number).u32(0);
        let info = match sender {
            Sender::Program(origin) => origin.store(info),
            Sender::Fault { code, address } => info.u32(code).u32(0).u64(address),
            Sender::Timer(timer) => from_timer(info, timer),
        };
        let context = info.zeros_to(INFO as usize).u64(0).u64(0);
        let context = context.u64(self.stack.start).u64(self.stack.flags().into()).u64(self.stack.size).u64(blocked);
        let context = registers.store(context.zeros_to((INFO + REGISTERS) as usize));
        memory.write(frame, &context.zeros_to((INFO + CONTEXT) as usize).into_bytes())?;

        registers.x[RA] = SIGNAL_RETURN_ADDRESS;
        registers.x[SP] = frame;
        registers.x[A0..A0 + 3].copy_from_slice(&[number.into(), frame, frame + INFO]);
        registers.pc = even(action.handler);
        let own = if action.flags & SA_NODEFER == 0 { bit(number) } else { 0 };
        self.blocked = (self.blocked | action.mask | own) & !always_open();
        Ok(())
    }

    /// The registers before a handler, from its frame, which has the mask and the alternate stack, too.
    pub(crate) fn restore(&mut self, memory: &Memory, frame: u64) -> Result<Registers, Stop> {
        let context = frame.wrapping_add(INFO);
        let blocked = memory.read_u64(context.wrapping_add(MASK))?;
        let registers = Registers::load(memory, context.wrapping_add(REGISTERS))?;
        let stack = load_words(memory, context.wrapping_add(STACK))?;
        self.blocked = blocked & !always_open();
        // As Linux does, without a word where it cannot be that.
        self.stack = self.stack.replaced(stack, registers.x[SP]).unwrap_or(self.stack);
        Ok(registers)
    }
}

/// The rest of a `struct siginfo`.
fn from_timer(info: Layout, timer: FromTimer) -> Layout {
    info.u32(signal::FROM_TIMER).u32(0).u32(timer.id).u32(timer.overrun).u64(timer.value)
}

/// The signal that an argument names.
fn number_of(value: u32) -> Result<u32, Stop> {
    match value {
        1..=signal::MAX => Ok(value),
        _ => Err(Errno::INVAL.into()),
    }
}

pub(crate) fn check_set_size(size: u64) -> Result<(), Stop> {
    match size {
        SET_SIZE => Ok(()),
        _ => Err(Errno::INVAL.into()),
    }
}

pub(crate) fn rt_sigaction(call: &mut Call<'_>) -> Outcome {
    let [_, new, old, size, ..] = call.args;
    check_set_size(size)?;
    let number = number_of(call.uint(0))?;
    let action = &mut call.linux.signals.actions[number as usize - 1];
    let before = *action;
    if new != 0 {
        if bit(number) & always_open() != 0 {
            return Err(Errno::INVAL.into());
        }
        let [handler, flags, mask] = load_words(call.memory, new)?;
        *action = Action { handler, flags, mask };
        if call.linux.signals.ignores(number) {
            let linux = &mut *call.linux;
            linux.signals.pending.forget(number);
            linux.threads.each_signals(|signals| signals.pending.forget(number));
        }
    }
    match old {
        0 => Ok(0),
        _ => Layout::new().u64(before.handler).u64(before.flags).u64(before.mask).store(call.memory, old),
    }
}

pub(crate) fn rt_sigprocmask(call: &mut Call<'_>) -> Outcome {
    const BLOCK: i32 = 0;
    const UNBLOCK: i32 = 1;
    const SET: i32 = 2;
    let [_, new, old, size, ..] = call.args;
    check_set_size(size)?;
    let before = call.linux.threads.current().signals.blocked;
    if new != 0 {
        let set = call.memory.read_u64(new)?;
        let blocked = match call.int(0) {
            BLOCK => before | set,
            UNBLOCK => before & !set,
            SET => set,
            _ => return Err(Errno::INVAL.into()),
        };
        call.linux.threads.current_mut().signals.blocked = blocked & !always_open();
    }
    match old {
        0 => Ok(0),
        _ => Layout::new().u64(before).store(call.memory, old),
    }
}

pub(crate) fn rt_sigpending(call: &mut Call<'_>) -> Outcome {
    let size = call.args[1];
    if size > SET_SIZE {
        return Err(Errno::INVAL.into());
    }
    let own = &call.linux.threads.current().signals;
    let pending = (call.linux.pending_signals() & own.blocked).to_le_bytes();
    call.memory.write(call.args[0], &pending[..size as usize])?;
    Ok(0)
}

pub(crate) fn rt_sigsuspend(call: &mut Call<'_>) -> Outcome {
    check_set_size(call.args[1])?;
    let blocked = call.memory.read_u64(call.args[0])?;
    let own = &mut call.linux.threads.current_mut().signals;
    own.suspend(blocked);
    if call.linux.has_no_signal() {
        // The first time, this returns an error that parks the thread; once it wakes, the whole call is made again.
        call.wait(On::Signal { set: 0 }, None)?;
    }
    Err(Errno::INTR.into())
}

pub(crate) fn rt_sigtimedwait(call: &mut Call<'_>) -> Outcome {
    let [set, info, timeout, size, ..] = call.args;
    check_set_size(size)?;
    let set = call.memory.read_u64(set)?;
    if call.linux.pending_signals() & set == 0 {
        let timeout = match timeout {
            0 => None,
            address => Some(Timespec::load(call.memory, address)?.span()?),
        };
        // As in `rt_sigsuspend`: what follows runs when the call is made again.
        call.wait(On::Signal { set }, timeout)?;
    }
    let (number, sender) = call.linux.take_signal(set).ok_or(Errno::AGAIN)?;
    if info != 0 {
        let layout = Layout::new().u32(number).u32(0);
        let layout = match sender {
            Sender::Timer(timer) => from_timer(layout, timer),
            Sender::Program(origin) => origin.store(layout),
            Sender::Fault { .. } => layout,
        };
        layout.zeros_to(INFO as usize).store(call.memory, info)?;
    }
    Ok(number.into())
}

pub(crate) fn rt_sigreturn(call: &mut Call<'_>) -> Outcome {
    Err(Stop::SignalReturn(call.place.1))
}

pub(crate) fn sigaltstack(call: &mut Call<'_>) -> Outcome {
    let [new, old, ..] = call.args;
    let own = &mut call.linux.threads.current_mut().signals;
    let before = own.stack;
    let active = before.contains(call.place.1);
    if new != 0 {
        own.stack = before.replaced(load_words(call.memory, new)?, call.place.1)?;
    }
    if old == 0 {
        return Ok(0);
    }
    let flags = if active { AlternateStack::ON_STACK } else { before.flags() };
    Layout::new().u64(before.start).u64(flags.into()).u64(before.size).store(call.memory, old)
}

/// The signal of this argument; `None` for 0, which only asks whether it could be sent.
pub(crate) fn signal_to_send(call: &Call<'_>, argument: usize) -> Result<Option<u32>, Stop> {
    match call.uint(argument) {
        0 => Ok(None),
        value => Ok(Some(number_of(value)?)),
    }
}

pub(crate) fn kill(call: &mut Call<'_>) -> Outcome {
    const EVERYBODY: i32 = -1;
    const OWN_GROUP: i32 = 0;
    match call.int(0) {
        OWN_GROUP | EVERYBODY => {}
        process if process.unsigned_abs() == PROCESS => {}
        _ => return Err(Errno::SRCH.into()),
    }
    if let Some(number) = signal_to_send(call, 1)? {
        call.linux.raise_for_process(number, Some(Origin::PROCESS));
    }
    Ok(0)
}

/// What the guest says of a signal that it queues; `EAGAIN` if it has queued too many.
fn queued(call: &Call<'_>, info: usize) -> Result<Origin, Stop> {
    let origin = Origin::load(call.memory, call.args[info])?;
    if call.linux.can_queue() { Ok(origin) } else { Err(Errno::AGAIN.into()) }
}

pub(crate) fn rt_sigqueueinfo(call: &mut Call<'_>) -> Outcome {
    let origin = queued(call, 2)?;
    let number = signal_to_send(call, 1)?;
    if call.uint(0) != PROCESS {
        return Err(Errno::SRCH.into());
    }
    if let Some(number) = number {
        call.linux.raise_for_process(number, Some(origin));
    }
    Ok(0)
}

pub(crate) fn rt_tgsigqueueinfo(call: &mut Call<'_>) -> Outcome {
    let origin = queued(call, 3)?;
    match call.int(0) {
        ..1 => Err(Errno::INVAL.into()),
        process if process == PROCESS as i32 => send_to_thread(call, call.int(1), 2, origin),
        _ => Err(Errno::SRCH.into()),
    }
}

/// Sends the signal of this argument to a thread.
fn send_to_thread(call: &mut Call<'_>, thread: i32, argument: usize, origin: Origin) -> Outcome {
    let id = u32::try_from(thread).ok().filter(|&id| id != 0).ok_or(Errno::INVAL)?;
    let number = signal_to_send(call, argument)?;
    // The first thread's ID stays in use when it has ended.
    let index = match call.linux.threads.find(id) {
        None if id == PROCESS => return Ok(0),
        found => found.ok_or(Errno::SRCH)?,
    };
    if let Some(number) = number {
        call.linux.raise_for(index, number, Some(origin));
    }
    Ok(0)
}

pub(crate) fn tkill(call: &mut Call<'_>) -> Outcome {
    send_to_thread(call, call.int(0), 1, Origin::THREAD)
}

pub(crate) fn tgkill(call: &mut Call<'_>) -> Outcome {
    match call.int(0) {
        ..1 => Err(Errno::INVAL.into()),
        process if process == PROCESS as i32 => send_to_thread(call, call.int(1), 2, Origin::THREAD),
        _ => Err(Errno::SRCH.into()),
    }
}
