//! The game is the same in every run and engine, and goes on whatever its script does.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use riverrun::Engine;
use riverrun_game::{Game, Screen, Unit};

const SOURCE: &str = include_str!("../guest/main.cpp");
/// A change that does not compile.
const BROKEN: (&str, &str) = ("void key(int which)\n{", "void key(int which)\n{ no such thing;");

/// The engines that this build has, besides the reference interpreter.
fn engines() -> Vec<Engine> {
    let compiled: &[bool] = if cfg!(feature = "compile") { &[false, true] } else { &[false] };
    compiled.iter().map(|&compiled| Game::engine(false, compiled).unwrap()).collect()
}

/// A picture after some frames.
fn picture(engine: &Engine, seed: u64) -> Vec<u8> {
    let mut game = Game::new(engine, seed, Unit::Instructions).unwrap();
    let mut screen = Screen::new(100, 30);
    for _ in 0..90 {
        game.frame(&mut screen);
    }
    assert_eq!(game.problems().next(), None);
    assert!(game.meter().last().bodies > 200, "{:?}", game.meter().last());
    let mut png = Vec::new();
    screen.write_png(&mut png).unwrap();
    png
}

#[test]
fn every_run_and_engine_shows_the_same() {
    let steps = picture(&Game::engine(true, false).unwrap(), 1);
    for engine in engines() {
        // Instructions and calls are part of the picture.
        assert!(picture(&engine, 1) == steps, "{engine:?} differs from single steps");
        assert!(picture(&engine, 1) == steps, "a second run differs");
        assert!(picture(&engine, 2) != steps, "seeds make no difference");
    }
}

/// A game whose script is reloaded from a file.
struct Reloaded {
    game: Game,
    screen: Screen,
    source: PathBuf,
    saved: SystemTime,
    _folder: tempfile::TempDir,
}

impl Reloaded {
    fn new(engine: &Engine) -> Reloaded {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("main.cpp");
        fs::write(&source, SOURCE).unwrap();
        let mut game = Game::new(engine, 1, Unit::Milliseconds).unwrap();
        game.watch(&source).unwrap();
        let mut reloaded =
            Reloaded { game, screen: Screen::new(120, 40), source, saved: SystemTime::now(), _folder: folder };
        reloaded.play(100);
        reloaded
    }

    fn play(&mut self, frames: u32) {
        for _ in 0..frames {
            self.game.frame(&mut self.screen);
        }
    }

    /// Saves the script with this text in place of that one, and plays until it is compiled.
    fn save(&mut self, changes: &[(&str, &str)]) {
        let mut text = SOURCE.to_owned();
        for (from, to) in changes {
            assert_eq!(text.matches(from).count(), 1, "{from}");
            text = text.replace(from, to);
        }
        fs::write(&self.source, text).unwrap();
        // However coarse the file system's clock is, this is another time.
        self.saved += Duration::from_secs(10);
        File::options().write(true).open(&self.source).unwrap().set_modified(self.saved).unwrap();
        self.play(1);
        assert!(self.game.is_building());
        let begin = Instant::now();
        while self.game.is_building() {
            assert!(begin.elapsed() < Duration::from_secs(300), "the compiler does not end");
            std::thread::sleep(Duration::from_millis(10));
            self.game.reload();
        }
    }

    fn shown(&self, label: &str) -> i32 {
        self.game.script().shown(label).unwrap()
    }

    fn shows(&self, text: &str) -> bool {
        (0..self.screen.height()).any(|row| self.screen.row(row).contains(text))
    }
}

#[test]
fn a_new_script_takes_over_and_the_state_stays() {
    for engine in engines() {
        let mut reloaded = Reloaded::new(&engine);
        reloaded.play(200);
        let (score, bodies) = (reloaded.shown("score"), reloaded.game.meter().last().bodies);
        assert!(score > 0 && bodies > 100, "{score} {bodies}");
        reloaded.save(&[
            // A new field keeps its initial value, the others those that they had.
            ("float shielded = 0; // seconds\n", "float shielded = 0; int bonus = 7;\n"),
            (r#"dsys_show("wave", world.wave)"#, r#"dsys_show("wave", 1000 * world.bonus + world.wave)"#),
        ]);
        assert_eq!(reloaded.game.news(), "reloaded: the state stays");
        reloaded.play(1);
        assert!(reloaded.shows("state stays"));
        assert_eq!(reloaded.shown("wave"), 7001);
        assert!(reloaded.shown("score") >= score);
        assert!(reloaded.game.meter().last().bodies.abs_diff(bodies) < 20, "{:?}", reloaded.game.meter().last());
        // Timers go on: the next wave comes.
        reloaded.play(300);
        assert_eq!(reloaded.shown("wave"), 7002);
    }
}

#[test]
fn state_of_another_version_is_not_taken() {
    let mut reloaded = Reloaded::new(&engines()[0]);
    reloaded.play(100);
    assert!(reloaded.shown("score") > 0);
    reloaded.save(&[("VERSION = 1;", "VERSION = 2;")]);
    assert_eq!(reloaded.game.news(), "reloaded: begins afresh");
    reloaded.play(1);
    assert_eq!((reloaded.shown("score"), reloaded.shown("wave")), (0, 0));
}

#[test]
fn a_script_without_a_function_is_refused() {
    let mut reloaded = Reloaded::new(&engines()[0]);
    reloaded.save(&[("RIVERRUN_EXPORT(void, timer, (int));", "static void timer(int) __attribute__((unused));")]);
    reloaded.play(300);
    assert!(reloaded.shows("the program has no function timer"));
    assert_eq!(reloaded.shown("wave"), 1);
}

#[test]
fn compiler_errors_are_shown_and_the_old_script_goes_on() {
    let mut reloaded = Reloaded::new(&engines()[0]);
    reloaded.save(&[BROKEN]);
    let score = reloaded.shown("score");
    reloaded.play(200);
    assert!(reloaded.shows("error:") && reloaded.shows("no such thing"));
    assert!(reloaded.shown("score") > score);
    reloaded.save(&[]);
    reloaded.play(1);
    assert_eq!(reloaded.game.problems().next(), None);
}

/// A script that fails in this way in every frame is reported, and a better one goes on from there.
fn fails(statement: &str, cause: &str) {
    for engine in engines() {
        let mut reloaded = Reloaded::new(&engine);
        let score = reloaded.shown("score");
        reloaded.save(&[("float ax = world.steer_x, ", &format!("{statement}\n    float ax = world.steer_x, "))]);
        reloaded.play(3);
        let problem = reloaded.game.problems().collect::<Vec<_>>().join("\n");
        assert!(problem.contains(cause), "{problem}");
        assert!(problem.contains("think+") && problem.contains("main.cpp:"), "{problem}");
        assert!(reloaded.shows(cause) && reloaded.shows("think+"), "{problem}");
        // What the compiler says now is not covered by what goes on.
        reloaded.save(&[BROKEN]);
        reloaded.play(3);
        assert!(reloaded.shows("no such thing") && reloaded.shows("think+"), "{problem}");
        let bodies = reloaded.game.meter().last().bodies;
        assert!(bodies > 100, "{bodies}");
        reloaded.save(&[]);
        reloaded.play(200);
        assert_eq!(reloaded.game.problems().next(), None);
        assert!(reloaded.shown("score") > score);
    }
}

#[test]
fn a_script_that_traps_is_reported_and_the_game_goes_on() {
    fails("*reinterpret_cast<volatile int *>(8) = 1;", "0x8");
}

#[test]
fn a_script_that_does_not_end_is_reported_and_the_game_goes_on() {
    fails("for (volatile int i = 0;; i = i + 1) {}", "fuel");
}

#[test]
fn a_script_that_misuses_the_engine_is_reported_and_the_game_goes_on() {
    fails("dsys_nearest(1000000, FOES, 1);", "there is no such body");
}

#[test]
fn a_timer_that_never_comes_is_refused() {
    fails("dsys_after(0.0f / (seconds - seconds), FIRE);", "no timer can be set to NaN seconds");
}

#[test]
fn bodies_may_be_anywhere_and_screens_of_any_size() {
    let mut reloaded = Reloaded::new(&engines()[0]);
    let nonsense = "const float wrong[] = {1e30f, -1e30f, __builtin_inff(), __builtin_nanf(\"\"), -5, 1e9f};
        for (int i = 0; i < MAX; i++) {
            Body &body = world.bodies[i];
            body = {wrong[i % 6], wrong[i / 6 % 6], wrong[i / 36 % 6], wrong[i % 5], wrong[i % 4], 0, 0xffffff, GEM, 0};
            if (i % 100 == 0) dsys_sparks(&body, 3, wrong[i / 100 % 6]);
        }";
    reloaded.save(&[("    switch (what) {", &format!("    {nonsense}\n    switch (what) {{"))]);
    reloaded.play(60);
    for (width, height) in [(0, 0), (1, 1), (3, 2), (1, 50), (200, 7), (120, 40)] {
        reloaded.screen = Screen::new(width, height);
        reloaded.play(10);
    }
    assert!(reloaded.game.meter().last().bodies > 600);
}

#[test]
fn the_command_makes_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("out.png");
    let mut command = Command::new(env!("CARGO_BIN_EXE_riverrun-game"));
    let run = command.args(["--headless", "--frames", "20", "--png"]).arg(&picture).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert!(String::from_utf8_lossy(&run.stdout).starts_with("20 frames; "));
    let reader = png::Decoder::new(std::io::BufReader::new(File::open(picture).unwrap())).read_info().unwrap();
    assert_eq!((reader.info().width, reader.info().height), (960, 640));
}

/// The command fails with these arguments, and says this.
fn fails_saying(arguments: &[&str], output: Stdio, message: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_riverrun-game"));
    let run =
        command.args(arguments).stdout(output).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(!run.status.success() && said.contains(message) && !said.contains("panicked"), "{arguments:?}: {said}");
}

#[test]
fn mistakes_are_named() {
    for (arguments, message) in [
        (&["extra"][..], "--help lists the options"),
        (&["--headless", "--script", "nosuch"], "leave out --script"),
        (&["--frames", "1"], "--frames needs --headless"),
        (&["--png", "x.png"], "--png needs --headless"),
        (&["--headless", "--frames", "1", "--png", "/nowhere/x.png"], "/nowhere/x.png: No such file"),
        (&["--headless", "--frames", "1", "--png", "/dev/full"], "/dev/full: No space"),
    ] {
        fails_saying(arguments, Stdio::null(), message);
    }
    let missing = Game::new(&engines()[0], 1, Unit::Milliseconds).unwrap().watch("nosuch".as_ref()).unwrap_err();
    assert!(missing.to_string().starts_with("nosuch: No such file"), "{missing}");
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    for arguments in [&["--help"][..], &["--headless", "--frames", "1"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        fails_saying(arguments, full.into(), "standard output: No space");
    }
}
