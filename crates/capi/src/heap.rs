//! The heap of a guest, as its host uses it.

use crate::arguments::{Out, given};
use crate::error::{Returned, guard, guard_value};
use crate::machine::{Machine, with};

/// Allocates a block in the guest's heap that the host owns, of `size` bytes at a multiple of `alignment`, a power of two,
/// and of 16. The guest cannot free it before `riverrun_heap_give_to_guest`. Its contents are undefined.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_heap_allocate(
    machine: Option<Machine>,
    size: u64,
    alignment: u64,
    address: Out<'_, u64>,
) -> Returned {
    guard(|| {
        let address = given(address, "address")?;
        // SAFETY: the borrow ends here.
        address.write(with(machine, |machine| Ok(unsafe { machine.heap() }.allocate_aligned(size, alignment)?))?);
        Ok(())
    })
}

/// Resizes a block and keeps its contents up to the smaller size. `address` is its address, and receives the new one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_heap_reallocate(
    machine: Option<Machine>,
    address: Option<&mut u64>,
    size: u64,
) -> Returned {
    guard(|| {
        let address = given(address, "address")?;
        // SAFETY: as above.
        *address = with(machine, |machine| Ok(unsafe { machine.heap() }.reallocate(*address, size)?))?;
        Ok(())
    })
}

/// Frees a block, the host's or the guest's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_heap_free(machine: Option<Machine>, address: u64) -> Returned {
    // SAFETY: as above.
    guard(|| with(machine, |machine| Ok(unsafe { machine.heap() }.free(address)?)))
}

/// Transfers a block to the guest, which may then free it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_heap_give_to_guest(machine: Option<Machine>, address: u64) -> Returned {
    // SAFETY: as above.
    guard(|| with(machine, |machine| Ok(unsafe { machine.heap() }.give_to_guest(address)?)))
}

/// Transfers a block to the host, so that the guest cannot free it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_heap_take_from_guest(machine: Option<Machine>, address: u64) -> Returned {
    // SAFETY: as above.
    guard(|| with(machine, |machine| Ok(unsafe { machine.heap() }.take_from_guest(address)?)))
}

/// The bytes that were asked for of the block at `address`; 0 if no block in use starts there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_heap_size(machine: Option<Machine>, address: u64) -> u64 {
    // SAFETY: as above.
    guard_value(0, || with(machine, |machine| Ok(unsafe { machine.heap() }.size(address))).ok()?)
}

/// How a heap is used. Sizes are in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HeapStatistics {
    /// Blocks in use.
    pub blocks: u64,
    /// Requested bytes of blocks in use.
    pub requested: u64,
    /// Bytes that blocks in use take.
    pub taken: u64,
    /// The maximum of `requested` so far.
    pub peak_requested: u64,
    /// Bytes that the heap has mapped.
    pub mapped: u64,
    /// Blocks allocated so far.
    pub allocations: u64,
}

/// How the heap is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_heap_statistics(
    machine: Option<Machine>,
    statistics: Out<'_, HeapStatistics>,
) -> Returned {
    guard(|| {
        let statistics = given(statistics, "statistics")?;
        // SAFETY: as above.
        let all = with(machine, |machine| Ok(unsafe { machine.heap() }.statistics()))?;
        statistics.write(HeapStatistics {
            blocks: all.blocks,
            requested: all.requested,
            taken: all.taken,
            peak_requested: all.peak_requested,
            mapped: all.mapped,
            allocations: all.allocations,
        });
        Ok(())
    })
}
