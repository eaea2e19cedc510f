//! The header at the end of an artifact: version, options, processor, program.

use std::time::Duration;

use super::error::ArtifactError;
use crate::arch::{Features, TRIPLE};
use crate::convention::ABI;
use crate::memory::AddressSpace;

const MAGIC: &[u8; 8] = b"riverrun";
const TRIPLE_SIZE: usize = 48;
const HASH_SIZE: usize = 32;
/// Magic, ABI, options, features, bits of the dispatch table, length, two hashes, the target.
const BODY: usize = 8 + 4 + 4 + 8 + 4 + 4 + 8 + 2 * HASH_SIZE + TRIPLE_SIZE;

/// What compiled code assumes of its program, and so where it gives what the interpreter gives.
///
/// | | [`AbiAssuming`](Fidelity::AbiAssuming) | [`Precise`](Fidelity::Precise) |
/// | --- | --- | --- |
/// | results of a program that keeps to the psABI | the interpreter's | the interpreter's |
/// | results of one that does not, as hand-written assembly may not | may differ | the interpreter's |
/// | registers at a fault and at a failing host function | may be lost | the interpreter's |
/// | accesses whose value is not used | may be left out | are made, in order |
///
/// Neither lets a guest out of its sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fidelity {
    /// Callers and callees read and preserve the registers that the psABI says; functions that do what C's `memcpy` and its
    /// like do when they are tried, do so always; tables in memory that is never writable are whole. The fastest.
    #[default]
    AbiAssuming,
    /// Nothing is assumed: every access that may fault is made, in order, and at each call and fault all registers are
    /// up to date.
    Precise,
}

/// Which functions are compiled by the quick back end: in a tenth of the time, to code that is slower. Fewer are less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quick {
    /// None.
    #[default]
    Nothing,
    /// Those for which a profile has too little time, or no samples, to make LLVM's code worthwhile; none if there is no
    /// profile.
    Cold,
    /// All but those for which a profile has many times as long as LLVM takes, or once there is kept code those of which LLVM's
    /// is kept; all if there is no profile.
    Most,
    /// All.
    All,
}

/// What LLVM takes for an instruction, about.
pub const LLVM_INSTRUCTION: Duration = Duration::from_nanos(62_500);

/// How the code was compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// It counts instructions and stops where they are used up.
    pub fuel: bool,
    /// What it assumes of the program.
    pub fidelity: Fidelity,
    /// The level of optimisation, 0 to 3.
    pub level: u8,
    /// The functions that were compiled in little time, and are slower.
    pub quick: Quick,
    /// The guest's addresses: it runs in windows that have these, and no others.
    pub space: AddressSpace,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            fuel: false,
            fidelity: Fidelity::default(),
            level: 0,
            quick: Quick::Nothing,
            space: AddressSpace::LARGEST,
        }
    }
}

impl Options {
    /// Whether nothing is assumed of the program.
    pub fn is_precise(&self) -> bool {
        self.fidelity == Fidelity::Precise
    }

    fn bits(self) -> u32 {
        let fewer = AddressSpace::MAX_BITS - self.space.bits();
        let flags = u32::from(self.fuel) | u32::from(self.is_precise()) << 1 | (self.quick as u32) << 2;
        flags | u32::from(self.level) << 8 | fewer << 16
    }

    /// `None` for options that this version does not have.
    fn of(bits: u32) -> Option<Options> {
        let set = |bit: u32| bits >> bit & 1 != 0;
        let fidelity = if set(1) { Fidelity::Precise } else { Fidelity::AbiAssuming };
        let space = AddressSpace::new(AddressSpace::MAX_BITS.checked_sub(bits >> 16)?)?;
        let quick = [Quick::Nothing, Quick::Cold, Quick::Most, Quick::All];
        let quick = quick.into_iter().find(|&quick| quick as u32 == bits >> 2 & 3)?;
        let options = Options { fuel: set(0), fidelity, quick, level: (bits >> 8) as u8, space };
        (options.bits() == bits && options.level <= 3).then_some(options)
    }
}

/// The BLAKE3 hash of a program's file, which identifies the program.
pub type ProgramHash = [u8; HASH_SIZE];

/// The header's fields as the code itself contains them ([`crate::artifact::IDENTITY_SYMBOL`]).
pub type Identity = [u8; 4 + 8 + 4 + HASH_SIZE];

/// An artifact's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// How it was compiled.
    pub options: Options,
    /// The features that the processor must have.
    pub features: Features,
    /// Logarithm of the size of the dispatch table.
    pub dispatch_bits: u32,
    /// The program from which it was compiled.
    pub program: ProgramHash,
}

impl Header {
    /// The header's size in bytes.
    pub const SIZE: usize = BODY + HASH_SIZE;

    /// The hash of a program.
    pub fn hash(program: &[u8]) -> ProgramHash {
        *blake3::hash(program).as_bytes()
    }

    /// The fields of this header in the form in which code contains them.
    pub fn identity(&self) -> Identity {
        let mut identity = [0; size_of::<Identity>()];
        let (options, rest) = identity.split_at_mut(4);
        let (features, rest) = rest.split_at_mut(8);
        let (dispatch_bits, program) = rest.split_at_mut(4);
        options.copy_from_slice(&self.options.bits().to_le_bytes());
        features.copy_from_slice(&self.features.0.to_le_bytes());
        dispatch_bits.copy_from_slice(&self.dispatch_bits.to_le_bytes());
        program.copy_from_slice(&self.program);
        identity
    }

    /// The field in which code of this identity differs from the header, for messages.
    pub(crate) fn differs_from(&self, identity: &Identity) -> Option<&'static str> {
        let own = self.identity();
        let fields = [
            ("options", 0..4),
            ("processor features", 4..12),
            ("a table of functions", 12..16),
            ("a program", 16..own.len()),
        ];
        fields.into_iter().find_map(|(what, place)| (own[place.clone()] != identity[place]).then_some(what))
    }

    /// The artifact: the shared object followed by its header.
    pub fn seal(&self, mut object: Vec<u8>) -> Vec<u8> {
        let mut body = Vec::with_capacity(Header::SIZE);
        body.extend(MAGIC);
        body.extend(ABI.to_le_bytes());
        body.extend(self.options.bits().to_le_bytes());
        body.extend(self.features.0.to_le_bytes());
        body.extend(self.dispatch_bits.to_le_bytes());
        body.extend([0; 4]);
        body.extend((object.len() as u64).to_le_bytes());
        body.extend(self.program);
        body.extend(blake3::hash(&object).as_bytes());
        body.extend(TRIPLE.as_bytes());
        body.resize(BODY, 0);
        let hash = *blake3::hash(&body).as_bytes();
        body.extend(hash);
        object.extend(body);
        object
    }

    /// Reads the header of a whole artifact, and checks all that does not depend on the program.
    ///
    /// # Errors
    /// [`ArtifactError`], which says what does not match.
    pub fn open(artifact: &[u8]) -> Result<Header, ArtifactError> {
        let (object, header) =
            artifact.split_at_checked(artifact.len().wrapping_sub(Header::SIZE)).ok_or(ArtifactError::NotAnArtifact)?;
        let (body, hash) = header.split_at(BODY);
        let mut fields = Fields(body);
        if fields.take::<8>() != *MAGIC {
            return Err(ArtifactError::NotAnArtifact);
        }
        // The version comes before all fields whose meaning it determines.
        let abi = u32::from_le_bytes(fields.take());
        if blake3::hash(body).as_bytes() != hash {
            return Err(ArtifactError::Damaged);
        }
        if abi != ABI {
            return Err(ArtifactError::Abi { found: abi });
        }
        let options = u32::from_le_bytes(fields.take());
        let features = Features(u64::from_le_bytes(fields.take()));
        let dispatch_bits = u32::from_le_bytes(fields.take());
        fields.take::<4>();
        let length = u64::from_le_bytes(fields.take());
        let program = fields.take();
        let object_hash = fields.take::<HASH_SIZE>();
        let triple = fields.take::<TRIPLE_SIZE>();
        let found = String::from_utf8_lossy(&triple).trim_end_matches('\0').to_owned();
        if found != TRIPLE {
            return Err(ArtifactError::Triple { found });
        }
        if length != object.len() as u64 || *blake3::hash(object).as_bytes() != object_hash || dispatch_bits > 28 {
            return Err(ArtifactError::Damaged);
        }
        let options = Options::of(options).ok_or(ArtifactError::Options { found: options })?;
        let missing = features.without(Features::native());
        if missing != Features::default() {
            return Err(ArtifactError::Features { missing: missing.to_string() });
        }
        Ok(Header { options, features, dispatch_bits, program })
    }
}

/// Takes fields off the front; the caller has checked that there are enough bytes.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk().expect("a body has all its fields");
        self.0 = rest;
        *field
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let options = Options { fuel: true, fidelity: Fidelity::AbiAssuming, level: 2, ..Options::default() };
        Header { options, features: Features::default(), dispatch_bits: 3, program: Header::hash(b"program") }
    }

    #[test]
    fn what_is_sealed_opens() {
        let artifact = header().seal(b"object".to_vec());
        assert_eq!(Header::open(&artifact).unwrap(), header());
    }

    #[test]
    fn whatever_is_cut_or_flipped_is_refused() {
        let artifact = header().seal(b"object".to_vec());
        for length in 0..artifact.len() {
            assert!(Header::open(&artifact[..length]).is_err(), "cut to {length}");
        }
        for bit in 0..artifact.len() * 8 {
            let mut damaged = artifact.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::open(&damaged).is_err(), "bit {bit} flipped");
        }
    }

    #[test]
    fn every_address_space_is_kept_and_no_other_known() {
        for space in (AddressSpace::MIN_BITS..=AddressSpace::MAX_BITS).filter_map(AddressSpace::new) {
            let options = Options { space, ..header().options };
            assert_eq!(Options::of(options.bits()), Some(options));
        }
        let fewest = AddressSpace::MAX_BITS - AddressSpace::MIN_BITS;
        assert!([fewest + 1, 0xff, 0xffff].iter().all(|fewer| Options::of(fewer << 16).is_none()));
    }

    #[test]
    fn missing_features_are_named() {
        let mut wanted = header();
        wanted.features = Features(1 << 63);
        assert!(matches!(Header::open(&wanted.seal(Vec::new())), Err(ArtifactError::Features { .. })));
    }
}
