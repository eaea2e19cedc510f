//! The watchdog's waiting, as a model has it, and a watchdog that ends, as threads of a model have to.

use std::sync::PoisonError;

use super::{CHANGED, List, list, look_at_all};
use crate::interrupt::clock::NEVER;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::shared;

shared! { static IS_OVER: AtomicBool = AtomicBool::new(false); }

/// Others run meanwhile. What they have stored is in memory once the wait is over, if it was long enough.
pub(super) fn wait(list: List, next: u64) -> List {
    if next == NEVER {
        return CHANGED.wait(list).unwrap_or_else(PoisonError::into_inner);
    }
    drop(list);
    loom::thread::yield_now();
    let list = self::list();
    list.iter().filter_map(|listed| listed.interruption.upgrade()).for_each(|waits| waits.entry_guard().drain());
    list
}

pub(crate) fn keep_until_end() {
    let mut list = list();
    while !IS_OVER.load(Ordering::SeqCst) {
        list = look_at_all(list);
    }
}

pub(crate) fn end() {
    let _list = list();
    IS_OVER.store(true, Ordering::SeqCst);
    CHANGED.notify_one();
}
