//! What the host's system does for a window: address space, mappings, and the file of an image.
//!
//! [`crate::Window`] and [`crate::Image`] are the only callers, and keep the list of what is mapped. Under Miri, which
//! has no mappings, a reservation is an allocation: an access outside of it, or beside a view of it, is an error there.

#[cfg(miri)]
#[path = "sys_miri.rs"]
mod host;
#[cfg(all(not(miri), target_os = "linux"))]
#[path = "sys_linux.rs"]
mod host;

pub(crate) use host::{
    HUGE_PAGE, ImageFile, discard, map_file, map_zeros, protect, release, reserve, writable_room_is_free,
};
