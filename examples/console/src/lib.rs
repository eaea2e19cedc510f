//! Does hand-written assembly pay? A console renderer, a guest in C (`guest/console.c`), takes a step of colour for
//! each letter, which is written in C, in assembly, and as a function of the host.
//!
//! - [`Console`]: the guest, with a text to render.
//! - [`race`]: how long the three take, side by side.
//! - [`Report`]: what that says.

mod console;
mod race;
mod report;
#[allow(dead_code, reason = "the command looks at its figures while it measures")]
#[path = "../../../crates/cli/src/bench/statistics.rs"]
mod statistics;

pub use console::{Console, HEIGHT, Step, TEXT_MAX, WIDTH, fade, programs};
pub use race::{Work, race};
pub use report::{Options, Report};

#[allow(missing_docs)]
mod api {
    include!(concat!(env!("OUT_DIR"), "/api_host.rs"));
}
