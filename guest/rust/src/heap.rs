//! The heap that the host keeps, as Rust's global allocator. Each call is one instruction; numbers, names and types
//! are those of `riverrun/heap.h`.

use core::alloc::{GlobalAlloc, Layout};

use crate::import::import;

struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

/// The alignment that all blocks have.
const ALIGN: usize = 16;

// SAFETY: the host gives blocks that overlap no others, of the size and alignment asked for, or null.
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block: *mut u8;
        // SAFETY: both calls follow the calling convention and change none of the guest's memory.
        unsafe {
            if layout.align() <= ALIGN {
                import!(0, "riverrun::malloc", "ptr (u64)",
                    inlateout("a0") layout.size() => block, options(nostack, nomem),);
            } else {
                import!(2, "riverrun::aligned_alloc", "ptr (u64, u64)",
                    inlateout("a0") layout.align() => block, in("a1") layout.size(), options(nostack, nomem),);
            }
        }
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() > ALIGN {
            // SAFETY: the layout is the caller's, and the block as large.
            return unsafe {
                let block = self.alloc(layout);
                if !block.is_null() {
                    block.write_bytes(0, layout.size());
                }
                block
            };
        }
        let block: *mut u8;
        // SAFETY: the call follows the calling convention; it writes to the block only, which is new.
        unsafe {
            import!(1, "riverrun::calloc", "ptr (u64, u64)",
                inlateout("a0") layout.size() => block, in("a1") 1, options(nostack),);
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the call follows the calling convention; the block is the caller's to give up. It may read memory,
        // so that what was written there is written before: others get it.
        unsafe {
            import!(5, "riverrun::free_sized", "void (ptr, u64)",
                in("a0") block, in("a1") layout.size(), options(nostack),);
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.align() > ALIGN {
            // SAFETY: as the caller promises; the two blocks are apart.
            return unsafe {
                let other = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                if !other.is_null() {
                    other.copy_from_nonoverlapping(block, layout.size().min(size));
                    self.dealloc(block, layout);
                }
                other
            };
        }
        let other: *mut u8;
        // SAFETY: the call follows the calling convention; the block is the caller's to give up. No size is 0.
        unsafe {
            import!(3, "riverrun::realloc", "ptr (ptr, u64)",
                inlateout("a0") block => other, in("a1") size, options(nostack),);
        }
        other
    }
}
