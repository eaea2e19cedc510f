//! ELF bytes to immutable programs: segments, symbols, functions, debug information.
//!
//! [`Image::parse`] reads a static RISC-V executable and refuses everything else with a
//! [`LoadError`] in words. An [`Image`] is cheap to make, `Send` and `Sync`.

#![forbid(unsafe_code)]

mod address_space;
mod attributes;
mod boundary;
mod call_registers;
mod describe;
#[doc(hidden)]
pub mod doc;
mod error;
mod flags;
mod float_environment;
mod header;
mod image;
mod joined;
mod joined_sections;
mod lazy;
mod lines;
mod lookup;
mod metered;
mod names;
mod profile;
mod prologue;
mod sections;
mod segment;
mod signature;
mod symbols;
mod unwind;
mod unwind_tables;

pub use address_space::{ADDRESS_END, ADDRESS_START, PAGE_SIZE, Permissions};
pub use attributes::Attributes;
pub use boundary::{EXPORTS_SECTION, Export, IMPORTS_MAX, IMPORTS_SECTION, Import, OWN_IMPORTS, TEXT_MAX, crc32};
pub use call_registers::{CallRegisters, CallResults};
pub use describe::{FrameDescription, SOURCES_MAX};
pub use error::LoadError;
pub use flags::{FileFlags, FloatAbi};
pub use image::{Image, ProgramHeaders, STATIC_PIE_BIAS, Tls};
pub use joined::{DynamicObject, JoinedProgram};
pub use lines::SourceLocation;
pub use names::{Printable, demangle};
pub use profile::{Profile, ProfileError};
pub use riverrun_isa::{Absent, absent};
pub use sections::Section;
pub use segment::{PageRange, Segment};
pub use signature::{FIELDS_MAX, PARAMETERS_MAX, Scalar, Signature, SignatureError, Type};
pub use symbols::{Binding, Symbol, SymbolKind};
pub use unwind::Frame;
