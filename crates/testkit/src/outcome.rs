//! The state in which a run ends, and how two of them differ.

use std::fmt::{Debug, Write};

use riverrun::TrapCause;
use riverrun::image::Image;
use riverrun_isa::{Style, disassemble, length};

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// With this status.
    Exit(i32),
    /// With a trap at this pc.
    Trap(TrapCause, u64),
    /// With an error of the host.
    Error(String),
}

impl Stop {
    /// Whether the run ended for another reason than fuel.
    pub fn is_by_itself(&self) -> bool {
        !matches!(self, Stop::Trap(TrapCause::OutOfFuel, _))
    }
}

/// The observable state of a machine that has stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it stopped.
    pub stop: Stop,
    /// Where.
    pub pc: u64,
    /// Instructions executed.
    pub instructions: u64,
    /// Instructions left.
    pub fuel: Option<u64>,
    /// Integer registers.
    pub x: [u64; 32],
    /// Float registers.
    pub f: [u64; 32],
    /// Float control and status.
    pub fcsr: u32,
    /// What it has written.
    pub output: Vec<u8>,
    /// Address and digest of every page that the guest can write.
    pub memory: Vec<(u64, u64)>,
}

impl Outcome {
    /// The differences of `other`, one a line; `None` if there are none.
    pub fn difference(&self, other: &Outcome) -> Option<String> {
        if self == other {
            return None;
        }
        let mut lines = String::new();
        let mut line = |what: &str, ours: &dyn Debug, theirs: &dyn Debug| {
            let (ours, theirs) = (format!("{ours:#x?}"), format!("{theirs:#x?}"));
            if ours != theirs {
                let _ = writeln!(lines, "  {what}: {ours} | {theirs}");
            }
        };
        line("stop", &self.stop, &other.stop);
        line("pc", &self.pc, &other.pc);
        line("instructions", &self.instructions, &other.instructions);
        line("fuel", &self.fuel, &other.fuel);
        line("fcsr", &self.fcsr, &other.fcsr);
        for n in 0..32 {
            line(&format!("x{n}"), &self.x[n], &other.x[n]);
        }
        for n in 0..32 {
            line(&format!("f{n}"), &self.f[n], &other.f[n]);
        }
        line("output", &self.output, &other.output);
        line("pages", &self.memory.len(), &other.memory.len());
        for (ours, theirs) in self.memory.iter().zip(&other.memory) {
            line("page", ours, theirs);
        }
        Some(lines)
    }
}

/// The instructions before and at each of these addresses.
pub(crate) fn around(elf: &[u8], pcs: &[u64]) -> String {
    const BEFORE: u64 = 24;
    let mut text = String::new();
    let Ok(image) = Image::parse(elf) else { return text };
    for &pc in pcs {
        let _ = writeln!(text, "before and at {pc:#x}:");
        // Parcels in the middle of an instruction are shown too: control can enter anywhere.
        for address in (pc.saturating_sub(BEFORE)..=pc).step_by(2) {
            let Ok(word) = image.instruction_bits(address) else { continue };
            let digits = 2 * length(word) as usize;
            let _ = writeln!(text, "  {address:8x}: {word:0digits$x}\t{}", disassemble(word, address, Style::Aliases));
        }
    }
    text
}
