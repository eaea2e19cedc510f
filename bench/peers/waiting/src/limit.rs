//! The host's limit on mappings, of which each instance takes a few.

use std::fs;

const FILE: &str = "/proc/sys/vm/max_map_count";
/// What an instance takes at most.
const EACH: usize = 10;
/// What a process has besides.
const OTHERS: usize = 10_000;

/// How many instances there can be at once. Sets the host's limit back when it is dropped.
pub(crate) struct Mappings {
    pub(crate) count: usize,
    /// What was done about the limit, in a sentence.
    pub(crate) about: String,
    before: Option<usize>,
}

impl Mappings {
    /// Raises the host's limit if it is too low for so many and this process may; else there are fewer.
    pub(crate) fn for_instances(count: usize) -> Mappings {
        let limit = fs::read_to_string(FILE).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(65_530);
        let needed = count * EACH + OTHERS;
        if needed <= limit {
            return Mappings { count, about: String::new(), before: None };
        }
        if fs::write(FILE, needed.to_string()).is_ok() {
            let about = format!("vm.max_map_count was raised from {limit} to {needed} for this measurement.");
            eprintln!("bench-waiting: {about}");
            return Mappings { count, about, before: Some(limit) };
        }
        let fewer = limit.saturating_sub(OTHERS) / EACH;
        let about = format!("vm.max_map_count is {limit}, which root could raise: there are {fewer}, not {count}.");
        eprintln!("bench-waiting: {about}");
        Mappings { count: fewer, about, before: None }
    }
}

impl Drop for Mappings {
    fn drop(&mut self) {
        if let Some(before) = self.before
            && let Err(error) = fs::write(FILE, before.to_string())
        {
            eprintln!("bench-waiting: {FILE} is not set back to {before}: {error}");
        }
    }
}
