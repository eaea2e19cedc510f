//! Pages of a saved memory in a file of memory, from which windows map runs of pages instead of copying them.
//!
//! A [`SavedMemory`](super::saved::SavedMemory) gets one when a second window is made from it, and hands it on to those that
//! are made from it while few pages change. It has only pages whose origin is zeros. Invariant: only
//! [`Backing::new`] writes the file.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::pages::{PAGE_SIZE, Page};
use super::ranges::clipped;
use crate::sys::ImageFile;

/// The fewest pages of a run: mapping fewer takes longer than copying them.
const RUN: usize = 4;
/// The most runs: each is a mapping of its own, and splits the one around it.
const RUNS: usize = 16;

/// A file with runs of a snapshot's pages.
#[derive(Debug)]
pub(super) struct Backing {
    pub(super) file: ImageFile,
    /// The addresses of the pages in the file, in order, each with its place there.
    pub(super) runs: Vec<(Range<u64>, u64)>,
    /// The pages in the file, in order.
    pages: Vec<(u64, Arc<Page>)>,
}

impl Backing {
    /// One of the longest runs of these pages; `None` if there are none. `image` says which addresses have another origin
    /// than zeros.
    ///
    /// # Errors
    /// If the host has no memory, or no more files.
    pub(super) fn new(pages: &[(u64, Arc<Page>)], image: &[Range<u64>]) -> io::Result<Option<Backing>> {
        let is_of_image = |address: u64| !clipped(image, &(address..address + PAGE_SIZE)).is_empty();
        let mut runs: Vec<&[(u64, Arc<Page>)]> = pages
            .chunk_by(|one, next| one.0 + PAGE_SIZE == next.0 && is_of_image(one.0) == is_of_image(next.0))
            .filter(|run| run.len() >= RUN && !is_of_image(run[0].0))
            .collect();
        if runs.is_empty() {
            return Ok(None);
        }
        runs.sort_by_key(|run| std::cmp::Reverse(run.len()));
        runs.truncate(RUNS);
        runs.sort_by_key(|run| run[0].0);
        let mut backing = Backing { file: ImageFile::new()?, runs: Vec::new(), pages: Vec::new() };
        backing.file.set_len(runs.iter().map(|run| run.len() as u64 * PAGE_SIZE).sum())?;
        let mut offset = 0;
        for run in runs {
            let len = run.len() as u64 * PAGE_SIZE;
            for (page, at) in run.iter().zip((offset..).step_by(PAGE_SIZE as usize)) {
                backing.file.write_all_at(&*page.1, at)?;
            }
            backing.runs.push((run[0].0..run[0].0 + len, offset));
            backing.pages.extend_from_slice(run);
            offset += len;
        }
        Ok(Some(backing))
    }

    /// The page of the file at this address.
    pub(super) fn page(&self, address: u64) -> Option<&Arc<Page>> {
        let place = self.pages.binary_search_by_key(&address, |(at, _)| *at).ok()?;
        Some(&self.pages[place].1)
    }

    /// The addresses of all pages of the file.
    pub(super) fn addresses(&self) -> impl Iterator<Item = u64> {
        self.pages.iter().map(|(address, _)| *address)
    }

    /// Pages in the file.
    pub(super) fn len(&self) -> usize {
        self.pages.len()
    }
}
