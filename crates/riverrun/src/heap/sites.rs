//! The calls that have led to each block's allocation and release, if they are recorded.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use riverrun_program::Frame;

/// Calls of a site that are kept.
pub(super) const DEPTH: usize = 8;
/// Blocks whose sites are kept; the oldest are forgotten.
const BLOCKS: usize = 1 << 16;

/// The calls that have led somewhere, innermost first.
pub(super) type Site = Arc<[Frame]>;

/// The history of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    pub(super) allocated: Option<Site>,
    pub(super) freed: Option<Site>,
    number: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Sites {
    by_address: HashMap<u64, History>,
    /// Allocations in order, with their numbers: that of an address tells whether there has been another.
    order: VecDeque<(u64, u64)>,
    number: u64,
}

impl Sites {
    pub(super) fn allocated(&mut self, address: u64, site: Site) {
        self.number += 1;
        self.by_address.insert(address, History { allocated: Some(site), freed: None, number: self.number });
        self.order.push_back((address, self.number));
        if self.order.len() > BLOCKS
            && let Some((oldest, number)) = self.order.pop_front()
            && self.by_address.get(&oldest).is_some_and(|history| history.number == number)
        {
            self.by_address.remove(&oldest);
        }
    }

    pub(super) fn freed(&mut self, address: u64, site: Site) {
        if let Some(history) = self.by_address.get_mut(&address) {
            history.freed = Some(site);
        }
    }

    pub(super) fn history(&self, address: u64) -> Option<&History> {
        self.by_address.get(&address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_sites_are_forgotten() {
        let mut sites = Sites::default();
        let site = |pc| -> Site { [Frame { pc, is_return_address: false }].into() };
        for n in 0..3 * BLOCKS as u64 {
            sites.allocated(n % (2 * BLOCKS as u64), site(n));
        }
        assert_eq!(sites.by_address.len(), BLOCKS);
        sites.freed(5, site(1));
        assert!(sites.history(5).is_some_and(|history| history.freed.is_some()));
        assert!(sites.history(BLOCKS as u64 + 5).is_none());
    }
}
