//! Atomics of a model.
//!
//! Loom knows the memory of the language, in which a load may give what was stored long ago. The protocol of guards and
//! watchdog needs what processors have: a load gives what is in memory, and only a store may be kept back for a while. So
//! each of these has its value twice: what is in memory now, and what loom gives to [`LoadLate`]. Threads of a model run
//! one at a time; so both change at once.

use std::sync::atomic as memory;

use loom::sync::atomic as late;
pub(crate) use loom::sync::atomic::{AtomicI32, AtomicPtr, Ordering, fence};

use super::LoadLate;

/// Nothing is to be kept from the compiler: a model's operations stay in their order.
pub(crate) fn compiler_fence(_: Ordering) {}

macro_rules! atomic {
    ($name:ident, $value:ty, $touch:ident) => {
        #[derive(Debug)]
        #[allow(unreachable_pub, reason = "interfaces of the crate name it")]
        pub struct $name {
            memory: memory::$name,
            late: late::$name,
            /// Where loom lets other threads act before.
            turn: late::AtomicUsize,
        }

        impl Default for $name {
            fn default() -> $name {
                $name::new(Default::default())
            }
        }

        impl LoadLate for $name {
            type Value = $value;
            fn load_late(&self) -> $value {
                self.late.load(Ordering::Acquire)
            }
        }

        impl $name {
            pub(crate) fn new(value: $value) -> $name {
                $name {
                    memory: memory::$name::new(value),
                    late: late::$name::new(value),
                    turn: late::AtomicUsize::new(0),
                }
            }

            pub(crate) fn load(&self, _: Ordering) -> $value {
                self.turn.fetch_add(0, Ordering::Relaxed);
                self.memory.load(Ordering::SeqCst)
            }

            pub(crate) fn store(&self, value: $value, order: Ordering) {
                self.turn.fetch_add(0, Ordering::Relaxed);
                self.memory.store(value, Ordering::SeqCst);
                self.late.store(value, order);
            }

            /// From now on, this thread sees what others have stored until now.
            pub(crate) fn drain(&self) {
                self.late.$touch(Default::default(), Ordering::Acquire);
            }

            pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
                self.turn.fetch_add(0, Ordering::Relaxed);
                let old = self.memory.swap(value, Ordering::SeqCst);
                self.late.swap(value, order);
                old
            }
        }
    };
}

atomic!(AtomicBool, bool, fetch_or);
atomic!(AtomicU64, u64, fetch_add);

impl AtomicU64 {
    pub(crate) fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        self.turn.fetch_add(0, Ordering::Relaxed);
        let old = self.memory.fetch_add(value, Ordering::SeqCst);
        self.late.store(old + value, order);
        old
    }

    pub(crate) fn compare_exchange(&self, old: u64, new: u64, order: Ordering, _: Ordering) -> Result<u64, u64> {
        self.turn.fetch_add(0, Ordering::Relaxed);
        let found = self.memory.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
        if found.is_ok() {
            self.late.store(new, order);
        }
        found
    }
}
