//! Whether a program can tell in what float environment a host function has run.

use riverrun_isa::{Inst, csr, decode};

use crate::image::Image;

impl Image {
    /// Whether some word of the text would be an instruction that accesses the accrued exceptions, or
    /// changes the rounding mode. Looks through all of the text, each time.
    ///
    /// ```
    /// let image = riverrun_program::Image::parse(riverrun_program::doc::TINY)?;
    /// assert!(!image.touches_float_environment());
    /// # Ok::<(), riverrun_program::LoadError>(())
    /// ```
    pub fn touches_float_environment(&self) -> bool {
        self.text().iter().any(|range| {
            let text = self.text_bytes(range.clone()).unwrap_or_default();
            (0..text.len()).step_by(2).any(|at| text[at..].first_chunk().is_some_and(|&word| touches(word)))
        })
    }
}

fn touches(word: [u8; 4]) -> bool {
    const SYSTEM: u32 = 0x73;
    let word = u32::from_le_bytes(word);
    let is_candidate = word & 0x7f == SYSTEM && word >> 20 <= csr::FCSR.into();
    is_candidate && decode(word).is_some_and(|inst| inst.op.info().format.is_csr() && touches_csr(&inst))
}

fn touches_csr(inst: &Inst) -> bool {
    match inst.imm as u16 {
        csr::FFLAGS | csr::FCSR => true,
        csr::FRM => inst.writes_csr(),
        _ => false,
    }
}
