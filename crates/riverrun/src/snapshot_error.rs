//! What can be wrong with a snapshot.

/// Why a snapshot cannot be taken or used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The machine waits for a host function, which may have changed some of the guest's state and not the rest.
    #[error("the machine is in a call of a host function: take and restore snapshots when no guest runs")]
    Running,
    /// The snapshot is that of another program than the machine's.
    #[error("the snapshot is one of another program than the machine's: their files differ")]
    OtherProgram,
    /// The snapshot is that of a guest with more or fewer addresses.
    #[error(
        "the snapshot is one of a guest with addresses of {found} bits, and the machine's have {wanted}: give both the \
         same `Config::address_bits`"
    )]
    AddressBits {
        /// The guest's.
        found: u32,
        /// The machine's.
        wanted: u32,
    },
    /// The bytes do not begin as a snapshot.
    #[error("this is not a snapshot: give what `Snapshot::to_bytes` or `riverrun snapshot` has written")]
    NotASnapshot,
    /// Another format than this version of riverrun reads.
    #[error(
        "the snapshot has format {found}, written by riverrun {by}; this version reads format {supported}: take it anew, or \
         use that version"
    )]
    Format {
        /// Of the bytes.
        found: u32,
        /// Of this riverrun.
        supported: u32,
        /// The version that has written the bytes, as they say.
        by: String,
    },
    /// There are less bytes than there were, or more.
    #[error("the snapshot has {found} bytes instead of {expected}: it was truncated or added to; copy it again")]
    Length {
        /// Bytes that there are.
        found: u64,
        /// Bytes that there should be, as they say.
        expected: u64,
    },
    /// The bytes were changed after they had been written.
    #[error("the snapshot is damaged, as its checksum shows: copy it again, or take it anew")]
    Checksum,
    /// No guest can have been so, although the checksum is right.
    #[error("the snapshot was not written by riverrun, as no guest can have {what}: take it anew")]
    Impossible {
        /// What is impossible.
        what: String,
    },
    /// The guest needs more memory than [`crate::Config::memory_limit`].
    #[error(
        "the snapshot's guest needs {needed} bytes of memory, and the limit is {limit}: raise `Config::memory_limit`"
    )]
    Memory {
        /// Bytes.
        needed: u64,
        /// Bytes.
        limit: u64,
    },
    /// The guest's memory is in more pieces than [`crate::Config::mapping_limit`].
    #[error("the snapshot's memory is in more than {limit} pieces: raise `Config::mapping_limit`")]
    Pieces {
        /// How many there may be.
        limit: usize,
    },
    /// The file is larger than any snapshot for the engine's limit of memory.
    #[error(
        "the snapshot has {found} bytes, and {limit} are allowed: raise `Config::memory_limit`, or use another file"
    )]
    TooLarge {
        /// Bytes.
        found: u64,
        /// Bytes.
        limit: u64,
    },
}
