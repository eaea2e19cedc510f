//! The basis of bindings to other languages: machines by their addresses, host functions that engines call directly, and
//! calls by inline code.
//!
//! Bindings must keep the invariants that Rust's types keep elsewhere. Nothing here is covered by the promises of the
//! crate's version: a binding is built with the same version of riverrun.

mod future;
#[cfg(all(target_arch = "x86_64", unix))]
#[path = "inline_x86_64.rs"]
mod inline;

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::mem::offset_of;
use std::ptr::NonNull;
use std::sync::Arc;

use riverrun_program::Signature;
use riverrun_vm::{Activation, GuestFloats, VmContext};
pub use riverrun_vm::{EntryGuard, EntryToken, HostFunction, Import, Results, SlotCode, SlotError, SlotFunction};

use crate::call::dyn_func::DynFunc;
use crate::call::host_call::give_up;
use crate::caller::Caller;
use crate::error::{Error, HostError};
use crate::heap::Heap;
use crate::instance::{Instance, Pending, Suspended};
use crate::limits::CallLimits;
use crate::linker::Linker;
use crate::machine::{InterruptHandle, Machine};
use crate::memory::Memory;
use crate::program::Program;
use crate::registry::Closure;
pub use crate::registry::HostCode;
pub use future::RawFuture;
#[cfg(all(target_arch = "x86_64", unix))]
pub use inline::{Binding, EnterCode, InlineFunc};

/// A machine by its address: the handle of hosts in other languages, and of their host functions.
///
/// The caller of each method must ensure that the machine is alive and that one thread at a time uses it.
#[repr(transparent)]
pub struct RawMachine<T>(NonNull<Instance<T>>);

impl<T> Clone for RawMachine<T> {
    fn clone(&self) -> RawMachine<T> {
        *self
    }
}

impl<T> Copy for RawMachine<T> {}

impl<T> fmt::Debug for RawMachine<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawMachine({:p})", self.0)
    }
}

impl<T> RawMachine<T> {
    /// Turns a machine into its address. The machine lives until [`RawMachine::into_machine`].
    pub fn from_machine(machine: Machine<T>) -> RawMachine<T> {
        RawMachine(std::mem::ManuallyDrop::new(machine).instance)
    }

    /// Turns the address into the machine.
    ///
    /// # Safety
    /// The machine is alive and not running, and the address is not used afterwards.
    pub unsafe fn into_machine(self) -> Machine<T> {
        Machine { instance: self.0 }
    }

    /// The address as a pointer for other languages; [`Import::context`] is the same.
    pub fn as_ptr(self) -> *mut c_void {
        self.0.as_ptr().cast()
    }

    /// The machine of an address.
    ///
    /// # Safety
    /// It comes from [`RawMachine::as_ptr`] or [`Import::context`], and its machine is alive as long as the
    /// result is used.
    #[inline(always)]
    pub unsafe fn from_ptr(address: NonNull<c_void>) -> RawMachine<T> {
        RawMachine(address.cast())
    }

    /// The machine's state.
    ///
    /// # Safety
    /// As the type says. Only engines may change the state.
    #[inline(always)]
    pub unsafe fn state(self) -> *mut VmContext {
        // SAFETY: as the caller promises.
        unsafe { (*self.0.as_ptr()).state }
    }

    /// The machine that a host function is called by.
    #[inline(always)]
    pub fn of_caller(caller: &mut Caller<'_, T>) -> RawMachine<T> {
        RawMachine(caller.instance)
    }

    /// Whether a host function is running, and the guest waits for it.
    ///
    /// # Safety
    /// As the type says.
    #[inline(always)]
    pub unsafe fn is_running(self) -> bool {
        // SAFETY: as the caller promises.
        unsafe { Instance::depth(self.0) != 0 }
    }

    /// The machine.
    ///
    /// # Safety
    /// It is not running, and nothing of it is borrowed.
    pub unsafe fn machine(&mut self) -> &mut Machine<T> {
        // SAFETY: both types are transparent.
        unsafe { &mut *(&raw mut *self).cast::<Machine<T>>() }
    }

    /// The guest's call, for a host function.
    ///
    /// # Safety
    /// The machine is running, and nothing of it is borrowed but what its engine holds.
    #[inline(always)]
    pub unsafe fn caller<'a>(self) -> Caller<'a, T> {
        // SAFETY: as the caller promises: engines note their windows before they call host functions.
        unsafe { Caller::new(Suspended::new(self.0)) }
    }

    /// The guest's memory.
    ///
    /// # Safety
    /// No other borrow of it is used while this one is.
    pub unsafe fn memory<'a>(self) -> &'a mut Memory {
        // SAFETY: as the caller promises.
        unsafe { &mut *Instance::memory(self.0) }
    }

    /// The guest's heap.
    ///
    /// # Safety
    /// As [`RawMachine::memory`].
    pub unsafe fn heap<'a>(self) -> Heap<'a> {
        // SAFETY: as the caller promises; neither is part of the other.
        unsafe { Heap::new(self.memory(), &mut (*self.0.as_ptr()).heap, None) }
    }

    /// Runs `body`, which calls functions of the guest, within limits.
    ///
    /// # Errors
    /// As `body`.
    ///
    /// # Safety
    /// Nothing of the machine is borrowed but what engines hold that wait for a host function.
    pub unsafe fn within<R>(self, limits: CallLimits, body: impl FnOnce() -> Result<R, Error>) -> Result<R, Error> {
        // SAFETY: as the caller promises.
        unsafe { Instance::within(self.0, limits, body) }
    }

    /// Calls a function as [`DynFunc::call`] does.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// If a host function that it calls panics.
    ///
    /// # Safety
    /// Nothing of the machine is borrowed but what engines hold that wait for a host function. `slots` points to as many raw
    /// values as [`DynFunc::slots`] says; to anything if that is none.
    pub unsafe fn call(self, func: &DynFunc, slots: *mut u64) -> Result<(), Error> {
        // SAFETY: as the caller promises.
        unsafe { func.call_instance(self.0, slots) }
    }

    /// As [`Machine::dyn_func`], also while the machine is running.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// No register is borrowed.
    pub unsafe fn dyn_func(self, name: &str, signature: Option<&Signature>) -> Result<DynFunc, Error> {
        // SAFETY: as the caller promises. While the machine is running its gp is set.
        unsafe {
            self.set_global_pointer();
            DynFunc::by_name(self.program(), name, signature)
        }
    }

    /// As [`Machine::dyn_func_at`], also while the machine is running.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// No register is borrowed.
    pub unsafe fn dyn_func_at(self, address: u64, signature: &Signature) -> Result<DynFunc, Error> {
        // SAFETY: as above.
        unsafe {
            self.set_global_pointer();
            DynFunc::at(self.program(), address, signature)
        }
    }

    /// # Safety
    /// No register is borrowed.
    unsafe fn set_global_pointer(mut self) {
        // SAFETY: as the caller promises.
        unsafe {
            if !self.is_running() {
                self.machine().set_global_pointer();
            }
        }
    }

    /// See [`Machine::is_initializing`].
    ///
    /// # Safety
    /// As the type says.
    pub unsafe fn is_initializing(self) -> bool {
        // SAFETY: a copy.
        unsafe { (*self.0.as_ptr()).is_initializing }
    }

    /// See [`Machine::interrupt_handle`].
    ///
    /// # Safety
    /// As the type says.
    pub unsafe fn interrupt_handle(self) -> InterruptHandle {
        // SAFETY: interruptions are shared.
        unsafe { InterruptHandle((*self.0.as_ptr()).interruption.clone()) }
    }

    /// The host's own state, by its address.
    ///
    /// # Safety
    /// As the type says.
    pub unsafe fn data_ptr(self) -> *mut T {
        // SAFETY: no reference is made.
        unsafe { &raw mut (*self.0.as_ptr()).data }
    }

    /// The host's own state.
    ///
    /// # Safety
    /// No other borrow of it is used while this one is.
    #[inline(always)]
    pub unsafe fn data<'a>(self) -> &'a mut T {
        // SAFETY: as the caller promises.
        unsafe { &mut (*self.0.as_ptr()).data }
    }

    /// The program.
    ///
    /// # Safety
    /// As the type says.
    pub unsafe fn program<'a>(self) -> &'a Program {
        // SAFETY: programs are only shared while machines live.
        unsafe { &(*self.0.as_ptr()).program }
    }

    /// The guest's registers: [`riverrun_vm::Hart::slots`]. Exact while the machine is not running. For a
    /// host function all are but a0 to a4, which it gets as arguments; of these slots it may write those of
    /// float results.
    ///
    /// # Safety
    /// As the type says.
    #[inline(always)]
    pub unsafe fn registers(self) -> *mut [u64; 65] {
        // SAFETY: as the caller promises.
        unsafe {
            let at = self.0.as_ptr();
            if Instance::depth(self.0) == 0 {
                Instance::forget_ready(self.0);
            }
            &raw mut (*(*at).state).hart.slots
        }
    }

    /// As [`RawMachine::fail`], of the machine whose compiled code runs on this thread, and which has called the import
    /// of this number.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn fail_call(number: u64, error: HostError) -> ! {
        let (_, state) = Activation::owner();
        // SAFETY: as the caller promises: it is the state of what runs.
        unsafe {
            let import = (*state).import(number as u32).expect("it has been called");
            Self::fail(import, error)
        }
    }

    /// Ends the run of the guest that has called a host function, with an error.
    ///
    /// # Safety
    /// An engine has called the code of [`add_code`] with this import, and nothing between that code
    /// and this call has to be cleaned up: frames are dropped.
    pub unsafe fn fail(import: *const Import, error: HostError) -> ! {
        // SAFETY: as the caller promises.
        unsafe {
            let instance = NonNull::new_unchecked((*import).context.cast::<Instance<T>>());
            give_up(instance, (*import).environment, Pending::Error(error))
        }
    }
}

/// What lies at a machine's address, for bindings whose code is not Rust's.
#[repr(C)]
#[derive(Debug)]
pub struct MachineHead {
    /// [`RawMachine::registers`].
    pub registers: *mut [u64; 65],
    /// Whether calls can be made, and which.
    pub entry_guard: &'static EntryGuard,
}

const _: () = assert!(offset_of!(MachineHead, registers) == offset_of!(Instance<()>, state));
const _: () = assert!(offset_of!(MachineHead, entry_guard) == offset_of!(Instance<()>, entry_guard));
const _: () = assert!(offset_of!(VmContext, hart.slots) == 0);

/// Runs a part of a host function that may use floats in the host's float environment, where that is not the
/// guest's. The compiler must not see into `body`, lest it moves float operations out of it.
///
/// # Safety
/// An engine has called the host function.
#[inline(never)]
pub unsafe fn with_host_floats<R>(body: impl FnOnce() -> R) -> R {
    let guest = GuestFloats::set_aside();
    let result = body();
    // SAFETY: the engine goes on, or exits, which puts the host's environment back.
    unsafe { guest.put_back() };
    result
}

/// Adds a host function that is plain code, which engines call with its entry of the machine's table of imports and with a0
/// to a4. [`Import::environment`] is the address of what is in `environment`, [`Import::context`] that of the machine.
///
/// # Errors
/// As [`Linker::func`].
///
/// # Safety
/// The code takes its arguments from the registers in which the RISC-V calling convention has those of
/// `signature`, returns results in such, and leaves all others as they are: a0 and a1 too, if they hold no
/// result. It does not unwind; to fail, it calls [`RawMachine::fail`]. [`HostCode::guarded`] uses floats in
/// [`with_host_floats`] only. What [`HostCode::takes_slots`] promises is so.
pub unsafe fn add_code<T>(
    linker: &mut Linker<T>,
    name: &str,
    signature: Signature,
    code: HostCode,
    environment: Arc<dyn Any + Send + Sync>,
) -> Result<(), Error> {
    linker.closure(name, Closure { signature, code, environment }).map(drop)
}

/// Adds a system call that is plain code: see [`Linker::syscall`] and [`add_code`].
///
/// # Errors
/// As [`Linker::syscall`].
///
/// # Safety
/// As [`add_code`].
pub unsafe fn add_syscall_code<T>(
    linker: &mut Linker<T>,
    number: u32,
    signature: Signature,
    code: HostCode,
    environment: Arc<dyn Any + Send + Sync>,
) -> Result<(), Error> {
    linker.numbered_closure(number, Closure { signature, code, environment }).map(drop)
}
