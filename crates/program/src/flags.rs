//! The ABI for which the file was compiled, from the ELF header's flags.

/// The flags of the ELF header (RISC-V ELF psABI, "File Header").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileFlags(pub u32);

/// How floating-point arguments are passed (RISC-V ELF psABI, "File Header").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatAbi {
    /// In integer registers (lp64).
    Soft,
    /// `float` in float registers (lp64f).
    Single,
    /// `float` and `double` in float registers (lp64d).
    Double,
    /// `long double` as well (lp64q).
    Quad,
}

impl FileFlags {
    /// Compressed instructions may occur.
    pub fn has_compressed_instructions(self) -> bool {
        self.0 & 1 != 0
    }

    /// How floating-point arguments are passed.
    pub fn float_abi(self) -> FloatAbi {
        match (self.0 >> 1) & 3 {
            0 => FloatAbi::Soft,
            1 => FloatAbi::Single,
            2 => FloatAbi::Double,
            _ => FloatAbi::Quad,
        }
    }

    /// Only the registers x0 to x15 are used (lp64e).
    pub fn is_rve(self) -> bool {
        self.0 & 8 != 0
    }

    /// The program relies on the memory model of the extension Ztso.
    pub fn needs_total_store_order(self) -> bool {
        self.0 & 16 != 0
    }
}
