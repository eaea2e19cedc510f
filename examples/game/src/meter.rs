//! What frames cost, and the graph of it.

use std::collections::VecDeque;
use std::time::Duration;

use crate::screen::{BLACK, Colour, Screen};

/// What a frame has cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frame {
    /// Bodies on the field.
    pub bodies: usize,
    /// Instructions of the script.
    pub instructions: u64,
    /// Calls between engine and script, both ways.
    pub calls: u64,
    /// Time that the script took, and what it calls.
    pub script: Duration,
    /// Time of the whole frame.
    pub whole: Duration,
}

/// What the graph shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds: the script's within the whole frame's.
    Milliseconds,
    /// Instructions of the script, the same in every run.
    Instructions,
}

/// The frames of the last seconds.
#[derive(Debug)]
pub struct Meter {
    unit: Unit,
    frames: VecDeque<Frame>,
}

const KEPT: usize = 240;
const SCRIPT: Colour = [0x30, 0xd0, 0xc0];
const ENGINE: Colour = [0x50, 0x58, 0x78];
const TEXT: Colour = [0xb0, 0xb8, 0xc8];

impl Meter {
    /// No frames yet.
    pub fn new(unit: Unit) -> Meter {
        Meter { unit, frames: VecDeque::new() }
    }

    /// Adds a frame.
    pub fn add(&mut self, frame: Frame) {
        self.frames.truncate(KEPT - 1);
        self.frames.push_front(frame);
    }

    /// The script's share of a frame, and the whole.
    fn cost(&self, frame: &Frame) -> [f64; 2] {
        match self.unit {
            Unit::Milliseconds => [frame.script, frame.whole].map(|time| time.as_secs_f64() * 1e3),
            Unit::Instructions => [frame.instructions as f64; 2],
        }
    }

    /// Draws the graph, newest frames to the right, and the numbers beside it.
    pub(crate) fn draw(&self, screen: &mut Screen, rows: std::ops::Range<usize>) {
        let width = screen.width() / 2;
        let highest = self.frames.iter().take(width).map(|frame| self.cost(frame)[1]).fold(0.0, f64::max);
        let top = round_up(highest);
        let scale = rows.len() as f64 * 8.0 / top;
        for (column, frame) in (0..width).rev().zip(&self.frames) {
            let [script, whole] = self.cost(frame).map(|cost| (cost * scale).round() as usize);
            for (height, row) in rows.clone().rev().enumerate() {
                // Eighths of this character.
                let [script, whole] = [script, whole].map(|cost| cost.saturating_sub(8 * height).min(8));
                let (level, colour, behind) = match (script, whole) {
                    (0, whole) => (whole, ENGINE, BLACK),
                    (script, 8) => (script, SCRIPT, ENGINE),
                    (script, _) => (script, SCRIPT, BLACK),
                };
                screen.put(column, row, [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][level], colour, behind);
            }
        }
        let unit = match self.unit {
            Unit::Milliseconds => format!("{top} ms"),
            Unit::Instructions => format!("{} instructions", grouped(top as u64)),
        };
        screen.print(0, rows.start, &unit, TEXT);
        self.numbers(screen, width + 2, rows.start);
    }

    fn numbers(&self, screen: &mut Screen, x: usize, y: usize) {
        let Some(last) = self.frames.front() else { return };
        let mean = |cost: usize| {
            let all: f64 = self.frames.iter().map(|frame| self.cost(frame)[cost]).sum();
            all / self.frames.len() as f64
        };
        match self.unit {
            Unit::Milliseconds => {
                screen.print(x, y, &format!("script {:.2} ms a frame", mean(0)), SCRIPT);
                screen.print(x + 26, y, &format!("of {:.2} ms", mean(1)), TEXT);
            }
            Unit::Instructions => screen.print(x, y, "script, a frame", SCRIPT),
        }
        screen.print(x, y + 1, &format!("{:>9} instructions", grouped(last.instructions)), TEXT);
        screen.print(x, y + 2, &format!("{:>9} calls to and fro", grouped(last.calls)), TEXT);
        screen.print(x, y + 3, &format!("{:>9} bodies", last.bodies), TEXT);
    }

    /// The mean of the script's time.
    pub fn script_time(&self) -> Duration {
        self.frames.iter().map(|frame| frame.script).sum::<Duration>() / self.frames.len().max(1) as u32
    }

    /// The frame before this one.
    pub fn last(&self) -> Frame {
        self.frames.front().copied().unwrap_or_default()
    }
}

/// The next number that is 1, 2 or 5 and zeros.
fn round_up(number: f64) -> f64 {
    let power = 10_f64.powf(number.max(0.1).log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|step| step * power).into_iter().find(|&round| round >= number).unwrap_or(power)
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    match number / 1000 {
        0 => number.to_string(),
        thousands => format!("{},{:03}", grouped(thousands), number % 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_in_round_numbers() {
        assert_eq!([0.0, 0.7, 1.0, 3.0, 16.7, 5001.0].map(round_up), [0.1, 1.0, 1.0, 5.0, 20.0, 10_000.0]);
    }

    #[test]
    fn bars_are_as_high_as_frames_are_costly() {
        let mut meter = Meter::new(Unit::Instructions);
        for instructions in [1000, 500, 0] {
            meter.add(Frame { instructions, ..Frame::default() });
        }
        let mut screen = Screen::new(80, 4);
        meter.draw(&mut screen, 0..4);
        let column = |x: usize| (0..4).map(|row| screen.row(row).chars().nth(x).unwrap()).collect::<String>();
        assert_eq!([37, 38, 39].map(column), ["████", "  ██", "    "]);
        assert!(screen.row(0).starts_with("1,000 instructions"));
    }
}
