//! A program's compiled code, and how runs use it.
//!
//! With [`Config::tier_up`](crate::Config::tier_up) a program gets better code while machines run. [`Improvements`] has all
//! of it: each replaces the one before it, but none goes away before the program does, because functions that the host has
//! looked up have addresses in it. A run has a [`CompiledEngine`], which pairs a host stack with the code that runs on it;
//! the dispatcher exchanges the code when it has control. Machines that execute compiled code then are made to exit once.

use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use riverrun_interp::Code;
use riverrun_vm::artifact::{Artifact, Execution};
use riverrun_vm::{EntryToken, Interruption, WeakInterruption};

/// Compiled code, and the interpreter's code beside it.
#[derive(Debug)]
pub(crate) struct CompiledCode {
    pub(crate) artifact: Arc<Artifact>,
    /// The interpreter's code that stops where compiled code can be entered.
    pub(crate) fallback: Code,
    /// Its number among the program's compiled code, from 1 on.
    pub(crate) number: usize,
}

impl CompiledCode {
    /// The entry token of its functions: no other code has it.
    pub(crate) fn entry_token(&self) -> EntryToken {
        EntryToken::compiled(self.fallback.id())
    }
}

/// All compiled code of a program, the latest last.
#[derive(Debug, Default)]
pub(crate) struct Improvements {
    all: Mutex<Vec<Arc<CompiledCode>>>,
    count: AtomicUsize,
    /// The machines that are told of better code.
    machines: Mutex<Vec<WeakInterruption>>,
}

impl Improvements {
    /// Adds better code.
    pub(crate) fn add(&self, artifact: Artifact, fallback: Code) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let number = all.len() + 1;
        all.push(Arc::new(CompiledCode { artifact: Arc::new(artifact), fallback, number }));
        self.count.store(all.len(), Ordering::Release);
        drop(all);
        self.machines().iter().for_each(WeakInterruption::exit_once);
    }

    /// Has a machine told of code that is added, however long it executes compiled code.
    pub(crate) fn tell(&self, machine: &Interruption) {
        let mut machines = self.machines();
        if machines.len() == machines.capacity() {
            machines.retain(|machine| !machine.is_gone());
            // As many again before the next time.
            let alive = machines.len();
            machines.reserve(alive + 1);
        }
        machines.push(machine.weak());
    }

    fn machines(&self) -> MutexGuard<'_, Vec<WeakInterruption>> {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the latest code: a run with an earlier one takes it.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Where the interpreter has been beside compiled code.
    pub(crate) fn reached(&self) -> Vec<u64> {
        self.all().iter().flat_map(|code| code.fallback.reached()).collect()
    }

    /// All code. Runs that begin wait for the lock, so nothing is done with it here.
    pub(crate) fn all(&self) -> Vec<Arc<CompiledCode>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The code that was added last.
    pub(crate) fn latest(&self) -> Option<Arc<CompiledCode>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).last().cloned()
    }
}

/// The compiled code of a run, with its host stack.
#[derive(Debug)]
pub(crate) struct CompiledEngine {
    pub(crate) code: Arc<CompiledCode>,
    pub(crate) execution: Execution,
}

impl CompiledEngine {
    /// # Errors
    /// If the host has no memory for a stack.
    pub(crate) fn new(code: Arc<CompiledCode>) -> io::Result<CompiledEngine> {
        Ok(CompiledEngine { execution: Execution::new(code.artifact.clone())?, code })
    }

    /// Uses other code of the same program from now on. No code of this engine is running.
    pub(crate) fn adopt(&mut self, code: Arc<CompiledCode>) {
        self.execution.adopt(code.artifact.clone());
        self.code = code;
    }
}

impl Deref for CompiledEngine {
    type Target = Execution;

    fn deref(&self) -> &Execution {
        &self.execution
    }
}

impl DerefMut for CompiledEngine {
    fn deref_mut(&mut self) -> &mut Execution {
        &mut self.execution
    }
}
