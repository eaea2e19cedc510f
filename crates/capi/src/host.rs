//! Host functions in C: the data and code with which the linker registers them.

use std::ffi::c_void;
use std::mem::{MaybeUninit, offset_of, size_of, transmute};

use riverrun::raw::{EntryGuard, Results, SlotCode, SlotFunction, with_host_floats};
use riverrun::raw::{Import as EngineImport, MachineHead as EngineHead};
use riverrun::{Scalar, Signature, Type};

use crate::arguments::{Result, misuse};
use crate::error::{Error, fail};
use crate::func::PARAMETERS_MAX;
use crate::machine::Machine;
use crate::owned::Owned;
use crate::value::Value;

/// A host function that takes values with their types. `results` have their kinds set and are 0. It returns NULL, or an
/// error, which ends the guest's run. `caller` is the machine whose guest has called. The function must not unwind or
/// `longjmp` out of the call.
pub type HostFunc = unsafe extern "C" fn(
    data: *mut c_void,
    caller: Machine,
    arguments: *const Value,
    arguments_len: usize,
    results: *mut Value,
    results_len: usize,
) -> Option<Box<Error>>;

/// A host function that takes its arguments as raw values in `slots` and writes its results to the first ones, extended as
/// by `riverrun_slot_i32` and the like. Otherwise as `riverrun_host_func_t`.
pub type HostFuncRaw = unsafe extern "C" fn(data: *mut c_void, caller: Machine, slots: *mut u64) -> Option<Box<Error>>;

/// A host function that the guest calls directly (`riverrun_linker_func_code`), with the entry of the machine's table and
/// the guest's a0 to a4. Further arguments are in the other registers or on the guest's stack. Its results become a0 and
/// a1; one that holds no result must be returned unchanged. Float results it writes to `riverrun_machine_registers`. It must
/// not unwind; to fail, it calls `riverrun_import_fail`.
pub type HostCode =
    unsafe extern "C" fn(entry: *const Import, a0: u64, a1: u64, a2: u64, a3: u64, a4: u64) -> HostResults;

/// The results of a `riverrun_host_code_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HostResults {
    /// The guest's new a0.
    pub a0: u64,
    /// The guest's new a1.
    pub a1: u64,
}

/// The data with which a host function was registered.
#[repr(C)]
#[derive(Debug)]
pub struct Environment {
    /// The host's data.
    pub data: *mut c_void,
}

/// An entry of a machine's table of host functions.
#[repr(C)]
#[derive(Debug)]
pub struct Import {
    /// The code.
    pub code: HostCode,
    /// The data with which it was registered.
    pub environment: *const Environment,
    /// The machine.
    pub machine: Machine,
}

/// The memory at a machine's address, for bindings: `riverrun_machine_head`.
#[repr(C)]
#[derive(Debug)]
pub struct MachineHead {
    /// The result of `riverrun_machine_registers`.
    pub registers: *mut u64,
    /// The machine's entry guard.
    pub entry_guard: *mut EntryGuardHead,
}

/// The beginning of a machine's entry guard, for the inline functions at the end of this header and for bindings.
#[repr(C)]
#[derive(Debug)]
pub struct EntryGuardHead {
    /// For the library only.
    pub reserved: [u64; 6],
    /// The error of a call by a function's code, if it has changed the word.
    pub error: *mut Error,
    /// For the library only.
    pub also_reserved: u64,
    /// The `entry_token` of the functions for which it is open (`riverrun_func_head`), `RIVERRUN_ENTRY_GUARD_CALLING`,
    /// or another number if it is closed.
    pub word: u64,
}

/// The word of an entry guard while a call by a function's code is in the guest.
pub const ENTRY_GUARD_CALLING: u64 = u64::MAX;

/// A part of a host function.
pub type Body = unsafe extern "C" fn(data: *mut c_void);

/// Runs a part of a host function that is plain code in the host's float environment: see
/// `riverrun_linker_func_code`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_with_host_floats(body: Option<Body>, data: *mut c_void) {
    if let Some(body) = body {
        // SAFETY: the header demands that host functions alone call this, with a body that does not unwind.
        unsafe { with_host_floats(|| body(data)) };
    }
}

// The structures that C sees have the layout that engines use.
const _: () = {
    assert!(offset_of!(MachineHead, registers) == offset_of!(EngineHead, registers));
    assert!(offset_of!(MachineHead, entry_guard) == offset_of!(EngineHead, entry_guard));
    assert!(offset_of!(EntryGuardHead, word) == EntryGuard::WORD && ENTRY_GUARD_CALLING == EntryGuard::CALLING);
    assert!(offset_of!(EntryGuardHead, error) == EntryGuard::ERROR);
    assert!(offset_of!(Import, code) == offset_of!(EngineImport, code));
    assert!(offset_of!(Import, environment) == offset_of!(EngineImport, environment));
    assert!(offset_of!(Import, machine) == offset_of!(EngineImport, context));
    assert!(size_of::<HostResults>() == size_of::<Results>() && offset_of!(HostResults, a1) == offset_of!(Results, a1));
    assert!(offset_of!(Owned, data) == offset_of!(Environment, data));
};

/// A function with raw values, and its data.
#[repr(C)]
pub(crate) struct Raw {
    /// First, where engines expect it.
    pub(crate) function: SlotFunction,
    /// Its data.
    owned: Owned,
}

// SAFETY: the header demands of host functions that threads of machines may call them.
unsafe impl Send for Raw {}
// SAFETY: likewise.
unsafe impl Sync for Raw {}

impl Raw {
    pub(crate) fn new(owned: Owned, function: HostFuncRaw) -> Raw {
        // SAFETY: machines and errors are their addresses, errors begin with what a slot function's do, and C's calling
        // convention is the engines'.
        let code = unsafe { transmute::<HostFuncRaw, SlotCode>(function) };
        Raw { function: SlotFunction { data: owned.data.cast(), code }, owned }
    }

    /// # Safety
    /// A guest has called the function on this machine, and there are as many slots as its types have.
    #[inline(always)]
    pub(crate) unsafe fn call_with(&self, machine: Machine, slots: *mut u64) -> Option<Box<Error>> {
        // SAFETY: what the host has registered, and as the caller promises; what it gives is an error or null.
        unsafe {
            let error = (self.function.code)(self.owned.data.cast(), machine.0.as_ptr().cast(), slots);
            (!error.is_null()).then(|| Box::from_raw(error.cast()))
        }
    }
}

/// A function by values, with its data.
pub(crate) struct Checked {
    pub(crate) owned: Owned,
    pub(crate) function: HostFunc,
    parameters: [Scalar; PARAMETERS_MAX],
    parameters_len: usize,
    pub(crate) results: Box<[Scalar]>,
    /// The kinds of the first parameters, and of the first result.
    pub(crate) kinds: [u64; FIRST],
    pub(crate) result_kind: u64,
}

// SAFETY: as of `Raw`.
unsafe impl Send for Checked {}
// SAFETY: likewise.
unsafe impl Sync for Checked {}

impl Checked {
    /// # Errors
    /// If the signature has what values cannot be.
    pub(crate) fn new(owned: Owned, function: HostFunc, signature: &Signature) -> Result<Checked> {
        let all = parameters_of(signature)?;
        let mut parameters = [Scalar::U64; PARAMETERS_MAX];
        for (parameter, &scalar) in parameters.iter_mut().zip(&all) {
            *parameter = scalar;
        }
        let kinds = std::array::from_fn(|n| parameters[n] as u64);
        let results: Box<[Scalar]> = results_of(signature).into();
        let result_kind = results.first().map_or(0, |&scalar| scalar as u64);
        Ok(Checked { owned, function, parameters, parameters_len: all.len(), results, kinds, result_kind })
    }

    /// Calls it with the arguments in `slots`, and puts its results there.
    #[inline(always)]
    pub(crate) fn call_values(&self, machine: Machine, slots: &mut [u64]) -> Result<()> {
        let mut arguments = [const { MaybeUninit::<Value>::uninit() }; PARAMETERS_MAX];
        // As many as there are slots, which the compiler knows where it matters.
        for (argument, (&scalar, &slot)) in arguments.iter_mut().zip(self.parameters.iter().zip(&*slots)) {
            argument.write(Value::from_slot(scalar, slot));
        }
        let mut results = [const { MaybeUninit::<Value>::uninit() }; 2];
        for (result, &scalar) in results.iter_mut().zip(&self.results) {
            result.write(Value::zero(scalar));
        }
        let (arguments_len, results_len) = (self.parameters_len, self.results.len());
        let (first, results) = (arguments.as_ptr().cast(), results.as_mut_ptr().cast::<Value>());
        // SAFETY: as of `Raw`; the arrays have as many values as is said.
        let failed = unsafe { (self.function)(self.owned.data, machine, first, arguments_len, results, results_len) };
        if let Some(error) = failed {
            return Err(error);
        }
        for (index, &scalar) in self.results.iter().enumerate() {
            // SAFETY: it was written above.
            slots[index] = unsafe { *results.add(index) }.raw(scalar, "result", index)?;
        }
        Ok(())
    }
}

/// The scalars that a signature's result is.
pub(crate) fn results_of(signature: &Signature) -> Vec<Scalar> {
    match &signature.result {
        None => Vec::new(),
        Some(Type::Scalar(scalar)) => vec![*scalar],
        Some(Type::Struct(fields)) => fields.clone(),
    }
}

/// Those of its parameters.
pub(crate) fn parameters_of(signature: &Signature) -> Result<Vec<Scalar>> {
    let scalar = |ty: &Type| match ty {
        Type::Scalar(scalar) => Ok(*scalar),
        Type::Struct(_) => Err(misuse(format!("`{signature}`: a parameter cannot be a structure; pass its fields"))),
    };
    signature.parameters.iter().map(scalar).collect()
}

/// Registers that hold arguments of [`HostCode`].
pub(crate) const FIRST: usize = 5;

/// Ends the run of the guest that has called a host function that is plain code, with an error. This does not
/// return, and nothing between that code and this call is cleaned up. An error that is NULL is one without words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_import_fail(entry: *const Import, error: Option<Box<Error>>) -> ! {
    let error = error.unwrap_or_else(|| misuse("a host function has failed, and does not say why"));
    // SAFETY: as the header demands.
    unsafe { fail(entry.cast(), error) }
}
