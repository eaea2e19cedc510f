//! System calls: from the guest's registers to the handler of a row, and its result back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use riverrun::{
    Caller, Fault, Flow, HostError, Linker, MapError, Memory, READY_CALL, SIGNAL_RETURN_ADDRESS, TrapCause,
};
use rustix::io::Errno;

use crate::Linux;
use crate::log::Line;
use crate::refusal::Refusal;
use crate::signals::{Delivery, RT_SIGRETURN, Registers};
use crate::table;

/// Bytes of a path, its final zero included (`PATH_MAX`).
pub(crate) const PATH_MAX: u64 = 4096;
/// Bytes that one call transfers at most (`MAX_RW_COUNT`).
pub(crate) const MAX_TRANSFER: u64 = 0x7fff_f000;
/// The longest time that a waiting call may miss an interruption of the machine.
const GLANCE: Duration = Duration::from_millis(5);

/// Why a call gives no result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It fails.
    Errno(Errno),
    /// It fails, because its path is not within the grants.
    Refused(Refusal),
    /// The program has ended.
    Exit(i32),
    /// The machine's time is up; the call starts again when the machine runs again.
    Interrupted,
    /// It waits for an event that cannot happen, for this reason.
    Endless(&'static str),
    /// The host has not called [`crate::start`], which it needs.
    NotStarted,
    /// The registers are to be taken from the signal frame at this address.
    SignalReturn(u64),
}

/// The result of a call's handler.
pub(crate) type Outcome = Result<u64, Stop>;

impl From<Errno> for Stop {
    fn from(errno: Errno) -> Stop {
        Stop::Errno(errno)
    }
}

impl From<Fault> for Stop {
    fn from(_: Fault) -> Stop {
        Stop::Errno(Errno::FAULT)
    }
}

impl From<MapError> for Stop {
    fn from(error: MapError) -> Stop {
        Stop::Errno(match error {
            MapError::Misaligned => Errno::INVAL,
            MapError::WriteAndExecute => Errno::ACCESS,
            _ => Errno::NOMEM,
        })
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Stop {
        Stop::Errno(Errno::from_io_error(&error).unwrap_or(match error.kind() {
            std::io::ErrorKind::PermissionDenied => Errno::ACCESS,
            _ => Errno::IO,
        }))
    }
}

/// When a signal ends what a call waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alarm {
    pub(crate) at: Instant,
    /// The same from the call's beginning on, in the guest's time.
    pub(crate) span: Duration,
}

/// How long a call may wait.
#[derive(Clone, Copy)]
pub(crate) struct Patience<'a> {
    pub(crate) deadline: Option<Instant>,
    pub(crate) interrupted: &'a AtomicBool,
    /// When a signal ends what is waited for.
    pub(crate) alarm: Option<Alarm>,
}

impl Patience<'_> {
    /// Fails once the machine's time is up.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        match late || self.interrupted.load(Ordering::Relaxed) {
            true => Err(Stop::Interrupted),
            false => Ok(()),
        }
    }

    /// How long to wait before testing again, at most until `until`; zero once that has passed.
    pub(crate) fn glance(&self, until: Option<Instant>) -> Result<Duration, Stop> {
        self.check()?;
        let now = Instant::now();
        let alarm = self.alarm.map(|alarm| alarm.at);
        if alarm.is_some_and(|at| at <= now) && until.is_none_or(|until| until > now) {
            return Err(Errno::INTR.into());
        }
        let ends = [self.deadline, until, alarm].into_iter().flatten();
        Ok(ends.map(|end| end.saturating_duration_since(now)).fold(GLANCE, Duration::min))
    }
}

/// A call as its handler sees it.
pub(crate) struct Call<'a> {
    pub(crate) linux: &'a mut Linux,
    pub(crate) memory: &'a mut Memory,
    /// a0 to a5.
    pub(crate) args: [u64; 6],
    /// sp.
    pub(crate) sp: u64,
    pub(crate) patience: Patience<'a>,
    /// Instructions executed so far.
    pub(crate) instructions: u64,
}

impl Call<'_> {
    /// Argument `n` as the C type `int`.
    pub(crate) fn int(&self, n: usize) -> i32 {
        self.args[n] as i32
    }

    /// Argument `n` as the C type `unsigned int`.
    pub(crate) fn uint(&self, n: usize) -> u32 {
        self.args[n] as u32
    }

    /// Argument `n` as the address of a path.
    pub(crate) fn path(&self, n: usize) -> Result<Vec<u8>, Stop> {
        c_string(self.memory, self.args[n], PATH_MAX, Errno::NAMETOOLONG)
    }

    /// Fails unless argument `n` has only these bits.
    pub(crate) fn only(&self, n: usize, bits: u32) -> Result<u32, Stop> {
        match self.uint(n) {
            flags if flags & !bits == 0 => Ok(flags),
            _ => Err(Errno::INVAL.into()),
        }
    }
}

/// How many of these bytes are writable; an error if the first one is not.
pub(crate) fn writable(memory: &mut Memory, address: u64, len: u64) -> Result<u64, Stop> {
    let len = len.min(MAX_TRANSFER);
    match memory.slice_mut(address, len) {
        Ok(_) => Ok(len),
        Err(fault) if fault.address > address => Ok((fault.address - address).min(len)),
        Err(fault) => Err(fault.into()),
    }
}

/// How many of these bytes are readable; an error if the first one is not.
pub(crate) fn readable(memory: &Memory, address: u64, len: u64) -> Result<u64, Stop> {
    let len = len.min(MAX_TRANSFER);
    match memory.slice(address, len) {
        Ok(_) => Ok(len),
        Err(fault) if fault.address > address => Ok((fault.address - address).min(len)),
        Err(fault) => Err(fault.into()),
    }
}

/// A C string of at most `limit` bytes, its zero included.
pub(crate) fn c_string(memory: &Memory, address: u64, limit: u64, too_long: Errno) -> Result<Vec<u8>, Stop> {
    let available = memory.slice(address, readable(memory, address, limit)?)?;
    match available.iter().position(|&byte| byte == 0) {
        Some(end) => Ok(available[..end].to_vec()),
        None if available.len() as u64 == limit => Err(too_long.into()),
        None => Err(Errno::FAULT.into()),
    }
}

/// Makes `linker` answer system calls as Linux does, with the state that `get` finds in a
/// machine's data.
pub fn add_to_linker<T>(linker: &mut Linker<T>, get: impl Fn(&mut T) -> &mut Linux + Send + Sync + 'static) {
    let get = Arc::new(get);
    let getter = get.clone();
    linker.ecall(move |mut caller| {
        let flow = answer(&mut caller, &*get);
        renew_alarm(&mut caller, &*get);
        flow
    });
    linker.alarm(move |mut caller| {
        let instructions = caller.instructions();
        let linux = getter(caller.data_mut());
        linux.look_at_timers(instructions);
        let is_idle = linux.signals.is_idle();
        let registers = Registers::of(&caller);
        let flow = if is_idle { Flow::Continue } else { deliver_signals(&mut caller, &*getter, registers) };
        renew_alarm(&mut caller, &*getter);
        Ok(flow)
    });
}

const SP: u8 = 2;
const A0: u8 = 10;
const A7: u8 = 17;

/// Sets the machine's alarm for the next signal of a timer.
fn renew_alarm<T>(caller: &mut Caller<'_, T>, get: &impl Fn(&mut T) -> &mut Linux) {
    let instructions = caller.instructions();
    let alarm = get(caller.data_mut()).next_alarm(instructions);
    caller.set_alarm(alarm);
}

fn answer<T>(caller: &mut Caller<'_, T>, get: &impl Fn(&mut T) -> &mut Linux) -> Result<Flow, HostError> {
    let number = match caller.pc() {
        SIGNAL_RETURN_ADDRESS => RT_SIGRETURN,
        _ => caller.x(A7),
    };
    let args = std::array::from_fn(|n| caller.x(A0 + n as u8));
    let sp = caller.x(SP);
    let (deadline, interrupted) = (caller.deadline(), caller.interrupted());
    let instructions = caller.instructions();
    let (data, memory) = caller.split();
    let linux = get(data);

    linux.is_changed = true;
    linux.last_words.notice(number, args[0]);
    if number == READY_CALL
        && let Some(flow) = linux.reactor.ready(args[0])
    {
        return Ok(flow);
    }
    linux.look_at_timers(instructions);
    let patience = Patience { deadline, interrupted, alarm: linux.alarm(linux.signals.blocked(), instructions) };
    let mut call = Call { linux, memory, args, sp, patience, instructions };
    let mut outcome = table::dispatch(&mut call, number);
    if let (Err(Stop::Endless(_)), Some(_)) = (&outcome, patience.alarm) {
        outcome = linux.clock.wait(None, patience, || false).map(u64::from);
    }
    linux.look_at_timers(instructions);
    let restarts = outcome == Err(Errno::INTR.into()) && linux.signals.restart(number);
    linux.log.write(&Line { number, args: &args, outcome: &outcome });
    let result = match outcome {
        Ok(value) => value,
        Err(Stop::Errno(errno)) => -i64::from(errno.raw_os_error()) as u64,
        Err(Stop::Refused(refusal)) => -i64::from(refusal.errno().raw_os_error()) as u64,
        Err(Stop::Exit(status)) => return Ok(Flow::Exit(status)),
        Err(Stop::Interrupted) => return Ok(Flow::Trap(TrapCause::Interrupted)),
        Err(Stop::Endless(reason)) => {
            let call = table::name(number).unwrap_or("a system call");
            return Ok(Flow::Trap(TrapCause::EndlessWait { call, reason }));
        }
        Err(Stop::NotStarted) => {
            let name = table::name(number).unwrap_or("a system call");
            return Err(format!("the program calls {name}, but its host has not called riverrun_linux::start").into());
        }
        Err(Stop::SignalReturn(frame)) => return Ok(signal_return(caller, get, frame)),
    };
    if linux.signals.is_idle() {
        caller.set_x(A0, result);
        return Ok(Flow::Continue);
    }
    let mut registers = Registers::of(caller);
    if !restarts {
        registers.x[A0 as usize] = result;
        registers.pc += 4;
    }
    Ok(deliver_signals(caller, get, registers))
}

/// Lets pending signals, if any is not blocked, act on a guest with these registers.
fn deliver_signals<T>(
    caller: &mut Caller<'_, T>,
    get: &impl Fn(&mut T) -> &mut Linux,
    mut registers: Registers,
) -> Flow {
    const SIGABRT: u32 = 6;
    let (data, memory) = caller.split();
    let linux = get(data);
    match linux.signals.deliver(memory, &mut registers) {
        Delivery::Done => {
            registers.put(caller);
            Flow::Jump(registers.pc)
        }
        Delivery::Fatal(number) => {
            let words = linux.last_words.take().filter(|_| number == SIGABRT);
            if let Some(words) = words {
                caller.set_last_words(words);
            }
            Flow::Trap(TrapCause::Signal { number })
        }
    }
}

fn signal_return<T>(caller: &mut Caller<'_, T>, get: &impl Fn(&mut T) -> &mut Linux, frame: u64) -> Flow {
    const SIGSEGV: u32 = 11;
    let (data, memory) = caller.split();
    match get(data).signals.restore(memory, frame) {
        Ok(registers) => deliver_signals(caller, get, registers),
        Err(_) => Flow::Trap(TrapCause::Signal { number: SIGSEGV }),
    }
}
