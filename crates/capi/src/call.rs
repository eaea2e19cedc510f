//! Parts that calls with values and calls with raw values share.

use riverrun::RawMachine;
#[cfg(not(debug_assertions))]
pub(crate) use riverrun::by_registers;

use crate::arguments::Result;
use crate::config::Limits;
use crate::machine::Host;

/// Debug builds check more than the assembly can, so they jump to the function in Rust at once.
#[cfg(debug_assertions)]
macro_rules! by_registers {
    (
        $host:ty, at $at:expr, begin $begin:tt, end $end:tt, back $back:tt, otherwise $otherwise:path, left $left:path,
        symbols [$any:ident = $call_any:path, $($symbol:ident = $function:path),*], constants $constants:tt
    ) => {
        std::arch::naked_asm!(
            concat!("jmp {", stringify!($any), "} # {otherwise} {left}" $(, " {", stringify!($symbol), "}")*),
            $any = sym $call_any,
            otherwise = sym $otherwise,
            left = sym $left,
            $($symbol = sym $function,)*
        )
    };
    (
        $host:ty, at $at:expr, begin $begin:tt, end $end:tt, back $back:tt, otherwise $otherwise:path, left $left:path,
        symbols [], constants $constants:tt
    ) => {
        std::arch::naked_asm!("jmp {otherwise} # {left}", otherwise = sym $otherwise, left = sym $left)
    };
}
#[cfg(debug_assertions)]
pub(crate) use by_registers;

/// Imports of functions that are written with `by_registers!`.
#[cfg(not(debug_assertions))]
pub(crate) mod registers {
    pub(crate) use std::mem::offset_of;

    pub(crate) use riverrun::support::Offsets;

    pub(crate) use crate::func::Few;

    /// Jumps to one of the function's symbols if either handle is NULL.
    macro_rules! unless_null {
        ($symbol:literal) => {
            concat!("test rdi, rdi\nje {", $symbol, "}\ntest rsi, rsi\nje {", $symbol, "}")
        };
    }
    pub(crate) use unless_null;
}

/// Does something within limits of a call.
pub(crate) fn within(machine: RawMachine<Host>, limits: &Limits, body: impl FnOnce() -> Result<()>) -> Result<()> {
    let mut failure = None;
    // SAFETY: the header demands that the machine is alive, and used by one thread; nothing of it is borrowed.
    unsafe {
        machine.within(limits.of_call(), || {
            failure = body().err();
            Ok(())
        })?;
    }
    failure.map_or(Ok(()), Err)
}

/// Debug builds look whether guest code would run in the float environment that is demanded: asking for it takes
/// longer than a call.
pub(crate) mod float_environment {
    #[cfg(not(debug_assertions))]
    #[inline(always)]
    pub(crate) fn check() -> crate::arguments::Result<()> {
        Ok(())
    }

    #[cfg(debug_assertions)]
    pub(crate) fn check() -> crate::arguments::Result<()> {
        use std::hint::black_box;
        let (tiny, one) = (black_box(f64::MIN_POSITIVE), black_box(1.0_f64));
        let has_denormals = black_box(tiny / 2.0) * 2.0 == tiny;
        let is_nearest = black_box(one + f64::EPSILON / 4.0) == 1.0 && black_box(one - f64::EPSILON / 8.0) == 1.0;
        if has_denormals && is_nearest {
            return Ok(());
        }
        Err(crate::arguments::misuse(
            "the thread's float environment is not the default one (rounding to nearest, denormal numbers as they \
             are): guest code would compute otherwise",
        ))
    }
}
