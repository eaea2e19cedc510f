//! Why a program could not be compiled.

/// Why a program could not be compiled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// LLVM reports an error.
    #[error("LLVM: {0}")]
    Llvm(String),
    /// Cranelift reports an error.
    #[error("Cranelift: {0}")]
    Cranelift(String),
    /// Functions of the compiler's own have frames that are larger than the stack allows.
    #[error("the compiler's own functions have too large frames: {0}")]
    Frame(String),
    /// The program takes more work than [`CompileOptions::max_work`](crate::CompileOptions::max_work) allows.
    #[error("compiling takes more work than the limit of {limit} instructions")]
    Work {
        /// The limit.
        limit: u64,
    },
    /// No linker was found, or it failed.
    #[error("cannot link: {0}")]
    Link(String),
    /// The name is not valid for linked code.
    #[error("{0:?} is no name for an object: use letters, digits and underscores")]
    Name(String),
    /// No function that can be compiled has the address.
    #[error("{address:#x}: not in a function that is compiled")]
    NoFunction {
        /// The address.
        address: u64,
    },
    /// A file could not be written or read.
    #[error("cannot use {what}: {source}")]
    File {
        /// Which one.
        what: String,
        /// Why.
        source: std::io::Error,
    },
}
