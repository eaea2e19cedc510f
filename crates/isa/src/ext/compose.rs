//! Compositions that several rows share.

#[allow(unused_imports)]
use crate::ops::{Float, Ops};
