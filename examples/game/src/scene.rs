//! What the script's calls work on: bodies that move and touch, sparks, timers.

use riverrun::{Caller, HostError, Memory, Ptr, Slice, Str};

use crate::api::{Api, Body};

/// Size of the field.
pub(crate) const FIELD: [f32; 2] = [160.0, 90.0];
/// Sparks at once; more are left out.
const SPARKS: usize = 4000;

/// A point of light that fades.
pub(crate) struct Spark {
    pub(crate) at: [f32; 2],
    velocity: [f32; 2],
    pub(crate) colour: u32,
    /// From 1 to 0.
    pub(crate) light: f32,
}

/// The host's side of the game. It outlives the script.
pub struct Scene {
    /// The bodies, which are in the script's memory.
    pub(crate) bodies: Slice<Body>,
    /// What the script wants to keep over a reload, and its version.
    pub(crate) kept: (Slice<u8>, i32),
    pub(crate) world: World,
}

/// All of a [`Scene`] that does not lie in the script's memory.
pub(crate) struct World {
    random: u64,
    pub(crate) time: f32,
    /// When, and what the script knows it by.
    timers: Vec<(f32, i32)>,
    pub(crate) sparks: Vec<Spark>,
    /// Numbers to be shown.
    pub(crate) shown: Vec<(String, i32)>,
    /// What the script has said last, and when.
    pub(crate) said: (String, f32),
    /// Calls that the script has made.
    pub(crate) calls: u64,
}

impl Scene {
    /// An empty scene; equal seeds make equal games.
    pub fn new(seed: u64) -> Scene {
        let world = World {
            // Not zero, where the generator would stay.
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            time: 0.0,
            timers: Vec::new(),
            sparks: Vec::new(),
            shown: Vec::new(),
            said: (String::new(), 0.0),
            calls: 0,
        };
        Scene { bodies: Ptr::new(0).slice(0), kept: (Ptr::new(0).slice(0), 0), world }
    }
}

impl World {
    /// A number from 0 to 1, without 1 (xorshift64*).
    pub(crate) fn random(&mut self) -> f32 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 40) as f32 / (1 << 24) as f32
    }

    /// Takes out a timer whose time has come, the earliest first.
    pub(crate) fn due(&mut self) -> Option<i32> {
        let next = (0..self.timers.len()).min_by(|&a, &b| self.timers[a].0.total_cmp(&self.timers[b].0))?;
        (self.timers[next].0 <= self.time).then(|| self.timers.remove(next).1)
    }

    /// Moves and dims the sparks.
    pub(crate) fn fade(&mut self, seconds: f32) {
        for spark in &mut self.sparks {
            spark.light -= 1.4 * seconds;
            for (at, velocity) in spark.at.iter_mut().zip(&mut spark.velocity) {
                *at += *velocity * seconds;
                *velocity *= 0.97;
            }
        }
        self.sparks.retain(|spark| spark.light > 0.0);
    }
}

/// Moves bodies within the field; they bounce off its edges.
pub(crate) fn advance(bodies: &mut [Body], seconds: f32) {
    let within = |at: &mut f32, velocity: &mut f32, size: f32| {
        *at += *velocity * seconds;
        if !(0.0..=size).contains(at) {
            // Not a number is nowhere: put it at the edge too.
            *at = if *at > 0.0 { size } else { 0.0 };
            *velocity = -*velocity;
        }
    };
    for body in bodies.iter_mut().filter(|body| body.kind != 0) {
        within(&mut body.x, &mut body.vx, FIELD[0]);
        within(&mut body.y, &mut body.vy, FIELD[1]);
        body.age += seconds;
    }
}

/// Pairs of bodies that touch, where the first hits the second's kind. So few hit anything that all are
/// compared with all.
pub(crate) fn touching(bodies: &[Body], pairs: &mut Vec<(usize, usize)>) {
    pairs.clear();
    for (a, body) in bodies.iter().enumerate().filter(|(_, body)| body.kind != 0 && body.hits != 0) {
        let touches = |other: &Body| squared_distance(body, other) < (body.radius + other.radius).powi(2);
        let hit = bodies.iter().enumerate().filter(|(_, other)| body.hits & other.kind != 0 && touches(other));
        pairs.extend(hit.map(|(b, _)| (a, b)).filter(|&(a, b)| a != b));
    }
}

fn squared_distance(a: &Body, b: &Body) -> f32 {
    (a.x - b.x).powi(2) + (a.y - b.y).powi(2)
}

/// Counts a call, and gives what it works on.
fn called<'a>(caller: &'a mut Caller<'_, Scene>) -> (&'a mut World, Slice<Body>, &'a Memory) {
    let (scene, memory) = caller.split();
    scene.world.calls += 1;
    (&mut scene.world, scene.bodies, memory)
}

impl Api for Scene {
    fn bodies(mut caller: Caller<'_, Scene>, bodies: Slice<Body>) -> Result<(), HostError> {
        bodies.get_mut(caller.memory_mut())?;
        caller.data_mut().bodies = bodies;
        Ok(())
    }

    fn keep(mut caller: Caller<'_, Scene>, state: Slice<u8>, version: i32) -> Result<(), HostError> {
        state.get_mut(caller.memory_mut())?;
        caller.data_mut().kept = (state, version);
        Ok(())
    }

    fn nearest(mut caller: Caller<'_, Scene>, body: i32, kinds: u32, within: f32) -> Result<i32, HostError> {
        let (_, bodies, memory) = called(&mut caller);
        let bodies = bodies.get(memory)?;
        let from = usize::try_from(body).ok().and_then(|body| bodies.get(body)).ok_or("there is no such body")?;
        let mut nearest = (within * within, -1);
        for (index, other) in bodies.iter().enumerate().filter(|(_, other)| other.kind & kinds != 0) {
            let distance = squared_distance(from, other);
            if distance < nearest.0 && index as i32 != body {
                nearest = (distance, index as i32);
            }
        }
        Ok(nearest.1)
    }

    fn random(&mut self, _memory: &mut Memory) -> Result<f32, HostError> {
        self.world.calls += 1;
        Ok(self.world.random())
    }

    fn after(mut caller: Caller<'_, Scene>, seconds: f32, what: i32) -> Result<(), HostError> {
        let (world, ..) = called(&mut caller);
        if !(0.0..1e6).contains(&seconds) {
            return Err(format!("no timer can be set to {seconds} seconds").into());
        }
        if world.timers.len() == 1000 {
            return Err("there are 1000 timers already".into());
        }
        world.timers.push((world.time + seconds, what));
        Ok(())
    }

    fn sparks(mut caller: Caller<'_, Scene>, body: Ptr<Body>, count: i32, speed: f32) -> Result<(), HostError> {
        let (world, _, memory) = called(&mut caller);
        let body = *body.get(memory)?;
        for _ in 0..count.clamp(0, (SPARKS - world.sparks.len()) as i32) {
            let (turn, speed) = (world.random() * std::f32::consts::TAU, world.random() * speed);
            let velocity = [body.vx / 4.0 + turn.cos() * speed, body.vy / 4.0 + turn.sin() * speed];
            let light = 0.5 + world.random() / 2.0;
            world.sparks.push(Spark { at: [body.x, body.y], velocity, colour: body.colour, light });
        }
        Ok(())
    }

    fn show(mut caller: Caller<'_, Scene>, label: Str, value: i32) -> Result<(), HostError> {
        let (world, _, memory) = called(&mut caller);
        let label = label.get(memory)?;
        match world.shown.iter().position(|(known, _)| known == label) {
            Some(index) => world.shown[index].1 = value,
            None if world.shown.len() < 8 => world.shown.push((label.to_owned(), value)),
            None => return Err("there is room for 8 numbers only".into()),
        }
        Ok(())
    }

    fn say(mut caller: Caller<'_, Scene>, text: Str) -> Result<(), HostError> {
        let (world, _, memory) = called(&mut caller);
        world.said = (text.get(memory)?.to_owned(), world.time);
        Ok(())
    }
}
