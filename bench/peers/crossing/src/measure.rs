//! Times of things that take nanoseconds.

use std::ffi::{CStr, c_int};
use std::hint::black_box;
use std::mem;
use std::ptr;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// What `many` gives for 1, 2, 3, 4, 5: the first, and the others' exclusive or.
pub(crate) const MANY: i64 = 1;

/// The rows of an interface in C or C++: each one's name, the guest's function, `enum row_kind` of `c/rows.h`, and what
/// comes out.
pub(crate) const KINDS: [(&str, &CStr, c_int, i64); 5] = [
    ("nop", c"nop", 0, 0),
    ("i64", c"i64", 1, 42),
    ("many", c"many", 1, MANY),
    ("i64 host", c"i64_host", 2, 42),
    ("many host", c"many_host", 2, MANY),
];

/// Calls in a sample.
pub(crate) const CALLS: u64 = 2000;
/// Samples of each row; the rows take turns.
const SAMPLES: usize = 400;

/// Something to be measured: does the thing so many times.
pub(crate) struct Row {
    pub(crate) engine: String,
    pub(crate) name: &'static str,
    run: Box<dyn FnMut(u64)>,
    /// Nanoseconds of the thing done once, the least seen.
    pub(crate) least: f64,
    /// All that were seen.
    pub(crate) samples: Vec<f64>,
}

impl Row {
    pub(crate) fn new(engine: &str, name: &'static str, run: impl FnMut(u64) + 'static) -> Row {
        Row { engine: engine.to_owned(), name, run: Box::new(run), least: f64::INFINITY, samples: Vec::new() }
    }
}

/// An empty C function, called through a pointer.
pub(crate) fn bare_call() -> Row {
    extern "C" fn empty() {}
    static FUNCTION: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
    FUNCTION.store(black_box(empty as *mut ()), Relaxed);
    Row::new("C", "bare call", |times| {
        for _ in 0..times {
            // SAFETY: the function of this type that was stored above.
            let function = unsafe { mem::transmute::<*mut (), extern "C" fn()>(FUNCTION.load(Relaxed)) };
            function();
        }
    })
}

/// Measures all rows, in turns, so that what disturbs the machine disturbs all alike.
pub(crate) fn measure(rows: &mut Vec<Row>, only: Option<&str>) {
    rows.retain(|row| {
        only.is_none_or(|only| row.engine == "C" || format!("{}/{}", row.engine, row.name).contains(only))
    });
    // For profilers, if it is one row.
    let samples = if rows.len() <= 2 { 100 * SAMPLES } else { SAMPLES };
    for _ in 0..samples {
        for row in rows.iter_mut() {
            let begin = Instant::now();
            (row.run)(CALLS);
            let once = begin.elapsed().as_nanos() as f64 / CALLS as f64;
            row.least = row.least.min(once);
            row.samples.push(once);
        }
    }
}
