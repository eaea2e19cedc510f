//! The guest. What api.json describes is called here: `dsys_print` is "Game::print".
#![no_std]
#![no_main]

extern crate alloc;

use alloc::ffi::CString;
use alloc::format;
use core::sync::atomic::{AtomicI32, Ordering::Relaxed};

use riverrun_guest::export;

#[allow(dead_code)]
mod api {
    include!(concat!(env!("RIVERRUN_BINDINGS"), "/api_guest.rs"));
}

static FRAMES: AtomicI32 = AtomicI32::new(0);

fn print(text: &str) {
    let text = CString::new(text).expect("it has no zeros");
    // SAFETY: it is text that a zero ends.
    unsafe { api::dsys_print(text.as_ptr()) }
}

unsafe extern "C" fn scored(score: i32) {
    print(if score > 20 { "a new record" } else { "scored" });
}

// What the host calls: its types are checked there.
export! {
    fn update(seconds: f32) -> i32 {
        // SAFETY: it takes no pointers.
        unsafe { api::dsys_add_score((seconds * 20.0) as i32) };
        FRAMES.fetch_add(1, Relaxed) + 1
    }
}

#[unsafe(no_mangle)]
extern "C" fn main() {
    print(&format!("hello from {}", "Rust"));
    // SAFETY: the function stays.
    unsafe { api::dsys_on_score(Some(scored)) };
}
