//! Coloured characters: shown in a terminal, or made into a picture.

use std::io::{self, Write};

use crossterm::cursor::MoveTo;
use crossterm::queue;
use crossterm::style::{Color, Print, SetBackgroundColor, SetForegroundColor};

use crate::font;

/// Red, green, blue.
pub(crate) type Colour = [u8; 3];
pub(crate) const BLACK: Colour = [0; 3];

/// A character: in half of one are two pixels, in `▁` to `█` is a bar.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Cell {
    character: char,
    colour: Colour,
    behind: Colour,
}

/// Rows of characters.
pub struct Screen {
    width: usize,
    cells: Vec<Cell>,
    /// What the terminal shows.
    shown: Vec<Cell>,
}

/// Pixels of a character in pictures.
const CELL: [usize; 2] = [8, 16];

impl Screen {
    /// An empty screen of this many columns and rows.
    pub fn new(width: usize, height: usize) -> Screen {
        let cells = vec![Cell { character: ' ', colour: BLACK, behind: BLACK }; width * height];
        Screen { width, cells, shown: Vec::new() }
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.cells.len() / self.width.max(1)
    }

    /// The characters of a row.
    pub fn row(&self, y: usize) -> String {
        self.cells.chunks(self.width.max(1)).nth(y).into_iter().flatten().map(|cell| cell.character).collect()
    }

    /// Empties it.
    pub(crate) fn clear(&mut self) {
        self.cells.fill(Cell { character: ' ', colour: BLACK, behind: BLACK });
    }

    /// Puts a character, if its place is on the screen.
    pub(crate) fn put(&mut self, x: usize, y: usize, character: char, colour: Colour, behind: Colour) {
        if x < self.width && y < self.height() {
            self.cells[y * self.width + x] = Cell { character, colour, behind };
        }
    }

    /// Puts two pixels, one above the other.
    pub(crate) fn put_pixels(&mut self, x: usize, y: usize, above: Colour, below: Colour) {
        self.put(x, y, '▀', above, below);
    }

    /// Writes a line, on black.
    pub(crate) fn print(&mut self, x: usize, y: usize, text: &str, colour: Colour) {
        for (offset, character) in text.chars().enumerate() {
            // Nothing that a terminal might obey.
            let character = if character.is_control() { ' ' } else { character };
            self.put(x + offset, y, character, colour, BLACK);
        }
    }

    /// Brings the terminal up to date.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn show(&mut self, out: &mut impl Write) -> io::Result<()> {
        let mut colours = None;
        let mut next = None;
        for (index, cell) in self.cells.iter().enumerate() {
            if self.shown.get(index) == Some(cell) {
                continue;
            }
            if next != Some(index) {
                queue!(out, MoveTo((index % self.width) as u16, (index / self.width) as u16))?;
            }
            if colours != Some((cell.colour, cell.behind)) {
                let [colour, behind] = [cell.colour, cell.behind].map(|[r, g, b]| Color::Rgb { r, g, b });
                queue!(out, SetForegroundColor(colour), SetBackgroundColor(behind))?;
                colours = Some((cell.colour, cell.behind));
            }
            queue!(out, Print(cell.character))?;
            // Where the cursor is at the end of a line differs among terminals.
            next = (!(index + 1).is_multiple_of(self.width)).then_some(index + 1);
        }
        self.shown.clone_from(&self.cells);
        out.flush()
    }

    /// The screen as a PNG picture.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_png(&self, mut out: impl Write) -> Result<(), png::EncodingError> {
        let [width, height] = [self.width * CELL[0], self.height() * CELL[1]];
        let mut encoder = png::Encoder::new(&mut out, width as u32, height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::High);
        let pixels = (0..width * height).flat_map(|at| self.pixel(at % width, at / width));
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&pixels.collect::<Vec<u8>>())?;
        writer.finish()?;
        Ok(out.flush()?)
    }

    fn pixel(&self, x: usize, y: usize) -> Colour {
        let cell = &self.cells[y / CELL[1] * self.width + x / CELL[0]];
        let (x, y) = (x % CELL[0], y % CELL[1]);
        let is_lit = match cell.character {
            '▀' => y < CELL[1] / 2,
            bar @ '▁'..='█' => (CELL[1] - 1 - y) * 8 / CELL[1] <= bar as usize - '▁' as usize,
            // Doubled, with a pixel to the left and three above.
            character => {
                let (x, y) = (x.wrapping_sub(1) / 2, y.wrapping_sub(3) / 2);
                x < font::SIZE[0] && y < font::SIZE[1] && font::is_lit(character, x, y)
            }
        };
        if is_lit { cell.colour } else { cell.behind }
    }
}
