//! The first phase of a guest's life, in which it may call what it cannot call later.

use crate::caller::Caller;
use crate::machine::Machine;

/// A host function was called after the phase that it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it can be called during initialization only, which is over: main has returned, or the host has ended it")]
pub struct InitializationOver;

impl<T> Machine<T> {
    /// Whether the guest has not exited yet, and [`Machine::end_initialization`] was not called.
    pub fn is_initializing(&self) -> bool {
        self.instance().is_initializing
    }

    /// Ends the initialization, as the guest's own end does: host functions that begin with
    /// [`Caller::only_while_initializing`] are errors from now on.
    pub fn end_initialization(&mut self) {
        self.instance_mut().is_initializing = false;
    }
}

impl<T> Caller<'_, T> {
    /// Whether the guest still initializes itself: see [`Machine::is_initializing`].
    pub fn is_initializing(&self) -> bool {
        // SAFETY: a copy; a caller stands for a unique borrow of what its instance has besides its engine.
        unsafe { (*self.instance.as_ptr()).is_initializing }
    }

    /// For host functions that guests may call during initialization only, such as those that register
    /// things: an error if that is over. The error that ends the guest's run names the function.
    ///
    /// # Errors
    /// If the guest has exited, or the host has called [`Machine::end_initialization`].
    ///
    /// ```
    /// use riverrun::{Caller, Config, Engine, Linker, Program};
    ///
    /// let engine = Engine::new(&Config::new())?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func("Game::add", |a: i32, b: i32| a + b)?;
    /// linker.func("Game::score", |caller: Caller<'_, ()>, points: i32| {
    ///     caller.only_while_initializing()?;
    ///     Ok::<i32, riverrun::InitializationOver>(points)
    /// })?;
    /// let program = Program::new(&engine, riverrun::doc::SCORER)?;
    /// let mut machine = linker.instantiate(&program, ())?;
    /// let play = machine.func::<(i32,), i32>("play")?;
    /// assert!(play.call(&mut machine, (1,)).is_ok());
    /// machine.end_initialization();
    /// let error = play.call(&mut machine, (1,)).unwrap_err().to_string();
    /// assert!(error.contains("Game::score") && error.contains("during initialization only"), "{error}");
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn only_while_initializing(&self) -> Result<(), InitializationOver> {
        if self.is_initializing() { Ok(()) } else { Err(InitializationOver) }
    }
}
