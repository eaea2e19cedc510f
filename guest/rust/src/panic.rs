//! Panics end the guest's run: the host gets an error with what they say, and where.

use core::fmt::{self, Write};
use core::panic::PanicInfo;

use crate::import::import;

/// As much of a message as there is room for.
struct Message {
    bytes: [u8; 1024],
    length: usize,
}

impl Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.length..];
        let size = text.len().min(room.len());
        room[..size].copy_from_slice(&text.as_bytes()[..size]);
        self.length += size;
        Ok(())
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let mut message = Message { bytes: [0; 1024], length: 0 };
    // `panicked at src/main.rs:7:5:` and what was said; writing to the message does not fail.
    let place = info.location().map_or(Ok(()), |place| write!(message, "{place}: "));
    let _ = place.and_then(|()| write!(message, "{}", info.message()));
    // SAFETY: the call follows the calling convention, reads the message, and does not come back.
    unsafe {
        import!(9, "riverrun::panic", "void (ptr, u64)",
            in("a0") message.bytes.as_ptr(), in("a1") message.length, options(noreturn),)
    }
}
