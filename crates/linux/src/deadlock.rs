//! What is said of a guest that waits for ever.

use std::fmt::Write;

use riverrun::Caller;

use crate::Linux;
use crate::requests::{On, Wait};
use crate::table;

/// Threads that are listed.
const LISTED: usize = 20;

/// A list of the threads with where each waits, if there are several.
pub(crate) fn describe<T>(caller: &mut Caller<'_, T>, get: &impl Fn(&mut T) -> &mut Linux) -> Option<String> {
    let threads = &get(caller.data_mut()).threads;
    if threads.len() < 2 {
        return None;
    }
    let more = threads.len().saturating_sub(LISTED);
    let listed = threads.iter().take(LISTED);
    let listed: Vec<_> = listed.map(|(_, thread)| (thread.id, thread.hart.clone(), thread.wait().copied())).collect();
    let mut text = "all threads wait:".to_owned();
    for (id, hart, wait) in listed {
        let what = match wait {
            Some(Wait { call, on, .. }) => {
                format!("{}{}", table::name(call).unwrap_or("a call"), On::shown(on))
            }
            None => "its turn".to_owned(),
        };
        let backtrace = match hart {
            Some(hart) => caller.backtrace_of(&hart),
            None => caller.backtrace(),
        };
        let _ = write!(text, "\nthread {id} in {what}");
        for line in backtrace.to_string().lines() {
            let _ = write!(text, "\n  {line}");
        }
    }
    if more != 0 {
        let _ = write!(text, "\nand {more} more");
    }
    Some(text)
}

impl On {
    fn shown(on: On) -> String {
        match on {
            On::Futex { address, .. } => format!(" at {address:#x}"),
            On::Time | On::Signal { .. } | On::Files { .. } => String::new(),
        }
    }
}
