//! The same C++ in the server itself: no limits, no isolation, state that stays. It is there to compare with.
//!
//! The only unsafe code of this example: what a plugin without a sandbox takes.
#![allow(unsafe_code)]

use std::slice;

use crate::Reply;

/// As in `guest/plugin.cpp`.
#[repr(C)]
struct RawReply {
    status: u32,
    length: u32,
    text: *const u8,
}

unsafe extern "C" {
    fn room(size: usize) -> *mut u8;
    #[link_name = "handle"]
    fn handle_raw(path: usize, body: usize) -> RawReply;
}

/// The plugin in the server's own address space, one for each thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

impl Native {
    /// Answers one request. A fault of the C++ code ends the server, and an endless loop never ends.
    pub fn handle(self, path: &str, body: &[u8]) -> Reply {
        let size = path.len() + body.len();
        // SAFETY: `room` gives `size` bytes, which no other code uses until this thread calls the plugin again: its
        // state is `thread_local`.
        let request = unsafe { slice::from_raw_parts_mut(room(size), size) };
        request[..path.len()].copy_from_slice(path.as_bytes());
        request[path.len()..].copy_from_slice(body);
        // SAFETY: the two are no more than the room. The text stands until this thread's next call.
        let (status, page) = unsafe {
            let reply = handle_raw(path.len(), body.len());
            (reply.status, slice::from_raw_parts(reply.text, reply.length as usize).to_vec())
        };
        Reply { status: status as u16, page }
    }
}
