//! Functions of the guest that the host calls, with types that Rust knows.

use std::fmt;
use std::marker::PhantomData;

use riverrun_program::Signature;

use crate::boundary::convention::{Exchange, Parameters, Placement, ResultRegisters, Returned};
use crate::call::target::{self, Target};
use crate::error::Error;
use crate::instance::Instance;
use crate::limits::CallLimits;
use crate::program::Program;

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

/// Where guest functions can be called: a [`Machine`](crate::Machine) or [`PooledMachine`](crate::PooledMachine), and,
/// from a host function, its [`Caller`](crate::Caller).
pub trait CallContext: HasInstance {}

impl<C: HasInstance> CallContext for C {}

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

/// A function of a guest, made by [`Machine::func`](crate::Machine::func).
///
/// It can be called on every machine of its program. Calls preserve all registers. As in C, the rounding mode, and in
/// programs that use them the accrued exceptions, stay as a call leaves them, except by calls from host functions and calls
/// while the guest's own run is suspended. Other registers than arguments, ra, sp, gp and tp may hold anything where a
/// function begins; in the interpreter and in precise code with a limit of fuel, what the guest's own run has in them.
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
        let (address, _) = target::find(program, name, Some(&Self::signature()))?;
        Self::at(program, address)
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
    /// [`Error::Exited`] where it ends its program, [`Error::CallDepth`] and [`Error::HostStack`] where calls are
    /// nested too deep, [`Error::Link`] if the function is not one of the machine's program. The machine can be used as
    /// before.
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
