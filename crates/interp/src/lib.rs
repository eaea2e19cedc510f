//! The interpreter: pre-decoded, fused, tail-threaded; and the single-step reference.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use riverrun_program::Image;
use riverrun_state::{Trap, Window};

/// When to stop a run, besides traps and calls.
#[derive(Debug)]
pub struct Limits<'a> {
    /// Instructions that may still be executed; counted down.
    pub fuel: Option<&'a mut u64>,
    /// Until when.
    pub deadline: Option<Instant>,
    /// Set to stop.
    pub interrupted: &'a AtomicBool,
}

/// Why a run ended.
#[derive(Debug)]
pub enum Stop {
    /// At an `ecall`: the pc is its address, and it is counted as executed.
    Ecall,
    /// A trap.
    Trap(Trap),
}

/// A program's code.
#[derive(Debug)]
pub struct Code {
    #[allow(dead_code)]
    image: Arc<Image>,
}

impl Code {
    /// Prepares the program's text.
    pub fn new(image: Arc<Image>) -> io::Result<Code> {
        Ok(Code { image })
    }

    /// Runs.
    pub fn run(&self, _window: &mut Window, _limits: Limits<'_>, _single_step: bool) -> Stop {
        todo!()
    }
}
