//! Functions of the guest whose types are known at run time only: for bindings to other languages, and for hosts that run
//! arbitrary guests.

use std::fmt;
use std::ptr::NonNull;

use riverrun_program::{Scalar, Signature, Type};
use riverrun_vm::convention::CALL_ARGUMENTS;

use crate::boundary::convention::{
    Arguments, Exchange, Placement, ResultRegisters, pair_is_in_a1, put_pair, put_scalar, take_pair, take_scalar,
};
use crate::call::func::CallContext;
use crate::call::target::{self, Target};
use crate::error::{Error, LinkError};
use crate::instance::Instance;
use crate::limits::CallLimits;
use crate::program::Program;

/// The largest number of parameters, the same as that of [`crate::Func`].
pub(crate) const PARAMETERS_MAX: usize = 16;

/// A function's types, for calls with raw values.
#[derive(Clone, Debug)]
pub(crate) struct Types {
    pub(crate) parameters: Box<[Scalar]>,
    pub(crate) result: ResultType,
    /// Whether arguments and result are all in integer registers, and few enough for callers that pass them in the host's
    /// registers.
    are_few: bool,
}

/// The results of a function: none, one, or the two fields of a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultType {
    Nothing,
    One(Scalar),
    Pair(Scalar, Scalar),
}

impl ResultType {
    #[inline]
    pub(crate) fn count(self) -> usize {
        match self {
            ResultType::Nothing => 0,
            ResultType::One(_) => 1,
            ResultType::Pair(..) => 2,
        }
    }

    /// Reads as many values as there are results from the registers; the others are 0.
    #[inline(always)]
    pub(crate) fn take(self, registers: &ResultRegisters) -> [u64; 2] {
        match self {
            ResultType::Nothing => [0; 2],
            ResultType::One(scalar) => [take_scalar(scalar, registers), 0],
            ResultType::Pair(first, second) => take_pair((first, second), registers),
        }
    }

    /// Puts as many of the values as there are results into the registers.
    #[inline(always)]
    pub(crate) fn put(self, values: [u64; 2], registers: &mut ResultRegisters) {
        match self {
            ResultType::Nothing => {}
            ResultType::One(scalar) => put_scalar(scalar, values[0], registers),
            ResultType::Pair(first, second) => put_pair((first, second), values, registers),
        }
    }
}

impl Types {
    pub(crate) fn of(signature: &Signature) -> Result<Types, LinkError> {
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
        let is_one_integer = match result {
            ResultType::Nothing => true,
            ResultType::One(scalar) => !scalar.is_float(),
            ResultType::Pair(..) => false,
        };
        let are_integers = !parameters.iter().any(|parameter| parameter.is_float());
        let are_few = is_one_integer && are_integers && parameters.len() <= CALL_ARGUMENTS;
        Ok(Types { parameters, result, are_few })
    }

    /// The number of raw values that a call takes.
    #[inline]
    pub(crate) fn slots(&self) -> usize {
        self.result.count().max(self.parameters.len())
    }

    /// The arguments of a guest's call; the other values are 0.
    #[inline(always)]
    pub(crate) fn take(&self, arguments: &mut Arguments<'_>) -> [u64; PARAMETERS_MAX] {
        let mut slots = [0; PARAMETERS_MAX];
        for (slot, &scalar) in slots.iter_mut().zip(&self.parameters) {
            *slot = arguments.scalar(scalar);
        }
        slots
    }
}

/// A function of a guest with types that the host learns at run time, made by [`crate::Machine::dyn_func`].
///
/// Values are raw: 64 bits each, as in guest registers. [`crate::GuestValue::to_bits`] makes arguments,
/// [`crate::GuestValue::from_bits`] reads results.
///
/// It can be called on every machine of its program.
#[derive(Clone)]
pub struct DynFunc {
    pub(crate) target: Target,
    signature: Signature,
    types: Types,
}

impl fmt::Debug for DynFunc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DynFunc({:#x}: {})", self.target.address, self.signature)
    }
}

impl DynFunc {
    /// The exported function of that name, or that of the symbol.
    pub(crate) fn by_name(program: &Program, name: &str, signature: Option<&Signature>) -> Result<DynFunc, Error> {
        let (address, exported) = target::find(program, name, signature)?;
        let signature = signature.or(exported).ok_or_else(|| LinkError::NoSignature { name: name.to_owned() })?;
        DynFunc::at(program, address, signature)
    }

    /// The function at an address.
    pub(crate) fn at(program: &Program, address: u64, signature: &Signature) -> Result<DynFunc, Error> {
        let types = Types::of(signature)?;
        let gives_a1 = matches!(types.result, ResultType::Pair(first, second) if pair_is_in_a1((first, second)));
        let target = Target::new(program, address, gives_a1)?;
        Ok(DynFunc { target, signature: signature.clone(), types })
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
    #[inline]
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
        // SAFETY: `context` is the only borrow of its instance (an engine that waits for a host function has lent it to that
        // function's `Caller`), and `slots` has been measured.
        unsafe { self.call_instance(context.instance(), slots.as_mut_ptr()) }
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

    /// Calls it on an instance.
    ///
    /// # Errors
    /// As [`DynFunc::call`].
    ///
    /// # Safety
    /// As [`Instance::call`]; `slots` points to as many raw values as [`DynFunc::slots`] says.
    #[inline(always)]
    pub(crate) unsafe fn call_instance<T>(&self, instance: NonNull<Instance<T>>, slots: *mut u64) -> Result<(), Error> {
        let types = &self.types;
        // SAFETY: as the caller promises.
        unsafe {
            match types.are_few {
                true => Instance::call(instance, &self.target, FewIntegers(RawValues { types, slots })),
                false => self.call_with_many(instance, slots),
            }
        }
    }

    /// Calls it, whatever its types are: apart, so that its arguments in memory do not burden calls of few.
    ///
    /// # Errors
    /// As [`DynFunc::call`].
    ///
    /// # Safety
    /// As [`DynFunc::call_instance`].
    #[inline(never)]
    unsafe fn call_with_many<T>(&self, instance: NonNull<Instance<T>>, slots: *mut u64) -> Result<(), Error> {
        // SAFETY: as the caller promises.
        unsafe { Instance::call(instance, &self.target, RawValues { types: &self.types, slots }) }
    }

    /// What its calls give.
    pub(crate) fn result(&self) -> ResultType {
        self.types.result
    }

    /// Arguments and results of a call.
    ///
    /// # Panics
    /// If there are fewer slots than [`DynFunc::slots`] says.
    pub(crate) fn exchange<'a>(&'a self, slots: &'a mut [u64]) -> impl Exchange<Result = ()> + use<'a> {
        assert!(slots.len() >= self.slots(), "{self:?} takes {} slots, not {}", self.slots(), slots.len());
        RawValues { types: &self.types, slots: slots.as_mut_ptr() }
    }

    /// Whether arguments and result are all in integer registers, and few enough for callers that pass them in the host's
    /// registers.
    pub(crate) fn is_few(&self) -> bool {
        self.types.are_few
    }
}

/// Arguments and results as raw values in memory.
#[derive(Clone, Copy)]
struct RawValues<'a> {
    types: &'a Types,
    /// As many as [`Types::slots`] says.
    slots: *mut u64,
}

impl Exchange for RawValues<'_> {
    type Result = ();

    #[inline(always)]
    fn place(self, placement: &mut Placement<'_>) {
        for (index, &scalar) in self.types.parameters.iter().enumerate() {
            // SAFETY: `slots` holds one value for each parameter.
            placement.put(scalar, unsafe { *self.slots.add(index) });
        }
    }

    #[inline(always)]
    fn take(self, registers: &ResultRegisters) {
        // SAFETY: `slots` has room for each result.
        unsafe {
            match self.types.result {
                ResultType::Nothing => {}
                ResultType::One(scalar) => *self.slots = take_scalar(scalar, registers),
                ResultType::Pair(first, second) => {
                    [*self.slots, *self.slots.add(1)] = take_pair((first, second), registers);
                }
            }
        }
    }
}

/// The same of a function whose types [are few](Types::are_few).
#[derive(Clone, Copy)]
struct FewIntegers<'a>(RawValues<'a>);

impl Exchange for FewIntegers<'_> {
    type Result = ();

    #[inline(always)]
    fn place(self, placement: &mut Placement<'_>) {
        // SAFETY: `slots` holds one value for each parameter.
        placement.put_few(self.0.types.parameters.len(), |index| unsafe { *self.0.slots.add(index) });
    }

    #[inline(always)]
    fn take(self, registers: &ResultRegisters) {
        if self.0.types.result != ResultType::Nothing {
            // SAFETY: `slots` has room for the result.
            unsafe { *self.0.slots = registers.a[0] };
        }
    }
}
