//! A game whose frames were taken back and played again is the game that had all keys in time, on every engine.

use std::process::{Command, Stdio};

use riverrun::Engine;
use riverrun_rollback::{Game, Keys, Session, keys};

const FRAMES: u64 = 240;
const SEED: u64 = 7;

/// The engines that this build has.
fn engines() -> Vec<Engine> {
    let mut engines = vec![Game::engine(true, false), Game::engine(false, false)];
    if cfg!(feature = "compile") {
        engines.push(Game::engine(false, true));
    }
    engines.into_iter().map(Result::unwrap).collect()
}

fn theirs(frame: u64) -> Keys {
    keys(SEED, 1, frame)
}

/// The game's hash after each frame, with all keys in time.
fn in_time(engine: &Engine) -> Vec<u32> {
    let mut game = Game::new(engine).unwrap();
    let frames = 0..FRAMES;
    frames.map(|frame| game.frame([keys(SEED, 0, frame), theirs(frame)]).and_then(|()| game.hash()).unwrap()).collect()
}

/// Keys of each frame come so many frames late.
fn late(engine: &Engine, window: usize, lateness: impl Fn(u64) -> u64) -> Session {
    let mut session = Session::new(Game::new(engine).unwrap(), window);
    let mut known = 0;
    for frame in 0..FRAMES {
        while known + lateness(known) <= frame {
            assert!(session.learn(known, theirs(known)).unwrap());
            known += 1;
        }
        session.play(keys(SEED, 0, frame)).unwrap();
    }
    (known..FRAMES).for_each(|frame| assert!(session.learn(frame, theirs(frame)).unwrap()));
    session
}

#[test]
fn a_rolled_back_game_is_the_one_with_all_keys_in_time() {
    let expected = in_time(&engines()[0]);
    for engine in engines() {
        assert_eq!(in_time(&engine), expected, "{engine:?}");
        let last = *expected.last().unwrap();
        for window in [1, 2, 8, 20] {
            let session = late(&engine, window, |_| window as u64);
            assert_eq!(session.game().hash().unwrap(), last, "{engine:?}, {window} frames late");
            assert!(session.costs().restore.len() > 10, "{:?}", session.costs().restore);
            assert_eq!(session.frames(), FRAMES);
        }
        // A connection that stutters.
        let session = late(&engine, 12, |frame| keys(3, 0, frame) as u64 % 12);
        assert_eq!(session.game().hash().unwrap(), last, "{engine:?}");
        // And one without delay: nothing is ever taken back.
        let session = late(&engine, 0, |_| 0);
        assert_eq!(session.game().hash().unwrap(), last, "{engine:?}");
        assert!(session.costs().restore.is_empty() && session.costs().snapshot.is_empty());
    }
}

#[test]
fn keys_that_come_too_late_are_lost() {
    for engine in engines() {
        let mut session = Session::new(Game::new(&engine).unwrap(), 4);
        for _ in 0..10 {
            session.play(0).unwrap();
        }
        let before = session.game().hash().unwrap();
        assert!(!session.learn(5, 16).unwrap());
        assert_eq!(session.game().hash().unwrap(), before);
        assert!(session.learn(6, 16).unwrap());
        assert_ne!(session.game().hash().unwrap(), before);
    }
}

/// What the command prints with these arguments.
fn run(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_riverrun-rollback")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_readmes_commands_print_one_line() {
    let block = include_str!("../README.md").split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let commands: Vec<&str> = block.lines().collect();
    assert_eq!(commands.len(), 2);
    for command in commands {
        let (cargo, arguments) = command.split_once(" -- ").unwrap_or((command, ""));
        assert_eq!(cargo, "cargo run --release --manifest-path examples/rollback/Cargo.toml");
        let printed = run(&arguments.split_whitespace().collect::<Vec<_>>());
        assert_eq!(printed.lines().count(), 1, "{printed}");
    }
}

#[test]
fn the_command_ends_with_the_same_game_however_late_keys_are() {
    let hash = |arguments: &[&str]| {
        let line = run(&[&["--frames", "100", "--json"], arguments].concat());
        line.split("\"hash\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    let expected = hash(&["--rollback", "0"]);
    for rollback in ["1", "8", "200"] {
        assert_eq!(hash(&["--rollback", rollback]), expected);
        if cfg!(feature = "compile") {
            assert_eq!(hash(&["--rollback", rollback, "--compile"]), expected);
        }
    }
    assert_ne!(hash(&["--seed", "2"]), expected);
}

#[test]
fn mistakes_are_named() {
    for (args, message) in [
        (vec!["extra"], "--help lists the options"),
        (vec!["--frames", "many"], "many"),
        (vec!["--rollback", "-1"], "-1"),
    ] {
        let command = Command::new(env!("CARGO_BIN_EXE_riverrun-rollback")).args(args).output().unwrap();
        let said = String::from_utf8(command.stderr).unwrap();
        assert!(!command.status.success() && said.contains(message) && !said.contains("panicked"), "{said}");
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    for arguments in [&["--help"][..], &["--frames", "1"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_riverrun-rollback"));
        let run = command.args(arguments).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        let said = String::from_utf8(run.wait_with_output().unwrap().stderr).unwrap();
        assert!(said.starts_with("riverrun-rollback: standard output: No space"), "{said}");
    }
}
