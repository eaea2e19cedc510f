//! How much of the calling thread's own stack is left.

use std::cell::Cell;

thread_local! {
    /// The lowest address of this thread's stack, once it is known; 0 if the system does not say.
    static LOWEST: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Bytes between the caller's frame and the end of its thread's stack; `usize::MAX` where the system does not say, and on
/// a stack that is not the thread's own.
pub fn host_stack_left() -> usize {
    let here = 0_u8;
    let here = std::ptr::from_ref(&here).addr();
    let lowest = LOWEST.get().unwrap_or_else(|| {
        let lowest = lowest_address().unwrap_or(0);
        LOWEST.set(Some(lowest));
        lowest
    });
    match lowest {
        0 => usize::MAX,
        lowest => here.checked_sub(lowest).unwrap_or(usize::MAX),
    }
}

fn lowest_address() -> Option<usize> {
    // SAFETY: the attributes are initialised by the first call and destroyed by the last; nothing else has them.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return None;
        }
        let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
        let found = libc::pthread_attr_getstack(&attributes, &mut lowest, &mut size) == 0;
        libc::pthread_attr_destroy(&mut attributes);
        found.then(|| lowest.addr())
    }
}

#[cfg(test)]
mod tests {
    use super::host_stack_left;

    #[test]
    fn a_threads_stack_is_its_own() {
        let left = |size| std::thread::Builder::new().stack_size(size).spawn(host_stack_left).unwrap().join().unwrap();
        // The system may give more than was asked for, a stack that has been used before.
        for size in [256 << 10, 1 << 20, 64 << 20] {
            let left = left(size);
            assert!((size - (64 << 10)..64 * size).contains(&left), "{size}: {left}");
        }
    }
}
