//! What stops a machine from outside: another thread's request, or a deadline.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use crate::gate::Gate;
use crate::watch;

/// What deadlines are counted from, in nanoseconds.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Requests to stop a machine, shared between it and whoever stops it.
///
/// Engines ask [`is_reached`](Interruption::is_reached) between two visits to guest code, and the
/// interpreter in between. Compiled code that does not count fuel asks nothing: while a thread is in
/// such code, it has entered itself at the gate, and is signalled until it is out ([`crate::Running`]).
#[derive(Debug)]
pub struct Interruption {
    requested: AtomicBool,
    /// Nanoseconds since [`EPOCH`], or [`NEVER`] or [`PASSED`].
    deadline: AtomicU64,
    gate: &'static Gate,
    /// Whether the watch knows of this.
    pub(crate) listed: AtomicBool,
}

pub(crate) const NEVER: u64 = u64::MAX;
const PASSED: u64 = 0;

impl Default for Interruption {
    fn default() -> Interruption {
        Interruption {
            requested: AtomicBool::new(false),
            deadline: AtomicU64::new(NEVER),
            gate: Gate::take(),
            listed: AtomicBool::new(false),
        }
    }
}

impl Drop for Interruption {
    fn drop(&mut self) {
        self.gate.give_back();
    }
}

/// The moment on the deadlines' clock; at least 1.
pub(crate) fn nanoseconds(moment: Instant) -> u64 {
    u64::try_from(moment.saturating_duration_since(*EPOCH).as_nanos()).unwrap_or(NEVER - 1).clamp(1, NEVER - 1)
}

/// How long until then.
pub(crate) fn until(deadline: u64) -> Duration {
    Duration::from_nanos(deadline.saturating_sub(nanoseconds(Instant::now())))
}

impl Interruption {
    /// The gate of the machine, which is its as long as this lives.
    pub fn gate(&self) -> &'static Gate {
        self.gate
    }

    /// Stops the machine's present run within milliseconds, or its next one.
    pub fn request(self: &Arc<Self>) {
        self.requested.store(true, Ordering::SeqCst);
        self.gate.want(true);
        watch::look_at(self);
    }

    /// Takes the request back.
    pub fn withdraw(&self) {
        self.requested.store(false, Ordering::SeqCst);
        self.renew_gate();
    }

    /// Has calls ask here if they have to. Those may that need not: so what others want meanwhile is looked at last.
    pub fn renew_gate(&self) {
        if self.gate.is_wanted() {
            self.gate.want(false);
        }
        fence(Ordering::SeqCst);
        let at = self.deadline.load(Ordering::SeqCst);
        if self.requested.load(Ordering::SeqCst) || at == PASSED || at != NEVER && !watch::is_kept() {
            self.gate.want(true);
        }
    }

    /// Becomes true with a request.
    pub fn requested(&self) -> &AtomicBool {
        &self.requested
    }

    /// Stops runs from this moment on; `None` for never. Where it has passed already, the next run does
    /// not begin.
    pub fn set_deadline(self: &Arc<Self>, deadline: Option<Instant>) {
        let at = match deadline.map(nanoseconds) {
            None => NEVER,
            Some(at) if at <= nanoseconds(Instant::now()) => PASSED,
            Some(at) => at,
        };
        self.deadline.store(at, Ordering::SeqCst);
        self.renew_gate();
        // One that has passed is for the watch if it ends a run that goes on.
        if at < watch::next_look() || !self.listed.load(Ordering::SeqCst) && at != NEVER {
            watch::look_at(self);
        }
    }

    /// Whether guest code has to be left. Costs two loads: a deadline that has passed is noticed by
    /// the watch, which the host's clock is read for only where there is none.
    #[inline]
    pub fn is_reached(&self) -> bool {
        let at = self.deadline.load(Ordering::Relaxed);
        self.requested.load(Ordering::Relaxed) || at != NEVER && Self::is_past(at)
    }

    #[cold]
    fn is_past(at: u64) -> bool {
        at == PASSED || !watch::is_kept() && nanoseconds(Instant::now()) >= at
    }

    /// Notes that the deadline has passed if it has; gives it if there still is one ahead.
    pub(crate) fn deadline_ahead_of(&self, now: u64) -> Option<u64> {
        let at = self.deadline.load(Ordering::SeqCst);
        let is_ahead = at != PASSED && at != NEVER;
        // Where the exchange fails, another deadline has been set, and the watch was told.
        if is_ahead && at <= now {
            let _ = self.deadline.compare_exchange(at, PASSED, Ordering::SeqCst, Ordering::SeqCst);
            self.gate.want(true);
        }
        (is_ahead && at > now).then_some(at)
    }

    /// Whether compiled code can be left when that is asked for: whether there is a watch.
    pub fn is_watched(&self) -> bool {
        watch::is_kept()
    }
}
