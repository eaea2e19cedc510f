//! The artifact's table of host-ABI entry points.

/// The symbol of the table of host-ABI entry points: their number, and for each, sorted, the guest address of its function
/// and the distance of its code from the table.
pub const HOST_ABI_ENTRIES_SYMBOL: &str = "riverrun_host_abi_entries";

/// A function's guest address, and the distance of its host-ABI entry point from the table.
type Entry = [u64; 2];

/// The table: exported functions with a second body that the host calls by its own convention.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostAbiEntries {
    /// The table's address.
    here: usize,
    entries: &'static [Entry],
}

impl HostAbiEntries {
    /// # Safety
    /// The compiler has made the table, and it stays.
    pub(crate) unsafe fn new(table: *const u64) -> HostAbiEntries {
        // SAFETY: as the caller promises; the table's first word is its length.
        let entries = unsafe { std::slice::from_raw_parts(table.add(1).cast(), *table as usize) };
        HostAbiEntries { here: table as usize, entries }
    }

    fn code(&self, entry: &Entry) -> usize {
        self.here.wrapping_add(entry[1] as usize)
    }

    /// The host address of the entry of the function that begins at `pc`.
    pub(crate) fn find(&self, pc: u64) -> Option<usize> {
        let index = self.entries.binary_search_by_key(&pc, |entry| entry[0]).ok()?;
        Some(self.code(&self.entries[index]))
    }

    /// The entries nearest before a host address: the guest address of its function, and where its code begins.
    pub(crate) fn before(&self, host: usize) -> Option<(u64, usize)> {
        let all = self.entries.iter().map(|entry| (entry[0], self.code(entry)));
        all.filter(|(_, code)| *code <= host).max_by_key(|(_, code)| *code)
    }
}
