//! Host functions: closures of hosts as engines call them, and those that riverrun has itself.

pub(crate) mod dynamic;
pub(crate) mod function;
pub(crate) mod heap;
pub(crate) mod own;
