//! Functions of the guest that the host calls: types of parameters, limits of a call, [`Func`].

use std::fmt;
use std::marker::PhantomData;
use std::time::Instant;

use riverrun_interp::Place;
use riverrun_program::{Signature, Type};
use riverrun_vm::Opening;
use riverrun_vm::artifact::Callable;

use crate::call::convention::{Arguments, Exchange, Parameter, Placement, ResultRegisters, Returned, Types};
use crate::caller::Caller;
use crate::compiled_code::CompiledCode;
use crate::error::{Error, LinkError};
use crate::instance::Instance;
use crate::machine::Machine;
use crate::program::Program;

/// The parameters of a guest function: a tuple of up to 16 [`Parameter`]s.
pub trait Parameters: Copy {
    /// Their types in signatures.
    #[doc(hidden)]
    fn types() -> Vec<Type>;

    /// Assigns them to registers and stack slots.
    #[doc(hidden)]
    fn put(self, placement: &mut Placement<'_>);

    /// Reads them from registers and stack slots.
    #[doc(hidden)]
    fn take(arguments: &mut Arguments<'_>) -> Self;
}

macro_rules! parameters {
    ($($parameter:ident)*) => {
        #[allow(non_snake_case, clippy::unused_unit)]
        impl<$($parameter: Parameter),*> Parameters for ($($parameter,)*) {
            fn types() -> Vec<Type> {
                let mut _types = Types::default();
                $($parameter::add_types(&mut _types);)*
                _types.all
            }

            #[inline(always)]
            fn put(self, _placement: &mut Placement<'_>) {
                let ($($parameter,)*) = self;
                $($parameter.put(_placement);)*
            }

            fn take(_arguments: &mut Arguments<'_>) -> Self {
                $(let $parameter = _arguments.parameter::<$parameter>();)*
                ($($parameter,)*)
            }
        }
    };
}

parameters!();
parameters!(A);
parameters!(A B);
parameters!(A B C);
parameters!(A B C D);
parameters!(A B C D E);
parameters!(A B C D E F);
parameters!(A B C D E F G);
parameters!(A B C D E F G H);
parameters!(A B C D E F G H I);
parameters!(A B C D E F G H I J);
parameters!(A B C D E F G H I J K);
parameters!(A B C D E F G H I J K L);
parameters!(A B C D E F G H I J K L M);
parameters!(A B C D E F G H I J K L M N);
parameters!(A B C D E F G H I J K L M N O);
parameters!(A B C D E F G H I J K L M N O P);

mod sealed {
    use std::ptr::NonNull;

    use crate::instance::Instance;

    /// A value that has an instance.
    pub trait HasInstance {
        type Data: 'static;
        #[allow(private_interfaces)]
        fn instance(&mut self) -> NonNull<Instance<Self::Data>>;
    }
}
pub(crate) use sealed::HasInstance;

/// Where guest functions can be called: a [`Machine`] or [`PooledMachine`](crate::PooledMachine), and, from a host function,
/// its [`Caller`].
pub trait CallContext: HasInstance {}

impl<T: 'static> HasInstance for Machine<T> {
    type Data = T;

    #[allow(private_interfaces)]
    fn instance(&mut self) -> std::ptr::NonNull<Instance<T>> {
        self.instance
    }
}

impl<T: 'static> HasInstance for Caller<'_, T> {
    type Data = T;

    #[allow(private_interfaces)]
    fn instance(&mut self) -> std::ptr::NonNull<Instance<T>> {
        self.instance
    }
}

impl<C: HasInstance> CallContext for C {}

/// A call's own limits, in addition to those of its machine; the tighter ones apply.
///
/// ```
/// use std::time::Duration;
///
/// let limits = riverrun::CallLimits::new().fuel(10_000).timeout(Duration::from_millis(5));
/// assert_eq!(limits.fuel, Some(10_000));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct CallLimits {
    /// Instructions that the call may execute.
    pub fuel: Option<u64>,
    /// Until when it may run.
    pub deadline: Option<Instant>,
}

impl CallLimits {
    /// No limits.
    pub fn new() -> CallLimits {
        CallLimits::default()
    }

    /// Instructions that the call may execute.
    pub fn fuel(self, instructions: u64) -> CallLimits {
        CallLimits { fuel: Some(instructions), ..self }
    }

    /// Until when it may run.
    pub fn deadline(self, deadline: Instant) -> CallLimits {
        CallLimits { deadline: Some(deadline), ..self }
    }

    /// How long it may run from now on.
    pub fn timeout(self, time: std::time::Duration) -> CallLimits {
        CallLimits { deadline: Instant::now().checked_add(time), ..self }
    }
}

/// Parameters and results by their types.
struct Typed<P, R> {
    parameters: P,
    result: PhantomData<fn() -> R>,
}

impl<P: Copy, R> Clone for Typed<P, R> {
    fn clone(&self) -> Typed<P, R> {
        *self
    }
}

impl<P: Copy, R> Copy for Typed<P, R> {}

impl<P: Parameters, R: Returned> Exchange for Typed<P, R> {
    type Result = R;

    #[inline(always)]
    fn place(self, placement: &mut Placement<'_>) {
        self.parameters.put(placement);
    }

    #[inline(always)]
    fn take(self, registers: &ResultRegisters) -> R {
        R::take(registers)
    }
}

/// A function's entries in each engine.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Target {
    /// Its entry in compiled code: first, because entry stubs get its address.
    pub(crate) function: Callable,
    /// The entry token of compiled code; none if that lacks the function or counts fuel.
    pub(crate) compiled: Opening,
    pub(crate) address: u64,
    /// The program's code.
    pub(crate) code: u64,
    /// The entry token of the interpreter; none if the function cannot be decoded.
    pub(crate) interpreted: Opening,
    /// Its first decoded op.
    pub(crate) place: Place,
}

impl Target {
    /// Looks the function up in compiled code that does not count fuel.
    pub(crate) fn compiled(&self) -> Option<&Callable> {
        (self.compiled != Opening::NONE).then_some(&self.function)
    }

    /// Looks the function up in decoded code.
    pub(crate) fn interpreted(&self) -> Option<Place> {
        (self.interpreted != Opening::NONE).then_some(self.place)
    }

    /// `gives_a1` says whether the result includes a1.
    ///
    /// # Errors
    /// If no instruction can be at the address.
    pub(crate) fn new(program: &Program, address: u64, gives_a1: bool) -> Result<Target, Error> {
        let image = program.image();
        if !image.is_text(address) || !address.is_multiple_of(2) {
            return Err(LinkError::NoCode { address }.into());
        }
        let code = program.code();
        let place = code.place(address);
        let target = Target {
            address,
            code: code.id(),
            interpreted: place.map_or(Opening::NONE, |_| Opening::interpreted(code.id())),
            place: place.unwrap_or(Place::NONE),
            compiled: Opening::NONE,
            function: Callable::NONE,
        };
        Ok(program.compiled().map_or(target, |code| target.compiled_in(&code, gives_a1)))
    }

    /// Its entries, with that in this compiled code.
    pub(crate) fn in_code(&self, code: &CompiledCode) -> Target {
        self.compiled_in(code, true)
    }

    fn compiled_in(&self, code: &CompiledCode, gives_a1: bool) -> Target {
        let function = Callable::new(&code.artifact, self.address, gives_a1);
        let compiled = function.map_or(Opening::NONE, |_| code.opening());
        Target { compiled, function: function.unwrap_or(Callable::NONE), ..*self }
    }
}

/// A function of a guest, made by [`Machine::func`].
///
/// It can be called on every machine of its program. Calls from host functions, and calls while the guest's own run is
/// suspended, preserve all registers; other calls preserve pc and sp.
pub struct Func<P, R> {
    target: Target,
    types: PhantomData<fn(P) -> R>,
}

impl<P, R> Clone for Func<P, R> {
    fn clone(&self) -> Func<P, R> {
        *self
    }
}

impl<P, R> Copy for Func<P, R> {}

impl<P, R> fmt::Debug for Func<P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Func({:#x})", self.target.address)
    }
}

impl<P: Parameters, R: Returned> Func<P, R> {
    /// The signature of the types.
    pub fn signature() -> Signature {
        Signature { result: R::result_type(), parameters: P::types() }
    }

    /// The exported function of that name, or the function of that symbol.
    pub(crate) fn by_name(program: &Program, name: &str) -> Result<Func<P, R>, Error> {
        if let Some(export) = program.export(name) {
            let host = Self::signature();
            if let Some(guest) = export.signature.as_ref().filter(|&guest| *guest != host) {
                let [guest, host] = [guest, &host].map(Signature::to_string);
                return Err(LinkError::Export { name: name.to_owned(), guest, host }.into());
            }
            return Self::at(program, export.address);
        }
        match program.image().symbol(name) {
            Some(symbol) => Self::at(program, symbol.address),
            None => Err(LinkError::NoFunction { name: name.to_owned() }.into()),
        }
    }

    /// The function at an address.
    pub(crate) fn at(program: &Program, address: u64) -> Result<Func<P, R>, Error> {
        let target = Target::new(program, address, R::IN_A1)?;
        Ok(Func { target, types: PhantomData })
    }

    /// Its entries in each engine.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Arguments and result of a call.
    pub(crate) fn exchange(parameters: P) -> impl Exchange<Result = R> {
        Typed::<P, R> { parameters, result: PhantomData }
    }

    /// The guest address.
    pub fn address(&self) -> u64 {
        self.target.address
    }

    /// Calls it, on a machine or from a host function.
    ///
    /// The host's float environment must be the default one, as for all Rust code. If a host in another language changes the
    /// rounding mode or flushes denormals to zero, the guest's results change accordingly.
    ///
    /// # Errors
    /// [`Error::Trap`] where the guest traps, [`Error::Host`] where a host function that it calls fails,
    /// [`Error::Exited`] where it ends its program, [`Error::CallDepth`] and [`Error::HostStack`] where calls are nested too deep,
    /// [`Error::Link`] if the function is not one of the machine's program. The machine can be used as before.
    ///
    /// # Panics
    /// If a host function that it calls panics.
    #[inline]
    pub fn call(&self, context: &mut impl CallContext, parameters: P) -> Result<R, Error> {
        let instance = context.instance();
        // SAFETY: the context is borrowed, so that nothing else of the instance is, but for what engines
        // hold that wait for a host function.
        unsafe { Instance::call(instance, &self.target, Typed::<P, R> { parameters, result: PhantomData }) }
    }

    /// Calls it, within limits of its own.
    ///
    /// # Errors
    /// As [`Func::call`].
    ///
    /// # Panics
    /// As [`Func::call`].
    pub fn call_within(&self, context: &mut impl CallContext, limits: CallLimits, parameters: P) -> Result<R, Error> {
        let instance = context.instance();
        // SAFETY: as in `call`.
        unsafe {
            Instance::within(instance, limits, || {
                Instance::call(instance, &self.target, Typed::<P, R> { parameters, result: PhantomData })
            })
        }
    }
}
