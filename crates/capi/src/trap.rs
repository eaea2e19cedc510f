//! Handlers of guests' traps: the host decides how the guest goes on.

use std::ffi::c_void;

use riverrun::raw::RawMachine;
use riverrun::{Flow as HostFlow, HostError, TrapCause};

use crate::arguments::{given, misuse};
use crate::error::{Error, Raised, Returned, guard};
use crate::failure::Trap;
use crate::linker::Linker;
use crate::machine::Machine;
use crate::owned::{Destructor, Owned};

/// How a guest goes on after its trap.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowKind {
    /// Its run or call ends with the trap, as without a handler.
    Trap = 0,
    /// It executes the instruction again.
    Continue = 1,
    /// It goes on at `address`.
    Jump = 2,
    /// It has exited with `status`.
    Exit = 3,
}

/// A [`FlowKind`] as C passes it: any number.
pub type FlowCode = u32;

/// How a guest goes on after its trap.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Which of them.
    pub kind: FlowCode,
    /// For `RIVERRUN_FLOW_EXIT`.
    pub status: i32,
    /// For `RIVERRUN_FLOW_JUMP`.
    pub address: u64,
}

/// A handler of traps: `flow` is `RIVERRUN_FLOW_TRAP` unless it is set. The machine's pc and registers are as before the
/// instruction that could not complete, and the handler may change registers; `trap->function` is NULL. It returns NULL, or
/// an error, which ends the guest's run. It must not unwind or `longjmp` out of the call.
pub type TrapHandler =
    unsafe extern "C" fn(data: *mut c_void, caller: Machine, trap: *const Trap, flow: *mut Flow) -> Option<Box<Error>>;

/// Sets the handler of what guests do wrong by themselves, such as accesses to unmapped memory, illegal instructions and
/// `ebreak`. A trap after which the guest goes on counts as an instruction, so that fuel bounds a guest that only traps.
///
/// There is one handler: this takes the place of that before, and of `riverrun_linker_add_linux`'s, which gives faults to
/// the guest's own signal handlers. The end of a limit is no trap of the guest. Compiled code that is not precise calls
/// no handler at faults of memory: the registers are lost there (`RIVERRUN_ERROR_LOST`).
///
/// `destructor`, which may be NULL, frees `data` when the linker and all machines are gone; at once if this fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linker_set_trap_handler(
    linker: Option<&mut Linker>,
    handler: Option<TrapHandler>,
    data: *mut c_void,
    destructor: Option<Destructor>,
) -> Returned {
    let handled = Handled(Owned::new(data, destructor), handler);
    guard(|| {
        let linker = given(linker, "linker")?;
        given(handler, "handler")?;
        linker.linker.trap(move |mut caller, cause| {
            let pc = caller.pc();
            handled.call(Machine(RawMachine::of_caller(&mut caller)), cause, pc)
        });
        Ok(())
    })
}

/// A handler and its data, freed by the last owner.
struct Handled(Owned, Option<TrapHandler>);

impl Handled {
    fn call(&self, caller: Machine, cause: TrapCause, pc: u64) -> std::result::Result<HostFlow, HostError> {
        let Some(handler) = self.1 else { return Ok(HostFlow::Trap(cause)) };
        let trap = Trap::new(cause, pc, None);
        let mut flow = Flow { kind: FlowKind::Trap as u32, status: 0, address: 0 };
        // SAFETY: what the host has given with its data; `trap` and `flow` are there as long as the call.
        let failed = unsafe { handler(self.0.data, caller, &raw const trap, &raw mut flow) };
        if let Some(error) = failed {
            return Err(Raised(error).into());
        }
        const TRAP: u32 = FlowKind::Trap as u32;
        const CONTINUE: u32 = FlowKind::Continue as u32;
        const JUMP: u32 = FlowKind::Jump as u32;
        const EXIT: u32 = FlowKind::Exit as u32;
        match flow.kind {
            TRAP => Ok(HostFlow::Trap(cause)),
            CONTINUE => Ok(HostFlow::Continue),
            JUMP => Ok(HostFlow::Jump(flow.address)),
            EXIT => Ok(HostFlow::Exit(flow.status)),
            other => Err(Raised(misuse(format!("`flow->kind` is {other}: a trap handler has no such answer"))).into()),
        }
    }
}
