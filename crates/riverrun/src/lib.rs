//! An embeddable RISC-V sandbox.
