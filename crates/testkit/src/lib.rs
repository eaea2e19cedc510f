//! Runs one case on every engine and compares the final states.
