//! Programs whose run ends when `main` returns, so that their host can call their functions.

use riverrun::Flow;

/// The progress of such a program.
#[derive(Debug, Default)]
pub(crate) struct Reactor {
    /// Whether the host wants it to exit as others do.
    exits: bool,
    /// Whether it offers functions to its host.
    pub(crate) offers_functions: bool,
    /// Whether it has already reported that it is ready.
    pub(crate) is_ready: bool,
}

impl Reactor {
    pub(crate) fn new(exits: bool) -> Reactor {
        Reactor { exits, ..Reactor::default() }
    }

    /// Whether the run has ended behind `main`, at least once.
    pub(crate) fn is_behind_main(&self) -> bool {
        self.offers_functions && !self.exits && self.is_ready
    }

    /// What comes of a program that says that its `main` has returned with `status`: its run ends, once. `None` if it is
    /// to go on.
    pub(crate) fn ready(&mut self, status: u64) -> Option<Flow> {
        let stops = self.offers_functions && !self.exits && !self.is_ready;
        self.is_ready = true;
        stops.then_some(Flow::Exit(status as i32))
    }
}
