//! What crosses the boundary between host and guest: types, and the registers and stack slots of their values.

pub(crate) mod convention;
pub(crate) mod pointer;
pub(crate) mod structure;
pub(crate) mod value;
