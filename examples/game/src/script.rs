//! The guest: called with what happens in the game, and replaced while it runs.

use riverrun::{Config, Engine, Error, Func, Linker, Machine, Program, Ptr};

use crate::api::{self, Body};
use crate::meter::Frame;
use crate::scene::{self, Scene};

/// Instructions that the script may execute in a frame; an endless loop ends there.
const FUEL: u64 = 4_000_000;

/// A guest that runs, and its functions.
pub struct Script {
    machine: Machine<Scene>,
    frame: Func<(f32,), ()>,
    think: Func<(Ptr<Body>, f32), ()>,
    touch: Func<(Ptr<Body>, Ptr<Body>), ()>,
    timer: Func<(i32,), ()>,
    key: Func<(i32,), ()>,
    touching: Vec<(usize, usize)>,
    calls: u64,
}

impl Script {
    /// Starts a script in a scene of its own.
    ///
    /// # Errors
    /// What is wrong with the program, or went wrong in its `main`.
    pub fn new(engine: &Engine, program: &Program, scene: Scene) -> Result<Script, Error> {
        let mut linker = Linker::new(engine);
        api::link(&mut linker)?;
        let mut machine = linker.instantiate(program, scene)?;
        machine.set_fuel(Some(FUEL));
        machine.run()?;
        Ok(Script {
            frame: machine.func("frame")?,
            think: machine.func("think")?,
            touch: machine.func("touch")?,
            timer: machine.func("timer")?,
            key: machine.func("key")?,
            touching: Vec::new(),
            calls: 0,
            machine,
        })
    }

    /// Makes way for a new program, which takes over the scene and the state that the old one keeps: as much
    /// of it as both have. Says whether it could; else it has begun a game of its own.
    ///
    /// # Errors
    /// As [`Script::new`]; nothing has changed then.
    pub fn reload(&mut self, engine: &Engine, program: &Program) -> Result<bool, Error> {
        let mut new = Script::new(engine, program, Scene::new(1))?;
        let (old_state, old_version) = self.machine.data().kept;
        let (new_state, new_version) = new.machine.data().kept;
        let is_kept = old_version == new_version && new_state.len() >= old_state.len();
        if is_kept {
            let state = self.machine.memory().slice(old_state.start().address(), old_state.len())?;
            new.machine.memory_mut().write(new_state.start().address(), state)?;
            std::mem::swap(&mut new.machine.data_mut().world, &mut self.machine.data_mut().world);
        }
        *self = new;
        Ok(is_kept)
    }

    /// Tells the script of a key.
    ///
    /// # Errors
    /// If it traps.
    pub fn key(&mut self, key: i32) -> Result<(), Error> {
        self.machine.set_fuel(Some(FUEL));
        self.key.call(&mut self.machine, (key,))
    }

    /// Plays a frame. Where the script fails, the rest of it is without script.
    ///
    /// # Errors
    /// How it has failed.
    pub fn frame(&mut self, seconds: f32) -> (Frame, Result<(), Error>) {
        let (instructions, calls) = (self.machine.instructions(), self.machine.data().world.calls + self.calls);
        self.machine.set_fuel(Some(FUEL));
        let begin = std::time::Instant::now();
        let mut result = self.decide(seconds);
        let mut script = begin.elapsed();

        let world = &mut self.machine.data_mut().world;
        world.time += seconds;
        world.fade(seconds);
        let mut pairs = std::mem::take(&mut self.touching);
        let count = match self.bodies_mut() {
            Ok(bodies) => {
                scene::advance(bodies, seconds);
                scene::touching(bodies, &mut pairs);
                bodies.iter().filter(|body| body.kind != 0).count()
            }
            Err(_) => 0,
        };
        if result.is_ok() {
            let begin = std::time::Instant::now();
            result = self.react(&pairs);
            script += begin.elapsed();
        }
        self.touching = pairs;
        let instructions = self.machine.instructions() - instructions;
        let calls = self.machine.data().world.calls + self.calls - calls;
        (Frame { bodies: count, instructions, calls, script, whole: script }, result)
    }

    /// What the script does of itself.
    fn decide(&mut self, seconds: f32) -> Result<(), Error> {
        self.calls += 1;
        self.frame.call(&mut self.machine, (seconds,))?;
        for index in 0..self.machine.data().bodies.len() {
            let Some(body) = self.alive(index)? else { continue };
            self.calls += 1;
            self.think.call(&mut self.machine, (body, seconds))?;
        }
        Ok(())
    }

    /// What the script does when something happens.
    fn react(&mut self, touching: &[(usize, usize)]) -> Result<(), Error> {
        while let Some(what) = self.machine.data_mut().world.due() {
            self.calls += 1;
            self.timer.call(&mut self.machine, (what,))?;
        }
        for &(body, other) in touching {
            // An earlier event may have been the end of either.
            if let (Some(body), Some(other)) = (self.alive(body as u64)?, self.alive(other as u64)?) {
                self.calls += 1;
                self.touch.call(&mut self.machine, (body, other))?;
            }
        }
        Ok(())
    }

    /// The guest's pointer to a body, if there is one.
    fn alive(&self, index: u64) -> Result<Option<Ptr<Body>>, Error> {
        let start = self.machine.data().bodies.start().address();
        let body = Ptr::<Body>::new(start + index * size_of::<Body>() as u64);
        let is_alive = body.get(self.machine.memory()).is_ok_and(|body| body.kind != 0);
        Ok(is_alive.then_some(body))
    }

    fn bodies_mut(&mut self) -> Result<&mut [Body], riverrun::PointerError> {
        let (scene, memory) = self.machine.split();
        scene.bodies.get_mut(memory)
    }

    /// The bodies, in the script's memory.
    pub(crate) fn bodies(&self) -> &[Body] {
        self.machine.data().bodies.get(self.machine.memory()).unwrap_or_default()
    }

    /// The scene.
    pub(crate) fn scene(&self) -> &Scene {
        self.machine.data()
    }

    /// A number that the script shows.
    pub fn shown(&self, label: &str) -> Option<i32> {
        self.machine.data().world.shown.iter().find(|(known, _)| known == label).map(|(_, value)| *value)
    }
}

/// An error and the calls of the script that led there, line by line.
pub(crate) fn report(error: &Error) -> Vec<String> {
    let backtrace = match error {
        Error::Trap(trap) => &trap.backtrace[..],
        Error::Host(failure) => &failure.backtrace[..],
        _ => &[],
    };
    let frames = backtrace.iter().flat_map(|frame| {
        let text = frame.to_string();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    std::iter::once(error.to_string()).chain(frames).collect()
}

/// The engine that runs scripts: in the reference interpreter, compiled, or else in the interpreter.
pub(crate) fn engine(single_step: bool, compiled: bool) -> Result<Engine, Error> {
    let mut config = Config::new();
    config.single_step(single_step).memory_limit(64 << 20).stack_size(1 << 20);
    if compiled {
        // So that a script that fails is told where.
        #[cfg(feature = "compile")]
        config.compile(riverrun::CompileOptions {
            fuel: true,
            fidelity: riverrun::Fidelity::Precise,
            ..Default::default()
        });
        #[cfg(not(feature = "compile"))]
        return Err(Error::Config("compiled code: build the game with `--features compile`".to_owned()));
    }
    Engine::new(&config)
}
