//! The handler of `ret`, with which functions end.

#[cfg(by_hand)]
#[path = "ret_x86_64.rs"]
mod host;

/// The handler of `ret`.
#[cfg(by_hand)]
pub(crate) const RET: crate::decoded_op::Handler = host::ret;
/// The handler of `ret`.
#[cfg(not(by_hand))]
pub(crate) const RET: crate::decoded_op::Handler = crate::handlers::return_by::<riverrun_isa::rows::jalr>;
