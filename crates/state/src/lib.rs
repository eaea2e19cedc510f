//! The contract that engines and machines share: register file, guest memory window, traps, fuel.
