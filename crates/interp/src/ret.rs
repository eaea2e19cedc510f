//! The handler of `ret`, with which functions end.

#[cfg(all(target_arch = "x86_64", unix, not(trampoline), not(feature = "uncounted")))]
#[path = "ret_x86_64.rs"]
mod host;

/// The handler of `ret`.
#[cfg(all(target_arch = "x86_64", unix, not(trampoline), not(feature = "uncounted")))]
pub(crate) const RET: crate::cell::Handler = host::ret;
/// The handler of `ret`.
#[cfg(not(all(target_arch = "x86_64", unix, not(trampoline), not(feature = "uncounted"))))]
pub(crate) const RET: crate::cell::Handler = crate::handlers::return_by::<riverrun_isa::rows::jalr>;
