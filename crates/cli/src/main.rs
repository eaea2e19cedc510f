//! The riverrun command.

fn main() {}
