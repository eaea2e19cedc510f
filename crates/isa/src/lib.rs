//! The RISC-V instruction table: encoding, syntax, semantics and cost of every instruction.
