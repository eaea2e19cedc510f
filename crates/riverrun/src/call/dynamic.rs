//! Functions whose types are known at run time only: for bindings to other languages, and for hosts that run arbitrary
//! guests.

use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use riverrun_program::{Scalar, Signature, Type};
use riverrun_vm::convention::CALL_ARGUMENTS;
use riverrun_vm::{Import, Opening, Results};

use crate::call::convention::{
    ARGUMENT_REGISTERS, Exchange, Placement, ResultRegisters, pair_is_in_a1, put_pair, put_scalar, take_pair,
};
use crate::call::fast_path::Unfinished;
use crate::call::func::{CallContext, CallLimits, Target};
use crate::call::host::{Call, HostCode, lost_arguments};
use crate::caller::Caller;
use crate::error::{Error, HostError, LinkError};
use crate::instance::Instance;
use crate::linker::Linker;
use crate::program::Program;
use crate::raw::RawMachine;

/// The largest number of parameters, the same as that of [`crate::Func`].
const PARAMETERS_MAX: usize = 16;

/// A function's types, for calls with raw values.
#[derive(Clone, Debug)]
struct Types {
    parameters: Box<[Scalar]>,
    result: ResultType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResultType {
    Nothing,
    One(Scalar),
    Pair(Scalar, Scalar),
}

impl Types {
    fn of(signature: &Signature) -> Result<Types, LinkError> {
        let unsupported = || LinkError::Unsupported { signature: signature.to_string() };
        let scalar = |ty: &Type| match ty {
            Type::Scalar(scalar) => Some(*scalar),
            Type::Struct(_) => None,
        };
        let parameters: Option<Box<[Scalar]>> = signature.parameters.iter().map(scalar).collect();
        let parameters = parameters.filter(|all| all.len() <= PARAMETERS_MAX).ok_or_else(unsupported)?;
        let result = match &signature.result {
            None => ResultType::Nothing,
            Some(Type::Scalar(scalar)) => ResultType::One(*scalar),
            Some(Type::Struct(fields)) => match fields[..] {
                [first, second] => ResultType::Pair(first, second),
                _ => return Err(unsupported()),
            },
        };
        Ok(Types { parameters, result })
    }

    /// The number of raw values that a call takes.
    fn slots(&self) -> usize {
        let results = match self.result {
            ResultType::Nothing => 0,
            ResultType::One(_) => 1,
            ResultType::Pair(..) => 2,
        };
        results.max(self.parameters.len())
    }
}

/// A function of a guest with types that the host learns at run time, made by [`crate::Machine::dyn_func`].
///
/// Values are raw: 64 bits each, as in guest registers. [`crate::GuestValue::to_bits`] makes arguments,
/// [`crate::GuestValue::from_bits`] reads results.
///
/// It can be called on every machine of its program.
#[derive(Clone)]
#[repr(C)]
pub struct DynFunc {
    /// First, because call code gets its address.
    pub(crate) target: Target,
    signature: Signature,
    types: Types,
    /// How many parameters there are, if each of them is in an integer register.
    integers: Option<u8>,
    pub(crate) results: Found,
    /// The entry token for calls of compiled code, if all its parameters and its result are in registers that are passed
    /// unchanged.
    pub(crate) few: Opening,
    /// The number of its parameters then, or [`NOT_FEW`].
    pub(crate) few_count: u8,
    /// The number of the result's type, if there is one.
    pub(crate) result_number: u32,
}

/// More parameters than there are.
const NOT_FEW: u8 = u8::MAX;

/// The location of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Found {
    Nowhere = 0,
    InA0,
    Elsewhere,
}

impl fmt::Debug for DynFunc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DynFunc({:#x}: {})", self.target.address, self.signature)
    }
}

impl DynFunc {
    /// The exported function of that name, or that of the symbol.
    pub(crate) fn by_name(program: &Program, name: &str, signature: Option<&Signature>) -> Result<DynFunc, Error> {
        let export = program.export(name);
        let (address, exported) = match export {
            Some(export) => (export.address, export.signature.as_ref()),
            None => {
                let symbol = program.image().symbol(name);
                (symbol.ok_or_else(|| LinkError::NoFunction { name: name.to_owned() })?.address, None)
            }
        };
        let signature = match (signature, exported) {
            (Some(host), Some(guest)) if host != guest => {
                let [guest, host] = [guest, host].map(Signature::to_string);
                return Err(LinkError::Export { name: name.to_owned(), guest, host }.into());
            }
            (Some(known), _) | (None, Some(known)) => known,
            (None, None) => return Err(LinkError::NoSignature { name: name.to_owned() }.into()),
        };
        DynFunc::at(program, address, signature)
    }

    /// The function at an address.
    pub(crate) fn at(program: &Program, address: u64, signature: &Signature) -> Result<DynFunc, Error> {
        let types = Types::of(signature)?;
        let has_floats = types.parameters.iter().any(|parameter| parameter.is_float());
        let integers = types.parameters.len();
        let integers = (!has_floats && integers <= ARGUMENT_REGISTERS).then_some(integers as u8);
        let gives_a1 = matches!(types.result, ResultType::Pair(first, second) if pair_is_in_a1((first, second)));
        let target = Target::new(program, address, gives_a1)?;
        let results = match types.result {
            ResultType::Nothing => Found::Nowhere,
            ResultType::One(scalar) if !scalar.is_float() => Found::InA0,
            ResultType::One(_) | ResultType::Pair(..) => Found::Elsewhere,
        };
        let is_few = integers.is_some_and(|count| usize::from(count) <= CALL_ARGUMENTS) && results != Found::Elsewhere;
        let few = if is_few { target.compiled } else { Opening::NONE };
        let few_count = integers.filter(|_| is_few).unwrap_or(NOT_FEW);
        let result_number = match types.result {
            ResultType::One(scalar) => scalar as u32,
            ResultType::Nothing | ResultType::Pair(..) => 0,
        };
        Ok(DynFunc { target, signature: signature.clone(), types, integers, results, few, few_count, result_number })
    }

    /// The types.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The guest address.
    pub fn address(&self) -> u64 {
        self.target.address
    }

    /// The types of the parameters.
    pub fn parameters(&self) -> &[Scalar] {
        &self.types.parameters
    }

    /// The types of the results: none, one, or the two fields of a structure.
    pub fn results(&self) -> impl ExactSizeIterator<Item = Scalar> + use<> {
        let (types, len) = match self.types.result {
            ResultType::Nothing => ([Scalar::I64; 2], 0),
            ResultType::One(one) => ([one; 2], 1),
            ResultType::Pair(first, second) => ([first, second], 2),
        };
        types.into_iter().take(len)
    }

    /// The number of raw values that a call takes: the number of parameters or of results, whichever is larger.
    pub fn slots(&self) -> usize {
        self.types.slots()
    }

    /// Calls the function, on a machine or from a host function. `slots` holds the arguments, and then the results in the
    /// first places.
    ///
    /// # Errors
    /// As [`crate::Func::call`], and if the function is not one of the machine's program.
    ///
    /// # Panics
    /// If a host function that it calls panics, and if there are fewer slots than [`DynFunc::slots`] says.
    #[inline]
    pub fn call(&self, context: &mut impl CallContext, slots: &mut [u64]) -> Result<(), Error> {
        assert!(slots.len() >= self.slots(), "{self:?} takes {} slots, not {}", self.slots(), slots.len());
        // SAFETY: the context is borrowed, so that nothing else of the instance is, but for what engines hold
        // that wait for a host function; there are enough slots.
        unsafe { self.call_with(context.instance(), slots.as_mut_ptr(), All { func: self, slots: slots.as_mut_ptr() }) }
    }

    /// Calls it, within limits of its own.
    ///
    /// # Errors
    /// As [`DynFunc::call`].
    ///
    /// # Panics
    /// As [`DynFunc::call`].
    pub fn call_within(
        &self,
        context: &mut impl CallContext,
        limits: CallLimits,
        slots: &mut [u64],
    ) -> Result<(), Error> {
        let instance = context.instance();
        // SAFETY: as in `call`; the context stays borrowed.
        unsafe { Instance::within(instance, limits, || self.call(context, slots)) }
    }

    /// Calls it on a machine by its address.
    ///
    /// # Errors
    /// As [`DynFunc::call`].
    ///
    /// # Panics
    /// If a host function that it calls panics.
    ///
    /// # Safety
    /// The machine is alive, and nothing of it is borrowed but what engines hold that wait for a host function.
    /// `slots` points to as many slots as [`DynFunc::slots`] says; to anything if that is none.
    #[inline(always)]
    pub unsafe fn call_raw<T, E: From<Error>>(&self, machine: RawMachine<T>, slots: *mut u64) -> Result<(), E> {
        // SAFETY: as the caller promises.
        unsafe { self.call_raw_with(machine.instance(), slots, All { func: self, slots }) }
    }

    /// Most of these calls have been attempted [by registers](crate::by_registers) if the code is compiled.
    ///
    /// # Safety
    /// As [`DynFunc::call_with`].
    #[inline(always)]
    unsafe fn call_raw_with<T, R: TakeResults, E: From<Error>>(
        &self,
        instance: NonNull<Instance<T>>,
        slots: *const u64,
        results: R,
    ) -> Result<R::Taken, E> {
        // SAFETY: as the caller promises.
        unsafe {
            if self.few_count == NOT_FEW {
                return self.call_many(instance, slots, results);
            }
            let exchange = Integers { slots, count: self.few_count, results };
            match Instance::attempt_interpreted::<true, _>(instance, &self.target, exchange) {
                Ok(taken) => Ok(Instance::take(instance, taken, exchange)),
                Err(unfinished) => self.call_otherwise(instance, slots, results, unfinished),
            }
        }
    }

    /// Not inlined, so that callers need not save the registers that it uses.
    ///
    /// # Safety
    /// As [`DynFunc::call_with`].
    #[inline(never)]
    unsafe fn call_many<T, R: TakeResults, E: From<Error>>(
        &self,
        instance: NonNull<Instance<T>>,
        slots: *const u64,
        results: R,
    ) -> Result<R::Taken, E> {
        // SAFETY: as the caller promises.
        unsafe { self.call_with(instance, slots, results) }
    }

    /// The number of parameters and of results, if all are integers, and few enough for
    /// [`by_registers!`](crate::by_registers).
    pub fn few(&self) -> Option<[usize; 2]> {
        let results = usize::from(self.results != Found::Nowhere);
        (self.few_count != NOT_FEW).then(|| [self.few_count.into(), results])
    }

    /// The function's host-ABI entry point and the entry token for which the machine's guard must be open, if it has one
    /// and few enough parameters.
    pub fn host_entry(&self) -> Option<(usize, Opening)> {
        let entry = self.target.function.host_entry().filter(|_| self.few != Opening::NONE)?;
        Some((entry, self.few))
    }

    /// Finishes a call that [`by_registers!`](crate::by_registers) has begun and that has exited compiled code; returns as
    /// [`DynFunc::call_raw_first`].
    ///
    /// # Errors
    /// As [`DynFunc::call`].
    ///
    /// # Panics
    /// If a host function that it calls panics.
    ///
    /// # Safety
    /// As [`DynFunc::call_raw`].
    pub unsafe fn go_on<T, E: From<Error>>(&self, machine: RawMachine<T>) -> Result<u64, E> {
        // SAFETY: as the caller promises.
        unsafe {
            let instance = machine.instance();
            (*instance.as_ptr()).gate.leave(self.few);
            self.call_otherwise(instance, ptr::null(), First { func: self }, Unfinished::Left)
        }
    }

    /// As [`DynFunc::call_raw_first`], for functions of up to three parameters; others are ignored.
    ///
    /// # Errors
    /// As [`DynFunc::call`], and [`LinkError::TooManyParameters`].
    ///
    /// # Panics
    /// As [`DynFunc::call_raw`].
    ///
    /// # Safety
    /// As [`DynFunc::call_raw`].
    #[inline(always)]
    pub unsafe fn call_raw_few<T, E: From<Error>>(
        &self,
        machine: RawMachine<T>,
        arguments: [u64; CALL_ARGUMENTS],
    ) -> Result<u64, E> {
        if self.types.parameters.len() > arguments.len() {
            return Err(self.too_many_parameters().into());
        }
        // SAFETY: as the caller promises; there are as many as parameters.
        unsafe { self.call_raw_first(machine, arguments.as_ptr()) }
    }

    #[cold]
    #[inline(never)]
    fn too_many_parameters(&self) -> Error {
        LinkError::TooManyParameters { signature: self.signature.to_string(), limit: CALL_ARGUMENTS }.into()
    }

    /// As [`DynFunc::call_raw`], but returns the register of the first result, or a0, instead of writing it to memory, which
    /// is faster.
    ///
    /// # Errors
    /// As [`DynFunc::call`].
    ///
    /// # Panics
    /// As [`DynFunc::call_raw`].
    ///
    /// # Safety
    /// As [`DynFunc::call_raw`]; there are as many slots as parameters.
    #[inline(always)]
    pub unsafe fn call_raw_first<T, E: From<Error>>(
        &self,
        machine: RawMachine<T>,
        slots: *const u64,
    ) -> Result<u64, E> {
        // SAFETY: as the caller promises.
        unsafe { self.call_raw_with(machine.instance(), slots, First { func: self }) }
    }

    /// # Safety
    /// As [`DynFunc::call_raw`]; there are as many slots as parameters, and as `results` writes.
    #[inline(always)]
    unsafe fn call_with<T, R: TakeResults, E: From<Error>>(
        &self,
        instance: NonNull<Instance<T>>,
        slots: *const u64,
        results: R,
    ) -> Result<R::Taken, E> {
        // SAFETY: as the caller promises.
        unsafe {
            let Some(count) = self.integers else {
                return self.call_otherwise(instance, slots, results, Unfinished::NotBegun);
            };
            let exchange = Integers { slots, count, results };
            match Instance::attempt(instance, &self.target, exchange) {
                Ok(taken) => Ok(Instance::take(instance, taken, exchange)),
                Err(unfinished) => self.call_otherwise(instance, slots, results, unfinished),
            }
        }
    }

    /// The same where that could not be done on the fast path.
    ///
    /// # Safety
    /// As [`DynFunc::call_with`].
    #[cold]
    #[inline(never)]
    unsafe fn call_otherwise<T, R: TakeResults, E: From<Error>>(
        &self,
        instance: NonNull<Instance<T>>,
        slots: *const u64,
        results: R,
        unfinished: Unfinished,
    ) -> Result<R::Taken, E> {
        let exchange = Mixed { slots, parameters: &self.types.parameters, results };
        // SAFETY: as the caller promises.
        unsafe {
            let result = match unfinished {
                Unfinished::NotBegun => Instance::call(instance, &self.target, exchange),
                _ => Instance::call_otherwise(instance, &self.target, exchange, unfinished),
            };
            Ok(result?)
        }
    }

    /// Writes results that are not in a0 alone.
    ///
    /// # Safety
    /// There are as many slots as results.
    #[inline(never)]
    unsafe fn write_results(&self, registers: &ResultRegisters, slots: *mut u64) {
        // SAFETY: as the caller promises.
        unsafe {
            match self.types.result {
                ResultType::Nothing => {}
                ResultType::One(_) => *slots = self.first(registers),
                ResultType::Pair(first, second) => {
                    [*slots, *slots.add(1)] = take_pair((first, second), registers);
                }
            }
        }
    }

    /// What is in the first result's register.
    fn first(&self, registers: &ResultRegisters) -> u64 {
        match self.types.result {
            ResultType::One(scalar) | ResultType::Pair(scalar, _) if scalar.is_float() => registers.fa[0],
            _ => registers.a[0],
        }
    }
}

/// What becomes of results.
trait TakeResults: Copy {
    type Taken;
    fn take(self, registers: &ResultRegisters) -> Self::Taken;
}

/// They are written to slots.
#[derive(Clone, Copy)]
struct All<'a> {
    func: &'a DynFunc,
    /// As many as there are results.
    slots: *mut u64,
}

impl TakeResults for All<'_> {
    type Taken = ();

    #[inline(always)]
    fn take(self, registers: &ResultRegisters) {
        // SAFETY: as the field says.
        unsafe {
            match self.func.results {
                Found::InA0 => *self.slots = registers.a[0],
                Found::Nowhere => {}
                Found::Elsewhere => self.func.write_results(&{ *registers }, self.slots),
            }
        }
    }
}

/// The first one is taken from its register.
#[derive(Clone, Copy)]
struct First<'a> {
    func: &'a DynFunc,
}

impl TakeResults for First<'_> {
    type Taken = u64;

    #[inline(always)]
    fn take(self, registers: &ResultRegisters) -> u64 {
        match self.func.results {
            Found::InA0 | Found::Nowhere => registers.a[0],
            Found::Elsewhere => self.func.first(&{ *registers }),
        }
    }
}

/// Parameters that have an integer register each, in slots.
#[derive(Clone, Copy)]
struct Integers<R> {
    /// As many as the count says.
    slots: *const u64,
    count: u8,
    results: R,
}

impl<R: TakeResults> Exchange for Integers<R> {
    type Result = R::Taken;

    #[inline(always)]
    fn place(self, placement: &mut Placement<'_>) {
        // SAFETY: there are as many slots.
        placement.put_integers(self.count.into(), |index| unsafe { *self.slots.add(index) });
    }

    #[inline(always)]
    fn take(self, registers: &ResultRegisters) -> R::Taken {
        self.results.take(registers)
    }
}

/// Parameters of all kinds, in slots.
#[derive(Clone, Copy)]
struct Mixed<'a, R> {
    /// As many as there are parameters.
    slots: *const u64,
    parameters: &'a [Scalar],
    results: R,
}

impl<R: TakeResults> Exchange for Mixed<'_, R> {
    type Result = R::Taken;

    fn place(self, placement: &mut Placement<'_>) {
        for (index, &scalar) in self.parameters.iter().enumerate() {
            // SAFETY: it is one of as many as there are parameters.
            placement.put(scalar, unsafe { *self.slots.add(index) });
        }
    }

    #[inline(always)]
    fn take(self, registers: &ResultRegisters) -> R::Taken {
        self.results.take(registers)
    }
}

/// A host function by slots, with its types.
struct DynHost<F> {
    types: Types,
    function: F,
}

impl<T: 'static> Linker<T> {
    /// Adds a host function whose types are known at run time only. It gets its arguments in 64-bit slots, as
    /// guest registers hold them, and leaves its results in the first ones ([`crate::GuestValue`]).
    ///
    /// # Errors
    /// As [`Linker::func`], and if the types are more than 16 parameters that are no structures, and a result
    /// that is none or of two fields.
    ///
    /// ```
    /// use riverrun::{Config, Engine, Linker, Program};
    ///
    /// let engine = Engine::new(&Config::new())?;
    /// let mut linker = Linker::new(&engine);
    /// for name in ["Game::add", "Game::score"] {
    ///     let types = Program::new(&engine, riverrun::doc::SCORER)?;
    ///     let types = types.imports().iter().find(|import| import.name == name).unwrap();
    ///     linker.dyn_func(name, types.signature.as_ref().unwrap(), |_, slots| {
    ///         slots[0] += 1;
    ///         Ok(())
    ///     })?;
    /// }
    /// let mut machine = linker.instantiate(&Program::new(&engine, riverrun::doc::SCORER)?, ())?;
    /// let play = machine.func::<(i32,), i32>("play")?;
    /// assert_eq!(play.call(&mut machine, (40,))?, 42);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn dyn_func<F>(&mut self, name: &str, signature: &Signature, function: F) -> Result<&mut Linker<T>, Error>
    where
        F: Fn(Caller<'_, T>, &mut [u64]) -> Result<(), HostError> + Send + Sync + 'static,
    {
        let environment = Arc::new(DynHost { types: Types::of(signature)?, function });
        // SAFETY: `code` is for this environment.
        unsafe { self.func_code(name, signature.clone(), host_code::<T, F>(), environment) }
    }

    /// Adds a system call whose types are known at run time only: see [`Linker::syscall`].
    ///
    /// # Errors
    /// As [`Linker::syscall`] and [`Linker::dyn_func`].
    pub fn dyn_syscall<F>(&mut self, number: u32, signature: &Signature, function: F) -> Result<&mut Linker<T>, Error>
    where
        F: Fn(Caller<'_, T>, &mut [u64]) -> Result<(), HostError> + Send + Sync + 'static,
    {
        let environment = Arc::new(DynHost { types: Types::of(signature)?, function });
        // SAFETY: `code` is for this environment.
        unsafe { self.syscall_code(number, signature.clone(), host_code::<T, F>(), environment) }
    }
}

fn host_code<T: 'static, F>() -> HostCode
where
    F: Fn(Caller<'_, T>, &mut [u64]) -> Result<(), HostError>,
{
    HostCode::new(code::<T, F, false>, code::<T, F, true>)
}

unsafe extern "sysv64" fn code<T: 'static, F, const GUARDED: bool>(
    import: *const Import,
    a0: u64,
    a1: u64,
    a2: u64,
    a3: u64,
    a4: u64,
) -> Results
where
    F: Fn(Caller<'_, T>, &mut [u64]) -> Result<(), HostError>,
{
    // SAFETY: engines call this with an import of their machine's table, whose context is the machine's
    // instance, and whose environment was made for this code; both are alive.
    unsafe {
        let DynHost { types, function } = &*(*import).environment.cast::<DynHost<F>>();
        let instance = NonNull::new_unchecked((*import).context.cast::<Instance<T>>());
        let call = Call { instance, environment: (*import).environment, first: [a0, a1, a2, a3, a4] };
        let body = |instance, arguments: &mut crate::call::convention::Arguments<'_>| {
            let mut slots = [0; PARAMETERS_MAX];
            for (slot, &scalar) in slots.iter_mut().zip(&types.parameters) {
                *slot = arguments.scalar(scalar);
            }
            if arguments.is_lost() {
                return Err(lost_arguments());
            }
            function(Caller::of_engine(instance), &mut slots[..types.slots()])?;
            Ok([slots[0], slots[1]])
        };
        let put = |slots: [u64; 2], registers: &mut ResultRegisters| match types.result {
            ResultType::Nothing => {}
            ResultType::One(scalar) => put_scalar(scalar, slots[0], registers),
            ResultType::Pair(first, second) => put_pair((first, second), slots, registers),
        };
        call.answer_with::<GUARDED, _>(types.result != ResultType::Nothing, body, put)
    }
}
