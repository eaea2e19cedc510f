//! The guest. What api.json describes is called here: `dsys_print` is "Game::print".

use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::{LazyLock, Mutex};

use riverrun_guest::export;

#[allow(dead_code)]
mod api {
    include!(concat!(env!("RIVERRUN_BINDINGS"), "/api_guest.rs"));
}

/// Points by frame.
static FRAMES: LazyLock<Mutex<BTreeMap<usize, i32>>> = LazyLock::new(Mutex::default);

fn print(text: &str) {
    let text = CString::new(text).expect("it has no zeros");
    // SAFETY: it is text that a zero ends.
    unsafe { api::dsys_print(text.as_ptr()) }
}

unsafe extern "C" fn scored(score: i32) {
    print(if score > 20 { "a new record" } else { "scored" });
}

// What the host calls, once `main` has returned: its types are checked there.
export! {
    fn update(seconds: f32) -> i32 {
        let points = std::thread::spawn(move || (seconds * 20.0) as i32).join().expect("it does not panic");
        // SAFETY: it takes no pointers.
        unsafe { api::dsys_add_score(points) };
        let mut frames = FRAMES.lock().expect("nothing panics with it");
        let frame = frames.len() + 1;
        frames.insert(frame, points);
        frame as i32
    }
}

fn main() {
    print(&format!("hello from {}", "Rust"));
    // SAFETY: the function stays.
    unsafe { api::dsys_on_score(Some(scored)) };
}
