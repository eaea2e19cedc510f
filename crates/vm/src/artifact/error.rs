//! Why an artifact is refused.

use std::path::PathBuf;

/// Why an artifact cannot be used; the program still runs in the interpreter.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// The file could not be read.
    #[error("cannot read {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It does not end with an artifact's header.
    #[error("not an artifact of riverrun, or a truncated one")]
    NotAnArtifact,
    /// Its contents do not have the hash in its header.
    #[error("the artifact is damaged: compile it again")]
    Damaged,
    /// It was made by another version of the compiler.
    #[error("the artifact has ABI {found}, this riverrun needs {ABI}: compile it again", ABI = crate::convention::ABI)]
    Abi {
        /// Its number.
        found: u32,
    },
    /// It is for other hosts.
    #[error("the artifact is for {found}, this is {TRIPLE}", TRIPLE = crate::arch::TRIPLE)]
    Triple {
        /// The target that it was compiled for.
        found: String,
    },
    /// It was compiled from another program.
    #[error("the artifact was compiled from another program")]
    Program,
    /// The processor lacks what the code needs.
    #[error("the artifact needs {missing}, which this processor lacks: compile it for an older one")]
    Features {
        /// The features that are missing.
        missing: String,
    },
    /// It was compiled with options that this version does not have.
    #[error("the artifact has options that this riverrun does not know ({found:#x}): compile it again")]
    Options {
        /// The options' bits.
        found: u32,
    },
    /// It was compiled for guests with more or fewer addresses than the configuration gives them.
    #[error(
        "the artifact was compiled for {found} bits of addresses, and the configuration gives guests {wanted} \
         (`Config::address_bits`): compile it for these"
    )]
    AddressBits {
        /// Those of the artifact.
        found: u32,
        /// Those of the configuration.
        wanted: u32,
    },
    /// Its header is not that of its code.
    #[error("the artifact's header says {what} that its code was not compiled for: compile it again")]
    Header {
        /// What is different.
        what: &'static str,
    },
    /// The host does not map it.
    #[error("the artifact cannot be loaded: {0}")]
    Load(std::io::Error),
    /// Its shared object lacks what an artifact has.
    #[error("the artifact has no {0}")]
    Lacks(&'static str),
}
