//! What a guest has told an epoll descriptor to watch.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// The files that an epoll descriptor watches, by their descriptors.
#[derive(Debug, Default)]
pub(crate) struct Interests(Mutex<BTreeMap<i32, Interest>>);

/// How a file is watched.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Interest {
    /// The number of the open file: its descriptor may be closed, and then stand for another one.
    #[serde(skip)]
    pub(crate) file: u64,
    /// As `epoll_ctl` has them; 0 while it is not watched.
    pub(crate) events: u32,
    pub(crate) data: u64,
    /// What has been told last, and the file's activity then: only news are told of a file that is watched for edges.
    pub(crate) told: Option<(u32, u64)>,
    /// Grows where it was told of and others were not, for lack of room: those come first.
    pub(crate) turn: u64,
}

impl Interests {
    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeMap<i32, Interest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is told stays so where a file's activity is what it was then. `activity_of` gives that of a descriptor's file,
    /// with the file's number.
    pub(crate) fn save(&self, activity_of: impl Fn(i32) -> Option<(u64, u64)>) -> Vec<(i32, Interest)> {
        let saved = |(&fd, interest): (&i32, &Interest)| {
            let (file, activity) = activity_of(fd)?;
            let told = interest.told.filter(|&(_, then)| then == activity).map(|(events, _)| (events, 0));
            (file == interest.file).then_some((fd, Interest { told, ..*interest }))
        };
        self.lock().iter().filter_map(saved).collect()
    }

    /// Those that are saved, with the numbers and the activity of the files that descriptors stand for now.
    pub(crate) fn from_saved(saved: &[(i32, Interest)], activity_of: impl Fn(i32) -> Option<(u64, u64)>) -> Interests {
        let live = |&(fd, interest): &(i32, Interest)| {
            let (file, activity) = activity_of(fd)?;
            let told = interest.told.map(|(events, _)| (events, activity));
            Some((fd, Interest { file, told, ..interest }))
        };
        Interests(Mutex::new(saved.iter().filter_map(live).collect()))
    }
}
