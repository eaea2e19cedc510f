//! Machines.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use riverrun::InterruptHandle as Interrupter;
use riverrun::raw::RawMachine;

use crate::arguments::{Out, Result, given, misuse};
use crate::config::{Limits, UNLIMITED, deadline};
use crate::error::{Returned, delete, guard, guard_value};
use crate::host_data::{Host, Waits};
use crate::owned::{Destructor, Owned};
use crate::serving::is_served;

/// A machine: one guest with its memory. In a host function, the guest that has called it.
///
/// One thread at a time may use it, but for `riverrun_interrupt_handle_interrupt`. While a host function runs,
/// the guest waits: its functions may be called, its memory and heap be used. Anything else is an error that says so.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Machine(pub(crate) RawMachine<Host>);

impl Machine {
    pub(crate) fn new(machine: riverrun::Machine<Host>) -> Machine {
        Machine(RawMachine::from_machine(machine))
    }

    /// The machine at an import's context.
    ///
    /// # Safety
    /// As [`RawMachine::from_ptr`].
    #[inline(always)]
    pub(crate) unsafe fn of_import(context: *mut ()) -> Machine {
        // SAFETY: as the caller promises.
        Machine(unsafe { RawMachine::from_ptr(NonNull::new_unchecked(context.cast())) })
    }

    /// Whether a host function is running.
    pub(crate) fn is_running(self) -> bool {
        // SAFETY: the header demands that machines are alive.
        unsafe { self.0.is_running() || self.future().is_some_and(|future| future.is_polled()) }
    }

    /// The run or call that can wait, if one has begun.
    fn future(self) -> Option<Arc<dyn Waits>> {
        // SAFETY: the header demands that machines are alive, and used by one thread.
        unsafe { (*self.0.data_ptr()).future.0.clone() }
    }

    /// Records, in debug builds, that this thread uses the machine; an error if another thread does, or if a function of
    /// its grants runs.
    #[inline(always)]
    pub(crate) fn begin(self) -> Result<InUse> {
        // SAFETY: the header demands that machines are alive; nothing is read.
        if is_served(unsafe { self.0.data_ptr() }) {
            return Err(misuse(
                "the machine makes a system call, which an output or a file system of its grants serves: that cannot use it",
            ));
        }
        #[cfg(debug_assertions)]
        {
            debug::begin(self)
        }
        #[cfg(not(debug_assertions))]
        Ok(InUse)
    }
}

#[cfg(debug_assertions)]
pub(crate) use debug::InUse;

/// Keeps the record that this thread uses the machine.
#[cfg(not(debug_assertions))]
pub(crate) struct InUse;

/// In debug builds, detects two threads that use a machine at once.
#[cfg(debug_assertions)]
mod debug {
    use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

    use super::Machine;
    use crate::arguments::{Result, misuse};
    use crate::host_data::User;

    #[derive(Debug)]
    pub(crate) struct InUse(Machine);

    /// A number that no other living thread has.
    fn thread() -> usize {
        thread_local!(static PLACE: u8 = const { 0 });
        PLACE.with(|place| std::ptr::from_ref(place).addr())
    }

    fn user<'a>(machine: Machine) -> &'a User {
        // SAFETY: the header demands that machines are alive; only this module uses the field, whose parts are
        // changed by the one thread that is noted in it.
        unsafe { &(*machine.0.data_ptr()).user }
    }

    pub(crate) fn begin(machine: Machine) -> Result<InUse> {
        let (user, me) = (user(machine), thread());
        if user.thread.load(Relaxed) != me && user.thread.compare_exchange(0, me, Acquire, Relaxed).is_err() {
            return Err(misuse("another thread is using the machine: one at a time may"));
        }
        user.times.set(user.times.get() + 1);
        Ok(InUse(machine))
    }

    impl Drop for InUse {
        fn drop(&mut self) {
            let user = user(self.0);
            user.times.set(user.times.get() - 1);
            if user.times.get() == 0 {
                user.thread.store(0, Release);
            }
        }
    }
}

/// Runs `body` on a machine, whether it is running or not.
#[inline(always)]
pub(crate) fn with<R>(machine: Option<Machine>, body: impl FnOnce(RawMachine<Host>) -> Result<R>) -> Result<R> {
    let machine = given(machine, "machine")?;
    let _in_use = machine.begin()?;
    body(machine.0)
}

/// Looks at a machine: in a host function as its caller, else as it rests, also while its future waits.
fn look<R>(
    machine: Option<Machine>,
    in_host_function: impl FnOnce(&riverrun::Caller<'_, Host>) -> R,
    at_rest: impl FnOnce(&riverrun::Machine<Host>) -> R,
) -> Option<R> {
    let mut machine = machine?;
    Some(match machine.is_running() {
        // SAFETY: a host function is running.
        true => in_host_function(&unsafe { machine.0.caller() }),
        // SAFETY: it is not running, and the header demands that one thread at a time uses it.
        false => at_rest(unsafe { machine.0.machine() }),
    })
}

/// Runs `body` on a machine that is not running.
pub(crate) fn idle<R>(
    machine: Option<Machine>,
    body: impl FnOnce(&mut riverrun::Machine<Host>) -> Result<R>,
) -> Result<R> {
    let mut machine = given(machine, "machine")?;
    let _in_use = machine.begin()?;
    if machine.is_running() {
        return Err(misuse(
            "the machine is running: a host function cannot do this, it can call functions of the guest",
        ));
    }
    if machine.future().is_some_and(|future| !future.is_over()) {
        return Err(misuse("the machine has a future that is not over: poll it until it is, or delete it"));
    }
    // SAFETY: it is not running, and the header demands that one thread at a time uses it.
    body(unsafe { machine.0.machine() })
}

/// Frees the machine and the host's data in it. In its own host functions this does nothing; debug builds abort.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_delete(machine: Option<Machine>) {
    let Some(machine) = machine else { return };
    if machine.is_running() {
        debug_assert!(!machine.is_running(), "a host function deletes the machine that is running");
        return;
    }
    if let Some(future) = machine.future() {
        guard_value((), || {
            future.give_up();
            Some(())
        });
    }
    // SAFETY: it is not running, and the header demands that it is not used afterwards.
    delete(Some(Box::new(unsafe { machine.0.into_machine() })));
}

/// Sets the host's data of the machine and frees the data before it. `destructor` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_set_data(
    machine: Option<Machine>,
    data: *mut c_void,
    destructor: Option<Destructor>,
) -> Returned {
    let owned = Owned::new(data, destructor);
    guard(|| {
        // SAFETY: nothing else of the data is borrowed.
        let old = with(machine, |machine| Ok(std::mem::replace(unsafe { &mut machine.data().data }, owned)))?;
        drop(old);
        Ok(())
    })
}

/// The data that `riverrun_machine_set_data` has set, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_data(machine: Option<Machine>) -> *mut c_void {
    // SAFETY: a copy; the header demands that the machine is alive.
    machine.map_or(ptr::null_mut(), |machine| unsafe { machine.0.data().data.data })
}

/// Runs the guest from its pc until it exits; `status` receives its exit status, and may be NULL.
///
/// After a trap, another run continues there, for example with more fuel or time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_run(machine: Option<Machine>, status: Out<'_, i32>) -> Returned {
    guard(|| {
        let exited = idle(machine, |machine| Ok(machine.run()?))?;
        status.map(|status| status.write(exited));
        Ok(())
    })
}

/// Runs the guest as `riverrun_machine_run` does, for a slice at most: so many instructions, or so long. `is_over` receives
/// whether it has exited, and only then `status` its exit status; otherwise the next slice or run continues it, on this
/// thread or another. The machine's own limits hold as well, and end the run with an error.
///
/// Calls of the guest that a host function makes are not cut: a slice of time waits for them, one of instructions ends them
/// with an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_run_for(
    machine: Option<Machine>,
    slice: Option<&Limits>,
    is_over: Out<'_, bool>,
    status: Out<'_, i32>,
) -> Returned {
    guard(|| {
        let (slice, is_over) = (given(slice, "slice")?, given(is_over, "is_over")?);
        let exited = idle(machine, |machine| Ok(machine.run_for(slice.of_call())?))?;
        is_over.write(exited.is_some());
        if let (Some(exited), Some(status)) = (exited, status) {
            status.write(exited);
        }
        Ok(())
    })
}

/// Limits the instructions that the guest may still execute; `RIVERRUN_UNLIMITED` takes the limit away.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_set_fuel(machine: Option<Machine>, instructions: u64) -> Returned {
    guard(|| {
        idle(machine, |machine| {
            machine.set_fuel((instructions != UNLIMITED).then_some(instructions));
            Ok(())
        })
    })
}

/// The instructions that the guest may still execute; `RIVERRUN_UNLIMITED` without a limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_fuel(machine: Option<Machine>) -> u64 {
    guard_value(UNLIMITED, || look(machine, |caller| caller.fuel(), |machine| machine.fuel())?)
}

/// Sets a deadline that many nanoseconds from now. It ends every run and call with a trap of the kind
/// `RIVERRUN_TRAP_DEADLINE`; `RIVERRUN_UNLIMITED` takes the limit away.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_set_timeout(machine: Option<Machine>, nanoseconds: u64) -> Returned {
    guard(|| {
        idle(machine, |machine| {
            machine.set_deadline(deadline(nanoseconds));
            Ok(())
        })
    })
}

/// Ends the initialization, as the guest's exit does: see `riverrun_machine_is_initializing`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_end_initialization(machine: Option<Machine>) -> Returned {
    guard(|| {
        idle(machine, |machine| {
            machine.end_initialization();
            Ok(())
        })
    })
}

/// Whether the guest still initializes: it has not exited, and `riverrun_machine_end_initialization` was not called. Host
/// functions for this phase test it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_is_initializing(machine: Option<Machine>) -> bool {
    // SAFETY: the header demands that the machine is alive.
    machine.is_some_and(|machine| unsafe { machine.0.is_initializing() })
}

/// Instructions that the machine has executed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_instructions(machine: Option<Machine>) -> u64 {
    guard_value(0, || look(machine, |caller| caller.instructions(), |machine| machine.instructions()))
}

/// The guest's address of the next instruction; in a host function, that of the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_pc(machine: Option<Machine>) -> u64 {
    guard_value(0, || look(machine, |caller| caller.pc(), |machine| machine.pc()))
}

/// Sets the address of the next instruction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_set_pc(machine: Option<Machine>, pc: u64) -> Returned {
    guard(|| {
        idle(machine, |machine| {
            machine.set_pc(pc);
            Ok(())
        })
    })
}

/// Registers of a guest, in the order of `riverrun_machine_registers`.
pub const REGISTERS: usize = 65;
/// The index of a0, the first of the integer argument registers a0 to a7.
pub const REGISTER_A0: usize = 10;
/// The index of fa0, the first of the float argument registers fa0 to fa7.
pub const REGISTER_FA0: usize = 43;
/// The index of the stack pointer.
pub const REGISTER_SP: usize = 2;

/// The guest's registers: x0 to x31, one that is not used, f0 to f31. The pointer is valid as long as the machine lives. In
/// host functions that the guest calls directly, a0 to a4 are out of date; they are arguments. Only float results of such
/// functions may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_registers(machine: Option<Machine>) -> *mut u64 {
    // SAFETY: the header demands that the machine is alive.
    machine.map_or(ptr::null_mut(), |machine| unsafe { machine.0.registers() }.cast())
}

/// A handle by which other threads stop a machine.
#[derive(Debug)]
pub struct InterruptHandle(Interrupter);

/// Makes a handle by which other threads stop this machine; NULL if the machine is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_interrupt_handle_new(machine: Option<Machine>) -> Option<Box<InterruptHandle>> {
    // SAFETY: the header demands that the machine is alive.
    guard_value(None, || Some(Some(Box::new(InterruptHandle(unsafe { machine?.0.interrupt_handle() })))))
}

/// Frees the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_interrupt_handle_delete(handle: Option<Box<InterruptHandle>>) {
    delete(handle);
}

/// Makes the machine's present run, or its next one, end with a trap of the kind `RIVERRUN_TRAP_INTERRUPTED`
/// within a few milliseconds. Any thread may call this, also when the machine is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_interrupt_handle_interrupt(handle: Option<&InterruptHandle>) {
    guard_value((), || {
        handle?.0.interrupt();
        Some(())
    });
}
