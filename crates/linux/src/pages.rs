//! The contents of a file in memory, as pages: what has not been written takes no room.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::call::{Patience, Stop};
use crate::space::Space;

const PAGE: u64 = riverrun::PAGE_SIZE;
/// What a page takes beside its bytes.
const OVERHEAD: u64 = 64;
/// Pages that are made between two tests of the deadline.
const PAGES_AT_ONCE: u64 = 1024;

/// Contents as a snapshot has them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedPages {
    len: u64,
    /// Each as it is numbered, without the zeros at its end.
    pages: Vec<(u64, Vec<u8>)>,
}

#[derive(Debug)]
pub(crate) struct Pages {
    space: Arc<Space>,
    len: u64,
    /// By the position of each, in pages. What lies behind the end is zero.
    pages: BTreeMap<u64, Box<[u8; PAGE as usize]>>,
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.space.release(self.pages.len() as u64 * (PAGE + OVERHEAD));
    }
}

/// The parts of a range that lie in one page each: page, range in the page, range behind the start.
fn parts(start: u64, len: u64) -> impl Iterator<Item = (u64, Range<usize>, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = start + done;
        let (page, within) = (at / PAGE, at % PAGE);
        let step = (PAGE - within).min(len - done);
        let part = (page, within as usize..(within + step) as usize, done as usize..(done + step) as usize);
        done += step;
        (step > 0).then_some(part)
    })
}

impl Pages {
    pub(crate) fn new(space: Arc<Space>) -> Pages {
        Pages { space, len: 0, pages: BTreeMap::new() }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Bytes for which there is room.
    pub(crate) fn held(&self) -> u64 {
        self.pages.len() as u64 * PAGE
    }

    /// Copies what is at a position; the number of bytes, 0 at the end.
    pub(crate) fn read_at(&self, buffer: &mut [u8], at: u64) -> usize {
        let len = self.len.saturating_sub(at).min(buffer.len() as u64);
        for (page, within, range) in parts(at, len) {
            match self.pages.get(&page) {
                Some(page) => buffer[range].copy_from_slice(&page[within]),
                None => buffer[range].fill(0),
            }
        }
        len as usize
    }

    /// The page of this number, with room for it.
    fn page(&mut self, page: u64) -> Result<&mut [u8; PAGE as usize], Stop> {
        use std::collections::btree_map::Entry;
        Ok(match self.pages.entry(page) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                self.space.reserve(PAGE + OVERHEAD)?;
                entry.insert(Box::new([0; PAGE as usize]))
            }
        })
    }

    /// Writes all that there is room for; `ENOSPC` if that is nothing. The end of what is written has to be a position.
    pub(crate) fn write_at(&mut self, bytes: &[u8], at: u64) -> Result<usize, Stop> {
        for (number, within, range) in parts(at, bytes.len() as u64) {
            let done = range.start;
            match self.page(number) {
                Ok(page) => page[within].copy_from_slice(&bytes[range]),
                Err(stop) if done == 0 => return Err(stop),
                Err(_) => {
                    self.len = self.len.max(at + done as u64);
                    return Ok(done);
                }
            }
        }
        if !bytes.is_empty() {
            self.len = self.len.max(at + bytes.len() as u64);
        }
        Ok(bytes.len())
    }

    /// Cuts or extends the contents.
    pub(crate) fn set_len(&mut self, len: u64) {
        if len < self.len {
            let first = len.div_ceil(PAGE);
            let cut = self.pages.split_off(&first);
            self.space.release(cut.len() as u64 * (PAGE + OVERHEAD));
            // What lies in it behind the end; none has this number if the end lies between pages.
            if let Some(page) = self.pages.get_mut(&(len / PAGE)) {
                page[(len % PAGE) as usize..].fill(0);
            }
        }
        self.len = len;
    }

    /// Takes room for a range, which has to end at a position. May be interrupted, and done again.
    pub(crate) fn allocate(&mut self, at: u64, len: u64, patience: Patience<'_>) -> Result<(), Stop> {
        let pages = at / PAGE..(at + len).div_ceil(PAGE);
        let there = self.pages.range(pages.clone()).count() as u64;
        // Before one is made, as there may be far too many.
        let mut missing = pages.end - pages.start - there;
        self.space.reserve(missing.saturating_mul(PAGE + OVERHEAD))?;
        for page in pages {
            if let Entry::Vacant(vacant) = self.pages.entry(page) {
                vacant.insert(Box::new([0; PAGE as usize]));
                missing -= 1;
                if missing.is_multiple_of(PAGES_AT_ONCE)
                    && let Err(stop) = patience.check()
                {
                    self.space.release(missing * (PAGE + OVERHEAD));
                    return Err(stop);
                }
            }
        }
        Ok(())
    }

    /// Makes zeros of a range, and gives back its whole pages.
    pub(crate) fn punch(&mut self, at: u64, len: u64) {
        let whole = at.div_ceil(PAGE)..(at + len) / PAGE;
        let mut edges = [at..at + len, 0..0];
        if whole.start < whole.end {
            let cut = self.pages.extract_if(whole.clone(), |_, _| true).count();
            self.space.release(cut as u64 * (PAGE + OVERHEAD));
            edges = [at..whole.start * PAGE, whole.end * PAGE..at + len];
        }
        for edge in edges {
            for (page, within, _) in parts(edge.start, edge.end - edge.start) {
                if let Some(page) = self.pages.get_mut(&page) {
                    page[within].fill(0);
                }
            }
        }
    }

    /// The first position from `at` on that has room, or has none; the end has none.
    pub(crate) fn next(&self, at: u64, has_room: bool) -> Option<u64> {
        if at >= self.len {
            return None;
        }
        let mut page = at / PAGE;
        if has_room {
            page = *self.pages.range(page..).next()?.0;
        } else {
            for (&there, _) in self.pages.range(page..) {
                if there != page {
                    break;
                }
                page += 1;
            }
        }
        let found = (page * PAGE).max(at);
        match has_room {
            true => (found < self.len).then_some(found),
            false => Some(found.min(self.len)),
        }
    }

    pub(crate) fn save(&self) -> SavedPages {
        let content = |page: &[u8; PAGE as usize]| {
            let len = page.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            page[..len].to_vec()
        };
        SavedPages { len: self.len, pages: self.pages.iter().map(|(&number, page)| (number, content(page))).collect() }
    }

    /// `None` if no file could have such contents; fails without room.
    pub(crate) fn from_saved(space: Arc<Space>, saved: &SavedPages) -> Result<Option<Pages>, Stop> {
        let mut pages = Pages::new(space);
        for (number, bytes) in &saved.pages {
            let is_sound = bytes.len() as u64 <= PAGE && *number <= i64::MAX as u64 / PAGE;
            if !is_sound || pages.pages.contains_key(number) {
                return Ok(None);
            }
            // Room may have been taken behind the end, but nothing is there.
            if number * PAGE + bytes.len() as u64 > saved.len && !bytes.is_empty() {
                return Ok(None);
            }
            pages.page(*number)?[..bytes.len()].copy_from_slice(bytes);
        }
        pages.len = saved.len;
        Ok((i64::try_from(saved.len).is_ok()).then_some(pages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    fn contents(pages: &Pages) -> Vec<u8> {
        let mut buffer = vec![7; pages.len() as usize + 5];
        let len = pages.read_at(&mut buffer, 0);
        buffer.truncate(len);
        buffer
    }

    #[test]
    fn they_are_like_bytes() {
        let space = Arc::new(Space::default());
        let mut pages = Pages::new(space.clone());
        let mut model: Vec<u8> = Vec::new();
        let mut seed = 1_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        for round in 0..3000 {
            let (at, len) = (random(20_000), random(9_000));
            let end = (at + len) as usize;
            match random(4) {
                0 => {
                    pages.set_len(at);
                    model.resize(at as usize, 0);
                }
                1 => {
                    pages.punch(at, len);
                    let model_len = model.len();
                    model[(at as usize).min(model_len)..end.min(model_len)].fill(0);
                }
                2 => pages.allocate(at, len, Patience::endless()).unwrap(),
                _ => {
                    let bytes = vec![round as u8 | 1; len as usize];
                    assert_eq!(pages.write_at(&bytes, at), Ok(bytes.len()));
                    if !bytes.is_empty() {
                        model.resize(model.len().max(end), 0);
                        model[at as usize..end].copy_from_slice(&bytes);
                    }
                }
            }
            assert!(contents(&pages) == model, "round {round}");
            assert_eq!(space.used(), pages.pages.len() as u64 * (PAGE + OVERHEAD));
            if round % 50 == 0 {
                let saved = pages.save();
                pages = Pages::from_saved(space.clone(), &saved).unwrap().unwrap();
            }
        }
        drop(pages);
        assert_eq!(space.used(), 0);
    }

    #[test]
    fn holes_take_no_room_and_are_found() {
        let space = Arc::new(Space::default());
        space.set_limit(2 * (PAGE + OVERHEAD));
        let mut pages = Pages::new(space.clone());
        pages.set_len(1 << 50);
        assert_eq!(pages.write_at(b"end", (1 << 50) - 3), Ok(3));
        assert_eq!((pages.next(5, true), pages.next(5, false)), (Some((1 << 50) - 4096), Some(5)));
        assert_eq!((pages.next(1 << 50, true), pages.next((1 << 50) - 1, false)), (None, Some(1 << 50)));
        assert_eq!(pages.allocate(0, 1 << 60, Patience::endless()), Err(Errno::NOSPC.into()));
        // What there is room for is written.
        assert_eq!(pages.write_at(&[1; 9000], 10), Ok(4086));
        assert_eq!(pages.write_at(&[1; 1], 9000), Err(Errno::NOSPC.into()));
        assert_eq!(space.used(), 2 * (PAGE + OVERHEAD));
    }

    #[test]
    fn damaged_contents_are_refused() {
        let load = |len, pages: &[(u64, usize)]| {
            let pages = pages.iter().map(|&(number, len)| (number, vec![1; len])).collect();
            Pages::from_saved(Arc::new(Space::default()), &SavedPages { len, pages }).unwrap().is_some()
        };
        assert!(load(5000, &[(0, 4096), (1, 904), (9, 0)]));
        for (len, pages) in [(5000, &[(0, 4097)][..]), (5000, &[(0, 1), (0, 1)]), (5000, &[(1, 905)])] {
            assert!(!load(len, pages));
        }
        assert!(!load(u64::MAX, &[]) && !load(u64::MAX, &[(u64::MAX / PAGE, 1)]) && !load(9, &[(u64::MAX, 0)]));
    }
}
