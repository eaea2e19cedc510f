//! The three ways to take a step give the same, which is what it should be, and the command reports.

use std::process::Command;

use font8x8::legacy::BASIC_LEGACY;
use riverrun_console::{Console, HEIGHT, Step, TEXT_MAX, WIDTH, fade, programs};

/// Longer than the screen, with long lines, empty ones, and bytes that are no letters.
fn text() -> Vec<u8> {
    let mut text = include_bytes!("../../../LICENSE-MIT").repeat(4);
    text.extend([0, 9, 127, 200, 255, b'\n', b'\n']);
    text.extend([b'x'; 200]);
    text
}

/// What the guest should draw, as red, green and blue.
fn frame(text: &[u8]) -> Vec<u8> {
    const CELL: usize = 8;
    const PAPER: u32 = 0x0c_0a_08;
    const FLAME: u32 = 0xff_f0_a0;
    let mut frame = vec![PAPER; WIDTH * HEIGHT];
    let (mut row, mut column, mut ink) = (0, 0, FLAME);
    for &letter in text {
        if letter == b'\n' || column == WIDTH / CELL {
            row = (row + 1) % (HEIGHT / CELL);
            column = 0;
            frame[row * CELL * WIDTH..][..CELL * WIDTH].fill(PAPER);
        }
        if letter == b'\n' {
            ink = FLAME;
        } else if letter <= b' ' {
            (ink, column) = (FLAME, column + 1);
        } else {
            let glyph = BASIC_LEGACY[usize::from(letter % 128)];
            for (y, x) in (0..CELL * CELL).map(|n| (n / CELL, n % CELL)) {
                let pixel = &mut frame[(row * CELL + y) * WIDTH + column * CELL + x];
                *pixel = if glyph[y] >> x & 1 == 1 { ink } else { PAPER };
            }
            (ink, column) = (fade(ink), column + 1);
        }
    }
    frame.iter().flat_map(|pixel| pixel.to_be_bytes()[1..].to_vec()).collect()
}

#[test]
fn every_step_draws_the_same_frame() {
    let text = text();
    let expected = frame(&text);
    for (engine, program) in programs().unwrap() {
        for step in Step::ALL {
            let mut console = Console::new(&program, step, &text).unwrap();
            console.render().unwrap();
            assert!(console.pixels().unwrap() == expected, "{step:?} in {engine}");
            // Again, over what is there.
            console.render().unwrap();
            assert_eq!(console.checksum().unwrap(), crc32fast::hash(&expected));
        }
    }
}

#[test]
fn every_step_fades_alike() {
    for (engine, program) in programs().unwrap() {
        for step in Step::ALL {
            let mut console = Console::new(&program, step, b"").unwrap();
            // Of green and blue all there is, with some red.
            for colour in (0..=0xff_ff_ff).step_by(251) {
                assert_eq!(console.repeat(colour, 1).unwrap(), fade(colour), "{colour:06x} {step:?} in {engine}");
            }
            assert_eq!(console.repeat(0x12_ff_ff, 0).unwrap(), 0x12_ff_ff);
            assert_eq!(console.repeat(0x12_ff_ff, 1000).unwrap(), 0x12_07_00, "what is left of green has no eighth");
        }
    }
}

#[test]
fn a_text_that_is_too_long_is_cut() {
    let (_, program) = programs().unwrap().remove(0);
    let long = vec![b'y'; TEXT_MAX + 100];
    let mut console = Console::new(&program, Step::Assembly, &long).unwrap();
    console.render().unwrap();
    assert!(console.pixels().unwrap() == frame(&long[..TEXT_MAX]));
}

#[test]
fn the_command_reports_and_draws() {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("console.png");
    let command = Command::new(env!("CARGO_BIN_EXE_riverrun-console"))
        .args(["--quick", "--runs", "3", "--discard", "0", "--png"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(command.status.success(), "{}", String::from_utf8_lossy(&command.stderr));
    let report = String::from_utf8(command.stdout).unwrap();
    let expected = frame(include_bytes!("../../../LICENSE-APACHE"));
    assert!(report.contains(&format!("All frames have the checksum {:08x}.", crc32fast::hash(&expected))), "{report}");
    let engines = if cfg!(feature = "compile") { 2 } else { 1 };
    for (what, count) in [("|    3 |", 2), ("|  low |", 2), ("assembly beside C: ", 2), ("measure different", 1)] {
        assert_eq!(report.matches(what).count(), count * engines, "{what} in {report}");
    }

    let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&file).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    assert!(pixels == expected);
}

#[test]
fn mistakes_are_named() {
    for (args, message) in [
        (vec!["nowhere.txt"], "nowhere.txt: No such file"),
        (vec!["a", "b"], "--help lists the options"),
        (vec!["--png", "/nowhere/x.png"], "/nowhere/x.png: "),
        (vec!["--png", "/dev/full"], "/dev/full: No space"),
        (vec!["--runs", "0"], "0"),
    ] {
        let command = Command::new(env!("CARGO_BIN_EXE_riverrun-console")).args(args).output().unwrap();
        let said = String::from_utf8(command.stderr).unwrap();
        assert!(!command.status.success() && said.contains(message) && !said.contains("panicked"), "{said}");
    }
}
