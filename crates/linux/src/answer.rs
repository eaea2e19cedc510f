//! System calls: from the guest's registers to the handler of a row, and its result back; which thread of the guest goes on
//! behind them; alarms, which interrupt guests that make none; and traps, which are signals to the guest.

use std::sync::Arc;

use riverrun::{Caller, Flow, HostError, Linker, READY_CALL, SIGNAL_RETURN_ADDRESS, TrapCause};
use rustix::io::Errno;

use crate::Linux;
use crate::abi::signal;
use crate::call::{Call, Patience, Stop};
use crate::deadlock;
use crate::faults;
use crate::log::Line;
use crate::requests::{On, Resumed};
use crate::signals::{Delivery, RT_SIGRETURN, Registers};
use crate::table;
use crate::threads::{self, Next};

/// Makes `linker` answer system calls and deliver signals as Linux does, with the state that `get` finds in a
/// machine's data.
pub fn add_to_linker<T>(linker: &mut Linker<T>, get: impl Fn(&mut T) -> &mut Linux + Send + Sync + 'static) {
    let get = Arc::new(get);
    let (for_alarms, for_traps, for_harts) = (get.clone(), get.clone(), get.clone());
    linker.ecall(move |mut caller| {
        let flow = answer(&mut caller, &*get);
        renew_alarm(&mut caller, &*get);
        flow
    });
    linker.alarm(move |mut caller| {
        let flow = interrupt(&mut caller, &*for_alarms);
        renew_alarm(&mut caller, &*for_alarms);
        flow
    });
    linker.trap(move |mut caller, cause| Ok(faults::handle(&mut caller, &*for_traps, cause)));
    linker.harts(move |mut caller| {
        threads::put_back(&mut caller, &*for_harts);
        renew_alarm(&mut caller, &*for_harts);
    });
}

const SP: u8 = 2;
const A0: u8 = 10;
const A7: u8 = 17;

/// Sets the machine's alarm for the next event that a guest without calls must notice.
fn renew_alarm<T>(caller: &mut Caller<'_, T>, get: &impl Fn(&mut T) -> &mut Linux) {
    let (instructions, are_counted) = (caller.instructions(), caller.counts_instructions());
    let alarm = get(caller.data_mut()).next_alarm(instructions, are_counted);
    caller.set_alarm(alarm);
}

/// What becomes of the thread that has made a call.
enum Made {
    /// It goes on, and so does the run.
    Goes(Flow),
    /// Behind the call, once it is its turn again: another one can run.
    Yields,
    /// It waits, or has ended.
    Stays,
}

fn answer<T>(caller: &mut Caller<'_, T>, get: &impl Fn(&mut T) -> &mut Linux) -> Result<Flow, HostError> {
    let made = make(caller, get, None)?;
    go_on(caller, get, made)
}

/// At an alarm: looks at the time, and lets the next thread run if this one's turn is over.
fn interrupt<T>(caller: &mut Caller<'_, T>, get: &impl Fn(&mut T) -> &mut Linux) -> Result<Flow, HostError> {
    let (instructions, pc, is_nested) = (caller.instructions(), caller.pc(), caller.is_nested());
    let program = caller.program().image().shared_bytes().clone();
    let linux = get(caller.data_mut());
    // A run that goes on from saved state begins with an alarm.
    linux.program.get_or_insert(program);
    linux.look_at_waits(instructions);
    let is_turn_over = linux.threads.is_turn_over(instructions);
    if is_turn_over {
        // Also of a thread that goes on, lest the alarm come again at once.
        linux.threads.begin_turn();
    }
    if !linux.threads.runs() {
        // It is at a call in which it waits: that goes on.
        return Ok(Flow::Continue);
    }
    if !is_nested && is_turn_over {
        linux.threads.queue();
        let next = threads::switch(caller, get, pc);
        let made = continue_thread(caller, get, next)?;
        return go_on(caller, get, made);
    }
    Ok(deliver_due(caller, get))
}

/// Lets threads run, one after the other, until one goes on in its own code.
fn go_on<T>(
    caller: &mut Caller<'_, T>,
    get: &impl Fn(&mut T) -> &mut Linux,
    mut made: Made,
) -> Result<Flow, HostError> {
    loop {
        let pc = caller.pc();
        match made {
            // Behind the call: at an alarm, too, where a call has been made again.
            Made::Goes(Flow::Continue) => return Ok(Flow::Jump(pc.wrapping_add(4))),
            Made::Goes(flow) => return Ok(flow),
            Made::Yields => get(caller.data_mut()).threads.queue(),
            Made::Stays => {
                let (instructions, is_nested) = (caller.instructions(), caller.is_nested());
                let (deadline, interrupted) = (caller.deadline(), caller.interrupted());
                let linux = get(caller.data_mut());
                let patience = Patience { deadline, interrupted, alarm: None };
                match linux.next_thread(instructions, patience, is_nested) {
                    Err(Stop::Interrupted) => return Ok(Flow::Trap(TrapCause::Interrupted)),
                    Err(Stop::Endless(reason)) => {
                        let call = table::name(caller.x(A7)).unwrap_or("a system call");
                        let list = deadlock::describe(caller, get);
                        list.into_iter().for_each(|list| caller.set_last_words(list));
                        return Ok(Flow::Trap(TrapCause::EndlessWait { call, reason }));
                    }
                    _ => {}
                }
            }
        }
        let next = threads::switch(caller, get, pc.wrapping_add(4));
        made = continue_thread(caller, get, next)?;
    }
}

/// Continues the thread whose hart has come into the machine.
fn continue_thread<T>(
    caller: &mut Caller<'_, T>,
    get: &impl Fn(&mut T) -> &mut Linux,
    next: Next,
) -> Result<Made, HostError> {
    match next {
        Next::Call(resumed) => make(caller, get, Some(resumed)),
        Next::Code => Ok(Made::Goes(match deliver_due(caller, get) {
            Flow::Continue => Flow::Jump(caller.pc()),
            flow => flow,
        })),
    }
}

/// Makes the call at the machine's pc, or makes it again when it has waited.
fn make<T>(
    caller: &mut Caller<'_, T>,
    get: &impl Fn(&mut T) -> &mut Linux,
    resumed: Option<Resumed>,
) -> Result<Made, HostError> {
    let number = match caller.pc() {
        SIGNAL_RETURN_ADDRESS => RT_SIGRETURN,
        _ => caller.x(A7),
    };
    let args = std::array::from_fn(|n| caller.x(A0 + n as u8));
    let place = (caller.pc(), caller.x(SP));
    let (deadline, interrupted) = (caller.deadline(), caller.interrupted());
    let (instructions, is_nested) = (caller.instructions(), caller.is_nested());
    let hart_of_maker = (number == table::CLONE || number == table::CLONE3).then(|| caller.hart());
    let (data, memory) = caller.split();
    let linux = get(data);

    linux.is_changed = true;
    linux.names.tree.space.set_room(memory.limit().saturating_sub(memory.used()));
    let resumed = resumed.or_else(|| linux.threads.unpark(place));
    if linux.threads.is_over() {
        // The thread had ended when the machine's time was up.
        return Ok(Made::Stays);
    }
    linux.last_words.notice(number, args[0]);
    if number == READY_CALL
        && let Some(flow) = linux.reactor.ready(args[0])
    {
        return Ok(Made::Goes(flow));
    }
    linux.look_at_timers(instructions);
    let patience = Patience { deadline, interrupted, alarm: linux.call_alarm(instructions) };
    let (done, part) = resumed.map_or((0, 0), |resumed| (resumed.done, resumed.part));
    let mut call = Call { linux, memory, args, number, place, resumed, done, part, patience, instructions };
    let mut outcome = table::dispatch(&mut call, number);
    let mut has_timeout = false;
    if let Err(Stop::WouldWait { streams, span }) = outcome {
        has_timeout = span.is_some();
        // It ends by a signal or with its time, or is made again.
        outcome = call.wait(On::Files { streams }, span).and(Err(Errno::AGAIN.into()));
    }
    if let (Err(Stop::Errno(_)), 1..) = (&outcome, call.done) {
        // What it has moved before counts.
        outcome = Ok(call.done);
    }
    let has_moved = call.done > done || call.part != part;
    // A thread that is to wait is parked first: else it would miss what it waits for.
    if !matches!(outcome, Err(Stop::Wait(_))) {
        linux.look_at_timers(instructions);
    }
    if linux.threads.wait_for_files() && (outcome.is_ok() || has_moved) && table::changes_files(number) {
        linux.files_have_changed();
    }
    let restarts = outcome == Err(Errno::INTR.into()) && !has_timeout && linux.restarts(number);
    linux.log.write(&Line { number, args: &args, memory, outcome: &outcome });
    let mut yields = false;
    let result = match outcome {
        Ok(value) => value,
        Err(Stop::Errno(errno)) => negated(errno),
        Err(Stop::Refused(refusal)) => negated(refusal.errno()),
        Err(Stop::Denied(denial)) => negated(denial.errno()),
        Err(Stop::Absent(_)) => negated(Errno::NOSYS),
        Err(Stop::Unsupported(errno, _)) => negated(errno),
        Err(Stop::WouldWait { .. }) => negated(Errno::AGAIN),
        Err(Stop::Exit(status)) => return Ok(Made::Goes(Flow::Exit(status))),
        Err(Stop::Interrupted) => return Ok(Made::Goes(Flow::Trap(TrapCause::Interrupted))),
        Err(Stop::Endless(reason)) => {
            let call = table::name(number).unwrap_or("a system call");
            return Ok(Made::Goes(Flow::Trap(TrapCause::EndlessWait { call, reason })));
        }
        Err(Stop::Miscounted(stream)) => {
            let name = table::name(number).unwrap_or("a system call");
            return Err(format!("{name}: what the host has for {stream} counts more bytes than it was given").into());
        }
        Err(Stop::NotStarted) => {
            let name = table::name(number).unwrap_or("a system call");
            return Err(format!("the program calls {name}, but its host has not called riverrun_linux::start").into());
        }
        Err(Stop::NewCode) => {
            return Err("riscv_flush_icache: the program has changed its own code, and only that runs which it had when it was \
                        loaded"
                .into());
        }
        Err(Stop::SignalReturn(frame)) => return Ok(Made::Goes(signal_return(caller, get, frame))),
        Err(Stop::Wait(wait)) => {
            linux.threads.park(wait);
            return Ok(Made::Stays);
        }
        Err(Stop::ThreadEnd(status)) => {
            return Ok(match linux.threads.end(status, memory) {
                Some(status) => Made::Goes(Flow::Exit(status)),
                None => Made::Stays,
            });
        }
        Err(Stop::Yield) => {
            yields = true;
            0
        }
        Err(Stop::Clone(new)) => linux.threads.begin(new, hart_of_maker.unwrap_or_default()),
    };
    if linux.has_no_signal() {
        linux.end_suspension();
    }
    if linux.has_no_signal() {
        let threads = &linux.threads;
        let yields = !is_nested && (threads.is_turn_over(instructions) || yields && threads.are_others_ready());
        caller.set_x(A0, result);
        return Ok(if yields { Made::Yields } else { Made::Goes(Flow::Continue) });
    }
    let mut registers = Registers::of(caller);
    if !restarts {
        registers.x[A0 as usize] = result;
        registers.pc = registers.pc.wrapping_add(4);
    }
    Ok(Made::Goes(deliver_signals(caller, get, registers)))
}

fn negated(errno: Errno) -> u64 {
    -i64::from(errno.raw_os_error()) as u64
}

/// Lets pending signals, if any is not blocked, act on the guest where it stands.
fn deliver_due<T>(caller: &mut Caller<'_, T>, get: &impl Fn(&mut T) -> &mut Linux) -> Flow {
    match get(caller.data_mut()).has_no_signal() {
        true => Flow::Continue,
        false => {
            let registers = Registers::of(caller);
            deliver_signals(caller, get, registers)
        }
    }
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
    match linux.deliver(memory, &mut registers) {
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
    let (data, memory) = caller.split();
    match get(data).threads.current_mut().signals.restore(memory, frame) {
        Ok(registers) => deliver_signals(caller, get, registers),
        Err(_) => Flow::Trap(TrapCause::Signal { number: signal::SIGSEGV }),
    }
}
