//! The guest.

use std::io::Write;

use font8x8::legacy::BASIC_LEGACY;
use riverrun::{Config, Engine, Error, Func, HostError, Linker, Machine, Memory, Program};

use crate::api::{self, Api};

/// Pixels of the frame.
pub const WIDTH: usize = 640;
/// Pixels of the frame.
pub const HEIGHT: usize = 400;
/// Bytes of text that the guest has room for.
pub const TEXT_MAX: usize = 1 << 20;

const GUEST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/console"));

/// Where the step of colour is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// In C.
    C,
    /// In RISC-V assembly, written by hand.
    Assembly,
    /// In the host, which the guest calls.
    Host,
}

impl Step {
    /// All of them.
    pub const ALL: [Step; 3] = [Step::C, Step::Assembly, Step::Host];

    /// What the guest calls it.
    pub fn name(self) -> &'static str {
        match self {
            Step::C => "c",
            Step::Assembly => "assembly",
            Step::Host => "host",
        }
    }
}

/// A step away from the candle, of a colour `0x00RRGGBB`: half of blue and an eighth of green are lost.
///
/// ```
/// assert_eq!(riverrun_console::fade(0xff_80_41), 0xff_70_20);
/// ```
pub fn fade(colour: u32) -> u32 {
    let [_, red, green, blue] = colour.to_be_bytes();
    u32::from_be_bytes([0, red, green - green / 8, blue / 2])
}

struct Light;

impl Api for Light {
    fn fade(&mut self, _memory: &mut Memory, colour: u32) -> Result<u32, HostError> {
        Ok(fade(colour))
    }
}

/// The guest on each engine that there is, with the engine's name.
///
/// # Errors
/// If the guest cannot be loaded, or compiled.
pub fn programs() -> Result<Vec<(&'static str, Program)>, Error> {
    let engine = Engine::new(&Config::new())?;
    #[allow(unused_mut)]
    let mut programs = vec![("the interpreter", Program::new(&engine, GUEST)?)];
    #[cfg(feature = "compile")]
    {
        let mut config = Config::new();
        config.compile(riverrun::CompileOptions::default());
        programs.push(("compiled code", Program::new(&Engine::new(&config)?, GUEST)?));
    }
    Ok(programs)
}

/// The renderer, with a text.
pub struct Console {
    machine: Machine<Light>,
    render: Func<(u64,), ()>,
    repeat: Func<(u32, u64), u32>,
    length: u64,
}

impl Console {
    /// A renderer of `text`, of which it takes the first [`TEXT_MAX`] bytes, with the step taken so.
    ///
    /// # Errors
    /// If the guest is not as it should be.
    pub fn new(program: &Program, step: Step, text: &[u8]) -> Result<Console, Error> {
        let text = &text[..text.len().min(TEXT_MAX)];
        let mut linker = Linker::new(program.engine());
        api::link(&mut linker)?;
        let mut machine = linker.instantiate(program, Light)?;
        let glyphs = address(&machine, "glyphs")?;
        machine.memory_mut().write(glyphs, BASIC_LEGACY.as_flattened())?;
        let place = address(&machine, "text")?;
        machine.memory_mut().write(place, text)?;
        let name = step.name();
        let (render, repeat) =
            (machine.func(&format!("render_in_{name}"))?, machine.func(&format!("repeat_in_{name}"))?);
        Ok(Console { machine, render, repeat, length: text.len() as u64 })
    }

    /// Renders all of the text into the frame.
    ///
    /// # Errors
    /// If the guest traps.
    pub fn render(&mut self) -> Result<(), Error> {
        self.render.call(&mut self.machine, (self.length,))
    }

    /// Takes the step so many times, and gives what comes of the colour.
    ///
    /// # Errors
    /// If the guest traps.
    pub fn repeat(&mut self, colour: u32, times: u64) -> Result<u32, Error> {
        self.repeat.call(&mut self.machine, (colour, times))
    }

    /// The frame's pixels, row by row, each red, green and blue.
    ///
    /// # Errors
    /// If the guest has no frame.
    pub fn pixels(&self) -> Result<Vec<u8>, Error> {
        let frame = address(&self.machine, "frame")?;
        let bytes = self.machine.memory().slice(frame, (4 * WIDTH * HEIGHT) as u64)?;
        Ok(bytes.chunks_exact(4).flat_map(|pixel| [pixel[2], pixel[1], pixel[0]]).collect())
    }

    /// A checksum of the frame.
    ///
    /// # Errors
    /// As [`Console::pixels`].
    pub fn checksum(&self) -> Result<u32, Error> {
        Ok(crc32fast::hash(&self.pixels()?))
    }

    /// Writes the frame as a PNG.
    ///
    /// # Errors
    /// As [`Console::pixels`], and what the writer says.
    pub fn write_png(&self, mut out: impl Write) -> Result<(), Box<dyn std::error::Error>> {
        let mut encoder = png::Encoder::new(&mut out, WIDTH as u32, HEIGHT as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels()?)?;
        writer.finish()?;
        Ok(out.flush()?)
    }

    /// Instructions that the guest has executed, where they are counted.
    pub(crate) fn instructions(&self) -> u64 {
        self.machine.instructions()
    }
}

/// Of a variable of the guest.
fn address(machine: &Machine<Light>, name: &str) -> Result<u64, Error> {
    let symbol = machine.program().image().symbol(name);
    symbol.map(|symbol| symbol.address).ok_or_else(|| Error::Config(format!("the guest has no {name}")))
}
