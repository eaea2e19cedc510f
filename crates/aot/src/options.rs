//! Options of the compiler.

use riverrun_program::Image;
use riverrun_vm::artifact::{Fidelity, Options, Quick};
use riverrun_vm::{AddressSpace, Features};

/// The processors that the code is to run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cpu {
    /// This machine's.
    #[default]
    Native,
    /// x86-64-v2, v3 or v4, by number.
    Level(u8),
}

impl Cpu {
    pub(crate) fn features(self) -> Features {
        match self {
            Cpu::Native => Features::native(),
            Cpu::Level(level) => Features::of_level(level),
        }
    }
}

/// How to compile. Start from the default and change what should differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileOptions {
    /// The level of optimisation, 0 to 3.
    pub level: u8,
    /// Whether the code counts instructions, and can be limited by fuel.
    pub fuel: bool,
    /// What the code assumes of the program, and so where it gives what the interpreter gives.
    pub fidelity: Fidelity,
    /// What to compile by the quick back end: in a tenth of the time, to code that takes up to two and a half times as long.
    /// Such code counts no instructions and is not precise; where that is asked for, and in objects that are linked into
    /// hosts, this is ignored.
    pub quick: Quick,
    /// The processors that the code is to run on.
    pub cpu: Cpu,
    /// The guest's addresses: the code runs in machines that have these. A program that compiles itself takes those of its
    /// configuration instead (`Config::address_bits`).
    pub space: AddressSpace,
    /// Threads that compile at once; 0 for one per core.
    pub threads: usize,
    /// The most work that a compilation may take, in instructions; those of long functions count with their square, as
    /// they take time. A program that takes more is not compiled. The count is the same on every machine. The default
    /// is 8 Mi: some minutes of a core.
    pub max_work: u64,
}

impl Default for CompileOptions {
    fn default() -> CompileOptions {
        CompileOptions {
            level: 2,
            fuel: false,
            fidelity: Fidelity::AbiAssuming,
            quick: Quick::Nothing,
            cpu: Cpu::Native,
            space: AddressSpace::LARGEST,
            threads: 0,
            max_work: 8 << 20,
        }
    }
}

impl CompileOptions {
    /// Whether nothing is assumed of the program.
    pub(crate) fn is_precise(&self) -> bool {
        self.fidelity == Fidelity::Precise
    }

    /// These options as a program is compiled by them: precisely, whatever they say, if its functions are known not to keep
    /// to the psABI, on which [`Fidelity::AbiAssuming`] relies. Programs of Go's compiler are known by what Go's linker
    /// writes.
    ///
    /// ```
    /// use riverrun_aot::{CompileOptions, Fidelity};
    /// use riverrun_program::Image;
    ///
    /// let image = Image::parse(riverrun_program::doc::TINY)?;
    /// assert_eq!(CompileOptions::default().suited_to(&image).fidelity, Fidelity::AbiAssuming);
    /// # Ok::<(), riverrun_program::LoadError>(())
    /// ```
    #[must_use]
    pub fn suited_to(self, image: &Image) -> CompileOptions {
        let fidelity = if image.is_go() { Fidelity::Precise } else { self.fidelity };
        let is_possible = !self.fuel && fidelity == Fidelity::AbiAssuming;
        let quick = if is_possible { self.quick } else { Quick::Nothing };
        CompileOptions { fidelity, quick, ..self }
    }

    /// The options in the header of artifacts.
    pub fn header(&self) -> Options {
        Options { fuel: self.fuel, fidelity: self.fidelity, level: self.level, quick: self.quick, space: self.space }
    }
}
