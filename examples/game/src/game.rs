//! The game: a script that runs, what is made of its failures, and the picture of it all.

use std::path::Path;
use std::time::Instant;

use riverrun::{Engine, Error, Program};

use crate::build::Builder;
use crate::meter::{Meter, Unit};
use crate::scene::{FIELD, Scene};
use crate::screen::{Colour, Screen};
use crate::script::{Script, report};
use crate::{RATE, SCRIPT};

const TITLE: Colour = [0xff, 0xe0, 0x80];
const NEWS: Colour = [0x60, 0xff, 0x90];
const PROBLEM: Colour = [0xff, 0x70, 0x60];
/// Rows above and below the field.
const ABOVE: usize = 1;
const BELOW: usize = 5;

/// Light on the field, in red, green and blue; it fades from frame to frame.
#[derive(Default)]
struct Glow {
    size: [usize; 2],
    light: Vec<[f32; 3]>,
}

/// A game that is being played.
pub struct Game {
    engine: Engine,
    script: Script,
    builder: Option<Builder>,
    meter: Meter,
    glow: Glow,
    /// Why the source as it is cannot be used, line by line.
    complaint: Vec<String>,
    /// How the script failed last, line by line, and until when it is shown.
    failure: Option<(Vec<String>, f32)>,
    /// What there is to tell of reloads, and when it came up.
    news: (String, f32),
}

impl Game {
    /// A new game, with the script that was built with it.
    ///
    /// # Errors
    /// If the script cannot be run.
    pub fn new(engine: &Engine, seed: u64, unit: Unit) -> Result<Game, Error> {
        let program = Program::new(engine, SCRIPT)?;
        Ok(Game {
            script: Script::new(engine, &program, Scene::new(seed))?,
            engine: engine.clone(),
            builder: None,
            meter: Meter::new(unit),
            glow: Glow::default(),
            complaint: Vec::new(),
            failure: None,
            news: (String::new(), 0.0),
        })
    }

    /// An engine for games.
    ///
    /// # Errors
    /// If compiled code is asked for, and this build has no compiler.
    pub fn engine(single_step: bool, compiled: bool) -> Result<Engine, Error> {
        crate::script::engine(single_step, compiled)
    }

    /// Reloads the script when this source is saved.
    ///
    /// # Errors
    /// If the source is not there, or no folder to build in can be made.
    pub fn watch(&mut self, source: &Path) -> std::io::Result<()> {
        self.builder = Some(Builder::new(&self.engine, source)?);
        Ok(())
    }

    /// The script.
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// What frames have cost.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// What is wrong at present, line by line.
    pub fn problems(&self) -> impl Iterator<Item = &str> {
        let failure = self.failure.iter().flat_map(|(lines, _)| lines);
        self.complaint.iter().chain(failure).map(String::as_str)
    }

    /// What was told last of reloads.
    pub fn news(&self) -> &str {
        &self.news.0
    }

    /// Shows where the script has failed, for a while: the game goes on.
    fn fail(&mut self, error: &Error) {
        self.failure = Some((report(error), self.script.scene().world.time + 3.0));
    }

    /// Tells the script of a key: 0 to 3 for left, right, up and down.
    pub fn key(&mut self, key: i32) {
        if let Err(error) = self.script.key(key) {
            self.fail(&error);
        }
    }

    /// Whether the compiler is at work.
    pub fn is_building(&self) -> bool {
        self.builder.as_ref().is_some_and(Builder::is_running)
    }

    /// Takes over a script that has been rebuilt; every frame begins so.
    pub fn reload(&mut self) {
        let Some(built) = self.builder.as_mut().and_then(Builder::poll) else { return };
        match built.map(|program| self.script.reload(&self.engine, &program)) {
            Ok(Ok(is_kept)) => {
                let news = if is_kept { "reloaded: the state stays" } else { "reloaded: begins afresh" };
                self.news = (news.to_owned(), self.script.scene().world.time);
                self.complaint.clear();
                self.failure = None;
            }
            // The old script goes on until there is one that can be used.
            Ok(Err(error)) => self.complaint = report(&error),
            Err(complaint) => self.complaint = complaint.lines().map(str::to_owned).collect(),
        }
    }

    /// Plays a frame and draws it.
    pub fn frame(&mut self, screen: &mut Screen) {
        let begin = Instant::now();
        self.reload();
        let (mut frame, result) = self.script.frame(1.0 / RATE as f32);
        let now = self.script.scene().world.time;
        self.failure.take_if(|(_, until)| *until < now);
        if let Err(error) = result {
            self.fail(&error);
        }
        screen.clear();
        let rows = ABOVE..screen.height().saturating_sub(BELOW).max(ABOVE);
        self.glow.fade([screen.width(), 2 * rows.len()]);
        self.glow.add(&self.script);
        self.glow.draw(screen, ABOVE);
        frame.whole = begin.elapsed();
        self.meter.add(frame);
        self.meter.draw(screen, rows.end + 1..screen.height().max(rows.end + 1));
        self.write(screen, now);
    }

    fn write(&self, screen: &mut Screen, now: f32) {
        let world = &self.script.scene().world;
        let mut x = 1;
        for (label, value) in &world.shown {
            let text = format!("{label} {value}");
            screen.print(x, 0, &text, TITLE);
            x += text.chars().count() + 3;
        }
        let news = if self.is_building() { "compiling .." } else { self.news.0.as_str() };
        let mut right = |text: &str, row, colour| {
            screen.print(screen.width().saturating_sub(text.chars().count() + 1), row, text, colour);
        };
        if self.is_building() || now - self.news.1 < 4.0 {
            right(news, 0, NEWS);
        }
        if now - world.said.1 < 2.5 {
            right(&world.said.0, ABOVE + 1, TITLE);
        }
        let room = screen.height().saturating_sub(ABOVE + BELOW + 2);
        for (row, line) in self.problems().take(room).enumerate() {
            screen.print(2, ABOVE + 1 + row, line, PROBLEM);
        }
    }
}

impl Glow {
    /// Dims what was drawn; after a change of size all is dark.
    fn fade(&mut self, size: [usize; 2]) {
        if self.size != size {
            *self = Glow { size, light: vec![[0.0; 3]; size[0] * size[1]] };
        }
        for light in self.light.iter_mut().flatten() {
            *light *= 0.7;
        }
    }

    /// Lights up all that is on the field.
    fn add(&mut self, script: &Script) {
        for spark in &script.scene().world.sparks {
            self.spot(spark.at, 0.3, spark.colour, spark.light);
        }
        for body in script.bodies().iter().filter(|body| body.kind != 0) {
            self.spot([body.x, body.y], body.radius, body.colour, 1.3);
        }
    }

    /// A round spot, of full strength in its middle. It may lie anywhere.
    fn spot(&mut self, at: [f32; 2], radius: f32, colour: u32, strength: f32) {
        let scale = [0, 1].map(|axis| self.size[axis] as f32 / FIELD[axis]);
        let centre = [at[0] * scale[0], at[1] * scale[1]];
        let radius = (radius.clamp(0.0, 20.0) * scale[0]).max(0.5) + 1.0;
        let range = |axis: usize| {
            let (low, high) = (centre[axis] - radius, centre[axis] + radius);
            low.max(0.0) as usize..(high.max(0.0) as usize).saturating_add(1).min(self.size[axis])
        };
        let [_, red, green, blue] = colour.to_be_bytes().map(f32::from);
        for (x, y) in range(1).flat_map(|y| range(0).map(move |x| (x, y))) {
            let distance = (x as f32 + 0.5 - centre[0]).hypot(y as f32 + 0.5 - centre[1]) / radius;
            let light = (1.0 - distance * distance).max(0.0) * strength;
            for (sum, part) in self.light[y * self.size[0] + x].iter_mut().zip([red, green, blue]) {
                *sum = sum.max(part * light);
            }
        }
    }

    fn draw(&self, screen: &mut Screen, first_row: usize) {
        let colour = |x: usize, y: usize| self.light[y * self.size[0] + x].map(|light| light as u8);
        for y in 0..self.size[1] / 2 {
            for x in 0..self.size[0] {
                screen.put_pixels(x, first_row + y, colour(x, 2 * y), colour(x, 2 * y + 1));
            }
        }
    }
}
